#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of symbols, compared with other tools:
#
#	make bench && tests/bench/symbol.sh FILE...
#
# FILE is an ELF file with debug information, compressed or not: a program or a separate debug file. For each file,
# measures making the symbol file (CPU time of the process and its workers, anonymous memory of the extraction, size
# of the result) and llvm-gsymutil. Then looks up ADDRESSES (100000) random addresses of its functions: ours in memory
# (tests/bench/symbol_lookup.c) and by the command, llvm-symbolizer, and, with fewer addresses because they are slow,
# llvm-gsymutil and eu-addr2line. Also gimli's addr2line and blazesym, if cargo can build tests/bench/symbol_peers.
# CPU seconds are user + system. Page caches are warm after the first round.
#
# This is a bench, not a test: no figure makes it fail.
set -eu
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build/release}
count=${ADDRESSES:-100000}
rounds=${ROUNDS:-3}
[ $# -gt 0 ] || { echo "usage: tests/bench/symbol.sh FILE..." >&2; exit 2; }
[ -x "$build/bench/extract" ] || { echo "no $build/bench/extract: make bench" >&2; exit 1; }

tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/symbol-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
gsymutil=$(compgen -c llvm-gsymutil | sort | head -n 1 || true)
symbolizer=$(compgen -c llvm-symbolizer | sort | head -n 1 || true)

# cpu COMMAND...: prints its CPU seconds and peak memory in MB; drops its output.
cpu() {
	local time=$tmp/time

	/usr/bin/env python3 - "$time" "$@" <<'P'
import os, resource, subprocess, sys
stdin = open(os.environ["INPUT"]) if os.environ.get("INPUT") else subprocess.DEVNULL
subprocess.run(sys.argv[2:], stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write("%.2f %d\n" % (u.ru_utime + u.ru_stime, u.ru_maxrss // 1024))
P
	cat "$time"
}

# median COMMAND...: prints the median round of ROUNDS, by CPU time.
median() {
	local i

	for ((i = 0; i < rounds; i++)); do cpu "$@"; done | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

# report NAME ADDRESSES COMMAND...: measures a command that looks up so many addresses.
report() {
	local name=$1 n=$2 seconds memory

	shift 2
	head -n "$n" "$tmp/addresses" >"$tmp/some"
	read -r seconds memory < <(INPUT=$tmp/some median "$@")
	awk -v name="$name" -v n="$n" -v s="$seconds" -v m="$memory" 'BEGIN {
		printf "  %-34s %9d addresses %8.2f s CPU %10.0f/s %6d MB\n", name, n, s, (s > 0 ? n / s : 0), m }'
}

extraction() {
	local file=$1 seconds memory

	for ((i = 0; i < rounds; i++)); do "$build/bench/extract" -o "$tmp/ours.sym" "$file" -; done |
		sed 's/^/  pilotlight: /'
	if [ -n "$gsymutil" ]; then
		read -r seconds memory < <(median "$gsymutil" --num-threads=1 --quiet --convert "$file" \
			--out-file "$tmp/llvm.gsym")
		echo "  $gsymutil, 1 thread: $seconds s CPU, $memory MB with the mapped file," \
			"$(($(stat -c %s "$tmp/llvm.gsym") / 1000000)) MB"
	fi
}

# Uniformly distributed addresses in .text, the same in every run.
make_addresses() {
	readelf -SW "$1" 2>/dev/null | python3 -c 'import random, re, sys
for line in sys.stdin:
    found = re.search(r"\] \.text +\w+ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", line)
    if found:
        start, size = (int(text, 16) for text in found.groups())
        random.seed(1)
        for _ in range(int(sys.argv[1])):
            print(hex(start + random.randrange(size)))' "$count"
}

lookups() {
	local file=$1 id

	make_addresses "$file" >"$tmp/addresses"
	"$build/bench/symbol_lookup" --addresses "$tmp/addresses" "$tmp/ours.sym" | sed 's/^/  /'
	PILOTLIGHT_SYMBOL_CACHE=$tmp/cache "$build/pilotlight" symbols add "$file" >/dev/null 2>&1
	id=$(readelf -nW "$file" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -n 1)
	PILOTLIGHT_SYMBOL_CACHE=$tmp/cache \
		report "pilotlight symbols lookup" "$count" "$build/pilotlight" symbols lookup "$id"
	if [ -n "$symbolizer" ]; then
		report "$symbolizer" "$count" "$symbolizer" --obj="$file"
		report "$symbolizer --no-demangle" "$count" "$symbolizer" --no-demangle --obj="$file"
	fi
	if [ -n "$gsymutil" ]; then
		sed "s|\$| $tmp/llvm.gsym|" "$tmp/addresses" >"$tmp/of_gsym"
		mv "$tmp/of_gsym" "$tmp/addresses"
		report "$gsymutil" 10000 "$gsymutil" --addresses-from-stdin
		make_addresses "$file" >"$tmp/addresses"
	fi
	if command -v eu-addr2line >/dev/null; then
		report "eu-addr2line -i -f" 200 eu-addr2line -i -f -C -e "$file"
	fi
	if [ -n "$peers" ]; then
		for library in addr2line blazesym; do
			"$peers" "$library" "$file" <"$tmp/addresses" | sed 's/^/  /'
		done
	fi
}

# Libraries without a command; Debian's cargo is too old for them.
peers=
if command -v cargo >/dev/null && cargo build --quiet --release \
	--manifest-path "$root/tests/bench/symbol_peers/Cargo.toml" \
	--target-dir "$build/bench/symbol_peers" 2>"$tmp/cargo"; then
	peers=$build/bench/symbol_peers/release/symbol_peers
else
	echo "no cargo that builds tests/bench/symbol_peers: addr2line and blazesym are left out"
fi

for file; do
	echo "$file: $(($(stat -c %s "$file") / 1000000)) MB"
	extraction "$file"
	lookups "$file"
done
