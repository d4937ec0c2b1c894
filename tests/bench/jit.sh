#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of names for generated code, on one core and from the page cache:
#
#	make bench workloads && tests/bench/jit.sh [RECORDS]
#
# Reads files of RECORDS (200000) LOADs, first only their records, then into an index, and looks up addresses at
# times. The files have 500 bytes of code a record, 16 bytes, and each address used 20 times. Then it measures the
# time from the write of a record to its name, and `perf inject --jit` for a recording of a process that maps the
# first file. perf writes a file for each record into a temporary folder.
#
# This is a bench, not a test: no figure makes it fail.
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

# perf accepts a file whose name and header have the PID of the process that maps it.
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
