#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The subroutines of a Perl program, in place of the interpreter's loop: names, callers, lines and shares of a program
# that is known, and that of a program without an own file. TEST_PERL names another binary.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/perl_programs/shares.pl
perl=${TEST_PERL:-/usr/bin/perl}

need_root
need_programs
"$perl" -e 'exit !($] >= 5.032 && $] < 5.043)' 2>/dev/null || skip_all "needs Perl 5.32 to 5.42"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# Samples in spin(), with the functions of C where they are.
begin=';{main:shares\.pl}_\[e\];main::turns_\[e\]'
chains=(
	"$begin;main::heavy_\[e\];main::burn_\[e\];main::spin_\[e\]"
	"$begin;main::light_\[e\];[^:]*Perl_sortsv_flags;[^:]*;main::burn_\[e\];main::spin_\[e\]"
	"$begin;main::light_\[e\];.*;Perl_sortsv_flags;.*;Perl_runops_standard;.*;main::__ANON___\[e\];main::burn_\[e\];main::spin_\[e\]"
	"$begin;.*;Perl_call_sv;Shape::DESTROY_\[e\];main::burn_\[e\];main::spin_\[e\]"
)

# And of what makes numbers of objects.
begin_numbers=';Perl_runops_standard;{main:numbers\.pl}_\[e\];main::by'
end_numbers='Perl_amagic_call;Perl_runops_standard;Number::__ANON___\[e\];main::burn_\[e\];main::spin_\[e\]'
numbers=(
	"${begin_numbers}_name_\[e\];main::compare_\[e\];Perl_pp_sort;Perl_sortsv_flags;[^;]*;Perl_sv_2iv_flags;$end_numbers"
	"${begin_numbers}_block_\[e\];Perl_pp_sort;Perl_sortsv_flags;[^;]*;Perl_sv_2iv_flags;$end_numbers"
	"${begin_numbers}_first_\[e\];main::__ANON___\[e\];Perl_pp_entersub;[^;]*;Perl_sv_2bool_flags;$end_numbers"
)

has_function_of_c() {
	grep "${begin_numbers}_function_\[e\];Perl_pp_sort;Perl_sortsv_flags;.*Perl_vcmp" "$1" >/dev/null && ! grep 'vcmp_\[e\]' "$1"
}

has_lines() {
	grep "heavy (shares.pl:24)_\[e\];main::burn (shares.pl:18)_\[e\];main::spin (shares.pl:\(8\|9\|10\|12\))_\[e\]" "$1" >/dev/null
}

# One that the eval of a thread makes is in no file.
run_thread() {
	"$perl" -Mthreads -e '
		sub spin { my $total = 0; $total += $_ for 1 .. 300; }
		threads->create(sub { eval q(spin() for 1 .. 60000) })->join'
}

runtime=perl
idle=("$perl" -e 'sleep(1000)')
first_recording() { record "$tmp/first.folded" -F 499 -- "$perl" "$program" $((500 * $1)); }

plan 9
check "a recording makes the unwind table, with the description" is_read_after_recordings
record "$tmp/lines.folded" -F 1999 --lines -- "$perl" "$program" 1500
check "--lines has the lines of calls and of what ran" has_lines "$tmp/lines.folded"
sed -E 's/ \([^();]*:[0-9]+\)//g' "$tmp/lines.folded" >"$tmp/shares.folded"
check "the share of a subroutine" has_share "$tmp/shares.folded" ';main::burn_\[e\]' 'main::heavy_[e];' 60
check "the share of one that sorts, and calls back from C" \
	has_share "$tmp/shares.folded" ';main::burn_\[e\]' 'main::light_[e];' 30
check "the share of a destructor" has_share "$tmp/shares.folded" ';main::burn_\[e\]' 'Shape::DESTROY_[e];' 10
check "samples have all callers" has_whole_chains "$tmp/shares.folded" ';main::spin_\[e\]' 2 "${chains[@]}"
record "$tmp/numbers.folded" -F 999 --runtime-frames both -- "$perl" "${program%/*}/numbers.pl" 200
check "one that C calls between two calls of a block" has_whole_chains "$tmp/numbers.folded" ';main::spin_\[e\]' 2 \
	"${numbers[@]}"
check "a function of C by which C sorts is a native frame alone" has_function_of_c "$tmp/numbers.folded"
if "$perl" -Mthreads -e '' 2>/dev/null; then
	export perl
	export -f run_thread
	record "$tmp/thread.folded" -F 999 -- bash -c run_thread
	check "a thread has its own, and no main program" has_whole_chains "$tmp/thread.folded" ';main::spin_\[e\]' 2 \
		';Perl_call_sv;main::__ANON___\[e\];\(eval\)_\[e\];main::spin_\[e\]'
else
	skip "a thread has its own, and no main program" "a Perl without threads"
fi
finish
