#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service to which the kernel refuses perf events, as Debian's and Ubuntu's kernels do, gets them from
# pilotlight-events.socket: systemd-socket-activate listens in its place, and an unprivileged user with CAP_SYS_ADMIN
# opens them. tests/vm/boot_systemd tries the units themselves.
# Runs beside others: it judges whether there are samples, of whatever number.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

OPENER=64124 # a user and group of no name
real=$pilotlightd
export PILOTLIGHT_EVENT_SOCKET=$tmp/events.sock

refuse_events() {
	printf '#!/bin/sh\nexec %s perf-events %s "$@"\n' "$workloads/without" "$real" >"$tmp/refused"
	chmod +x "$tmp/refused"
	pilotlightd=$tmp/refused
}

fails_without_it() {
	local status

	timeout 60 "$pilotlightd" >"$tmp/refusal" 2>&1
	status=$?
	[ $status != 0 ] && [ $status != 124 ] && grep -q 'pilotlight-events.socket' "$tmp/refusal" && return
	note "status $status: $(cat "$tmp/refusal")"
	return 1
}

listen() {
	start systemd-socket-activate --accept --seqpacket --listen="$PILOTLIGHT_EVENT_SOCKET" \
		setpriv --reuid=$OPENER --regid=$OPENER --clear-groups --no-new-privs --inh-caps=-all,+sys_admin \
		--ambient-caps=-all,+sys_admin --bounding-set=-all,+sys_admin "$real" event-service
	wait_for 60 [ -S "$PILOTLIGHT_EVENT_SOCKET" ]
}

# There are samples of a program that runs.
samples_arrive() {
	cp "$workloads/shares" "$tmp/opened-$$" && start nice "$tmp/opened-$$" 600
	shows_it() { "$pilotlight" report --last 5min --comm "opened-$$" -o "$tmp/report.txt" 2>"$tmp/err"; }
	wait_for 120 shows_it && return
	note "$(cat "$tmp/err"; tail -n 5 "$tmp/service.log")"
	return 1
}

# It has its filter and one capability, until it is idle.
opener_is_confined() {
	local pid

	pid=$(pgrep -x -u $OPENER event-service | head -n 1)
	[ -n "$pid" ] && grep -q '^Seccomp:	2' "/proc/$pid/status" &&
		grep -q '^CapPrm:	0000000000200000' "/proc/$pid/status" && return
	note "PID '$pid'" "$(grep -E '^(Seccomp|Cap)' "/proc/$pid/status")"
	return 1
}
opener_ends() { wait_for 60 eval "! pgrep -u $OPENER"; }

need_root
need_programs
need_service
need_commands setpriv systemd-socket-activate pgrep
plan 7
refuse_events
check "without the service's socket it fails, and names it" fails_without_it
check "systemd listens" listen
printf '[Sampling]\nEvents=cs sched:sched_process_exec faults\n[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "it starts" start_service
check "the process that opens events has one capability and a filter" opener_is_confined
check "samples are stored" samples_arrive
# Beside it, others sleep and start programs.
named_events_arrive() {
	has_both() {
		"$pilotlight" export -q -e context-switches --last 1min -f folded -o - 2>/dev/null | grep -q . && /bin/true &&
			"$pilotlight" export -q -e sched:sched_process_exec --last 1min -f folded -o - 2>/dev/null | grep -q '^true;'
	}
	wait_for 60 has_both && return
	note "$("$pilotlight" events; tail -n 5 "$tmp/service.log")"
	return 1
}
check "so are events that the configuration names" named_events_arrive
check "the process ends when it is idle" opener_ends
finish
