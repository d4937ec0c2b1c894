#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The whole service: the profile of a known load, by unit and time, through every interface; the privileges of
# its processes; reload and end.
# Runs beside others: it judges answers, and shares within its own programs.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl objcopy

a=/system.slice/pilotlight-a-$$.service b=/system.slice/pilotlight-b-$$.service

# shows COMMAND...: the command succeeds within a minute. Otherwise its last messages are shown.
shows() {
	wait_for 60 "$@" || "$@"
}

# stacks_of COMM: exports its stacks since the start to $tmp/COMM.folded.
stacks_of() {
	"$pilotlight" export --from "@$begun" --comm "$1" -o "$tmp/$1.folded"
}

has_samples() {
	stacks_of shares && [ "$(folded_count "$tmp/shares.folded" shares '')" -ge 1500 ]
}

# service_has_shares COMM: less than 6.5 points off, five standard deviations of 1,500 samples.
service_has_shares() {
	stacks_of "$1" && has_shares "$tmp/$1.folded" "$1" 6.49
}

# engine_has FIELD VALUE: all engine threads have the value in /proc/PID/status.
engine_has() {
	local engine file

	engine=$(role_pids engine)
	[ -n "$engine" ] || return 1
	for file in /proc/"$engine"/task/*/status; do
		[ "$(awk -v field="$1:" '$1 == field { print $2 }' "$file")" = "$2" ] || return 1
	done
}

not_of_b() {
	[ "$(folded_count "$1" shares '')" -gt 0 ] && ! grep -q '^deep;' "$1"
}

# Programs without a build-id in history, or with one that an untrusted owner chose. That build-id is unique,
# because one shared with a trusted file would give the trusted file's names.
declare -A stranger_kinds=([owned]="a program of another user" [hashed]="a program without a build-id"
	[both]="of one of another user without a build-id")
make_strangers() {
	local name file note=$tmp/strangers/note

	mkdir "$tmp/strangers" || return
	objcopy --dump-section .note.gnu.build-id="$note" "$workloads/shares" /dev/null
	printf another | dd of="$note" bs=1 seek=16 conv=notrunc status=none
	for name in owned hashed both; do
		mkdir "$tmp/strangers/$name"
		file=$tmp/strangers/$name/$name
		if [ $name = owned ]; then
			objcopy --update-section .note.gnu.build-id="$note" "$workloads/shares" "$file"
		else
			objcopy --remove-section=.note.gnu.build-id "$workloads/shares" "$file"
		fi
		[ $name = hashed ] || chown -R 65534:65534 "$tmp/strangers/$name"
	done
}

# has_names COMM: every frame of the program has its name.
has_names() {
	stacks_of "$1" || return
	note "$(folded_count "$tmp/$1.folded" "$1" hot_60) of $(folded_count "$tmp/$1.folded" "$1" '') samples in hot_60"
	[ "$(folded_count "$tmp/$1.folded" "$1" hot_60)" -gt 0 ] &&
		! grep -q "^$1;.*\\[$1+0x" "$tmp/$1.folded"
}

draws_names() {
	"$pilotlight" flamegraph --from "@$begun" --exe '*/shares' -o "$tmp/graph.svg" && grep -q hot_60 "$tmp/graph.svg"
}

plan 32
printf '[Memory]\nMaxBytes=40M\nJitBytes=16M\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
finds_little_memory() {
	! "$pilotlightd" --check >"$tmp/check.log" && grep -q 'MaxBytes: a memory budget of 40 MiB is too small' "$tmp/check.log"
}
check "--check rejects too little memory" finds_little_memory
"$pilotlightd" >"$tmp/mistake.log" 2>&1
status=$?
check "the service does not start with it, and its status prevents a restart" [ $status = 2 ]
# An address reserved for documentation (RFC 5737), which no machine has.
printf '[Sampling]\nFrequencyHz=499\nMaxCostPercent=50\n[History]\nWindow=2s\n[Api]\nListen=192.0.2.1:7447\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "--check accepts the configuration" "$pilotlightd" --check
check "the service starts and answers" start_service
check "an address that is unavailable is left out and logged" \
	grep -q "cannot listen on '192.0.2.1:7447'" "$tmp/service.log"
make_strangers
busy=()
for name in owned hashed both; do
	start "$tmp/strangers/$name/$name" 600
	busy+=("${started[-1]}")
done
for program in shares deep; do
	if ! has_cgroup2; then
		start "$workloads/$program" 600
	elif [ $program = shares ]; then
		in_cgroup "$a" "$workloads/$program" 600
	else
		in_cgroup "$b" "$workloads/$program" 600
	fi
	busy+=("${started[-1]}")
done
begun=$(date +%s)
sleep 8
check "a known load is sampled" wait_for 180 has_samples
# Symbol workers run only on idle CPUs, and the programs must still exist when the workers read them.
kill -STOP "${busy[@]}"

for capability in CapEff CapPrm CapInh CapAmb; do
	check "the engine has no $capability" engine_has $capability 0000000000000000
done
check "the engine cannot gain a capability" engine_has NoNewPrivs 1
check "the engine has a seccomp filter" engine_has Seccomp 2

check "folded stacks of the last minute are exported" "$pilotlight" export --last 1min --comm shares -o "$tmp/all.folded"
check "the stacks have the program's shares" shows service_has_shares shares
if has_cgroup2; then
	check "a unit's stacks are exported" "$pilotlight" export --from "@$begun" --unit "pilotlight-a-$$" -o "$tmp/a.folded"
	check "a unit's stacks have no samples of another unit" not_of_b "$tmp/a.folded"
	check "stacks are selected by a container's or unit's cgroup" "$pilotlight" export --from "@$begun" --cgroup "$b" -o "$tmp/b.folded"
	check "stacks by cgroup are from that cgroup" grep -q '^deep;' "$tmp/b.folded"
else
	for name in "a unit's stacks" "are not another's" "by cgroup" "that one's"; do
		skip "$name" "cgroup2 is not writable here"
	done
fi
for name in owned hashed both; do
	check "names from history: ${stranger_kinds[$name]}" shows has_names $name
done
check "a flame graph has its names" shows draws_names
# "shares", in its cgroup.
kill -CONT "${busy[3]}"
check "the difference of two times is drawn" shows "$pilotlight" diff --last 2s --against --from "@$begun" --to "@$((begun + 4))" -o "$tmp/diff.svg"
check "a request of the pprof tool is answered" curl -sf --unix-socket "$PILOTLIGHT_SOCKET" -o "$tmp/pprof.gz" "http://localhost/debug/pprof/profile?seconds=2"
check "the answer is a compressed profile" gzip -t "$tmp/pprof.gz"
check "the accounts close" accounts_of_metrics

printf '[Sampling]\nFrequencyHz=quick\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
kill -HUP "$service_pid"
check "a reload rejects and logs a wrong setting" wait_for 60 grep -q "'quick'" "$tmp/service.log"
printf '[Sampling]\nFrequencyHz=49\nMaxCostPercent=50\n[History]\nWindow=2s\n[Api]\nGroup=root\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
kill -HUP "$service_pid"
has_rate() { [ "$(metric pilotlight_sampling_rate_hertz)" = 49 ]; }
check "a reload applies a correct setting" wait_for 60 has_rate
check "queries still work after the reloads" shows "$pilotlight" export --last 10s -o "$tmp/later.folded"
check "the service ends on SIGTERM" stop_service
check "it leaves no socket" [ ! -e "$PILOTLIGHT_SOCKET" ]
check "the history has a database" test -s "$(ls "$STATE_DIRECTORY"/history/*.db | head -n 1)"
note "$(grep -v '^#' "$tmp/service.log" | tail -n 5)"
finish
