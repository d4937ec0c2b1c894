#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# While a profiler has to wait for a CPU, programs replace their code: no sample gets the name of code that never ran.
. "$(dirname "$0")/lib.sh"
. "$root/tests/end_to_end/jit_programs/trials.sh"

# Of the functions jit_first_..., only those that ran have samples.
has_only_what_ran() {
	local named wrong

	named=$(grep -E '^jit_first_.*;reuse_[0-9]+_\[j\]' "$1" | folded_total /dev/stdin)
	wrong=$(grep -E '^jit_first_.*;(never_ran|too_late)_[0-9]+_\[j\]' "$1" | folded_total /dev/stdin)
	note "$named samples of code that ran, $wrong of code that never ran"
	[ "$named" -ge $LEAST_SAMPLES ] && [ "$wrong" = 0 ]
}

need_writer
(renice -n -20 -p $BASHPID) >/dev/null 2>&1 || skip_all "priorities cannot be raised here"
plan 3
# With six writers on two CPUs, the engine gets only some milliseconds at a time while they keep writing.
# Samples that wait too long for it may then have no name.
for i in {1..6}; do
	trials+=("reuse --comm jit_first_$i --run 0.2 --lines yes --seconds 3")
done
taskset -pc 0-1 $$ >/dev/null 2>&1
export trials_nice=-20
check_trials "a profiler that has to wait" -- "${trials[@]}"
check "code that never ran has no samples" has_only_what_ran "$tmp/trials.folded"
finish
