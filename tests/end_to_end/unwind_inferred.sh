#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code without call frame information has complete and correct stacks, by rules inferred from its instructions.
. "$(dirname "$0")/lib.sh"
. "$root/tests/workloads/chains/programs.sh"

bare=(-fno-asynchronous-unwind-tables -fno-unwind-tables)

compile_programs() {
	compile_places
	compile frames-bare gcc "${flags[@]}" "${bare[@]}" -O2 main.c frames.c
	compile frames-pointed gcc "${flags[@]}" "${bare[@]}" -O2 -fno-omit-frame-pointer main.c frames.c
	compile joined gcc "${flags[@]}" joined.S
	compile nested-bare gcc "${flags[@]}" "${bare[@]}" -Os main.c nested.c
	if has musl-gcc; then
		compile frames-musl musl-gcc "${flags[@]}" "${bare[@]}" -O2 main.c frames.c
		compile frames-static musl-gcc "${flags[@]}" "${bare[@]}" -static -O2 main.c frames.c
		compile nested-musl musl-gcc "${flags[@]}" "${bare[@]}" -O2 main.c nested.c
	fi
	wait
}

# joined() has a rule behind its call, and none before it. It is no coroutine's first function.
joined_is_no_root() {
	record "$tmp/joined.folded" -F 499 -- "$programs/joined" || return
	note "$(cut -d ';' -f 1-7 "$tmp/joined.folded" | head -n 5)"
	awk '/;spin/ { all += $NF } /^joined;joined;spin/ { wrong += $NF } END { exit !(all >= 100 && wrong == 0) }' \
		"$tmp/joined.folded"
}

need_root
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands gcc python3
[ "$(uname -m)" = x86_64 ] || skip_all "rules are inferred on x86-64"

compile_programs
plan $(($(python3 "$chains" count inferred "$programs") + 3))
output=$tmp/inferred.folded
check "record succeeds" record_cases inferred "$output"
check "the accounts close, and nothing is lost" nothing_lost "$output.log"
note "$(grep '^stacks' "$output.log")"
check "a caller without a rule at its call is no root" joined_is_no_root
check_cases inferred "$output"
finish
