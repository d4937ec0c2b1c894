#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `pilotlight record` has two processes: the recorder is privileged, and the engine, which parses data from
# outside, has no privilege. Either may end at any time.
# Runs beside others: it judges what each process may do, and what remains when it ends.
. "$(dirname "$0")/lib.sh"

# start_in_group ARGUMENTS...: starts the recorder in its own process group, as a shell on a terminal does.
# Sets engine to the PID of its engine.
start_in_group() {
	set -m
	start_recording "$@"
	set +m
	engine=$(pgrep -o -P "$recorder" -x pilotlight)
}

# threads_have PID FIELD VALUE: all threads have the value in /proc/PID/status.
threads_have() {
	local values

	values=$(sed -n "s/^$2:\t//p" /proc/"$1"/task/*/status | sort -u)
	[ "$values" = "$3" ] && return
	note "$2 of $1: $values"
	return 1
}

roles() {
	local none=0000000000000000

	start_in_group -a -o "$tmp/roles.svg" -- sh -c 'i=0
		while [ $i -lt 200000 ]; do i=$((i + 1)); done
		: >"$1"; exec sleep 600' sh "$tmp/sampled"
	check "the recorder has an engine" [ -n "$engine" ]
	check "the engine has no effective capability" threads_have "$engine" CapEff $none
	check "... no permitted one" threads_have "$engine" CapPrm $none
	check "... no inheritable one" threads_have "$engine" CapInh $none
	check "... no ambient one" threads_have "$engine" CapAmb $none
	check "... and cannot gain any" threads_have "$engine" NoNewPrivs 1
	check "the engine has a seccomp filter" threads_have "$engine" Seccomp 2
	check "the engine runs as the user who started the recording" threads_have "$engine" Uid \
		"$(id -u)"$'\t'"$(id -u)"$'\t'"$(id -u)"$'\t'"$(id -u)"
	check "the recorder has capabilities" \
		eval '! threads_have "$recorder" CapEff '$none' >/dev/null'
	check "... and the BPF programs" eval 'ls -l /proc/$recorder/fd | grep -q bpf-prog'
	check "... which the engine does not have" eval '! ls -l /proc/$engine/fd | grep -q bpf-prog'
	until_there "$tmp/sampled"
	kill -INT -- "-$recorder"
	check "Ctrl-C for both processes ends the recording: status 0" ended_with 0
	check "... with its output" is_svg "$tmp/roles.svg"
	check "... and its accounts" accounts_close "$tmp/err"
	check "... and the engine has ended" eval '! kill -0 "$engine" 2>/dev/null'
}

dead_engines() {
	local command

	mkdir "$tmp/dead"
	start_in_group -o "$tmp/dead/x.svg"
	kill -KILL "$engine"
	check "an engine that is killed: status 1" ended_with 1
	check "... one sentence" [ "$(grep -c . "$tmp/err")" = 1 ]
	check "... which names the signal" grep -q '^pilotlight: .*was killed by signal 9 (Killed)' "$tmp/err"
	check "... and nothing is left behind" is_empty_folder "$tmp/dead"

	start_in_group -o "$tmp/dead/x.svg" -- sh -c ': >"$1"; exec sleep 600' sh "$tmp/ready"
	until_there "$tmp/ready"
	kill -KILL "$engine"
	check "an engine that is killed during a COMMAND: status 1" ended_with 1
	command=$(sed -n "s/.*'sh' is still running as process //p" "$tmp/err")
	started+=("$command")
	check "... the COMMAND continues, and the message names it" kill -0 "$command"
	check "... and nothing is left behind" is_empty_folder "$tmp/dead"
	stop_started
}

dead_front() {
	start_in_group -o "$tmp/dead/x.svg"
	kill -KILL "$recorder"
	check "a recorder that is killed: exit status 137" ended_with 137
	check "... and its engine ends with it" timeout 10 tail --pid="$engine" -f /dev/null
	check "... and nothing is left behind" is_empty_folder "$tmp/dead"
}

# Prints the cost in milliseconds, from the recorder's summary.
cost_ms() {
	sed -n 's/^cost .* CPU \([0-9]*\) ms .*/\1/p' "$1"
}

totals() {
	local worker_ms

	start_busy_cpus
	check "a recording with a new symbol cache succeeds" \
		env PILOTLIGHT_SYMBOL_CACHE="$tmp/cache/new" \
		"$pilotlight" record -d 2 -o "$tmp/t.folded" 2>"$tmp/err"
	check "... its accounts close" accounts_close "$tmp/err"
	check "... and the profile has the stored and the lost samples" \
		[ "$(folded_total "$tmp/t.folded")" = $((stored + lost)) ]
	check "... which has names" at_least "$(folded_share "$tmp/t.folded" shares work_units)" 80
	check "... and the cache exists" [ -d "$tmp/cache/new" ]
	worker_ms=$(sed -n 's/^symbols .* extracted in \([0-9]*\) ms.*/\1/p' "$tmp/err")
	note "$(cost_ms "$tmp/err") ms, of which the symbol workers ${worker_ms:-0}"
	check "... and the workers' time counts as cost" \
		[ "$(cost_ms "$tmp/err")" -gt "${worker_ms:-1000000}" ]
	stop_started

	check "a COMMAND that computes for 3 s of CPU time is recorded" "$pilotlight" record \
		-o "$tmp/t.svg" -- bash -c 'ulimit -S -t 3; trap "exit 0" XCPU; while :; do :; done' \
		2>"$tmp/err"
	note "$(cost_ms "$tmp/err") ms"
	check "... and its time does not count as cost" [ "$(cost_ms "$tmp/err")" -lt 2500 ]
}

# A cache folder that the engine cannot create.
caches() {
	check "a recording works without a symbol cache" env PILOTLIGHT_SYMBOL_CACHE=/proc/nowhere \
		"$pilotlight" record -d 0.2 -o "$tmp/n.svg" 2>"$tmp/err"
	check "... and the message says so" grep -q '/proc/nowhere.*continuing without a symbol cache' "$tmp/err"
}

# Without Landlock root's rights would be all that protects root's files.
without_landlock() {
	local program=$pilotlight

	printf '#!/bin/sh\nexec %s landlock %s "$@"\n' "$workloads/without" "$program" >"$tmp/pilotlight"
	chmod +x "$tmp/pilotlight"
	pilotlight=$tmp/pilotlight
	start_in_group -a -o "$tmp/nobody.svg" -- sh -c 'i=0
		while [ $i -lt 200000 ]; do i=$((i + 1)); done
		: >"$1"; exec sleep 600' sh "$tmp/nobody"
	check "without Landlock root's engine is the user nobody" threads_have "$engine" Uid \
		65534$'\t'65534$'\t'65534$'\t'65534
	until_there "$tmp/nobody"
	kill -INT -- "-$recorder"
	check "... and records all the same" ended_with 0
	check "... with its output" is_svg "$tmp/nobody.svg"
	pilotlight=$program
}

need_root
need_programs
plan 38
cd "$tmp" || exit 1

roles
dead_engines
dead_front
totals
caches
without_landlock
finish
