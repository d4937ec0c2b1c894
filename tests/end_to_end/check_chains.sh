#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each caller in a profile called its callee: tests/harness/check_chains.py reads the code with objdump. Wrong callers
# that are planted into a profile are found.
# Runs beside others: it judges the callers in stacks of its own programs.
. "$(dirname "$0")/lib.sh"

need_root
need_programs
need_commands gcc objdump python3
[ "$(uname -m)" = x86_64 ] || skip_all "the checker reads x86-64 code"
plan 8

check "a program without frame pointers compiles" gcc -std=gnu17 -O1 -D_GNU_SOURCE \
	-fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/deep" "$root/tests/workloads/deep.c"
programs() {
	"$tmp/deep" 1 "$1"
	python3 -c "import json; [json.loads(json.dumps(list(range(9999)))) for _ in range(25 * $1)]"
	python3 -c "import signal; signal.signal(10, lambda *_: 0)
for _ in range(15000 * $1): signal.raise_signal(10)"
}
export -f programs
export tmp
# So that their tables are there: callers are guessed until then, and some of them are wrong (unwind_inferred.sh).
record "$tmp/first.pb.gz" -F 499 -- bash -c 'programs 1'
check "record succeeds" record "$tmp/chains.pb.gz" -F 499 -- bash -c 'programs 20'
check "the accounts close, and nothing is lost" nothing_lost "$tmp/chains.pb.gz.log"
check "each caller called its callee" \
	python3 -B "$root/tests/harness/check_chains.py" "$tmp/chains.pb.gz"
while IFS=$'\t' read -r verdict name; do
	check "found: $name" [ "$verdict" = ok ]
done < <(python3 "$root/tests/end_to_end/check_chains.py" "$root/tests/harness" "$tmp/chains.pb.gz")
finish
