#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of a PHP program, in place of the interpreter's loop: names, callers, lines and shares of a program that
# is known.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/php_programs/shares.php
php=${TEST_PHP:-/usr/bin/php}

need_root
need_programs
[[ $("$php" -n -r 'echo PHP_VERSION;' 2>/dev/null) =~ ^(7\.4|8\.[0-4])\. ]] || skip_all "needs PHP 7.4 to 8.4"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# Samples in spin(), with the functions of C where they are.
chains=(
	';{main:shares\.php}_\[h\];main_\[h\];heavy_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];light_\[h\];array_map_\[h\];.*;zend_call_function;{closure(:light\(\):28)?}_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];Shape::tiny_\[h\];Fiber::start_\[h\];(.*;zend_call_function;)?Shape::{closure(:Shape::tiny\(\):45)?}_\[h\];burn_\[h\];spin_\[h\]'
	';{main:shares\.php}_\[h\];main_\[h\];Shape::tiny_\[h\];Generator::current_\[h\];.*;Shape::steps_\[h\];burn_\[h\];spin_\[h\]'
)

has_lines() {
	grep "heavy (shares.php:23)_\[h\];burn (shares.php:17)_\[h\];spin (shares.php:\(7\|8\|9\))_\[h\]" "$1" >/dev/null
}

runtime=php
idle=("$php" -n -r 'sleep(1000);')
first_recording() { record "$tmp/first.folded" -F 499 -- "$php" -n "$program" 800; }

plan 6
check "a recording makes the unwind table, with the description" is_read_after_recordings
record "$tmp/lines.folded" -F 1999 --lines -- "$php" -n "$program" 4000
check "--lines has the lines of calls and of what ran" has_lines "$tmp/lines.folded"
sed -E 's/ \([^();]*:[0-9]+\)//g' "$tmp/lines.folded" >"$tmp/shares.folded"
check "the share of a function" has_share "$tmp/shares.folded" ';burn_\[h\]' 'heavy_[h];' 60
check "the share of a function that calls a closure through a function of C" has_share "$tmp/shares.folded" ';burn_\[h\]' 'light_[h];' 30
check "the share of a fiber" has_share "$tmp/shares.folded" ';burn_\[h\]' 'Shape::tiny_[h];' 10
check "samples have all callers" has_whole_chains "$tmp/shares.folded" ';spin_\[h\]' 2 "${chains[@]}"
finish
