#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events of the service: by `pilotlight events enable` for a time, also beyond an engine, and by Events=, also events of
# perf and tracepoints.
# Runs beside others: it judges whether an event is sampled, of programs that sleep or start, not how much.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl

port=$((20000 + $$ % 20000))
plan 26

configure() {
	printf '[Sampling]\nOffCpu=no\nRunQueue=no\nMaxCostPercent=50\n%s\n[History]\nWindow=1s\n[Api]\nListen=127.0.0.1:%s\n' "$1" "$port" \
		>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# state EVENT: the line of the event, as JSON.
state() {
	"$pilotlight" events --json | grep "\"name\":\"$1\""
}

is_on() {
	[[ $(state "$1") = *'"is_on":true'* ]]
}

is_off() {
	[[ $(state "$1") = *'"is_on":false'* ]]
}

# sleeps FROM [TO]: does the history have blocked time of the dozer then?
sleeps() {
	"$pilotlight" export -e offcpu --from "@$1" ${2:+--to "@$2"} -f folded -o - 2>/dev/null | grep -q '^dozer;'
}

# For ever, and wakes often. It starts programs, too.
cp "$BASH" "$tmp/dozer"
start "$tmp/dozer" -c 'while :; do read -t 0.05 <> <(:); /bin/true; done'

configure ''
check "the service starts" start_service
if ! "$pilotlight" doctor | grep -q '^  ok *scheduler programs'; then
	for name in {2..26}; do
		skip "$name" "no time off CPU here"
	done
	finish
fi
check "nothing beside CPU time is on" is_off offcpu
begun=$(date +%s)
check "an event is turned on" "$pilotlight" events enable offcpu --for 10min --period 5ms
check "and sampled" wait_for 60 sleeps "$begun"
tells_period() {
	[[ $(state offcpu) = *'"service_period":5000000'* ]] && "$pilotlight" events | grep -q '^offcpu *5ms *until 20'
}
check "for its time, with its period" tells_period
check "status tells it, too" bash -c '"$0" status | grep -q "Off CPU"' "$pilotlight"

until_seconds() {
	state offcpu | sed -n 's/.*"until_seconds":\([0-9.]*\).*/\1/p'
}

# The next engine goes on.
reads_until() {
	until=$(until_seconds)
	[ -n "$until" ]
}
check "its end is told" wait_for 60 reads_until
engine=$(role_pids engine)
kill -KILL "$engine"
another_engine() {
	[ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ] && is_on offcpu
}
check "it survives the engine" wait_for 60 another_engine
keeps_its_end() {
	within "$(until_seconds)" "$until" 1
}
check "and keeps its end" wait_for 60 keeps_its_end
check "and is sampled again" wait_for 60 sleeps "$(date +%s)"
# The first order lasts ten minutes, longer than two starts of an engine take on a busy machine. A short one ends it.
ends_at_its_time() {
	"$pilotlight" events enable offcpu --for 3s --period 5ms >/dev/null && wait_for 60 is_off offcpu
}
check "it ends at its time" ends_at_its_time
ended=$(date +%s)
has_later() {
	"$pilotlight" export --from "@$((ended + 2))" -f folded -o "$tmp/cpu" && [ -s "$tmp/cpu" ]
}
not_since() {
	wait_for 60 has_later && ! sleeps "$((ended + 1))" && sleeps "$begun" "$ended"
}
check "the history has it for that time only" not_since
check "the accounts close" accounts_of_metrics

turns_off() {
	"$pilotlight" events enable runqueue --for 1h >/dev/null && wait_for 60 is_on runqueue &&
		"$pilotlight" events disable runqueue >/dev/null && wait_for 60 is_off runqueue
}
check "an event is turned off before its time" turns_off

# refuses WHY ARGUMENTS...
refuses() {
	! "$pilotlight" events "${@:2}" >"$tmp/refused" 2>&1 && grep -q "$1" "$tmp/refused" && return
	note "$(cat "$tmp/refused")"
	return 1
}
check "a short period is refused" refuses "out of range: ask for 1000000" enable offcpu --period 100us
check "by TCP nobody turns it on without a token" bash -c \
	'[ "$(curl -s -o /dev/null -w "%{http_code}" -X POST "http://127.0.0.1:$0/api/v1/events?enable=offcpu")" = 403 ]' "$port"

# --- events of perf -------------------------------------------------------------------------------

# has EVENT PATTERN [FROM]: does the history have such a line of the event?
has_line() {
	"$pilotlight" export -e "$1" --from "@${3:-$begun}" -f folded -o - 2>/dev/null | grep -q "$2"
}

not_listed() {
	refuses "AllowEvents=" enable sched:sched_process_exec
}
check "a tracepoint needs to be listed by name" not_listed
configure 'Events=cs/period=3/ block
AllowEvents=offcpu sched:sched_process_exec cache-misses'
kill -HUP "$service_pid"
is_configured() {
	is_on context-switches && is_on block
}
check "the configuration turns events on by their names" wait_for 60 is_configured
check "an event of perf is sampled, with stacks" wait_for 60 has_line context-switches '^dozer;.*schedule.*_\[k\]'
turns_on_a_tracepoint() {
	"$pilotlight" events enable sched:sched_process_exec --for 10min >"$tmp/turned" && wait_for 60 is_on sched:sched_process_exec &&
		wait_for 60 has_line sched:sched_process_exec '^true;.*execve'
}
check "a tracepoint is turned on for a time" turns_on_a_tracepoint
tells_names() {
	"$pilotlight" status | grep -q '^  Event  *sched:sched_process_exec: [0-9]' &&
		"$pilotlight" events | grep -q '^sched:sched_process_exec *1 *until 20' &&
		"$pilotlight" events | grep -q '^cache-misses .* off ' &&
		at_least "$(metric 'pilotlight_source_samples_total{source="context-switches",outcome="stored"}')" 1 &&
		at_least "$(metric 'pilotlight_source_samples_total{source="sched:sched_process_exec",outcome="stored"}')" 1
}
check "status, events and metrics have their names" tells_names
# Its windows before the kill are no losses, and the next engine goes on.
survives() {
	engine=$(role_pids engine)
	kill -KILL "$engine"
	tells_names_again() {
		[ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ] && tells_names
	}
	wait_for 60 tells_names_again && accounts_of_metrics
}
check "they survive an engine, and the accounts close" survives
# The configuration's second event takes the place of what was turned on.
configure 'Events=cs/period=3/ sched:sched_process_fork block
AllowEvents=offcpu sched:sched_process_exec cache-misses'
kill -HUP "$service_pid"
keeps_the_tracepoint() {
	wait_for 60 is_on sched:sched_process_fork && is_on sched:sched_process_exec
}
check "it stays on while the configuration gets another event" keeps_the_tracepoint
turns_the_tracepoint_off() {
	"$pilotlight" events disable sched:sched_process_exec >/dev/null && wait_for 60 not_shown &&
		refuses "is on by the configuration" disable context-switches
}
not_shown() {
	! "$pilotlight" status | grep -q sched:sched_process_exec && "$pilotlight" status >/dev/null
}
check "it is turned off again; what the configuration has on is not" turns_the_tracepoint_off

configure 'AllowEvents=none'
kill -HUP "$service_pid"
not_allowed() {
	refuses "AllowEvents=" enable offcpu
}
check "what the configuration does not allow is refused" wait_for 60 not_allowed
check "and stays off" is_off offcpu
finish
