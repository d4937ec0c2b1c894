#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Generated code that keeps no frame pointers: its stacks end there and say so, whatever the register happens to hold,
# but for Java's, whose frames HotSpot describes. Stacks through trampolines are whole, which return right behind the
# call.
# Runs beside others: it judges the ends of stacks, in CPU time of its own programs.
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

# The chain of calls is known: five trampolines between six calls of descend(). Tables may be late.
trampolines_are_walked() {
	awk '
	BEGIN {
		wanted = "trampoline;_start;__libc_start_main;__libc_start_call_main;main;descend"
		for (i = 0; i < 5; i++)
			wanted = wanted ";[jit: unknown]_[j];descend"
	}
	/^trampoline;.*descend;work_units/ && !/^trampoline;\[truncated: no unwind table\]/ {
		all += $NF
		sub(/__libc_start_main@@GLIBC[^;]*|__libc_start_main_impl/, "__libc_start_main")
		if (index($0, wanted ";work_units") == 1)
			right += $NF
		else if (shown++ < 4)
			print "# " $0
	}
	END {
		printf "# %d of %d stacks are whole\n", right, all
		exit !(all >= 100 && right >= all * 0.95)
	}' "$1"
}

# Prints the name of a Python that writes a perf map, if there is one.
find_python() {
	local python

	for python in python3 python3.13 python3.12; do
		if "$python" -c 'import sysconfig as c; exit(not c.get_config_var("PY_HAVE_PERF_TRAMPOLINE"))' 2>/dev/null; then
			echo "$python"
			return
		fi
	done
}

# Nearly all its samples are in C functions below the trampolines.
python_is_whole() {
	awk '
	/^python/ && /py::turn:/ {
		all += $NF
		if ($0 !~ /^[^;]*;\[/)
			whole += $NF
		else if (shown++ < 4)
			print "# " substr($0, 1, 200)
	}
	END {
		printf "# %d of %d stacks are whole\n", whole, all
		exit !(all >= 100 && whole >= all * 0.95)
	}' "$1"
}

check_python() {
	local name="python -X perf"

	if [ -z "$1" ]; then
		skip "$name: record succeeds" "no Python since 3.12"
		skip "$name: its stacks are whole" "no Python since 3.12"
		return
	fi
	record "$tmp/warm_up.folded" -F 499 -- "$1" "$programs/hot.py" 0.5
	# Its perf map stays in /tmp.
	# shellcheck disable=SC2016
	check "$name: record succeeds" record "$tmp/python.folded" -F 499 -- \
		bash -c 'echo $$ >"$0"; exec "$@"' "$tmp/python.pid" \
		"$("$1" -c 'import sys; print(sys.executable)')" -X perf "$programs/hot.py" $SECONDS_EACH
	rm -f "/tmp/perf-$(cat "$tmp/python.pid").map"
	check "$name: its stacks are whole" python_is_whole "$tmp/python.folded"
}

need_root
need_programs
need_commands gcc
plan 10

java=(java -cp "$tmp" -XX:CompileCommand=quiet "-XX:CompileCommand=dontinline,Hot.*")
if has javac; then
	javac -d "$tmp" "$programs/Hot.java"
	# It makes the table of libjvm.so, with the description of HotSpot's frames.
	record "$tmp/warm_up.folded" -F 499 -- "${java[@]}" Hot $SECONDS_EACH
fi
check_roots "java" WHOLE javac "${java[@]}" Hot $SECONDS_EACH
check_roots "java -XX:+PreserveFramePointer" WHOLE javac \
	"${java[@]}" -XX:+PreserveFramePointer Hot $SECONDS_EACH
check_roots "luajit" CUT luajit luajit "$programs/hot.lua" $SECONDS_EACH
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
gcc -std=gnu17 -O2 -D_GNU_SOURCE -fomit-frame-pointer -o "$tmp/trampoline" "$programs/trampoline.c"
record "$tmp/warm_up.folded" -F 499 -- "$tmp/trampoline" 0.5
check "trampoline: record succeeds" record "$tmp/trampoline.folded" -F 499 -- "$tmp/trampoline" 1
check "trampoline: the chain is that of the source" trampolines_are_walked "$tmp/trampoline.folded"
check_python "$(find_python)"
finish
