#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an allocation costs while heaps are sampled: CPU time of a malloc() of 100 bytes and its free(), alone and with
# each event, and the part of it that the BPF programs take by the kernel's statistics. Run it on a quiet machine.
#
#	tests/bench/heap.sh [ALLOCATIONS]
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
workload=${WORKLOADS:-$root/build/release/workloads}/heap
count=${1:-300000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# run NAME EVENTS: prints the median of three runs.
run() {
	local i ns log=$tmp/log

	for i in 1 2 3; do
		if [ -z "$2" ]; then
			"$workload" busy $((count * 10)) >"$tmp/out"
		else
			"$pilotlight" record -f folded -o "$tmp/profile" -e "$2" -- "$workload" busy "$count" \
				>"$tmp/out" 2>"$log" || { cat "$log"; exit 1; }
		fi
		grep -E '^[0-9]+$' "$tmp/out"
	done | sort -n >"$tmp/runs"
	ns=$(sed -n 2p "$tmp/runs")
	printf '%-12s %6d ns each (%s)' "$1" "$ns" "$(paste -sd' ' "$tmp/runs")"
	[ -z "$2" ] || printf ', %s' "$(sed -n 's/^cost  *\(BPF[^;]*\);.*/\1/p' "$log")"
	echo
}

echo "malloc(100) and free(), $count times; CPU time of the program"
run alone ""
run cpu cpu
run heap:alloc heap:alloc
run heap:live heap:live
run both heap:alloc,heap:live
