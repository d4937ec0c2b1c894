#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The accounts close (I1): every sample that fired is stored, idle, filtered or counted as lost. The output
# has exactly the stored and the lost samples.
. "$(dirname "$0")/lib.sh"

# fired_is_expected HZ. A virtual CPU that its host suspends for several periods fires only once, and some
# kernels do not sample an idle CPU. No period fires twice.
fired_is_expected() {
	local unsampled=$(($1 * recorded_unsampled_ms / 1000))

	note "at most $unsampled samples of idle or suspended CPUs are missing"
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
		check "$name: the number of fired samples follows from the time" fired_is_expected "$rate"
	else
		skip "$name: the number of fired samples follows from the time" "a PMU's frequency mode has no fixed period"
	fi
	check "$name: the output has the stored and lost samples" output_is_whole "$output"
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

check_recording "idle" 99 -d 2

start_busy_cpus
check_recording "all CPUs busy at 999 Hz" 999 -d 3
check "all CPUs busy: at least 90 % of the samples are stored" at_least "$stored" $((fired * 9 / 10))
stop_started

# So many samples that 0.1 % is more than a few.
check_recording "fork storm" 499 -a -- "$workloads/spawner" 1000 6 1
check "fork storm: at most 0.1 % of the samples are lost" [ $((lost * 1000)) -le "$stored" ]

check_recording "small maps" 999 --stack-slots 64 -- "$workloads/many_stacks" 4
check "small maps: the hot path has its share" hot_path_is_there
check "small maps: other samples are filtered or idle" [ $((filtered + idle)) -gt 0 ]
finish
