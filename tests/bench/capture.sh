#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a sample costs in BPF, beside the two plain ways to count stacks. As root:
#
#	make bench && tests/bench/capture.sh [ROUNDS [PATHS]]
#
# One process a CPU runs C stacks of up to 30 frames over PATHS (64) call paths. Three contenders take
# turns, a second each or a window of the sampler if that is shorter, ROUNDS (20) times: the sampler, a
# plain build-id stackmap, a plain raw-ip stackmap, all with kernel and user stacks and a hash of
# counts. The figures are medians over the rounds of run_time_ns / run_cnt as the kernel keeps them
# (BPF_ENABLE_STATS); samples of idle CPUs do not count. A ratio is the median of each round's own, so
# that what else the machine does falls on both sides. At 99 Hz caches are cold, which is the case
# that counts; 999 Hz shows the rest.
#
# It is a bench and not a test: nothing fails when a figure is bad.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
bench=${BENCH:-$root/build/release/bench/capture}
rounds=${1:-20}
paths=${2:-64}

[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 1; }
[ -x "$bench" ] || { echo "no $bench: make bench" >&2; exit 1; }
uname -srm
for rate in 99 999; do
	"$bench" "$rate" "$rounds" "$paths"
done
