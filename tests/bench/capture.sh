#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of a sample in BPF, compared with two plain ways to count stacks. Run it as root:
#
#	make bench && tests/bench/capture.sh [ROUNDS [PATHS]]
#
# One process on each CPU runs C stacks of up to 30 frames over PATHS (64) call paths. Three contenders take turns of
# a second, or a window of the sampler if that is shorter, ROUNDS (20) times: the sampler, a plain build-id stackmap
# and a plain raw-ip stackmap, all with kernel and user stacks and a hash of counts. Figures are medians over the
# rounds of run_time_ns / run_cnt from the kernel (BPF_ENABLE_STATS), without samples of idle CPUs. A ratio is the
# median of the rounds' ratios, so other work on the machine affects both sides. At 99 Hz caches are cold, which is
# the normal case; 999 Hz shows warm caches.
#
# This is a bench, not a test: no figure makes it fail.
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
