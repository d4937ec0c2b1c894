#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Time off the CPU by surveys, which are on without a configuration: of threads that sleep for ever, again and again, or
# not at all. The surveys are many, so that chance decides nothing: the standard deviations are below 3 %.
# Runs beside others: a thread waits for a CPU when it does not run or sleep, and what it waits for is not judged.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service

# Other tests run threads of such names at the same time.
for name in sv-dozer sv-napper sv-spinner; do
	cp "$BASH" "$tmp/$name"
done
mkfifo "$tmp/never"
plan 14

configure() {
	printf '[Sampling]\nMaxCostPercent=100\n%s\n[History]\nWindow=2s\n' "$1" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

start "$tmp/sv-dozer" -c "read <>'$tmp/never'"
start "$tmp/sv-napper" -c "exec 3<>'$tmp/never'; while :; do read -t 0.005 <&3; done"
start nice -n 19 "$tmp/sv-spinner" -c 'while :; do :; done'
configure 'SurveyPeriod=20ms'
check "the service starts" start_service
if ! "$pilotlight" doctor | grep -q '^  ok *surveys'; then
	for name in {2..14}; do
		skip "$name" "no surveys here"
	done
	finish
fi

# report EVENT COMM: of all windows. A survey that comes late stands for the time until then, which may be that of
# several windows.
report() {
	"$pilotlight" report -e "$1" --last 10min --comm "$2" 2>/dev/null
}

# percent_of COMM EVENT...: the time of the events, in percent of the time of the windows.
percent_of() {
	local event

	for event in "${@:2}"; do
		report "$event" "$1"
	done | awk '/^# time/ { time = $6 } /^# amount/ { amount += $4 == "s" ? $3 : $4 == "ms" ? $3 / 1000 : 0 }
		END { printf "%d\n", time ? 100 * amount / time : 0 }'
}

has_windows() {
	report cpu sv-spinner | awk '/^# time/ { time = $6 } END { exit time < 12 }'
}
check "it samples" wait_for 90 has_windows

# share_is COMM PERCENT EVENT...
share_is() {
	local percent

	percent=$(percent_of "$1" "${@:3}")
	note "$1: $percent % in ${*:3}"
	within "$percent" "$2" 25
}

# folded COMM: the stacks of time off the CPU of the last windows.
folded() {
	"$pilotlight" flamegraph -q -e offcpu --last 4s --comm "$1" -f folded -o -
}

is_one_row() {
	folded sv-dozer >"$tmp/sv-dozer.folded"
	[ "$(sed 's/ [0-9]*$//' "$tmp/sv-dozer.folded")" = 'sv-dozer;[idle threads]' ] || {
		note "$(cat "$tmp/sv-dozer.folded")"
		return 1
	}
}

has_stacks() {
	folded sv-napper | grep -q '^sv-napper;.*schedule.*_\[k\];\[blocked'
}

is_not_blocked() {
	at_least 5 "$(percent_of sv-spinner offcpu)"
}

tells_surveys() {
	report offcpu '*' | grep -q '^# event    offcpu (time off CPU) in samples of 20 ms.*, by surveys' &&
		"$pilotlight" status | grep -q '^  Off CPU  *[0-9].* samples of 20ms, by surveys' &&
		"$pilotlight" events | grep -q '^offcpu *20ms *on, by surveys' &&
		[ "$(metric 'pilotlight_source_surveyed{source="offcpu"}')" = 1 ]
}

check "a thread that sleeps for ever does so all the time" wait_for 60 share_is sv-dozer 100 offcpu
check "it is a row without a stack" wait_for 60 is_one_row
check "the time of one that naps adds up" wait_for 60 share_is sv-napper 100 wall
check "its stacks say where" wait_for 60 has_stacks
check "one that spins is not blocked" wait_for 60 is_not_blocked
check "its time adds up, too" wait_for 60 share_is sv-spinner 100 wall
check "status, events, metrics and queries say how it was sampled" wait_for 60 tells_surveys
check "the accounts close" accounts_of_metrics

# --- for a time, exactly ------------------------------------------------------------------------

is_surveyed() {
	"$pilotlight" events --json | grep '"name":"offcpu"' | grep -q '"is_surveyed":true'
}

is_exact() {
	"$pilotlight" events --json | grep '"name":"offcpu"' | grep -q '"service_period":5000000,"is_surveyed":false'
}

turns_exact() {
	"$pilotlight" events enable offcpu --for 1h --period 5ms >/dev/null && wait_for 180 is_exact
}

turns_back() {
	"$pilotlight" events disable offcpu >/dev/null && wait_for 180 is_surveyed
}

is_off() {
	"$pilotlight" events --json | grep '"name":"offcpu"' | grep -q '"is_on":false'
}

check "each wait is counted for a time" turns_exact
check "then surveys go on" turns_back
configure 'OffCpu=no'
kill -HUP "$service_pid"
check "a reload switches them off" wait_for 60 is_off
check "the service ends well" stop_service
finish
