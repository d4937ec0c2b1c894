#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What names for generated code cost, on one core and from the page cache:
#
#	make bench workloads && tests/bench/jit.sh [RECORDS]
#
# Files of RECORDS (200000) LOADs are read over their records alone and into an index, and asked for
# addresses at times: with 500 bytes of code each, with 16, and with each address used 20 times. Then
# the time from the write of a record to its name, and `perf inject --jit` over the first of the
# files: a recording of a process that maps it. perf writes a file for each record, into a folder of
# this script.
#
# It is a bench and not a test: nothing fails when a figure is bad.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
bench=${BENCH:-$root/build/release/bench/jit_parse}
writer=${WORKLOADS:-$root/build/release/workloads}/jit_writer
records=${1:-200000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

needs() {
	echo "jit: $*" >&2
	exit 1
}

[ -x "$bench" ] || needs "no $bench: make bench"
uname -srm

# measure NAME OPTIONS...
measure() {
	local name=$1

	shift
	echo "--- $records LOADs, $name"
	"$bench" --make "$tmp/some.dump" --records "$records" "$@" &&
		"$bench" "$tmp/some.dump" --megabytes 2048
	rm -f "$tmp/some.dump"
}

measure "500 bytes of code"
measure "16 bytes of code" --code-bytes 16
measure "500 bytes of code, each address 20 times" --reuse 20
echo "--- a file that is followed"
"$bench" --latency

# perf believes a file that has the number of the process that maps it, in its name and in it.
mark() {
	"$bench" --make "jit-$$.dump" --records "$records" --pid $$ &&
		exec "$writer" steady --output none --marker "jit-$$.dump" --seconds 0.2
}

if ! command -v perf >/dev/null || [ ! -x "$writer" ]; then
	echo "no perf, or no $writer: perf is left out"
	exit 0
fi
echo "--- perf inject --jit, of the first of them"
export bench writer records
export -f mark
cd "$tmp" && perf record -q -k 1 -F 99 --no-buildid-cache -o perf.data -- bash -c mark ||
	needs "perf record failed"
python3 "$root/tests/end_to_end/jit_programs/measured.py" usage perf inject --jit -i perf.data \
	-o injected.data || needs "perf inject failed"
read -r cpu_ms memory_kib <usage
echo "perf inject --jit      $cpu_ms ms CPU, $((memory_kib / 1024)) MiB, $(find . -name 'jitted-*' | wc -l) files"
