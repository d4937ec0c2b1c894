#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs beside others: it judges numbers that programs know of themselves.
# Sources that count: recordings of programs that know how many events they had.
. "$(dirname "$0")/lib.sh"

need_root
need_programs

plan 8

# record NAME FORMAT ARGUMENT...: into NAME, its messages into NAME.log.
record() {
	"$pilotlight" record -f "$2" -o "$tmp/$1" "${@:3}" >"$tmp/$1.out" 2>"$tmp/$1.log" && return
	note "$(cat "$tmp/$1.log")"
	return 1
}

# --- page faults -------------------------------------------------------------------------------

counted=$workloads/counted

# The exec itself has some before the program is one that is followed, or after it has looked.
counts_each() {
	local all

	record each folded -F 5000 -e faults -c 1 -- "$counted" faults 2000 || return
	all=$(folded_count "$tmp/each" counted '')
	note "$(cat "$tmp/each.out") faults, $all recorded"
	within "$all" "$(cat "$tmp/each.out")" 40 &&
		within "$(folded_count "$tmp/each" counted touch_pages)" 2000 5
}

# Of each CPU a part of a period may be missing.
counts_periods() {
	local all

	record some folded -F 5000 -e faults/period=11/ -- "$counted" faults 100000 || return
	all=$(($(folded_count "$tmp/some" counted touch_pages) * 11))
	note "100000 faults, $all recorded"
	within "$all" 100000 1000
}

thins_out() {
	local all

	record thin folded -F 99 -e faults/period=1/ -- "$counted" faults 200000 || return
	all=$(folded_count "$tmp/thin" counted touch_pages)
	note "200000 faults, $all recorded"
	within "$all" 200000 60000
}

summary_counts() {
	grep -q '^faults  *[0-9,]* stored, [0-9,]* filtered, 0 lost$' "$tmp/each.log"
}

has_units() {
	record table txt -F 5000 -e faults -- "$counted" faults 20000 &&
		grep -q '^# event    faults (page faults) in samples of 7 faults' "$tmp/table" &&
		grep -q '^# amount   [0-9]*,[0-9]* faults stored$' "$tmp/table" &&
		grep -q ' touch_pages ' "$tmp/table" &&
		record picture svg -F 5000 -e faults -- "$counted" faults 20000 &&
		grep -q 'data-period="7" data-noun="fault"' "$tmp/picture"
}

has_type() {
	record pprof pprof -F 5000 -e faults -- "$counted" faults 20000 && gzip -dc "$tmp/pprof" | grep -aq page_faults
}

refuses() {
	"$pilotlight" record -e faults/period=0/ -o "$tmp/wrong" -- true 2>"$tmp/wrong.log"
	[ $? -eq 2 ] && grep -q 'period=N' "$tmp/wrong.log"
}

doctor_tells() {
	"$pilotlight" doctor 2>/dev/null | grep -q 'page faults  *.*can be counted'
}

check "each page fault is a sample" counts_each
check "or each period" counts_periods
check "samples that come too fast stand for more" thins_out
check "the summary tells their number" summary_counts
check "tables and pictures do" has_units
check "pprof has a type of its own" has_type
check "a wrong period is refused" refuses
check "doctor tells whether they can be counted" doctor_tells

finish
