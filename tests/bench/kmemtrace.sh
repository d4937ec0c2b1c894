#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures what a trace of kernel memory costs, beside perf's. As root:
#
#	make && tests/bench/kmemtrace.sh [cost] [check]
#
# cost   CPU time of a program that opens and closes CALLS (300000) event descriptors, each an allocation and a free:
#        alone, under `pilotlight kmem trace` into files, and under `perf kmem --slab record`. ROUNDS (5) rounds by
#        turns; medians. Also the CPU time of the tracers, and BPF's own time by the kernel's statistics. All per
#        event of the program; other processes' events add to the tracers' time.
# check  a strict reader in Python checks a trace of EVENTS (10000000) events or more from all CPUs, byte by byte.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
calls=${CALLS:-300000}
rounds=${ROUNDS:-5}
events=${EVENTS:-10000000}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/kmemtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/load.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct rusage usage;

	for (long i = atol(argv[1]); i > 0; i--)
		close(eventfd(0, 0));
	getrusage(RUSAGE_SELF, &usage);
	printf("%.6f\n", usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return 0;
}
END
gcc -O2 -o "$tmp/load" "$tmp/load.c" || exit

median() {
	sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# Prints the CPU time of a process in seconds, while it runs.
cpu_of() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"
}

# Prints the run time of the programs so far, in ns, and their runs.
bpf_time() {
	bpftool -j prog show | python3 -c '
import json, sys
programs = [p for p in json.load(sys.stdin) if p.get("name", "").startswith("trace_")]
print(sum(p.get("run_time_ns", 0) for p in programs), sum(p.get("run_cnt", 0) for p in programs))'
}

round() {
	local pid before after

	"$tmp/load" "$calls" >>"$tmp/alone"
	rm -rf "$tmp/trace"
	"$pilotlight" kmem trace --files --root "$tmp/trace" 2>"$tmp/log" &
	pid=$!
	until grep -q '^tracing' "$tmp/log"; do sleep 0.1; done
	before=$(cpu_of $pid)
	"$tmp/load" "$calls" >>"$tmp/traced"
	after=$(cpu_of $pid)
	bpf_time >>"$tmp/bpf"
	kill -INT $pid
	wait $pid
	echo "$before $after" | awk -v events="$(awk '/events/ { print $1 }' "$tmp/log")" '{ print ($2 - $1) / events * 1e9 }' >>"$tmp/tracer"
	perf kmem --slab record -o "$tmp/perf.data" "$tmp/load" "$calls" 2>/dev/null | grep -E '^[0-9.]+$' >>"$tmp/perf"
}

cost() {
	local statistics

	statistics=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -q kernel.bpf_stats_enabled=1
	for ((i = 0; i < rounds; i++)); do round; done
	sysctl -q kernel.bpf_stats_enabled="$statistics"
	for how in alone traced perf; do
		echo "$how: $(median <"$tmp/$how" | awk -v calls="$calls" '{ printf "%.0f ns a call", $1 / calls * 1e9 }')"
	done
	echo "BPF: $(awk '{ print $1 / $2 }' "$tmp/bpf" | median) ns an event"
	echo "the tracer: $(median <"$tmp/tracer") ns an event"
}

check() {
	rm -rf "$tmp/trace"
	"$pilotlight" kmem trace --files --buffer 64M --root "$tmp/trace" 2>"$tmp/log" &
	pid=$!
	until grep -q '^tracing' "$tmp/log"; do sleep 0.1; done
	while [ $(($(cat "$tmp"/trace/cpu*.out | wc -c) / 40)) -lt "$events" ]; do
		for ((cpu = 0; cpu < $(nproc); cpu++)); do
			taskset -c $cpu "$tmp/load" 200000 >/dev/null &
			loads[cpu]=$!
		done
		wait "${loads[@]}"
	done
	kill -INT $pid
	wait $pid
	cat "$tmp/log"
	python3 -B "$root/tests/harness/kmemtrace_check.py" "$tmp/trace"
}

[ $# -gt 0 ] || set -- cost check
for part; do
	case $part in
	cost | check) $part ;;
	*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,12p >&2; exit 2 ;;
	esac
done
