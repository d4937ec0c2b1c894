#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of a whole recording at 99 Hz, compared with perf and bpftrace. Run it as root on an otherwise idle
# machine:
#
#	make && make workloads && tests/bench/record_cost.sh [SECONDS [ROUNDS]]
#
# All CPUs are busy. The tools take turns, SECONDS (30) each, ROUNDS (3) times; the table has
# medians.
#   CPU     user and system time of the tool and its children, from start to end
#   BPF     time in BPF programs, which is not part of the tool's own time. perf has none, and the kernel does not
#           account its work in the interrupt
#   share   CPU and BPF together, of the machine
#   memory  the peak resident set, and BPF maps if the tool has any
# At its end pilotlight has drawn a flame graph, perf has written raw samples and bpftrace a list.
#
# This is a bench, not a test: no figure makes it fail.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
workloads=${WORKLOADS:-$root/build/release/workloads}
seconds=${1:-30}
rounds=${2:-3}
cpus=$(nproc)
tmp=$(mktemp -d)
load=()
statistics=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)

clean_up() {
	[ ${#load[@]} = 0 ] || { kill -KILL "${load[@]}"; wait "${load[@]}"; } 2>/dev/null
	[ -z "$statistics" ] || echo "$statistics" >/proc/sys/kernel/bpf_stats_enabled
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

needs() {
	echo "record_cost: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || needs "needs root"
[ -x "$pilotlight" ] || needs "no $pilotlight: make"
[ -x "$workloads/many_stacks" ] || needs "no $workloads: make workloads"
[ -x /usr/bin/time ] || needs "needs time(1): apt-get install time"

# measure TOOL COMMAND...: appends "user system KiB" to $tmp/TOOL.time.
measure() {
	local tool=$1

	shift
	/usr/bin/time -o "$tmp/time" -f '%U %S %M' "$@" >"$tmp/out" 2>"$tmp/err" ||
		{ cat "$tmp/err" >&2; needs "$tool failed"; }
	tail -n 1 "$tmp/time" >>"$tmp/$tool.time"
}

# append TOOL BPF_MS MAPS_MIB
append_bpf() {
	echo "$2 $3" >>"$tmp/$1.bpf"
}

run_pilotlight() {
	local bpf maps

	measure pilotlight "$pilotlight" record -F 99 -d "$seconds" -o "$tmp/out.svg"
	bpf=$(sed -nE 's/^cost .*, ([0-9.]+) ms in all.*/\1/p' "$tmp/err")
	maps=$(sed -nE 's/^cost .* with ([0-9.]+) MiB of maps.*/\1/p' "$tmp/err")
	append_bpf pilotlight "${bpf:-0}" "${maps:-0}"
}

run_perf() {
	measure perf perf record -q -a -g -F 99 -o "$tmp/perf.data" -- sleep "$seconds"
	append_bpf perf - 0
}

# bpftrace runs bpftool itself just before it ends, to save its BPF statistics.
run_bpftrace() {
	local ms mib

	# Strings in bpftrace have 64 bytes at most.
	printf 'bpftool prog show >%s/programs\nbpftool map show >%s/maps\n' "$tmp" "$tmp" >"$tmp/look"
	measure bpftrace bpftrace --unsafe -e '
		profile:hz:99 { @[kstack, ustack, comm] = count(); }
		interval:s:'"$seconds"' { system("sh '"$tmp"'/look"); exit(); }'
	ms=$(awk '/: perf_event / { for (i = 1; i < NF; i++) if ($i == "run_time_ns") sum += $(i + 1) }
		END { print sum / 1e6 }' "$tmp/programs")
	mib=$(awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^memlock$/) { sub(/B$/, "", $(i + 1)); sum += $(i + 1) } }
		END { print sum / 1048576 }' "$tmp/maps")
	append_bpf bpftrace "$ms" "$mib"
}

column_median() {
	awk -v column="$2" '{ print $column }' "$1" | sort -n |
		awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

print_row() {
	local tool=$1 bpf

	bpf=$(column_median "$tmp/$tool.bpf" 1)
	awk '{ print $1 + $2 }' "$tmp/$tool.time" >"$tmp/cpu"
	awk -v tool="$tool" -v cpu="$(column_median "$tmp/cpu" 1)" -v bpf="$bpf" \
		-v rss="$(column_median "$tmp/$tool.time" 3)" \
		-v maps="$(column_median "$tmp/$tool.bpf" 2)" \
		-v machine="$((seconds * cpus))" 'BEGIN {
		printf "%-12s %8.2f s %10s %8.3f %% %10.1f MiB", tool, cpu,
			bpf == "-" ? "?" : sprintf("%.1f ms", bpf),
			100 * (cpu + bpf / 1000) / machine, rss / 1024 + maps
		print (maps > 0 ? sprintf("  (%.1f MiB of maps)", maps) : "")
	}'
}

[ -z "$statistics" ] || echo 1 >/proc/sys/kernel/bpf_stats_enabled
for ((i = 0; i < cpus; i++)); do
	"$workloads/many_stacks" 1000000 1024 &
	load+=($!)
done

tools=(pilotlight)
if command -v perf >/dev/null; then tools+=(perf); else echo "perf is not there: left out"; fi
if command -v bpftrace >/dev/null && command -v bpftool >/dev/null; then
	tools+=(bpftrace)
else
	echo "bpftrace or bpftool is not there: left out"
fi
for ((round = 1; round <= rounds; round++)); do
	for tool in "${tools[@]}"; do
		"run_$tool"
	done
done

echo "$(uname -srm), $cpus CPUs busy, 99 Hz for $seconds s, medians of $rounds rounds"
printf '%-12s %10s %10s %10s %14s\n' "" CPU BPF share memory
for tool in "${tools[@]}"; do
	print_row "$tool"
done
