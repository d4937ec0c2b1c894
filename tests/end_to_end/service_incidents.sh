#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A unit that takes much CPU time, and a cgroup that is throttled, are incidents: noted, sampled at a higher rate, and
# compared with what was before.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
has_cgroup2 || skip_all "cgroup2 is not writable here"

unit=/pilotlight-culprit-$$.service

# configure THRESHOLDS...
configure() {
	printf '%s\n' '[Sampling]' FrequencyHz=99 MaxCostPercent=50 '[History]' Window=2s '[Incidents]' CoolDown=1s \
		PerDay=200 RaisedHz=499 RaiseFor=10min "$@" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# noted CAUSE: prints the number of an incident that names the culprit.
noted() {
	"$pilotlight" incidents | awk -v cause="$1" -v unit="${unit#/}" '$4 == cause && index($0, unit) { print $1; exit }'
}

is_noted() {
	number=$(noted "$1")
	[ -n "$number" ]
}

# Runs the load until its incident is noted: other loads may rise in the same window, and the greatest one is noted. The
# nice value gives it most of a CPU beside any other tests, so that it is what has changed.
provokes() {
	local i

	for i in 1 2 3 4 5 6; do
		in_cgroup "$unit" nice -n -10 "$workloads/shares" 600
		[ -z "$quota_group" ] || echo "${started[-1]}" >"$quota_group/cgroup.procs"
		! wait_for 12 is_noted "$1" || return 0
		stop_started
		sleep 5 # a whole window without it
	done
	note "$("$pilotlight" incidents)"
	return 1
}

rate_is_raised() {
	[ "$(metric pilotlight_sampling_rate_hertz)" -gt 99 ]
}

# A cgroup of version 1 with a quota and the unit's path, so that its counters are found; nothing if there is none.
make_quota_group() {
	local fs=/sys/fs/cgroup

	quota_group=
	[ -e $fs/cpu/cpu.cfs_quota_us ] || [ -e $fs/cpu/tasks ] || return
	mkdir "$fs/cpu$unit" || return
	cgroups+=("$fs/cpu$unit") quota_group=$fs/cpu$unit
	echo 10000 >"$quota_group/cpu.cfs_quota_us"
}

shows_incident() {
	"$pilotlight" incidents "$number" >"$tmp/out" 2>"$tmp/err" && grep -q "^ *$number .*unit-cpu" "$tmp/out" &&
		grep -q 'changes are in percentage points' "$tmp/out"
}

# All rows: how much the load takes of a busy machine is unknown.
compares_the_culprit() {
	"$pilotlight" diff -f txt -n 0 --incident "$number" >"$tmp/out" 2>"$tmp/err" &&
		grep -q "  +[0-9.]* .* work_units .*$workloads/shares" "$tmp/out"
}

is_in_journal() {
	grep -q "incident $number, unit-cpu: ${unit#/}" "$tmp/service.log"
}

refuses_an_unknown_number() {
	! "$pilotlight" incidents 9999 >"$tmp/out" 2>"$tmp/err" && complains 'no such incident'
}

# The load begins before the first window of an engine, which knows by the last one that it was low before.
provokes_during_a_restart() {
	local unit=/pilotlight-restart-$$.service engine

	engine=$(role_pids engine)
	in_cgroup "$unit" nice -n -10 "$workloads/deep" 600
	kill -KILL "$engine"
	wait_for 120 is_noted unit-cpu
}

has_windows() {
	[ "$(metric pilotlight_windows_sealed_total)" -ge 2 ]
}

quota_group='' number=
plan 11
configure UnitCpuPercent=3
check "the service starts" start_service
begun=$SECONDS
wait_for 60 has_windows
check "a load that begins while an engine restarts is noted" provokes_during_a_restart
check "it raises the rate" wait_for 30 rate_is_raised
stop_started
# The next load begins after a time with which its incident can be compared: that until 20 s before.
sleep $((SECONDS < begun + 24 ? begun + 24 - SECONDS : 0))
check "a unit's CPU time is noted" provokes unit-cpu
check "the log has it" is_in_journal
# Until the names of the load are known, and windows after its beginning are written.
check "it is compared with what was before" wait_for 120 shows_incident
check "its function takes more than before" wait_for 60 compares_the_culprit
check "an incident that is not there is refused" refuses_an_unknown_number
stop_started
configure ThrottledPercent=5
kill -HUP "$service_pid"
make_quota_group
if [ -n "$quota_group" ]; then
	check "a throttled cgroup is noted" provokes throttled
else
	skip "a throttled cgroup is noted" "no cgroup of version 1 has a quota here"
fi
stop_started
check "the accounts close" accounts_of_metrics
check "the service ends on SIGTERM" stop_service
finish
