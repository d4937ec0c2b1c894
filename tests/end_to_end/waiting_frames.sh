#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of interpreters in threads that do not run: those that wait for longer than a recording, and those that
# the service's surveys find waiting. Nothing runs in these threads that could take a sample.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service

python=$(readlink -f "${TEST_PYTHON:-/usr/bin/python3}")
[[ -x $python && $(basename "$python") == python3.* ]] || skip_all "needs CPython"
java=${TEST_JAVA:-java} ruby=${TEST_RUBY:-/usr/bin/ruby} php=${TEST_PHP:-/usr/bin/php} perl=${TEST_PERL:-/usr/bin/perl}
programs=$root/tests/end_to_end
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
functions=(in_sleep in_lock in_socket in_queue in_nested in_many)
runtimes=(Python Node.js Java Ruby PHP Perl)
# Of each: what its functions end in, and the files in which the programs tell them.
declare -A marks=([Python]=p [Node.js]=v [Java]=j [Ruby]=r [PHP]=h [Perl]=e) told=()
recorded=()

# begin RUNTIME COMMAND...: starts a program that will tell its functions in a file, which is its last argument.
begin() {
	start "${@:2}" "$tmp/told.${#recorded[@]}"
	told[$1]+=" $tmp/told.${#recorded[@]}"
	recorded+=(-p "${started[-1]}")
}

# Methods that call each other, more than a sample of a thread that runs may be the first to meet.
many_methods() {
	local number

	echo 'class Many {'
	for number in {0..69}; do
		echo "static void many$number() throws InterruptedException { many$((number + 1))(); }"
	done
	echo 'static void many70() throws InterruptedException { Waiting.inSleep(); } }'
}

# begin_all: programs of all runtimes that the machine has. All wait for ever. Node.js has no thread with many functions:
# on a busy machine, copies of 57 to 70 of them, with their lines, have taken the millisecond that a sample has.
begin_all() {
	local name

	begin Python "$python" "$programs/python_programs/waiting.py" 1e6
	[[ ! $(node --version 2>&1) =~ ^v(18|20|22|24)\. ]] || ! mkfifo "$tmp/fifo" ||
		begin Node.js node "$programs/node_programs/waiting.js" "$tmp/fifo"
	many_methods >"$tmp/Many.java"
	! javac --release 8 -Xlint:-options -d "$tmp" "$programs/java_programs/Waiting.java" "$tmp/Many.java" 2>"$tmp/ignored" ||
		begin Java "$java" -cp "$tmp" Waiting
	[[ ! $("$ruby" -e 'print RUBY_VERSION' 2>&1) =~ ^(2\.7|3\.[0-4])\. ]] ||
		begin Ruby "$ruby" "$programs/ruby_programs/waiting.rb"
	if [[ $("$php" -n -r 'echo PHP_VERSION;' 2>&1) =~ ^(7\.4|8\.[0-6])\. ]]; then
		for name in in_map in_nested in_many; do begin PHP "$php" -n "$programs/php_programs/waiting.php" $name; done
	fi
	if "$perl" -e 'exit !($] >= 5.032 && $] < 5.043)' 2>/dev/null; then
		for name in in_socket in_sort in_many; do begin Perl "$perl" "$programs/perl_programs/waiting.pl" $name; done
	fi
}

all_wait() {
	ls ${told[*]}
}

# wanted_chains RUNTIME: a chain a line, outermost function first. The programs tell a function a line, innermost first,
# and an empty line behind each chain. Python's faulthandler has more around it.
wanted_chains() {
	awk -v is_python="$([ "$1" = Python ] && echo 1)" '
		function end_chain() { if (chain ~ /wait_again|wait_for_ever|waitForEver/) print chain; chain = "" }
		/^$/ || /^Thread/ || FNR == 1 { end_chain() }
		!/./ || is_python && !sub(/^  File .* in /, "") { next }
		{ chain = chain == "" ? $0 : $0 ";" chain }
		END { end_chain() }' ${told[$1]} | sort -u
}

# found_chains RUNTIME FOLDED: the chains of a recording, also those whose outer functions are missing. Left out are
# stacks that lack a table of unwind rules or a name, frames of files, and the JVM's own code.
found_chains() {
	awk -v mark="_\\[${marks[$1]}\\]\$" -v runtime="$1" '
		/no unwind table|no name\]|jit: unknown\]/ { next }
		{
			chain = ""
			sub(/ [0-9]+$/, "")
			count = split($0, frames, ";")
			for (i = 1; i <= count; i++) {
				if (!sub(mark, "", frames[i]) || frames[i] ~ /^([{]main:|StubRoutines)/)
					continue
				if (runtime == "Python")
					sub(/.*\./, "", frames[i])
				if (runtime == "Ruby")
					sub(/[^ ]*[#.]/, "", frames[i])
				chain = chain == "" ? frames[i] : chain ";" frames[i]
			}
		}
		chain ~ /wait_again|wait_for_ever|waitForEver|(^|[;.])(in_[a-z]|in[A-Z]|nested|many_?[0-9])/ { print chain }' \
		"$2" | sort -u
}

# wrong_chains RUNTIME: those found that are not wanted. A sample has little time, so its outermost functions may be missing.
wrong_chains() {
	awk 'NR == FNR { wanted[++count] = ";" $0; next }
		{
			for (i = 1; i <= count; i++)
				if (substr(wanted[i], length(wanted[i]) - length($0)) == ";" $0)
					next
			print
		}' "$tmp/wanted.$1" "$tmp/found.$1"
}

# has_whole_chains RUNTIME: in the last recording.
has_whole_chains() {
	found_chains "$1" "$tmp/blocked.folded" >"$tmp/found.$1"
	wrong_chains "$1" >>"$tmp/wrong.$1"
	[ -s "$tmp/wanted.$1" ] && [ -z "$(comm -23 "$tmp/wanted.$1" "$tmp/found.$1")" ]
}

# whole_chains_of RUNTIME: in one of the recordings, and no wrong ones in any.
whole_chains_of() {
	[ -e "$tmp/whole.$1" ] && [ ! -s "$tmp/wrong.$1" ] && return
	note "wrong: $(cat "$tmp/wrong.$1")"
	note "$(diff "$tmp/wanted.$1" "$tmp/found.$1")"
	return 1
}

# Records all at once, until the chains of each runtime have been whole, or one is wrong: at first, tables of unwind rules
# are made. Each recording is longer than the one before, for busy machines.
record_all() {
	local seconds runtime missing

	for runtime in "${!told[@]}"; do
		wanted_chains "$runtime" >"$tmp/wanted.$runtime"
	done
	for seconds in 2 4 8 16 32; do
		record "$tmp/blocked.folded" -e offcpu -d "$seconds" "${recorded[@]}" || return
		missing=
		for runtime in "${!told[@]}"; do
			! has_whole_chains "$runtime" || touch "$tmp/whole.$runtime"
			[ -e "$tmp/whole.$runtime" ] || missing+=" $runtime"
			[ ! -s "$tmp/wrong.$runtime" ] || return 0
		done
		[ -n "$missing" ] || return 0
		note "after $seconds s chains are missing:$missing"
	done
}

# The kernel must not write to the memory of the hostile program, whose threads wait, too.
begin_again_and_again() {
	told=()
	begin Python "$python" "$programs/python_programs/waiting.py" 0.1
	wait_for 60 all_wait || return
	GLIBC_TUNABLES=glibc.pthread.rseq=0 start "$python" "$programs/python_programs/corrupted.py" wait "$tmp/waits"
	hostile=${started[-1]}
	wait_for 60 [ -e "$tmp/waits" ]
}

# folded PID TIME
folded() {
	"$pilotlight" flamegraph -q -e offcpu --pid "$1" --last "$2" -f folded -o -
}

surveys_show_functions() {
	local name

	folded "${started[0]}" 10s >"$tmp/surveys.folded"
	for name in "${functions[@]}"; do
		grep -q ";wait_again_and_again_\[p\];${name}_\[p\]" "$tmp/surveys.folded" || return
	done
}

# A thread that is about to wait, or to return, has called a part of that, and perhaps one function more that
# Python's library calls there.
surveys_show_no_other() {
	found_chains Python "$tmp/surveys.folded" >"$tmp/surveyed"
	awk 'NR == FNR { wanted[$0]; while (sub(/;[^;]*$/, "")) wanted[$0]; next }
		{ chain = $0; sub(/;[^;]*$/, "", chain) }
		!($0 in wanted) && !(chain in wanted && chain ~ /;in_queue/) { print; wrong = 1 }
		END { exit wrong }' "$tmp/wanted.Python" "$tmp/surveyed" || { note "$(cat "$tmp/wanted.Python" "$tmp/surveyed")"; return 1; }
}

hostile_functions_show() {
	folded "$hostile" 1h >"$tmp/hostile.folded" && grep -q "inner_\[p\]" "$tmp/hostile.folded"
}

# has_changed_samples: 2,000 since the memory has been changing. Each stands for a period of surveys.
has_changed_samples() {
	"$pilotlight" flamegraph -q -e offcpu --pid "$hostile" --from "$changing" -f folded -o "$tmp/changed.folded" &&
		[ "$(folded_total "$tmp/changed.folded")" -ge 2000 ]
}

# Each sample of these threads leads through memory that changes at random, so that lists have loops and lengths lie. Some
# still have functions: the walk has gone through that memory.
hostile_waits_show_no_other() {
	local functions

	wait_for 180 hostile_functions_show || return
	start "$python" "$programs/python_programs/corrupted.py" overwrite "$hostile" "$tmp/changes"
	wait_for 60 [ -e "$tmp/changes" ] || return
	sleep 1 # the file is made just before the first change
	changing=$(date '+%F %H:%M:%S.%3N')
	wait_for 180 has_changed_samples && kill -0 "$hostile" || return
	functions=$(grep "_\[p\]" "$tmp/changed.folded" | folded_total /dev/stdin)
	note "$functions of $(folded_total "$tmp/changed.folded") samples have functions of Python"
	has_only_frames "$tmp/changed.folded" "<module>" wait inner {Thread.,}{_bootstrap,_bootstrap_inner,run} &&
		[ "$functions" -ge 20 ]
}

plan 14
begin_all
check "threads of all runtimes wait" wait_for 60 all_wait
check "a recording" record_all
for runtime in "${runtimes[@]}"; do
	if [ -n "${told[$runtime]:-}" ]; then
		check "the functions of $runtime are those that it tells" whole_chains_of "$runtime"
	else
		skip "the functions of $runtime are those that it tells" "no $runtime that is read"
	fi
done
stop_started
printf '[Sampling]\nMaxCostPercent=100\nSurveyPeriod=100ms\n[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "threads of Python wait again and again" begin_again_and_again
check "the service starts" start_service
check "its surveys show their functions" wait_for 180 surveys_show_functions
check "and no others" surveys_show_no_other
check "a program that changes its memory while it waits shows no foreign function" hostile_waits_show_no_other
check "the accounts close" accounts_of_metrics
finish
