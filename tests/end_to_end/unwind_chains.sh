#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code without frame pointers has complete and correct stacks. The programs' call chains follow from their sources
# (tests/workloads/chains, unwind_chains.py); they are compiled in several ways.
. "$(dirname "$0")/lib.sh"
. "$root/tests/workloads/chains/programs.sh"

compile_programs() {
	local program

	compile_places
	for program in frames stacks; do
		compile $program gcc "${flags[@]}" -O2 main.c $program.c
	done
	compile huge gcc "${flags[@]}" -O2 -fno-toplevel-reorder main.c huge.c
	compile assembler gcc "${flags[@]}" -O2 main.c assembler.c by_hand.S
	compile frames-O3 gcc "${flags[@]}" -O3 -falign-functions=1 -fstack-clash-protection \
		main.c frames.c
	compile stacks-frame gcc "${flags[@]}" -O2 -fno-omit-frame-pointer main.c stacks.c
	compile nested-fixed gcc "${flags[@]}" -O2 -fno-pie -no-pie main.c nested.c
	compile nested-static gcc "${flags[@]}" -O2 -static main.c nested.c
	compile nested-loose gcc "${flags[@]}" -O2 -static-pie main.c nested.c
	compile throws g++ -O2 -fomit-frame-pointer -Wl,--build-id=sha1 -Wl,-z,now -x c++ main.c throws.cc
	if has clang; then
		compile frames-clang clang "${flags[@]}" -O2 main.c frames.c
		compile nested-clang clang "${flags[@]}" -O2 main.c nested.c
	fi
	wait
}

need_root
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands gcc python3
[ "$(uname -m)" = x86_64 ] || skip_all "the programs need x86-64"

compile_programs
plan $(($(python3 "$chains" count chains "$programs") + 2))
output=$tmp/chains.folded
check "record succeeds" record_cases chains "$output"
check "the accounts close, and nothing is lost" nothing_lost "$output.log"
note "$(grep '^stacks' "$output.log")"
check_cases chains "$output"
finish
