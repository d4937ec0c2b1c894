#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of a PHP program, in place of the interpreter's loop: names, callers, lines and shares of a program that
# is known, also as opcache's JIT makes code of it, and an application of several files, also under PHP-FPM. TEST_PHP
# and TEST_FPM name other binaries.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/php_programs/shares.php
application=$root/tests/end_to_end/php_programs/application/index.php
php=${TEST_PHP:-/usr/bin/php}
fpm=${TEST_FPM:-$(compgen -G '/usr/sbin/php-fpm*' | head -n 1)}

need_root
need_programs
[[ $("$php" -n -r 'echo PHP_VERSION;' 2>/dev/null) =~ ^(7\.4|8\.[0-6])\. ]] || skip_all "needs PHP 7.4 to 8.6"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# Samples in spin(), with the functions of C where they are.
chains=(
	';{main:shares\.php}_\[h\];main_\[h\];heavy_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];light_\[h\];array_map_\[h\];.*;zend_call_function;{closure(:light\(\):28)?}_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];Shape::tiny_\[h\];Fiber::start_\[h\];(.*;zend_call_function;)?Shape::{closure(:Shape::tiny\(\):45)?}_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];Shape::tiny_\[h\];Generator::current_\[h\];.*;Shape::steps_\[h\];burn_\[h\];spin_\[h\]'
)

# The same of generators that delegate. Before PHP 8.1, one that delegates to an iterator is not its caller.
delegation_chains=(
	';{main:delegation\.php}_\[h\];main_\[h\];delegate_\[h\];delegate_\[h\];delegate_\[h\];.*;zend_generator_resume;numbers_\[h\];spin_\[h\]'
	';{main:delegation\.php}_\[h\];main_\[h\];(iterate_\[h\];)?.*;zend_generator_resume;.*;zend_call_function;Numbers::current_\[h\];spin_\[h\]'
)

# The same of the application.
application_chains=(
	';{main:index\.php}_\[h\];Page::render_\[h\];array_map_\[h\];.*;spin_\[h\]'
	';{main:index\.php}_\[h\];.*;{closure(:[^;]*)?}_\[h\];{main:Page\.php}_\[h\];spin_\[h\]'
)

# Its only child runs the requests, and is to end with it.
start_fpm() {
	local fpm_pid

	printf '[global]\nerror_log=%s\ndaemonize=no\n[www]\nuser=root\ngroup=root\nlisten=%s\npm=static\npm.max_children=1\n' \
		"$tmp/fpm.log" "$tmp/fpm.sock" >"$tmp/fpm.conf"
	start "$fpm" -n -R -y "$tmp/fpm.conf"
	fpm_pid=${started[-1]}
	wait_for 60 pgrep -P "$fpm_pid" && wait_for 60 [ -S "$tmp/fpm.sock" ] || return
	child=$(pgrep -P "$fpm_pid")
	started+=("$child")
	start python3 -B "$root/tests/end_to_end/php_programs/fastcgi.py" "$tmp/fpm.sock" "$application"
}

record_fpm() {
	start_fpm && record "$tmp/first.folded" -F 499 -d 2 -p "$child" &&
		record "$tmp/fpm.folded" -F 999 -d 3 -p "$child"
}

has_lines() {
	grep "heavy (shares.php:23)_\[h\];burn (shares.php:17)_\[h\];spin (shares.php:\(7\|8\|9\))_\[h\]" "$1" >/dev/null
}

# The native stack is whole: the JIT's code is in the frame of the loop.
jit_chains=("^[^;]*;_start;.*;zend_execute${chains[0]}" "^[^;]*;_start;.*;zend_execute${chains[1]}" "${chains[@]:2}")
with_jit=("$php" -n -d zend_extension=opcache -d opcache.enable_cli=1 -d opcache.jit_buffer_size=32M)

has_jit() { [[ $("${with_jit[@]}" -d opcache.jit=tracing -r 'echo opcache_get_status()["jit"]["on"];' 2>/dev/null) =~ 1$ ]]; }

# judge_jit MODE: once the table is loaded.
judge_jit() {
	record "$tmp/jit.folded" -F 1999 -- "${with_jit[@]}" -d opcache.jit="$1" "$program" 30000 &&
		grep -v 'no unwind table' "$tmp/jit.folded" >"$tmp/$1.folded" &&
		has_share "$tmp/$1.folded" ';burn_\[h\]' 'heavy_[h];' 60 &&
		has_share "$tmp/$1.folded" ';burn_\[h\]' 'light_[h];' 30 &&
		has_share "$tmp/$1.folded" ';burn_\[h\]' 'Shape::tiny_[h];' 10 &&
		has_whole_chains "$tmp/$1.folded" ';spin_\[h\]' 2 "${jit_chains[@]}" &&
		grep '^JIT code ' "$tmp/jit.folded.log"
}

# PCRE's code is in no frame of the loop, though the loop may have called it: the native stack is cut there. From PHP 8.4
# on preg_match() has no frame.
judge_pcre() {
	local frames=';search_\[h\];preg_match_\[h\]'

	! "$php" -n -r 'exit((int)(PHP_VERSION_ID < 80400));' || frames=';search_\[h\]'
	record "$tmp/pcre.folded" -F 1999 -- "${with_jit[@]}" -d opcache.jit=tracing -d pcre.jit=1 "$1" 15000 &&
		has_whole_chains "$tmp/pcre.folded" ";${frames##*;};(.*;)?\[jit" 2 \
			"^[^;]*;\[truncated: JIT code without frame pointer\];{main:pattern\.php}_\[h\]$frames;\[jit"
}

runtime=php
idle=("$php" -n -r 'sleep(1000);')
first_recording() { record "$tmp/first.folded" -F 499 -- "$php" -n "$program" $((800 * $1)); }

plan 12
check "a recording makes the unwind table, with the description" is_read_after_recordings
record "$tmp/lines.folded" -F 1999 --lines -- "$php" -n "$program" 4000
check "--lines has the lines of calls and of what ran" has_lines "$tmp/lines.folded"
sed -E 's/ \([^();]*:[0-9]+\)//g' "$tmp/lines.folded" >"$tmp/shares.folded"
check "the share of a function" has_share "$tmp/shares.folded" ';burn_\[h\]' 'heavy_[h];' 60
check "the share of a function that calls a closure through a function of C" has_share "$tmp/shares.folded" ';burn_\[h\]' 'light_[h];' 30
check "the share of a fiber" has_share "$tmp/shares.folded" ';burn_\[h\]' 'Shape::tiny_[h];' 10
check "samples have all callers" has_whole_chains "$tmp/shares.folded" ';spin_\[h\]' 2 "${chains[@]}"
for mode in function tracing; do
	if has_jit; then
		check "shares and callers of the JIT's code: $mode" judge_jit "$mode"
	else
		skip "shares and callers of the JIT's code: $mode" "opcache has no JIT"
	fi
done
if has_jit && "$php" -n -d pcre.jit=1 -r 'exit((int)!ini_get("pcre.jit"));'; then
	check "generated code of PCRE has no invented caller" judge_pcre "$root/tests/end_to_end/php_programs/pattern.php"
else
	skip "generated code of PCRE has no invented caller" "PHP or PCRE has no JIT"
fi
record "$tmp/delegation.folded" -F 1999 -- "$php" -n "$root/tests/end_to_end/php_programs/delegation.php" 1500
check "generators that delegate are callers" has_whole_chains "$tmp/delegation.folded" ';spin_\[h\]' 2 "${delegation_chains[@]}"
record "$tmp/application.folded" -F 1999 -- "$php" -n "$application"
check "an application's files and classes" \
	has_whole_chains "$tmp/application.folded" ';spin_\[h\]' 2 "${application_chains[@]}"
if [ -x "$fpm" ]; then
	record_fpm
	check "PHP-FPM's, too" has_whole_chains "$tmp/fpm.folded" ';spin_\[h\]' 2 "${application_chains[@]}"
else
	skip "PHP-FPM's, too" "no php-fpm"
fi
finish
