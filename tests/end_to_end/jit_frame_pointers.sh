#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Generated code that keeps no frame pointers: its stacks end there and say so, whatever the register happens to hold.
# With frame pointers the same program's stacks are whole.
. "$(dirname "$0")/lib.sh"

SECONDS_EACH=2 # of CPU time
REASON='[truncated: JIT code without frame pointer]'
programs=$root/tests/end_to_end/jit_programs

# Prints the outermost frame of each stack whose last user frame is generated, with its samples.
generated_roots() {
	awk '{
		count = $NF
		sub(/ [0-9]+$/, "")
		for (n = split($0, frames, ";"); n > 1 && frames[n] ~ /_\[k\]$/; n--)
			;
		if (frames[n] ~ /_\[j\]$/)
			printf "%d\t%s\n", count, frames[2]
	}' "$1"
}

# roots_are FILE CUT|WHOLE: 95 % of the stacks that end in generated code. The others are the interpreter's and the
# runtime's own stubs.
roots_are() {
	generated_roots "$1" | awk -F '\t' -v wanted="$2" -v reason="$REASON" '
	{ all += $1; roots[$2] += $1 }
	wanted == "CUT" ? $2 == reason : $2 !~ /^\[/ { right += $1 }
	END {
		for (root in roots)
			printf "# %d samples below %s\n", roots[root], root
		exit !(all >= 100 && right >= all * 0.95)
	}'
}

# check_roots NAME CUT|WHOLE PROGRAM COMMAND...: skipped if PROGRAM is not installed.
check_roots() {
	local name=$1 wanted=$2 program=$3

	shift 3
	if ! has "$program"; then
		skip "$name: record succeeds" "no $program"
		skip "$name: the ends of its stacks" "no $program"
		return
	fi
	check "$name: record succeeds" record "$tmp/$name.folded" -F 499 -- "$@"
	check "$name: the ends of its stacks" roots_are "$tmp/$name.folded" "$wanted"
}

need_root
need_programs
plan 6

java=(java -cp "$tmp" -XX:CompileCommand=quiet "-XX:CompileCommand=dontinline,Hot.*")
if has javac; then javac -d "$tmp" "$programs/Hot.java"; fi
check_roots "java" CUT javac "${java[@]}" Hot $SECONDS_EACH
check_roots "java -XX:+PreserveFramePointer" WHOLE javac \
	"${java[@]}" -XX:+PreserveFramePointer Hot $SECONDS_EACH
check_roots "luajit" CUT luajit luajit "$programs/hot.lua" $SECONDS_EACH
finish
