#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Live bytes by call site of a program that knows them: by `pilotlight record -e heap:live`, by heaptrack, and by memleak
# of bcc. As root, with heaptrack and bpfcc-tools; a tool that is missing has no column. memleak needs the headers of the
# kernel; MEMLEAK is the command to run.
#
#	make && tests/bench/heap_peers.sh
#
# At first the program makes 32,600 allocations, and each tool counts each of them: pilotlight with a period of 1 byte, whose
# summary tells what it has lost. Then it makes SCALE (32) times as many, and pilotlight samples them with its default
# period, RUNS (12) times, at FREQUENCY (999): of each call site the mean error with its standard error, so that a bias
# shows, the standard deviation, and the one that chance makes if no sample stands for more than its period:
# 1 / sqrt(samples).
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
memleak=${MEMLEAK:-memleak-bpfcc}
scale=${SCALE:-32}
runs=${RUNS:-12}
frequency=${FREQUENCY:-999}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/heap-peers.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/load.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define SITE __attribute__((noinline)) static void
static void *volatile sink;
static long scale;
static void *keep(void *memory)
{
	sink = memory;
	return memory;
}
SITE keep_small(void)
{
	for (long i = 0; i < 8000 * scale; i++)
		keep(malloc(64));
}
SITE keep_half(void)
{
	for (long i = 0; i < 4000 * scale; i++) {
		void *memory = keep(malloc(1000));
		if (i % 2)
			free(memory);
	}
}
SITE keep_large(void)
{
	for (long i = 0; i < 100 * scale; i++)
		keep(malloc(100000));
}
SITE keep_zeroed(void)
{
	for (long i = 0; i < 400 * scale; i++)
		keep(calloc(20, 1000));
}
SITE grow(void)
{
	for (long i = 0; i < scale; i++) {
		void *memory = NULL;
		for (size_t size = 1 << 17; size <= 1 << 22; size += 1 << 17)
			memory = keep(realloc(memory, size));
	}
}
SITE churn(void)
{
	for (long i = 0; i < 20000 * scale; i++)
		free(keep(malloc(500)));
}
int main(int argc, char **argv)
{
	scale = atol(argv[1]);
	getchar();
	keep_small();
	keep_half();
	keep_large();
	keep_zeroed();
	grow();
	churn();
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
EOF
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -w -o "$tmp/load" "$tmp/load.c" || exit

sites="keep_small keep_half keep_large keep_zeroed grow churn"
# known SITE SCALE
known() {
	case $1 in
	keep_small) echo $((8000 * 64 * $2)) ;;
	keep_half) echo $((2000 * 1000 * $2)) ;;
	keep_large) echo $((100 * 100000 * $2)) ;;
	keep_zeroed) echo $((400 * 20000 * $2)) ;;
	grow) echo $(((1 << 22) * $2)) ;;
	churn) echo 0 ;;
	esac
}

# folded_bytes FILE SITE UNIT: the sum of a folded stack's counts.
folded_bytes() {
	awk -v site=";$2;" -v unit="$3" '
		{ n = $NF; sub(/ [0-9]+$/, ""); if (index(";" $0 ";", site)) sum += n }
		END { printf "%.0f\n", sum * unit }' "$1"
}

# ours FREQUENCY PERIOD SCALE FILE
ours() {
	"$pilotlight" record -F "$1" -f folded -e "heap:live/period=$2/" -o "$4" -- "$tmp/load" "$3" \
		</dev/null >/dev/null 2>"$tmp/summary" || return
	grep '^heap:live .* stored' "$tmp/summary" >>"$tmp/summaries"
}

peer_heaptrack() {
	heaptrack -o "$tmp/heaptrack" "$tmp/load" 1 </dev/null >"$tmp/log" 2>&1
	heaptrack_print --flamegraph-cost-type leaked -F "$tmp/heaptrack.folded" -f "$tmp"/heaptrack.* >/dev/null 2>&1
	# Its frames are "keep_small (load.c)".
	sed -i 's/ ([^;]*)//g' "$tmp/heaptrack.folded"
	for site in $sites; do echo "$site $(folded_bytes "$tmp/heaptrack.folded" "$site" 1)"; done
}

# reports: of memleak, until now.
reports() {
	grep -c 'outstanding allocations' "$tmp/memleak"
}

# It reports each 3 seconds. The first report shows that it watches; two reports after the program is done, one of them
# has all.
peer_memleak() {
	local load tool seen

	mkfifo "$tmp/input"
	exec 7<>"$tmp/input"
	"$tmp/load" 1 <&7 >"$tmp/output" &
	load=$!
	$memleak -T 100 -p $load 3 >"$tmp/memleak" 2>"$tmp/log" &
	tool=$!
	until [ "$(reports)" -gt 0 ]; do sleep 0.2; done
	echo -n x >&7
	until grep -q done "$tmp/output"; do sleep 0.2; done
	seen=$(reports)
	until [ "$(reports)" -gt $((seen + 2)) ]; do sleep 0.2; done
	kill $tool
	echo -n x >&7
	wait $tool $load 2>/dev/null
	exec 7>&-
	awk -v sites="$sites" '
		/outstanding allocations/ { if (++count > '$((seen + 2))') exit; delete sum; next }
		/ bytes in / { bytes = $1; next }
		{ site = $2; sub(/\+.*/, "", site); if (bytes && index(" " sites " ", " " site " ")) { sum[site] += bytes; bytes = 0 } }
		END { n = split(sites, name, " "); for (i = 1; i <= n; i++) print name[i], sum[name[i]] + 0 }' "$tmp/memleak"
}

columns=(ours)
ours 20000 1 1 "$tmp/ours.folded" || exit
for site in $sites; do echo "$site $(folded_bytes "$tmp/ours.folded" "$site" 1)"; done >"$tmp/column.ours"
if command -v heaptrack >/dev/null; then
	columns+=(heaptrack)
	peer_heaptrack >"$tmp/column.heaptrack"
fi
if command -v ${memleak%% *} >/dev/null; then
	columns+=(memleak)
	peer_memleak >"$tmp/column.memleak"
fi
printf '%-12s %10s' "live bytes" known
printf ' %10s' "${columns[@]}"
echo
for site in $sites; do
	printf '%-12s %10d' "$site" "$(known "$site" 1)"
	for column in "${columns[@]}"; do
		printf ' %10d' "$(awk -v site="$site" '$1 == site { print $2 }' "$tmp/column.$column")"
	done
	echo
done
echo "pilotlight: $(cat "$tmp/summaries"); in all $(folded_bytes "$tmp/ours.folded" load 1) B"

echo
printf '%-12s %12s   %s\n' sampled known "error of $runs runs"
for ((run = 0; run < runs; run++)); do ours "$frequency" 16384 "$scale" "$tmp/sampled.$run" || exit; done
for site in $sites; do
	for ((run = 0; run < runs; run++)); do folded_bytes "$tmp/sampled.$run" "$site" 16384; done |
		awk -v site="$site" -v known="$(known "$site" "$scale")" '
			{ e = known ? 100 * ($1 - known) / known : $1; sum += e; squares += e * e; if (e * e > worst * worst) worst = e }
			END {
				mean = sum / NR; deviation = sqrt((squares - NR * mean * mean) / (NR - 1))
				printf "%-12s %12d   mean %+.2f %% (+- %.2f), deviation %.2f %%", site, known, mean, deviation / sqrt(NR), deviation
				if (known) printf " (chance: %.2f)", 100 / sqrt(known / 16384)
				printf ", greatest %+.1f %%\n", worst
			}'
done
tail -n "$runs" "$tmp/summaries" | sort | uniq -c
