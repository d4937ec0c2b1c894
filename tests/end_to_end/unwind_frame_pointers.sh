#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Unwinding by frame pointers in the kernel: build-id stacks, and raw addresses for binaries without a build-id.
# The program keeps frame pointers, so the chain from main() to the leaf is known. Without --unwind=fp the sampler's
# own unwinder must give the same chain.
. "$(dirname "$0")/lib.sh"

DEPTH=20

# compile NAME LINKER_OPTION
compile() {
	gcc -std=gnu17 -O1 -D_GNU_SOURCE -fno-omit-frame-pointer -fno-optimize-sibling-calls \
		"-Wl,$2" -o "$tmp/$1" "$root/tests/workloads/deep.c"
}

# chains_are_true FILE COMM: 99 % of the samples in the work are main, DEPTH times descend, deep_work,
# work_units. A sample in a prologue lacks one caller.
chains_are_true() {
	awk -v comm="$2" -v depth=$DEPTH '
	BEGIN {
		wanted = ";main"
		for (i = 0; i < depth; i++)
			wanted = wanted ";descend"
		wanted = wanted ";deep_work;work_units"
	}
	{
		count = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frames, ";")
		if (frames[1] != comm || frames[n] != "work_units")
			next
		all += count
		if (substr($0, length($0) - length(wanted) + 1) == wanted)
			right += count
		else if (shown++ < 4)
			print "# " count " " substr($0, 1, 200)
	}
	END {
		printf "# %d of %d samples of %s have the true chain\n", right, all, comm
		exit !(all >= 200 && right >= all * 0.99)
	}' "$1"
}

# stacks_are_by WALKER LOG: that unwinder took at least 99 % of the stacks. Kernel threads have no user stack.
stacks_are_by() {
	local pattern='stacks +([0-9]+) walked by unwind tables [^,]*, ([0-9]+) by frame pointers'
	local text tables pointers

	text=$(cat "$2")
	[[ $text =~ $pattern ]] || { note "no stacks in: $text"; return 1; }
	tables=${BASH_REMATCH[1]} pointers=${BASH_REMATCH[2]}
	note "$tables by unwind tables, $pointers by frame pointers"
	case $1 in
	kernel) [ "$tables" = 0 ] && [ "$pointers" -ge 200 ] ;;
	tables) [ "$tables" -ge 200 ] && [ $((pointers * 100)) -le "$tables" ] ;;
	esac
}

# check_walk PROGRAM WALKER OPTION...
check_walk() {
	local name="$1 by $2" program=$1 walker=$2 output=$tmp/$1-$2.folded

	shift 2
	check "$name: record succeeds" record "$output" -F 499 "$@" -- "$tmp/$program" 1 $DEPTH
	check "$name: the accounts close, and nothing is lost" nothing_lost "$output.log"
	check "$name: the chains are those of the source" chains_are_true "$output" "$program"
	check "$name: that unwinder took the stacks" stacks_are_by "$walker" "$output.log"
}

need_root
need_programs
need_commands gcc
plan 17

check "the programs compile" eval \
	'compile with_id --build-id=sha1 && compile without_id --build-id=none'
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
# A first recording, whose output is not used, makes the tables.
record "$tmp/warm_up.folded" -F 499 -- \
	bash -c '"$0/with_id" 0.5 20; "$0/without_id" 0.5 20' "$tmp"
for program in with_id without_id; do
	check_walk $program kernel --unwind=fp
	check_walk $program tables
done
finish
