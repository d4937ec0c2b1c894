#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes that end long before the engine reads their files keep their names and symbols.
. "$(dirname "$0")/lib.sh"

# named FILE COMM FRAME LEAST: COMM has at least LEAST samples, 90 % of them with the frame.
named() {
	local all with_frame

	all=$(folded_count "$1" "$2" '')
	with_frame=$(folded_count "$1" "$2" "$3")
	note "$with_frame of $all samples of $2 have $3"
	[ "$all" -ge "$4" ] && [ $((with_frame * 10)) -ge $((all * 9)) ]
}

# All samples in the children's function have the children's comm.
children_have_their_comm() {
	local all own

	all=$(folded_count "$1" '' short_lived_work)
	own=$(folded_count "$1" short_lived short_lived_work)
	note "$own of $all samples in short_lived_work have the comm short_lived"
	[ "$all" -gt 100 ] && [ "$own" = "$all" ]
}

# The children's other frames (exec, the dynamic linker, exit) have names too.
children_have_names() {
	local all unknown

	all=$(folded_count "$1" short_lived '')
	unknown=$(grep '^short_lived;' "$1" | grep -cE '\[(unknown|short_lived)[^;]*\]')
	note "$unknown stacks of $all samples have a frame of short_lived without a name"
	[ "$all" -gt 100 ] && [ "$unknown" = 0 ] && return
	note "$(grep -E '^(lost|processes|stacks|symbols)' "$1.log")"
	note "$(grep '^short_lived;' "$1" | grep -E '\[(unknown|short_lived)[^;]*\]' | cut -c 1-200 | head -n 4)"
	return 1
}

# record_one OUTPUT [unlink]: records a process whose file is available only during its life. If other processes
# have the CPUs for these 50 ms, the engine misses the file, and the recording is repeated.
record_one() {
	local output=$1 program=$workloads/fifty_ms i

	shift
	for i in 1 2; do
		[ $i = 1 ] || note "repeated: the engine missed the file"
		[ $# = 0 ] || { program=$tmp/fifty_gone && cp "$workloads/fifty_ms" "$program" || return; }
		record "$output" -F 999 -- "$program" "$@" || return
		[ $# != 0 ] && [ "$(folded_count "$output" '' fifty_ms_work)" = 0 ] || break
	done
}

# record_ten OUTPUT [unlink]: concatenates ten recordings of one process each.
record_ten() {
	local output=$1 part=$tmp/part.folded i

	shift
	: >"$output"
	for i in {1..10}; do
		record_one "$part" "$@" || return
		cat "$part" >>"$output"
	done
}

run_ten() {
	local i

	for i in {1..10}; do
		cp "$workloads/fifty_ms" "$tmp/leaving"
		"$tmp/leaving" unlink || exit 1
		[ ! -e "$tmp/leaving" ] || exit 1
	done
}

# record_spawner OUTPUT: repeats the recording, three times at most, until no mapping record was lost and all
# symbols were ready. Either may happen on a busy machine, and the summary reports it.
record_spawner() {
	local i

	for i in 1 2 3; do
		record "$1" -F 999 -a -- "$workloads/spawner" 300 5 4 || return
		grep -E 'side-band records|not waited for' "$1.log" >"$tmp/lacking" || return 0
		note "$(cat "$tmp/lacking")"
	done
}

need_root
need_programs
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
plan 11

check "one process: record succeeds" record_ten "$tmp/one.folded"
check "one process of 50 ms has its comm and its function" \
	named "$tmp/one.folded" fifty_ms fifty_ms_work 300

check "unlinked: record succeeds" record_ten "$tmp/gone.folded" unlink
check "unlinked: the file is gone" [ ! -e "$tmp/fifty_gone" ]
check "unlinked: the process has its comm and its function" \
	named "$tmp/gone.folded" fifty_gone fifty_ms_work 300

export -f run_ten
export workloads tmp
check "ten in a row: record succeeds" record "$tmp/ten.folded" -F 999 -a -- bash -c run_ten
check "ten in a row: each has ended, and all have their function" \
	named "$tmp/ten.folded" leaving fifty_ms_work 300

check "spawner: record succeeds" record_spawner "$tmp/spawner.folded"
check "spawner: the accounts close" accounts_close "$tmp/spawner.folded.log"
check "spawner: children have their comm" children_have_their_comm "$tmp/spawner.folded"
check "spawner: children have their names" children_have_names "$tmp/spawner.folded"
finish
