#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of interpreters in threads that do not run: those that wait for longer than a recording, and those that
# the service's surveys find waiting. Nothing runs in these threads that could take a sample.
# Runs beside others: it judges which functions there are, and no share.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service

python=$(readlink -f "${TEST_PYTHON:-/usr/bin/python3}")
[[ -x $python && $(basename "$python") == python3.* ]] || skip_all "needs CPython"
waiting=$root/tests/end_to_end/python_programs/waiting.py
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
functions=(in_sleep in_lock in_socket in_queue in_nested)

# begin_waiting SECONDS: sets `pid`.
begin_waiting() {
	rm -f "$tmp/stacks"
	start "$python" "$waiting" "$1" "$tmp/stacks"
	pid=${started[-1]}
	wait_for 60 [ -s "$tmp/stacks" ]
}

# Of faulthandler: a chain a line, outermost function first, without classes.
chains_of_faulthandler() {
	awk '/^(Thread|Current thread)/ { if (chain) print chain; chain = "" }
		/^  File/ { sub(/.* in /, ""); chain = chain ? $0 ";" chain : $0 }
		END { if (chain) print chain }' "$tmp/stacks" | grep ';wait_again_and_again;' | sort -u
}

# The same of a recording: the functions of Python alone.
chains_of() {
	awk '{
		chain = ""
		count = split($0, frames, ";")
		for (i = 1; i <= count; i++)
			if (sub(/_\[p\]$/, "", frames[i])) {
				sub(/.*\./, "", frames[i])
				chain = chain ? chain ";" frames[i] : frames[i]
			}
		print chain
	}' "$1" | grep ';wait_again_and_again;' | sort -u
}

# On a busy machine a recording may end before the table of unwind rules is loaded: then chains lack. None may differ.
blocked_chains_are_whole() {
	local round

	chains_of_faulthandler >"$tmp/wanted"
	[ "$(wc -l <"$tmp/wanted")" = ${#functions[@]} ] || { note "$(cat "$tmp/stacks")"; return 1; }
	for round in {1..8}; do
		record "$tmp/blocked.folded" -e offcpu -d 2 -p "$pid" || continue
		chains_of "$tmp/blocked.folded" >"$tmp/found"
		! cmp -s "$tmp/wanted" "$tmp/found" || return 0
		note "recording $round: $(diff "$tmp/wanted" "$tmp/found")"
		[ -z "$(comm -13 "$tmp/wanted" "$tmp/found")" ] || return 1
	done
	note "$(cut -c1-400 "$tmp/blocked.folded")"
	return 1
}

folded() {
	"$pilotlight" flamegraph -q -e offcpu --last 10s --comm "$(basename "$python")" -f folded -o -
}

surveys_show_functions() {
	local name

	folded >"$tmp/surveys.folded"
	for name in "${functions[@]}"; do
		grep -q ";wait_again_and_again_\[p\];${name}_\[p\]" "$tmp/surveys.folded" || return
	done
}

# A thread that is about to wait, or to return, has called a part of that, and perhaps one function more that
# Python's library calls there.
surveys_show_no_other() {
	chains_of "$tmp/surveys.folded" >"$tmp/surveyed"
	awk 'NR == FNR { wanted[$0]; while (sub(/;[^;]*$/, "")) wanted[$0]; next }
		{ chain = $0; sub(/;[^;]*$/, "", chain) }
		!($0 in wanted) && !(chain in wanted && chain ~ /;in_queue/) { print; wrong = 1 }
		END { exit wrong }' "$tmp/wanted" "$tmp/surveyed" || { note "$(cat "$tmp/wanted" "$tmp/surveyed")"; return 1; }
}

plan 7
check "threads of Python wait" begin_waiting 1e6
check "a recording has their chains, which faulthandler has" blocked_chains_are_whole
stop_started
printf '[Sampling]\nMaxCostPercent=100\nSurveyPeriod=500ms\n[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "threads of Python wait again and again" begin_waiting 0.1
check "the service starts" start_service
check "its surveys show their functions" wait_for 180 surveys_show_functions
check "and no others" surveys_show_no_other
check "the accounts close" accounts_of_metrics
finish
