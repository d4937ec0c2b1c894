#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel without some tracepoints and without a PMU, simulated: what it lacks is said, and all else is sampled.
# Runs beside others: it judges what is said, and whether page faults are sampled, not how many.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands unshare curl
has_mount_namespaces || skip_all "mount namespaces are refused here"

plan 11

# As if locks had no tracepoint, and nothing were at the usual place of the tracing file system.
sed 's/btf_trace_contention_begin/btf_trace_contention_xxxxx/' /sys/kernel/btf/vmlinux >"$tmp/btf"
cat >"$tmp/lesser" <<END
#!/bin/sh
exec unshare --mount sh -c 'mount --bind "$tmp/btf" /sys/kernel/btf/vmlinux &&
	mount -t tmpfs tmpfs /sys/kernel/tracing && exec "\$@"' sh "\$@"
END
chmod +x "$tmp/lesser"
lock_is_missing='the kernel lacks the tracepoint contention_begin'

doctor_says_so() {
	"$tmp/lesser" "$pilotlight" doctor >"$tmp/doctor" || return
	grep -q "^  missing *lock programs .*$lock_is_missing" "$tmp/doctor" &&
		grep -q '^  missing *tracepoints  .*no such tracepoint, or tracefs is not mounted' "$tmp/doctor" &&
		grep -q '^  ok *page faults ' "$tmp/doctor" && return
	note "$(cat "$tmp/doctor")"
	return 1
}
check "doctor says what is missing, and that it suffices" doctor_says_so

events_say_so() {
	"$tmp/lesser" "$pilotlight" events >"$tmp/events" && grep -A1 '^lock ' "$tmp/events" | grep -q "not here: $lock_is_missing" &&
		! grep -A1 '^faults ' "$tmp/events" | grep -q 'not here'
}
check "so does the list of events" events_say_so

refuses() {
	! "$tmp/lesser" "$pilotlight" record -f folded -e "$1" -o "$tmp/none" -d 1 2>"$tmp/refused" && grep -q "$2" "$tmp/refused"
}
check "record refuses what is asked for, and says why" refuses lock 'contention_begin'
check "also of a tracepoint" refuses sched:sched_process_exec 'no such tracepoint, or tracefs is not mounted'

# --- the service ----------------------------------------------------------------------------------

# Its children copy what they write to.
cp "$BASH" "$tmp/faulter"
start "$tmp/faulter" -c 'while :; do (:); sleep 0.05; done'
pilotlightd_here=$pilotlightd
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$tmp/lesser" "$pilotlightd_here" >"$tmp/service"
chmod +x "$tmp/service"
pilotlightd=$tmp/service
cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<END
[Sampling]
Events=lock faults/period=3/ sched:sched_process_exec
AllowEvents=all
MaxCostPercent=50
[History]
Window=1s
END
check "a service starts that wants them all" start_service

logs_it() {
	grep -q "cannot sample lock: $lock_is_missing.*; continuing without it" "$tmp/service.log" &&
		grep -q 'cannot sample sched:sched_process_exec: .*; continuing without it' "$tmp/service.log"
}
check "its log says what it goes on without" logs_it

# state EVENT: the line of the event, as JSON.
state() {
	"$pilotlight" events --json | grep "\"name\":\"$1\""
}
lists_it() {
	[[ $(state lock) = *'"missing":"the kernel lacks'*'"is_on":false'* ]] && [[ $(state faults) = *'"is_on":true'* ]] &&
		"$pilotlight" events | grep -q '^lock .* missing ' &&
		[[ $(state sched:sched_process_exec) = *'"missing":'*'"is_on":false'* ]]
}
check "the list of events does, too" lists_it

status_tells() {
	"$pilotlight" status >"$tmp/status"
	tr -s '\n ' ' ' <"$tmp/status" | grep -q "The event lock is on, but cannot be sampled: $lock_is_missing"
}
check "so does the status" status_tells

begun=$(date +%s)
has_faults() {
	"$pilotlight" export -e faults --from "@$begun" -f folded -o - 2>/dev/null | grep -q '^faulter;'
}
check "what there is, is sampled" wait_for 60 has_faults

# The maps are as before, so the next engine takes them over.
next_goes_on() {
	local engine

	engine=$(role_pids engine)
	kill -KILL "$engine"
	is_next() {
		[ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ] && lists_it
	}
	wait_for 60 is_next || return
	begun=$(date +%s)
	wait_for 60 has_faults
}
check "the next engine goes on" next_goes_on
check "the accounts close" accounts_of_metrics
finish
