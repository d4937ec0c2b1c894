#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes that write malformed jitdumps at a high rate cannot exceed the recorder's bounds or cost other
# processes their names. `jit list` shows them.
. "$(dirname "$0")/lib.sh"
. "$root/tests/end_to_end/jit_programs/trials.sh"

RECORD_SECONDS=6
# The allowed cost above the same recording without hostile processes. The budget for reading is about 5 % of a
# CPU, and a second or two at the end. Other work, such as drawing, may be about three times that of the honest
# recording. The memory budget is 16 MiB. All with a margin.
CPU_MS=2000
CPU_TIMES=6
MEMORY_KIB=65536
IDLE_PROCESSES=600
NOBODY=65534
KINDS='tiny same names huge rewrite'

# The processes start before the recording and end after it.
start_trial() {
	(cd "$dumps" && exec "$writer" "$@" --seconds 600) &
	started+=($!)
}

start_hostile() {
	local kind

	for kind in $KINDS; do
		start_trial "hostile-$kind" --comm "hostile_$kind" --run 0.5
	done
}

# record_measured NAME: sets cpu_ms and memory_kib. cpu_ms excludes reading the symbols of binaries, which only
# the first recording does. The recording may wait a minute for symbols at its end.
record_measured() {
	local output=$tmp/$1.folded workers_ms

	cpu_ms=999999 memory_kib=999999999
	if ! python3 "$root/tests/end_to_end/jit_programs/measured.py" "$tmp/$1.usage" \
		timeout 180 "$pilotlight" record -a -F 499 -d $RECORD_SECONDS -o "$output" 2>"$output.log"; then
		note "$(cat "$output.log")"
		return 1
	fi
	read -r cpu_ms memory_kib <"$tmp/$1.usage"
	workers_ms=$(sed -n 's/^symbols .* extracted in \([0-9]*\) ms.*/\1/p' "$output.log")
	cpu_ms=$((cpu_ms - ${workers_ms:-0}))
	note "$1: $cpu_ms ms of CPU, plus ${workers_ms:-0} for symbols, $memory_kib KiB"
}

cpu_is_bounded() {
	note "$((cpu_ms - honest_cpu_ms)) ms more than without them"
	[ $((cpu_ms - honest_cpu_ms)) -le $((CPU_MS + CPU_TIMES * honest_cpu_ms)) ]
}

memory_is_bounded() {
	note "$((memory_kib - honest_memory_kib)) KiB more than without them"
	[ $((memory_kib - honest_memory_kib)) -le $MEMORY_KIB ]
}

list_processes() {
	timeout 150 "$pilotlight" jit list --json >"$tmp/list"
}

# listed COMM PATTERN: `jit list` has the process, and its line matches.
listed() {
	local line

	line=$(grep -F "\"comm\":\"$1\"" "$tmp/list")
	note "$1: $line"
	grep -qE "$2" <<<"$line"
}

# The processes are of another user, who must not use up all slots.
start_idle_processes() {
	mkdir -m 777 "$tmp/idle" && cp "$writer" "$tmp/writer" || return
	(cd "$tmp/idle" && exec setpriv --reuid $NOBODY --regid $NOBODY --clear-groups \
		"$tmp/writer" hostile-many --seconds 600) &
	started+=($!)
	wait_for 60 idle_processes_are_there
}

idle_processes_are_there() {
	[ "$(find "$tmp/idle" -name '*.dump' -size +0 | wc -l)" -ge $IDLE_PROCESSES ]
}

check_idle_processes() {
	if ! has setpriv; then
		skip "beside many idle dumps: the dumps exist" "no setpriv"
		skip "beside many idle dumps: record succeeds" "no setpriv"
		skip "beside many idle dumps: a newcomer is named" "no setpriv"
		return
	fi
	check "beside many idle dumps: the dumps exist" start_idle_processes
	check "beside many idle dumps: record succeeds" record "$tmp/idle.folded" -a -F 499 -- \
		bash -c 'run_trials "$@"' trials "reuse --comm jit_newcomer --seconds 2"
	check "beside many idle dumps: a newcomer is named" is_named "$tmp/idle.folded" jit_newcomer
	stop_started
}

need_writer
need_commands python3
plan 16

start_trial reuse --comm jit_honest
check "without hostile writers: record succeeds" record_measured honest
check "without hostile writers: the honest one is named" is_named "$tmp/honest.folded" jit_honest
honest_cpu_ms=${cpu_ms:-0} honest_memory_kib=${memory_kib:-0}

start_hostile
check "beside hostile writers: record succeeds" record_measured hostile
check "beside hostile writers: the accounts close" accounts_close "$tmp/hostile.folded.log"
check "beside hostile writers: the honest one is named" is_named "$tmp/hostile.folded" jit_honest
check "beside hostile writers: CPU time is bounded" cpu_is_bounded
check "beside hostile writers: memory is bounded" memory_is_bounded

check "jit list succeeds" list_processes
check "jit list: the honest process" listed jit_honest '"kind":"jitdump".*"records":[1-9]'
# Accepts also that the reader reached its time limit.
many='"records":[0-9]{6}|"records":[0-9]{5}.*"unread_bytes":[1-9]'
check "jit list: a million records" listed hostile_same "$many"
check "jit list: a million addresses" listed hostile_tiny "$many"
check "jit list: long names" listed hostile_names '"records":[0-9]{3}'
check "jit list: impossible sizes" listed hostile_huge '"fault":"'
stop_started
check_idle_processes
finish
