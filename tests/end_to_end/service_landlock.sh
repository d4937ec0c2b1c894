#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service without systemd on a kernel without Landlock. Root is refused, because its engine could open every file of
# root. Another user, whom pilotlightd(8) shows how to choose, is not.
# Runs beside others: it judges what the service refuses.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands setpriv

real=$pilotlightd
capabilities=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog

# without_landlock [COMMAND...]: makes start_service run the service by COMMAND without Landlock.
without_landlock() {
	printf '#!/bin/sh\nexec %s landlock %s %s "$@"\n' "$workloads/without" "$*" "$real" >"$tmp/wrapped"
	chmod +x "$tmp/wrapped"
	pilotlightd=$tmp/wrapped
}

is_refused() {
	local status

	timeout 30 "$pilotlightd" >"$tmp/refusal" 2>&1
	status=$?
	[ $status = 1 ] && return
	note "status $status: $(cat "$tmp/refusal")"
	return 1
}

says_what_to_do() {
	grep -q 'no Landlock.*access to all files.*systemctl start pilotlightd' "$tmp/refusal" && return
	note "$(cat "$tmp/refusal")"
	return 1
}

may_measure() {
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ]
}

plan 6
without_landlock
check "root is refused" is_refused
check "the refusal says what to do" says_what_to_do

without_landlock setpriv --reuid=65534 --regid=65534 --clear-groups "--inh-caps=$capabilities" "--ambient-caps=$capabilities"
rm -rf "${STATE_DIRECTORY:?}" "${CACHE_DIRECTORY:?}" "${RUNTIME_DIRECTORY:?}"
mkdir "$STATE_DIRECTORY" "$CACHE_DIRECTORY" "$RUNTIME_DIRECTORY"
chown 65534:65534 "$STATE_DIRECTORY" "$CACHE_DIRECTORY" "$RUNTIME_DIRECTORY"
if may_measure; then
	check "another user is not" start_service
	check "it logs that only the user's rights protect files" grep -q 'no Landlock: only the rights of the user' "$tmp/service.log"
	engine_is_nobody() { [ "$(stat -c %u "/proc/$(role_pids engine)")" = 65534 ] || grep -qP '^Uid:\t65534\t65534' "/proc/$(role_pids engine)/status"; }
	check "its engine is that user" engine_is_nobody
	check "the service ends" stop_service
else
	for name in "another user is not" "its log" "its engine" "its end"; do
		skip "$name" "kernel.perf_event_paranoid is 3 or more"
	done
fi
finish
