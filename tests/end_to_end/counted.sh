#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs beside others: it judges numbers that programs know of themselves.
# Sources that count: recordings of programs that know how many events they had.
. "$(dirname "$0")/lib.sh"

need_root
need_programs

plan 18

# record NAME FORMAT ARGUMENT...: into NAME, its messages into NAME.log. No functions of interpreters are judged, and
# without them the kernel verifies the sampler faster.
record() {
	"$pilotlight" record --runtime-frames=native -f "$2" -o "$tmp/$1" "${@:3}" >"$tmp/$1.out" 2>"$tmp/$1.log" && return
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

# --- events of perf and tracepoints ---------------------------------------------------------------

# Its end, and what it is preempted by, may add some.
counts_switches() {
	local all

	record switches folded -F 5000 -e context-switches -- "$counted" switches 500 || return
	all=$(folded_total "$tmp/switches")
	note "$(cat "$tmp/switches.out") switches, $all recorded"
	within "$all" "$(cat "$tmp/switches.out")" 30
}

# A shell that starts so many programs.
counts_execs() {
	record execs folded -e sched:sched_process_exec -- bash -c 'for i in {1..50}; do /bin/true; done' || return
	note "$(folded_count "$tmp/execs" true '') of 50 recorded"
	[ "$(folded_count "$tmp/execs" true '')" = 50 ] &&
		grep -q '^true;.*;.*execve.*_\[k\]' "$tmp/execs"
}

has_several() {
	record many folded -F 5000 -e cpu,faults,cs,sched:sched_process_exec,syscalls:sys_enter_execve/period=1/ -- \
		bash -c 'for i in {1..20}; do /bin/true; done' || return
	[ "$(folded_total "$tmp/many.sched:sched_process_exec")" -ge 20 ] &&
		[ "$(folded_total "$tmp/many.syscalls:sys_enter_execve")" -ge 20 ] &&
		[ "$(folded_total "$tmp/many.context-switches")" -ge 20 ] &&
		[ -s "$tmp/many.cpu" ] && [ -s "$tmp/many.faults" ] &&
		grep -q '^sched:sched_process_exec [0-9]* stored' "$tmp/many.log"
}

agrees_with_perf() {
	local perf own

	has perf || { note "no perf here"; return; }
	perf=$(perf stat -x, -e syscalls:sys_enter_execve -- bash -c 'for i in {1..40}; do /bin/true; done' 2>&1 |
		awk -F, '/sys_enter_execve/ { print $1 }')
	record own folded -F 5000 -e syscalls:sys_enter_execve -- bash -c 'for i in {1..40}; do /bin/true; done' || return
	# perf begins with the shell, ours before it is found.
	own=$(folded_count "$tmp/own" bash '')
	note "perf counts $perf, pilotlight $own"
	[ "$own" = "$perf" ]
}

# A machine with a PMU counts them; one without says so.
counts_misses_or_says_why() {
	if "$pilotlight" record -f folded -e cache-misses,instructions:u -o "$tmp/pmu" -- true 2>"$tmp/pmu.log"; then
		[ -e "$tmp/pmu.cache-misses" ] && [ -e "$tmp/pmu.instructions:u" ]
	else
		note "$(cat "$tmp/pmu.log")"
		grep -q 'cannot count cache-misses (.*): this machine has no PMU that counts it' "$tmp/pmu.log"
	fi
}

refuses_unknown() {
	"$pilotlight" record -f folded -e sched:no_such_event -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 1 ] && grep -q 'cannot count sched:no_such_event: the kernel has no such tracepoint' "$tmp/no.log" || return
	"$pilotlight" record -e no-such-event -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 2 ] && grep -q "not 'no-such-event'" "$tmp/no.log"
}

check "context switches are counted" counts_switches
check "so is a tracepoint, with stacks" counts_execs
check "several at once have a file each" has_several
check "perf counts as many" agrees_with_perf
check "events of the PMU are counted, or the machine has none" counts_misses_or_says_why
check "unknown events are refused" refuses_unknown

# --- probes ---------------------------------------------------------------------------------------

counts_ticks() {
	record ticks folded -F 5000 -e "usdt:$counted:pilotlight:tick" -- "$counted" probes 2000 || return
	note "$(folded_count "$tmp/ticks" counted pass_probes) of 2000 recorded"
	[ "$(folded_count "$tmp/ticks" counted pass_probes)" = 2000 ] &&
		[ "$(cat "$tmp/ticks.out")" = 0 ] && ! grep -q '_\[k\]' "$tmp/ticks"
}

# It is off until its semaphore is counted up.
counts_tocks() {
	record tocks pprof -F 5000 -e "usdt:$counted:pilotlight:tock/period=3/" -- "$counted" probes 3000 || return
	[ "$(cat "$tmp/tocks.out")" = 3000 ] && [ "$("$counted" probes 3000)" = 0 ] &&
		gzip -dc "$tmp/tocks" | grep -aq usdt_counted_pilotlight_tock &&
		within "$(sed -n 's/^usdt:counted:pilotlight:tock *\([0-9,]*\) stored.*/\1/p' "$tmp/tocks.log" | tr -d ,)" 3000 500
}

# Debian's has them. At its end it collects, too.
counts_in_python() {
	local python all

	python=$(readlink -f /usr/bin/python3) || return 0
	readelf -n "$python" 2>/dev/null | grep gc__start >/dev/null || { note "python3 has no probes here"; return; }
	record collections folded -F 5000 -e "usdt:$python:python:gc__start" -- \
		"$python" -S -c 'import gc
gc.disable()
for i in range(50): gc.collect()' || return
	all=$(folded_total "$tmp/collections")
	note "$all collections recorded"
	at_least "$all" 50 && at_least 60 "$all"
}

refuses_probes() {
	"$pilotlight" record -f folded -e "usdt:$counted:pilotlight:tack" -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 1 ] && grep -q 'has no probe pilotlight:tack' "$tmp/no.log" || return
	"$pilotlight" record -f folded -e "usdt:$0:a:b" -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 1 ] && grep -q 'is no ELF file' "$tmp/no.log" || return
	"$pilotlight" record -f folded -e "usdt:$tmp/none:a:b" -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 1 ] && grep -q 'No such file' "$tmp/no.log" || return
	"$pilotlight" record -f folded -e usdt:a:b -o "$tmp/no" -- true 2>"$tmp/no.log"
	[ $? -eq 2 ]
}

check "a probe of a program is counted" counts_ticks
check "its semaphore switches it on" counts_tocks
check "so are those of python3" counts_in_python
check "probes that are not there are refused" refuses_probes

finish
