#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording leaves a description of the interpreter that it met, beside its unwind table.
# Runs beside others: it only looks for what the symbol worker has made.
. "$(dirname "$0")/lib.sh"

python=$(readlink -f /usr/bin/python3)

is_described() {
	"$pilotlight" symbols show "$python" >"$tmp/shown" 2>&1 &&
		grep "^runtime    $("$python" --version), threads by " "$tmp/shown" >/dev/null
}

need_root
need_programs
[[ -x $python && $(basename "$python") == python3.1[0-5] ]] || skip_all "needs CPython 3.10 to 3.15"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
plan 3

start "$python" -c 'while True: sum(range(1000))'
check "record succeeds" record "$tmp/python.folded" -d 1 -p "${started[-1]}"
check "symbols show names the interpreter's release" is_described
check "it knows where the interpreter's threads are" \
	grep -q '"runtime":{"language":"python","release":"3[^"]*","anchor":"[^"]*"}' \
	<("$pilotlight" symbols show --json "$python")
finish
