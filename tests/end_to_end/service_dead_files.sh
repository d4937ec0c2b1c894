#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program runs from a file system that no longer answers. A process that waits for it can be killed in one
# case and not in the other. The service still samples, answers, closes its accounts and ends on SIGTERM, without
# a restart of any process.
# Runs beside others: it judges what does not block, however long it takes.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl
printf '[Sampling]\nFrequencyHz = 499\nMaxCostPercent = 100\n[History]\nWindow = 2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
# Half of the unit's watchdog time, so that a blocked process is noticed.
export WATCHDOG_USEC=30000000

# start_dead_program WAY: starts the program; then its file system no longer answers.
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

is_reported() {
	grep -q 'a file system does not answer' "$tmp/service.log"
}

no_process_restarted() {
	[ "$(role_pids engine)" = "$engine" ] && ! grep -E 'starts at once|no progress|the next one' "$tmp/service.log"
}

one_way() {
	start_dead_program "$1" || { note "$(cat "$tmp/files.log")"; return 1; }
	check "$1: the service starts" start_service
	engine=$(role_pids engine)
	check "$1: the file does not open, and status reports it" wait_for 60 is_reported
	check "$1: the program is sampled" wait_for 60 sampled_program 300
	check "$1: the program is sampled further" wait_for 180 sampled_program 1000
	# The broker may block for a moment, until its child has executed a program.
	check "$1: the broker is not blocked" wait_for 10 grep -qE '^State:.[SR]' "/proc/$service_pid/status"
	check "$1: no process was restarted" no_process_restarted
	check "$1: the accounts close" accounts_of_metrics
	check "$1: the service ends on SIGTERM" stop_service
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
