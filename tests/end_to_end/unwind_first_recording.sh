#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The first recording on a host has whole stacks of running programs although the cache has no unwind tables,
# because tables are made before sampling begins.
. "$(dirname "$0")/lib.sh"

# are_whole FILE: all samples of the program's own code, except at most one, begin at _start.
are_whole() {
	awk '
	/^deep;/ && /;deep_work;/ {
		all += $NF
		if (/^deep;_start;/)
			whole += $NF
		else if (shown++ < 4)
			print "# " substr($0, 1, 200)
	}
	END {
		printf "# %d of %d samples are whole\n", whole, all
		exit !(all >= 200 && whole >= all - 1)
	}' "$1"
}

# Of the program, in clock ticks.
used_cpu() {
	sed 's/.*) //' "/proc/${started[0]}/stat" | awk '{ print $12 + $13 }'
}

has_used() {
	[ "$(used_cpu)" -ge "$1" ]
}

# record_first OUTPUT OPTIONS...: records with an empty cache, for two seconds of the program's CPU time. The start
# waits at most one second for tables. On a busy machine that may be too short, so the recording is repeated, up to five
# times.
record_first() {
	local turn

	for turn in 1 2 3 4 5; do
		rm -rf "$tmp/cache"
		start_recording -o "$@" || return
		wait_beside "$recorder" has_used $(($(used_cpu) + 2 * $(getconf CLK_TCK)))
		kill -INT "$recorder"
		ended_with 0 || return
		! are_whole "$1" >/dev/null || return 0
	done
}

start_deep() {
	start "$tmp/deep" 600 20
	wait_for 10 grep -q . "/proc/${started[-1]}/maps"
}

need_root
need_programs
need_commands gcc
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
plan 5

check "a program without frame pointers compiles" gcc -std=gnu17 -O1 -D_GNU_SOURCE \
	-fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/deep" "$root/tests/workloads/deep.c"
start_deep
check "of all processes: record succeeds" record_first "$tmp/all.folded" -F 499
check "of all processes: stacks are whole" are_whole "$tmp/all.folded"
check "of one process: record succeeds" \
	record_first "$tmp/one.folded" -F 499 -p "${started[0]}"
check "of one process: stacks are whole" are_whole "$tmp/one.folded"
finish
