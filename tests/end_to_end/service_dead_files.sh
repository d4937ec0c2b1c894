#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program runs from a file system that has stopped to answer, in each of two ways: whoever waits for
# it can be killed, or cannot. The service goes on: it samples, answers, closes its accounts and ends
# when it is told to, in the processes that it began with.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
has curl || skip_all "no curl"
printf '[Sampling]\nMaxCostPercent = 100\n[History]\nWindow = 2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
# Half of the unit's, for who is held up to be told from who is not.
export WATCHDOG_USEC=30000000

# start_dead_program WAY: runs from files that answer no more once it is there.
start_dead_program() {
	local files

	rm -f "$tmp/files.log"
	"$workloads/dead_files" "$tmp/files" "$workloads/shares" "$1" 600 >"$tmp/files.log" 2>&1 &
	files=$!
	started+=("$files")
	wait_beside "$files" grep -q ready "$tmp/files.log" || return
	kill -USR1 "$files"
}

sampled_program() {
	"$pilotlight" export --last 10min --comm program -f folded -o "$tmp/part.folded" 2>"$tmp/part.log" &&
		[ "$(folded_total "$tmp/part.folded")" -ge "$1" ]
}

is_told_of() {
	grep -q 'a file system does not answer' "$tmp/service.log"
}

accounts_of_metrics() {
	curl -s --max-time 10 --unix-socket "$PILOTLIGHT_SOCKET" http://localhost/metrics >"$tmp/metrics"
	awk '/^pilotlight_samples_fired_total/ { fired = $2 }
		/^pilotlight_samples_stored_total/ { sum += $2 }
		/^pilotlight_samples_dropped_total/ { sum += $2 }
		END { print "# " fired " fired, " sum " stored or dropped"; exit !(fired > 0 && fired == sum) }' "$tmp/metrics"
}

nobody_began_anew() {
	[ "$(role_pids engine)" = "$engine" ] && ! grep -E 'begins anew|no progress|the next one' "$tmp/service.log"
}

one_way() {
	start_dead_program "$1" || { note "$(cat "$tmp/files.log")"; return 1; }
	check "$1: the service begins" start_service
	engine=$(role_pids engine)
	check "$1: the file does not open, and that is told" wait_for 60 is_told_of
	check "$1: the program is sampled" wait_for 60 sampled_program 300
	check "$1: ... and goes on to be" wait_for 60 sampled_program 1000
	# But for a moment, as long as what it starts is not yet a program.
	check "$1: the broker waits for nobody" wait_for 10 grep -qE '^State:.[SR]' "/proc/$service_pid/status"
	check "$1: nobody began anew" nobody_began_anew
	check "$1: the accounts close" accounts_of_metrics
	check "$1: it ends when it is told to" stop_service
	cp "$tmp/service.log" "$tmp/service.$1.log"
	: >"$tmp/service.log"
	stop_started
	rm -rf "$STATE_DIRECTORY"/*
}

mkdir "$tmp/files"
"$workloads/dead_files" "$tmp/files" "$workloads/shares" leaves 0 >/dev/null 2>&1
[ $? != 77 ] || skip_all "no file system can be mounted here"
plan 16
one_way leaves
one_way takes
finish
