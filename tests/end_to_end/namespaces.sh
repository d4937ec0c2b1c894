#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes in other pid and mount namespaces keep their comm and symbols, and the recorder itself works inside
# such namespaces.
# Runs beside others: it judges the names of its own program.
. "$(dirname "$0")/lib.sh"

# Runs the workload in new namespaces, on a file system that is mounted only there.
run_contained() {
	unshare --fork --pid --mount --mount-proc bash -c '
		mount -t tmpfs tmpfs /mnt && cp "$1/shares" /mnt/contained && exec /mnt/contained 1.5
	' contained "$workloads"
}

# Runs the recorder in new namespaces, with a workload inside; `outsider` works outside.
record_contained() {
	unshare --fork --pid --mount --mount-proc "$pilotlight" record -F 999 "$@" \
		-o "$tmp/inside.folded" -- "$workloads/shares" 1.5 2>"$tmp/inside.folded.log"
}

outsider_is_counted() {
	local count

	count=$(folded_count "$tmp/inside.folded" outsider '')
	note "$count samples of the process outside"
	[ "$count" -gt 0 ]
}

need_root
need_programs
unshare --fork --pid --mount --mount-proc true 2>/dev/null || skip_all "unshare is refused"
mountpoint -q /mnt && skip_all "/mnt is in use"
plan 8

export -f run_contained
export workloads
check "a container: record succeeds" record "$tmp/out.folded" -F 999 -a -- bash -c run_contained
check "a container: comm and symbols" has_shares "$tmp/out.folded" contained 8
check "a container: the accounts close" accounts_close "$tmp/out.folded.log"

check "inside: record succeeds" record_contained
check "inside: comm and symbols" has_shares "$tmp/inside.folded" shares 8
check "inside: the accounts close" accounts_close "$tmp/inside.folded.log"

cp "$workloads/shares" "$tmp/outsider"
start nice "$tmp/outsider" 600
check "inside, all processes: record succeeds" record_contained -a
check "inside, all processes: processes outside are counted" outsider_is_counted
stop_started
finish
