#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The accounts close (I1): every sample that fired is stored, idle, filtered or counted as lost, and
# the output draws exactly what was stored and lost.
. "$(dirname "$0")/lib.sh"

# fired_is_expected HZ. A virtual CPU that its host takes away for longer than a period fires once
# where it should have fired several times, and some kernels do not sample a CPU that idles; nothing
# fires twice.
fired_is_expected() {
	local unsampled=$(($1 * recorded_unsampled_ms / 1000))

	note "at most $unsampled samples of CPUs that were idle or taken away are missing"
	[ "$fired" -ge $((expected * 97 / 100 - unsampled - 2 * cpu_count)) ] &&
		[ "$fired" -le $((expected * 101 / 100 + 2 * cpu_count)) ]
}

output_is_whole() {
	local total

	total=$(folded_total "$1")
	[ "$total" = $((stored + lost)) ] || { note "the folded file has $total"; return 1; }
}

# check_recording NAME HZ OPTIONS...
check_recording() {
	local name=$1 rate=$2 output=$tmp/${1//[^a-z0-9]/_}.folded

	shift 2
	check "$name: record succeeds" record "$output" -F "$rate" "$@"
	check "$name: the accounts close" accounts_close "$output.log"
	if [ -n "$expected" ] && [ "$expected" -gt 0 ]; then
		check "$name: as many fired as the clock says" fired_is_expected "$rate"
	else
		skip "$name: as many fired as the clock says" "a PMU's frequency mode has no fixed period"
	fi
	check "$name: the output holds what was stored and lost" output_is_whole "$output"
	last_output=$output
}

hot_path_is_there() {
	local share

	share=$(folded_share "$last_output" many_stacks the_hot_path)
	note "the_hot_path has $share % of 60 %"
	within "$share" 60 4
}

need_root
need_programs
plan 20

check_recording "idle" 99 -d 4

start_busy_cpus
check_recording "all CPUs busy at 999 Hz" 999 -d 5
check "all CPUs busy: nine samples of ten are stored" at_least "$stored" $((fired * 9 / 10))
stop_started

# For so long that one sample of a thousand is more than a few.
check_recording "fork storm" 99 -a -- "$workloads/spawner" 1000 30 1
check "fork storm: fewer than one sample of a thousand is lost" [ $((lost * 1000)) -le "$stored" ]

check_recording "small maps" 999 --stack-slots 64 -- "$workloads/many_stacks" 8
check "small maps: the hot path has its share" hot_path_is_there
check "small maps: what was not asked for is filtered or idle" [ $((filtered + idle)) -gt 0 ]
finish
