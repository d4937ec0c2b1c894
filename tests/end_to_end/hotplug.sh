#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A CPU goes offline and online again during a recording.
. "$(dirname "$0")/lib.sh"

switch=/sys/devices/system/cpu/cpu1/online

# The kernel may refuse for a moment.
switch_to() {
	local i

	for i in {1..50}; do
		! echo "$1" >"$switch" || return 0
		sleep 0.1
	done 2>/dev/null
	return 1
}

bring_back() {
	switch_to 1
	clean_up
}

# The command of the recording: work on both CPUs, CPU 1 off, work, CPU 1 on, work on CPU 1.
unplug_and_plug() {
	"$workloads/threads" 0.5 2 || exit 1
	switch_to 0 || exit 1
	"$workloads/threads" 1 2 || exit 1
	switch_to 1 || exit 1
	# The recorder looks for new CPUs as often as it drains, and may be late.
	taskset -c 1 "$workloads/execer" 5 /bin/true || exit 1
	taskset -c 1 "$workloads/shares" 4 || exit 1
}

samples_come_from_the_cpu() {
	local count

	count=$(folded_count "$tmp/out.folded" shares '')
	# An idle machine samples the CPU for all 4 seconds; without events on the CPU there is no sample.
	note "$count samples of shares, of 396"
	[ "$count" -ge 40 ]
}

need_root
need_programs
[ -w "$switch" ] && [ "$(cat "$switch")" = 1 ] || skip_all "CPU 1 cannot be switched off"
need_commands taskset
at_exit bring_back
{ switch_to 0 && switch_to 1; } || skip_all "CPU 1 cannot be switched off"
plan 4

export -f unplug_and_plug switch_to
export workloads switch
check "record succeeds" record "$tmp/out.folded" -F 99 -a -- bash -c unplug_and_plug
check "the CPU is online again" [ "$(cat "$switch")" = 1 ]
check "the accounts close" accounts_close "$tmp/out.folded.log"
check "the CPU is sampled after it came online" samples_come_from_the_cpu
finish
