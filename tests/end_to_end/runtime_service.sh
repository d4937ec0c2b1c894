#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The history keeps the functions of Python and JavaScript programs with their windows, and the native frames that run
# them: a query chooses. Names outlive the engine that received them, and another engine gets them again.
# Runs beside others: it waits for a frame, and judges no share.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

program=$root/tests/end_to_end/python_programs/shares.py
script=$root/tests/end_to_end/node_programs/shares.js
python=$(readlink -f /usr/bin/python3)

need_root
need_programs
need_service
[[ -x $python && $(basename "$python") == python3.1[1-5] ]] || skip_all "needs CPython 3.11 to 3.15"

span=(--last 10min)

# folded ARGUMENTS...: of the time $span.
folded() {
	"$pilotlight" flamegraph "${span[@]}" -q -f folded -o - "$@" 2>"$tmp/err"
}

# shows PATTERN ARGUMENTS...
shows() {
	local pattern=$1

	shift
	folded "$@" >"$tmp/shown" && grep -q "$pattern" "$tmp/shown"
}

chain="main_\[p\];heavy_\[p\];burn_\[p\]"
is_kept() { shows "$chain"; }
has_node() { [[ $(node --version 2>/dev/null) =~ ^v(18|20|22|24)\. ]]; }
# Interpreted, so that each function has a frame.
start_node() { start node --no-opt --no-sparkplug "$script" 100; }
is_node_kept() { shows ";main_\[v\];heavy_\[v\];burn_\[v\]"; }
hides_the_loop() { ! grep -q "_PyEval_EvalFrameDefault;<module>_\[p\]" "$tmp/shown"; }
has_python_binary() {
	"$pilotlight" export --last 10min -q -f json -o "$tmp/shown.json" && grep -q '"Python"' "$tmp/shown.json" &&
		grep -q 'shares.py' "$tmp/shown.json"
}
hides_python() { folded --runtime-frames native >"$tmp/native" && grep -q _PyEval_EvalFrameDefault "$tmp/native" &&
	! grep -q "_\[p\]" "$tmp/native"; }

# The maps live on, and the sampler believes that the code is known.
kill_engine() {
	local pid

	pid=$(role_pids engine)
	[ -n "$pid" ] && kill -KILL $pid
}

has_node && plan 12 || plan 9
printf '[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "the service starts" start_service
start "$python" "$program" 100
check "the history has functions of Python" wait_for 120 is_kept
check "without the loop that runs them" hides_the_loop
# Symbols of the interpreter may still be read.
check "both: with it" wait_for 120 shows "_PyEval_EvalFrameDefault;<module>_\[p\]" --runtime-frames both
check "native: without them" hides_python
check "with lines" shows "burn (shares.py:17)_\[p\]" --lines
check "JSON tells the kind and the file" has_python_binary
if has_node; then
	start_node
	check "the history has functions of JavaScript" wait_for 120 is_node_kept
	# The first window may have few samples, of other lines.
	check "with the lines that run" wait_for 120 shows "heavy (shares.js:15)_\[v\];burn (shares.js:10)_\[v\]" --lines
fi
check "the engine is killed" kill_engine
# Windows of the killed engine end before.
span=(--from "@$(($(date +%s) + 1))")
check "the next one gets the names, too" wait_for 120 is_kept
! has_node || check "those of JavaScript, too" wait_for 120 is_node_kept
finish
