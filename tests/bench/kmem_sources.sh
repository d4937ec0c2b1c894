#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures samples of kernel memory beside perf kmem. As root, with perf and bpftool:
#
#	make && tests/bench/kmem_sources.sh [agree] [error] [cost]
#
# agree  perf, with the events of perf kmem, and `pilotlight record -e kmem:alloc` watch the same load, which opens and
#        closes event descriptors (CALLS, 200000) or walks a tree (TREE, /usr/share). Prints the bytes of the greatest
#        call sites by both: with a period of 1 byte, and in samples of 64 KiB.
# error  The error of sums by samples of the default period, RUNS (20) times: of CALLS event descriptors, and of ten times
#        as many. What they allocate is known from perf, which counts a hundredth of them. Prints the mean error with its
#        standard error, so that a bias shows, the standard deviation, and the one that chance makes if no sample gets
#        rarer: 1 / sqrt(samples). With -F 9999, where none does, and with the default frequency.
# cost   CPU time of the loads alone, under `perf kmem --slab record`, and under `pilotlight record` with each event
#        and with all three. ROUNDS (5) rounds by turns; medians. Also BPF's time an event, by the kernel's statistics.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
calls=${CALLS:-200000}
tree=${TREE:-/usr/share}
rounds=${ROUNDS:-5}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/kmem-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/load.c" <<'END'
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
static int visit(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return 0;
}
int main(int argc, char **argv)
{
	struct rusage usage;

	if (strcmp(argv[1], "find") == 0)
		nftw(argv[2], visit, 64, FTW_PHYS);
	else
		for (long i = atol(argv[2]); i > 0; i--)
			close(eventfd(0, 0));
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "load %.6f\n", usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return 0;
}
END
gcc -D_GNU_SOURCE -O2 -w -o "$tmp/load" "$tmp/load.c" || exit

loads=(calls find)
run_load() {
	case $1 in
	calls) "${@:2}" "$tmp/load" calls "$calls" ;;
	find) "${@:2}" "$tmp/load" find "$tree" ;;
	esac
}

median() {
	sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# --- agree -------------------------------------------------------------------------------------

# by_perf: bytes and call site of the load's allocations, the greatest first.
by_perf() {
	perf script -i "$tmp/perf.data" --comm load -F event,trace 2>/dev/null | awk '
		/kmem:(kmalloc|kmem_cache_alloc):/ {
			site = bytes = ""
			for (i = 1; i <= NF; i++) {
				if ($i ~ /^call_site=/) { site = substr($i, 11); sub(/\+.*/, "", site) }
				if ($i ~ /^bytes_alloc=/) bytes = substr($i, 13)
			}
			sum[site] += bytes
		}
		END { for (site in sum) print sum[site], site }' | sort -rn
}

by_us() {
	awk -F'\t' '!/^#/ && $2 !~ /pages order|lost:/ { sum[$3] += $1 } END { for (site in sum) print sum[site], site }' "$1" | sort -rn
}

agree() {
	for load in "${loads[@]}"; do
		for period in 1 65536; do
			run_load "$load" perf record -q -c 1 -m 64M -e kmem:kmalloc -e kmem:kmem_cache_alloc \
				-o "$tmp/perf.data" -- "$pilotlight" record -q -f sites -e kmem:alloc/period=$period/ -o "$tmp/ours.sites" -- >/dev/null 2>&1
			by_perf >"$tmp/theirs"
			by_us "$tmp/ours.sites" >"$tmp/ours"
			echo "$load, a period of $period bytes: bytes by perf, by pilotlight"
			head -n 8 "$tmp/theirs" | while read -r bytes site; do
				awk -v bytes="$bytes" -v site="$site" '$2 == site { ours = $1 }
					END { printf "  %-32s %12d %12d %+.2f %%\n", site, bytes, ours, 100 * (ours - bytes) / bytes }' "$tmp/ours"
			done
			awk 'NR == FNR { theirs += $1; next } { ours += $1 }
				END { printf "  %-32s %12d %12d %+.2f %%\n", "all", theirs, ours, 100 * (ours - theirs) / theirs }' "$tmp/theirs" "$tmp/ours"
		done
	done
}

# --- error -------------------------------------------------------------------------------------

# bytes_of CALLS: what so many calls of the load allocate, by perf.
bytes_of() {
	perf record -q -c 1 -m 16M -e kmem:kmalloc -e kmem:kmem_cache_alloc -o "$tmp/perf.data" -- \
		"$tmp/load" calls $(($1 / 100)) >/dev/null 2>&1
	# The program's start is not of the calls.
	perf record -q -c 1 -m 16M -e kmem:kmalloc -e kmem:kmem_cache_alloc -o "$tmp/start.data" -- \
		"$tmp/load" calls 0 >/dev/null 2>&1
	cp "$tmp/perf.data" "$tmp/calls.data"
	mv "$tmp/start.data" "$tmp/perf.data"
	local start calls

	start=$(by_perf | awk '{ sum += $1 } END { print sum }')
	mv "$tmp/calls.data" "$tmp/perf.data"
	calls=$(by_perf | awk '{ sum += $1 } END { print sum }')
	echo $((calls * 100 - start * 99))
}

error() {
	local runs=${RUNS:-20} count frequency wanted i

	for count in "$calls" $((calls * 10)); do
		wanted=$(bytes_of "$count")
		for frequency in 9999 99; do
			for ((i = 0; i < runs; i++)); do
				"$pilotlight" record -q -F $frequency -f sites -e kmem:alloc -o "$tmp/ours.sites" -- \
					"$tmp/load" calls "$count" 2>/dev/null
				by_us "$tmp/ours.sites" | awk '{ sum += $1 } END { print sum }'
			done | awk -v wanted="$wanted" -v what="$count calls, -F $frequency" '
				{ e = 100 * ($1 - wanted) / wanted; sum += e; squares += e * e; if (e * e > worst * worst) worst = e }
				END {
					mean = sum / NR; deviation = sqrt((squares - NR * mean * mean) / (NR - 1))
					printf "%-24s %6.1f MB: mean %+.2f %% (+- %.2f), deviation %.2f %% (chance: %.2f), worst of %d: %+.1f %%\n",
						what, wanted / 1e6, mean, deviation / sqrt(NR), deviation, 100 / sqrt(wanted / 65536), NR, worst
				}'
		done
	done
}

# --- cost --------------------------------------------------------------------------------------

# bpf_time: the time and the runs of the programs of kernel memory.
bpf_time() {
	bpftool -j prog show | python3 -c '
import json, sys
programs = [p for p in json.load(sys.stdin) if p.get("name", "").startswith("kmem_")]
print(sum(p.get("run_time_ns", 0) for p in programs), sum(p.get("run_cnt", 0) for p in programs))'
}

# sampled LOAD NAME EVENTS: under a recording of the whole machine.
sampled() {
	local pid

	"$pilotlight" record -q -f sites -e "$3" -o "$tmp/cost.sites" 2>"$tmp/log" &
	pid=$!
	until [ "$(bpf_time | cut -d' ' -f2)" -gt 0 ]; do sleep 0.2; done
	run_load "$1" 2>&1 | awk '/^load/ { print $2 }' >>"$tmp/$1.$2"
	bpf_time >>"$tmp/$1.$2.bpf"
	kill -INT $pid
	wait $pid
}

round() {
	local load=$1

	run_load "$load" 2>&1 | awk '/^load/ { print $2 }' >>"$tmp/$load.alone"
	run_load "$load" perf kmem --slab record -o "$tmp/perf.data" 2>&1 | awk '/^load/ { print $2 }' >>"$tmp/$load.perf"
	sampled "$load" alloc kmem:alloc
	sampled "$load" live kmem:live
	sampled "$load" waste kmem:waste
	sampled "$load" all kmem:alloc,kmem:live,kmem:waste
}

cost() {
	for load in "${loads[@]}"; do
		run_load "$load" 2>/dev/null >&2 # fills the caches
		for ((i = 0; i < rounds; i++)); do round "$load"; done
		echo "$load: CPU time in s, and BPF's ns an event"
		for how in alone perf alloc live waste all; do
			printf '  %-6s %8.3f' $how "$(median <"$tmp/$load.$how")"
			[ ! -f "$tmp/$load.$how.bpf" ] ||
				printf ' %8.0f' "$(awk '{ print $1 / $2 }' "$tmp/$load.$how.bpf" | median)"
			echo
		done
	done
}

[ $# -gt 0 ] || set -- agree error cost
for part; do
	case $part in
	agree | error | cost) $part ;;
	*) sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,16p >&2; exit 2 ;;
	esac
done
