#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of a Python program, in place of the interpreter's loop: names, callers, lines and shares of a program
# that is known, and processes that live for some milliseconds.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/python_programs/shares.py
awaiting=$root/tests/end_to_end/python_programs/awaiting.py
python=$(readlink -f "${TEST_PYTHON:-/usr/bin/python3}")

need_root
need_programs
[[ -x $python && $(basename "$python") == python3.1[1-5]* ]] || skip_all "needs CPython 3.11 to 3.15"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# Samples in spin(). The interpreter is just linking a frame in 0.1 to 0.5 % of them.
chains=(
	';<module>_\[p\];main_\[p\];(heavy|Shape\.tiny)_\[p\];burn_\[p\];spin_\[p\]'
	';<module>_\[p\];main_\[p\];light_\[p\];.*;light\.<locals>\.<lambda>_\[p\];burn_\[p\];spin_\[p\]'
)

# What the event loop calls is the outermost coroutine of the outermost task.
tasks=';Handle\._run_\[p\];.*main_\[p\];TaskGroup\.__aexit___\[p\];TaskGroup\._aexit_\[p\];\[awaits task\](_\[p\])?'
tasks+=';parent_\[p\];parent\.<locals>\.inner_\[p\];\[awaits task\](_\[p\])?;work_\[p\];spin_\[p\]'

# has_whole_old_chains FILE COMM: to 3.9 each function has a call of the loop, with functions of C between. There are no
# qualified names. The first samples come before the table is loaded.
has_whole_old_chains() {
	awk -v comm="$2;" '
	/no unwind table/ { next }
	index($0, comm) != 1 || !index($0, ";spin_[p]") { next }
	{ all += $NF }
	/_PyEval_EvalFrameDefault;[^;]*_\[p\]/ { next }
	/;<module>_\[p\];.*;main_\[p\];.*;(heavy|tiny)_\[p\];.*;burn_\[p\];.*;spin_\[p\]/ { whole += $NF; next }
	/;<module>_\[p\];.*;main_\[p\];.*;light_\[p\];.*;<lambda>_\[p\];.*;burn_\[p\];.*;spin_\[p\]/ { whole += $NF; next }
	{ print "# " $0 }
	END {
		printf "# %d of %d samples\n", whole, all
		exit !(all >= 100 && whole >= all * 0.95)
	}' "$1"
}

old_versions_have_whole_chains() {
	local one

	record "$tmp/old.folded" -F 1999 -- bash -c 'for one in "${@:2}"; do "$one" "$1" 0.03; done' - "$program" "${old[@]}" || return
	for one in "${old[@]}"; do
		note "$one"
		has_whole_old_chains "$tmp/old.folded" "$(basename "$one")" || return
	done
}

# The frame of the loop is there exactly if it was asked for.
has_loop() {
	grep -q ";main_\[p\];heavy_\[p\];burn_\[p\]" "$1" && grep -q "_PyEval_EvalFrameDefault;<module>_\[p\]" "$1"
}

has_no_python() {
	! grep -q "_\[p\]" "$1" && grep -q "_PyEval_EvalFrameDefault" "$1"
}

has_lines() {
	grep "heavy (shares.py:21)_\[p\];burn (shares.py:17)_\[p\];spin (shares.py:\(8\|9\|10\))_\[p\]" "$1" >/dev/null
}

# Samples in the interpreter's loop, of processes that have hardly begun, have functions of Python. The first ones come
# before the table is loaded.
short_lives_have_names() {
	awk '
	/no unwind table/ { next }
	/_PyEval_EvalFrameDefault/ { all += $NF }
	/_PyEval_EvalFrameDefault;[^;\[]*_\[p\]/ { named += $NF }
	END { printf "# %d of %d samples\n", named, all; exit !(all >= 50 && named >= all * 0.95) }' "$1"
}

# In each window they take more of the ring than one user may have.
new_code_has_names() {
	record "$tmp/new.folded" -F 99 -- "$python" "$root/tests/end_to_end/python_programs/new_code.py" || return
	awk '
	/python: no name/ { nameless += $NF; next }
	/;new_code_[0-9]+_\[p\]/ { named += $NF }
	END {
		printf "# %d named, %d without a name\n", named, nameless
		exit !(named >= 100 && named >= nameless * 9)
	}' "$tmp/new.folded"
}

# The process has sent the names of burn() as root. On one CPU, that remembers them.
has_names_of_both_users() {
	record "$tmp/users.folded" -F 999 -- "$python" -S "$root/tests/end_to_end/python_programs/user_changes.py" 0.3 || return
	awk '
	/;before_\[p\];burn_\[p\]/ { before += $NF }
	/;after_\[p\];burn_\[p\]/ { after += $NF }
	/python: no name/ { nameless += $NF; print "# " $0 }
	END {
		printf "# %d before, %d after, %d without a name\n", before, after, nameless
		exit !(before >= 50 && after >= 50)
	}' "$tmp/users.folded"
}

# A program whose memory changes at random while it is walked. The kernel must not write to it.
hostile_memory_is_survived() {
	local programs=$root/tests/end_to_end/python_programs pid

	GLIBC_TUNABLES=glibc.pthread.rseq=0 start "$python" "$programs/corrupted.py" loop "$tmp/loops"
	pid=${started[-1]}
	wait_for 60 [ -e "$tmp/loops" ] || return
	start "$python" "$programs/corrupted.py" overwrite "$pid" "$tmp/changes"
	record "$tmp/hostile.folded" -F 999 -d 3 -p "$pid" || return
	read_accounts "$tmp/hostile.folded.log"
	note "$stored stored, $lost lost; $(grep ^Python "$tmp/hostile.folded.log")"
	stop_started
	[ "$stored" -gt 0 ] && [ "$lost" = 0 ] && has_only_frames "$tmp/hostile.folded" "<module>" inner
}

shopt -s nullglob
old=(/root/.pyenv/versions/3.[89].*/bin/python3.[89])
runtime=python
idle=("$python" -c 'import time; time.sleep(1e6)')
first_recording() { record "$tmp/first.folded" -F 499 -- "${idle[0]}" "$program" "$((2 * $1))e-2"; }
all_are_read() {
	local one

	for one in "$python" "${old[@]}"; do
		idle[0]=$one
		is_read_after_recordings || return
	done
}

plan 18
check "before the first recording nobody has met the interpreter" is_runtime unseen 60
check "recordings make the unwind tables, with the descriptions" all_are_read
check "a recording" record "$tmp/shares.folded" -F 1999 -- "$python" "$program" 0.1
check "the share of a function" has_share "$tmp/shares.folded" ';main_\[p\];' "main_[p];heavy_[p];burn_[p]" 60
check "the share of a function that calls one of C" has_share "$tmp/shares.folded" ';main_\[p\];' "main_[p];light_[p];" 30
check "the share of a method" has_share "$tmp/shares.folded" ';main_\[p\];' "main_[p];Shape.tiny_[p];burn_[p]" 10
check "samples have all callers" has_whole_chains "$tmp/shares.folded" ';spin_\[p\]' 1 "${chains[@]}"
if [ ${#old[@]} -gt 0 ]; then
	check "older versions, too" old_versions_have_whole_chains
else
	skip "older versions, too" "neither CPython 3.8 nor 3.9 is in /root/.pyenv"
fi
check "no frame of the loop shows that runs functions" \
	test "$(grep -c '_PyEval_EvalFrameDefault;[^;]*_\[p\]' "$tmp/shares.folded")" = 0
record "$tmp/lines.folded" -F 999 --lines --runtime-frames both -- "$python" "$program" 0.05
check "--lines has the lines of calls and of what ran" has_lines "$tmp/lines.folded"
sed -E 's/ \([^();]*:[0-9]+\)//g' "$tmp/lines.folded" >"$tmp/both.folded"
check "both: the loop and its functions" has_loop "$tmp/both.folded"
record "$tmp/native.folded" -F 999 --runtime-frames native -- "$python" "$program" 0.05
check "native: the loop alone" has_no_python "$tmp/native.folded"
check "processes of some milliseconds are recorded" record "$tmp/short.folded" -F 499 --runtime-frames both -- \
	bash -c "for i in {1..15}; do $python -S -s $program 0.004; done"
check "they have names" short_lives_have_names "$tmp/short.folded"
check "a program all of whose functions are new has their names" new_code_has_names
check "a process that changes its user keeps its names" has_names_of_both_users
if [[ $(basename "$python") == python3.1[45]* ]]; then
	record "$tmp/tasks.folded" -F 1999 -- "$python" "$awaiting" 0.1
	check "tasks that await the one that runs are below it" has_whole_chains "$tmp/tasks.folded" ';spin_\[p\]' 1 "$tasks"
else
	skip "tasks that await the one that runs are below it" "needs CPython 3.14: TEST_PYTHON"
fi
check "a program that changes its memory costs no sample and shows no foreign frame" hostile_memory_is_survived
finish
