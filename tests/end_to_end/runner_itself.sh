#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The test runner counts programs that crash, fail, skip, print too little or are missing. It runs on a made-up
# tree whose "programs" are scripts.
# Runs beside others: it judges what is counted.

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd) || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
number=0

# check NAME: passes if the last command succeeded.
check() {
	local status=$?

	number=$((number + 1))
	if [[ $status -eq 0 ]]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		sed 's/^/# /' "$scratch/output" 2>/dev/null
	fi
}

new_tree() {
	rm -rf "$scratch/tests" "$scratch/build"
	mkdir -p "$scratch"/tests/{stage,fuzz,end_to_end,data/fuzz/parser} \
		"$scratch"/build/{asan,release}/tests/{stage,fuzz}
}

# program FOLDER NAME: makes a program from the script on standard input, and its source file.
program() {
	: >"$scratch/tests/$2.c"
	{ echo '#!/bin/bash'; cat; } >"$scratch/build/$1/tests/$2"
	chmod +x "$scratch/build/$1/tests/$2"
}

# script NAME
script() {
	{ echo '#!/bin/bash'; cat; } >"$scratch/tests/end_to_end/$1.sh"
	chmod +x "$scratch/tests/end_to_end/$1.sh"
}

# totals STATUS LAST_LINE [NAME]...: the run ends with this status and last line.
totals() {
	local wanted_status=$1 wanted=$2

	shift 2
	"$top/tests/run" --build "$scratch/build" --tests "$scratch/tests" "$@" \
		>"$scratch/output" 2>&1
	[[ $? -eq $wanted_status && $(tail -n 1 "$scratch/output") == "$wanted" ]]
}

echo 1..54

new_tree
program asan stage/good_test <<<'printf "1..2\nok 1 - a\nok 2 - b\n"'
totals 0 '2 passed, 0 failed, 0 skipped'
check 'passing tests are counted, not files'

program asan stage/bad_test <<<'printf "1..2\nok 1 - a\nnot ok 2 - b\n# why it failed\n"; exit 1'
totals 1 '3 passed, 1 failed, 0 skipped'
check 'a failing test is counted'
grep -q 'why it failed' "$scratch/output"
check 'what a failing test prints is shown'
totals 0 '2 passed, 0 failed, 0 skipped' stage/good
check 'a name selects'
totals 1 '0 passed, 0 failed, 0 skipped' no_such_name
check 'no test at all is no success'

new_tree
script long <<'END'
echo 1..103
for ((i = 1; i <= 100; i++)); do echo "ok $i - good"; echo "# good $i"; done
echo "# 3 of 4 were there"
echo "not ok 101 - first bad"
echo "# first why"
echo "# first because"
echo "not ok 102 - second bad"
echo "# second why"
echo "ok 103 - good"
echo "# the end"
for ((i = 1; i <= 100; i++)); do echo "error $i" >&2; done
exit 1
END
totals 1 '101 passed, 2 failed, 0 skipped'
check 'a long output is counted'
# shown FROM TO: prints these lines below the program's line.
shown() {
	sed -n "2,\$ { $1,$2 p }" "$scratch/output"
}
diff <(shown 2 8) - <<'END' >&2
      * # good 100
      * # 3 of 4 were there
      * not ok 101 - first bad
      * # first why
      * # first because
      * not ok 102 - second bad
      * # second why
END
check 'failures come first, each once, with the lines before and after it'
[[ $(grep -c '^      |' "$scratch/output") -eq 41 ]] && ! grep -q '| .*bad' "$scratch/output"
check 'the last of the other lines are shown'
grep -qx '      | (162 lines before)' "$scratch/output" && grep -qx '      | # the end' "$scratch/output"
check 'the number of omitted lines is shown'
grep -qx '      ! error 1' "$scratch/output" && grep -qx '      ! error 100' "$scratch/output" &&
	grep -qx '      ! (20 lines between)' "$scratch/output"
check 'the start and the end of standard error are shown'

new_tree
script chatty <<'END'
echo 1..1
for ((i = 1; i <= 100; i++)); do echo "# line $i"; done
echo "not ok 1 - a"
for ((i = 1; i <= 100; i++)); do echo "# after $i"; done
END
totals 1 '0 passed, 1 failed, 0 skipped'
[[ $(grep -c '^      \*' "$scratch/output") -eq 41 && $(grep -c '^      |' "$scratch/output") -eq 41 ]]
check 'the lines around a failure are bounded'
[[ $(grep -c 'line 81$' "$scratch/output") -eq 1 && $(grep -c 'line 80$' "$scratch/output") -eq 0 &&
	$(sed -n '2 p' "$scratch/output") == '      * # line 81' ]]
check 'the nearest lines are shown'

new_tree
program asan stage/mixed_test <<<'printf "1..2\nno device\nnot ok 1 # SKIP a\nnot ok 2 - b\n# why\n"; exit 1'
totals 1 '0 passed, 1 failed, 1 skipped'
[[ $(grep -c '^      \*' "$scratch/output") -eq 2 ]] && grep -qx '      | not ok 1 # SKIP a' "$scratch/output"
check 'a skip of cmocka is not shown as a failure'
script lasting <<<'echo 1..1; printf "not ok 1 - no newline"'
totals 1 '0 passed, 1 failed, 0 skipped' lasting && grep -qx '      \* not ok 1 - no newline' "$scratch/output"
check 'a last line without a newline is shown'

new_tree
program asan stage/skips_test <<<'printf "1..2\nno such device\nnot ok 1 # SKIP a\nok 2 - b\n"'
totals 0 '1 passed, 0 failed, 1 skipped'
check 'a skip of cmocka is a skip'
grep -q 'skipped: a: no such device' "$scratch/output"
check 'the reason of a skip is shown'

new_tree
program asan stage/crash_test <<<'printf "1..3\nok 1 - a\n"; kill -ABRT $$'
totals 1 '1 passed, 2 failed, 0 skipped'
check 'tests that did not run because of a crash are failures'

new_tree
program asan stage/late_test <<<'printf "1..1\nok 1 - a\n"; kill -SEGV $$'
totals 1 '1 passed, 1 failed, 0 skipped'
check 'a crash after the last test is a failure'

new_tree
program asan stage/leak_test <<<'printf "1..1\nok 1 - a\n"; exit 23'
totals 1 '1 passed, 1 failed, 0 skipped'
check 'a nonzero exit status alone is a failure'

new_tree
program asan stage/silent_test <<<'exit 0'
totals 1 '0 passed, 1 failed, 0 skipped'
check 'a program without a plan is a failure'

new_tree
program asan stage/empty_test <<<'echo 1..0'
totals 1 '0 passed, 1 failed, 0 skipped'
check 'a program without tests is a failure'

new_tree
program asan stage/short_test <<<'printf "1..5\nok 1 - a\n"'
totals 1 '1 passed, 4 failed, 0 skipped'
check 'fewer tests than planned are failures'

new_tree
program asan stage/long_test <<<'printf "1..1\nok 1 - a\nok 2 - b\n"'
totals 1 '2 passed, 1 failed, 0 skipped'
check 'more tests than planned are a failure'

new_tree
program asan stage/setup_test <<<'printf "1..2\nnot ok 0 - g [  FAILED  ] GROUP SETUP\n"; exit 1'
totals 1 '0 passed, 3 failed, 0 skipped'
check 'tests that did not run because of a failed setup are failures'

new_tree
: >"$scratch/tests/stage/missing_test.c"
: >"$scratch/tests/stage/missing_kernel_test.c"
: >"$scratch/tests/fuzz/missing_fuzz.c"
totals 1 '0 passed, 3 failed, 0 skipped'
check 'a program that was not built is a failure'

new_tree
program asan stage/stale_test <<<'exit 1'
rm "$scratch/tests/stage/stale_test.c"
program asan stage/good_test <<<'printf "1..1\nok 1 - a\n"'
totals 0 '1 passed, 0 failed, 0 skipped'
check 'a program without its source is not run'

new_tree
program asan fuzz/parser_fuzz <<<'[[ -d $1 ]] && echo "1 inputs"'
totals 1 '0 passed, 1 failed, 0 skipped'
check 'a fuzz target without a corpus is a failure'
: >"$scratch/tests/data/fuzz/parser/empty"
totals 0 '1 passed, 0 failed, 0 skipped'
check 'a fuzz target over its corpus is one test'
program asan fuzz/parser_fuzz <<<'echo "ERROR: AddressSanitizer" >&2; exit 1'
totals 1 '0 passed, 1 failed, 0 skipped' && grep -q 'ERROR: AddressSanitizer' "$scratch/output"
check 'a finding in the corpus is a failure and shown'

new_tree
program release stage/good_kernel_test <<<'printf "1..1\nok 1 - a\n"'
if [[ $EUID -eq 0 ]]; then
	totals 0 '1 passed, 0 failed, 0 skipped'
else
	totals 0 '0 passed, 0 failed, 1 skipped'
fi
check 'kernel tests run as root only'

new_tree
script good <<<'printf "ok 1 - a\nok 2 - b # SKIP not here\n1..2\n"'
totals 0 '1 passed, 0 failed, 1 skipped'
check 'a script is counted by its TAP, with the plan at its end'

script good <<<'echo "1..0 # SKIP needs root"'
totals 0 '0 passed, 0 failed, 1 skipped'
check 'a script that skips all is a skip'

script good <<<'echo 1..1; echo "not ok 1 # SKIP a"'
totals 1 '0 passed, 1 failed, 0 skipped'
check 'a script has no dialect: "not ok" is a failure'

script good <<<'echo 1..1; [[ $PILOTLIGHT == */release/pilotlight ]] && echo "ok 1 - a"; cat'
script lib <<<'exit 1'
totals 0 '1 passed, 0 failed, 0 skipped'
check 'scripts get PILOTLIGHT and no input, and lib.sh is no test'

# meeting NAME OTHER: prints a script that passes if the other one runs at the same time.
meeting() {
	printf '%s\n' '# Runs beside others: they wait for each other.' 'echo 1..1' ": >$scratch/met.$1" \
		"for i in {1..600}; do [[ ! -e $scratch/met.$2 ]] || { echo 'ok 1 - met'; exit; }; sleep 0.1; done" \
		'echo not ok 1 - alone; exit 1'
}
new_tree
meeting one other | script one
meeting other one | script other
totals 0 '2 passed, 0 failed, 0 skipped'
check 'marked scripts run beside each other'

rm -f "$scratch"/met.*
new_tree
meeting script kernel | script one
meeting kernel script | program release stage/one_kernel_test
echo ' * Runs beside others: it is marked.' >"$scratch/tests/stage/one_kernel_test.c"
if [[ $EUID -eq 0 ]]; then
	totals 0 '2 passed, 0 failed, 0 skipped'
	check 'a marked kernel test runs beside them'
else
	echo "ok $((++number)) - a marked kernel test runs beside them # SKIP needs root"
fi

# As many as run at once wait for the marked one, which comes last by its name.
new_tree
program asan stage/z_test <<<"printf '1..1\nok 1 - a\n'; : >$scratch/early"
echo ' * Runs early: others wait for it.' >"$scratch/tests/stage/z_test.c"
for ((name = 1; name <= 3 * $(nproc); name++)); do
	program asan stage/waits_${name}_test <<<"echo 1..1; for i in {1..600}; do [[ ! -e $scratch/early ]] || { echo 'ok 1 - a'; exit; }
		sleep 0.1; done; echo not ok 1 - late; exit 1"
done
totals 0 "$name passed, 0 failed, 0 skipped"
check 'a test that takes long starts first'

new_tree
program asan stage/good_test <<<'printf "1..1\nok 1 - a\n"'
program release stage/good_kernel_test <<<"printf '1..1\\nok 1 - a\\n'"
for name in one two; do
	script $name <<<"mkdir $scratch/alone || exit 1; sleep 0.3; rmdir $scratch/alone; printf '1..1\\nok 1 - a\\n'"
done
totals 0 "$([[ $EUID -eq 0 ]] && echo '4 passed, 0 failed, 0 skipped' || echo '3 passed, 0 failed, 1 skipped')"
check 'other scripts run alone'

new_tree
script weak <<END
# Runs beside others: it fails unless it is alone.
echo 1..2
echo "ok 1 - a"
[[ -e $scratch/alone_has_ended ]] && echo "ok 2 - b" && exit
echo "not ok 2 - b"
echo "# why it failed"
END
script alone <<<": >$scratch/alone_has_ended; printf '1..1\\nok 1 - a\\n'"
totals 0 '3 passed, 0 failed, 0 skipped' &&
	grep -qxF 'ok       end_to_end/weak: 2 passed (failed beside others: see above)' "$scratch/output"
check 'a marked script that failed beside others counts as it ends alone, after all others'
[[ $(grep -c 'why it failed' "$scratch/output") -eq 1 ]]
check 'its failure is shown'
[[ $(tail -n 2 "$scratch/output" | head -n 1) == '1 repeated alone: end_to_end/weak' ]]
check 'the line before the last one names it'
rm "$scratch/tests/end_to_end/alone.sh" "$scratch/alone_has_ended"
totals 1 '1 passed, 1 failed, 0 skipped' && [[ $(grep -c '^FAILED' "$scratch/output") -eq 2 ]]
check 'one that fails alone, too, is a failure'

# weak NAME: prints a program that fails as standard input does when it runs first, and passes from then on.
weak() {
	echo '# Runs beside others: it fails at first.'
	echo "if mkdir $scratch/first.$1 2>/dev/null; then"
	cat
	echo 'fi'
	printf '%s\n' 'echo 1..2' 'echo ok 1 - a' 'echo ok 2 - b'
}

# is_final NAME LAST_LINE: a marked script that fails at first as standard input does is not repeated.
is_final() {
	new_tree
	rm -rf "$scratch/first."*
	weak "$1" | script "$1"
	totals 1 "$2" && ! grep -q 'repeated alone\|runs again' "$scratch/output"
}

new_tree
weak kernel <<<'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1' | program release stage/weak_kernel_test
echo ' * Runs beside others: it fails at first.' >"$scratch/tests/stage/weak_kernel_test.c"
if [[ $EUID -eq 0 ]]; then
	totals 0 '2 passed, 0 failed, 0 skipped' && grep -qx '1 repeated alone: stage/weak_kernel_test' "$scratch/output"
	check 'a marked kernel test is repeated, too'
	rm -rf "$scratch/first."*
	weak kernel <<<'echo 1..2; echo ok 1 - a; echo "# Test failed with exception: Aborted(6)"; echo not ok 2 - b; exit 1' |
		program release stage/weak_kernel_test
	echo ' * Runs beside others: it fails at first.' >"$scratch/tests/stage/weak_kernel_test.c"
	totals 1 '1 passed, 1 failed, 0 skipped'
	check 'one in which a test got a signal is not'
else
	for name in 'a marked kernel test is repeated, too' 'one in which a test got a signal is not'; do
		echo "ok $((++number)) - $name # SKIP needs root"
	done
fi
is_final killed '1 passed, 1 failed, 0 skipped' <<<'echo 1..2; echo ok 1 - a; echo not ok 2 - b; kill -SEGV $$'
check 'a crash is final'
is_final late '1 passed, 1 failed, 0 skipped' <<<'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 124'
check 'a timeout is final'
is_final short '1 passed, 1 failed, 0 skipped' <<<'echo 1..2; echo ok 1 - a; exit 1'
check 'tests that did not run are final'

new_tree
rm -rf "$scratch/first."*
script skips <<END
# Runs beside others: it skips when it is alone.
if mkdir $scratch/first.skips 2>/dev/null; then
	printf '%s\n' 1..2 'ok 1 - a' 'not ok 2 - b'
	exit 1
fi
echo '1..0 # SKIP not here'
END
totals 1 '0 passed, 1 failed, 1 skipped' && grep -q '^FAILED .*it ran more tests beside others' "$scratch/output"
check 'what failed may not be skipped when it is repeated'

new_tree
rm -rf "$scratch/first."*
for name in {1..6}; do
	weak "$name" <<<'echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1' | script "weak$name"
done
totals 1 '6 passed, 6 failed, 0 skipped' && ! grep -q 'repeated alone' "$scratch/output"
check 'if more than five failed, none is repeated'

new_tree
program asan stage/bad_test <<<"echo >>$scratch/runs; exit 1"
program asan fuzz/bad_fuzz <<<"echo >>$scratch/runs; exit 1"
: >"$scratch/tests/data/fuzz/parser/empty"
mv "$scratch/tests/data/fuzz/parser" "$scratch/tests/data/fuzz/bad"
script bad <<<"echo >>$scratch/runs; exit 1"
totals 1 '0 passed, 3 failed, 0 skipped' && [[ $(wc -l <"$scratch/runs") -eq 3 ]]
check 'unit tests, fuzz targets and scripts that run alone are not repeated'

new_tree
script killed <<'END'
# Runs beside others: its result is lost.
echo 1..1
kill -KILL $(ps -o ppid= -p $PPID)
sleep 1
END
program asan stage/good_test <<<'printf "1..1\nok 1 - a\n"'
totals 1 '1 passed, 1 failed, 0 skipped' && grep -q 'end_to_end/killed.*lost' "$scratch/output"
check 'a test whose result was lost is a failure'

new_tree
script good <<<'printf "1..1\nok 1 - a\n"'
SLOW_SECONDS=0 totals 0 '1 passed, 0 failed, 0 skipped' &&
	grep -qE '^ok +end_to_end/good: 1 passed, [0-9]+ s$' "$scratch/output"
check 'the time of a slow test is shown'

chmod -x "$scratch/tests/end_to_end/good.sh"
totals 1 '0 passed, 1 failed, 0 skipped'
check 'a script that cannot be executed is a failure'

"$top/tests/run" --no-such-option >"$scratch/output" 2>&1
[[ $? -eq 2 ]]
check 'an unknown option is a usage error'
