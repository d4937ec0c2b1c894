#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of a Ruby program, in place of the interpreter's loop: names, callers, lines and shares of a program
# that is known, also in code that YJIT generates.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/ruby_programs/shares.rb
ruby=${TEST_RUBY:-/usr/bin/ruby}

need_root
need_programs
[[ $("$ruby" -e 'print RUBY_VERSION' 2>/dev/null) =~ ^(2\.7|3\.[0-4])\. ]] || skip_all "needs Ruby 2.7 to 3.4"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# Samples in spin(), with the methods in C where they are. Of frames between them none ends in `_[r]`.
native='([^;]*([^];]|[^r;]\]);)*'
chains=(
	';<main>_\[r\];main_\[r\];heavy_\[r\];burn_\[r\];spin_\[r\]'
	";<main>_\[r\];main_\[r\];light_\[r\];each_\[r\];${native}block in light_\[r\];burn_\[r\];spin_\[r\]"
	';block in tiny_\[r\];burn_\[r\];spin_\[r\]'
)

has_lines() {
	grep "heavy (shares.rb:19)_\[r\];burn (shares.rb:15)_\[r\];spin (shares.rb:\(6\|7\|8\))_\[r\]" "$1" >/dev/null
}

# The native stack is whole: YJIT's code is in the frame of the loop.
yjit_chains=("^[^;]*;_start;.*;ruby_run_node;[^;]*${chains[0]}"
	"^[^;]*;_start;.*;ruby_run_node;[^;]*${chains[1]}"
	';rb_vm_invoke_proc;block in tiny_\[r\];burn_\[r\];spin_\[r\]')

# Once the table is loaded, and its methods are compiled. While YJIT compiles one, the stack is cut in its code:
# has_whole_chains counts that.
judge_yjit() {
	record "$tmp/yjit.folded" -F 1999 -- "$ruby" --yjit --yjit-call-threshold=2 "$program" 0.1 &&
		grep -v 'no unwind table' "$tmp/yjit.folded" >"$tmp/judged.folded" &&
		! grep ';spin_\[r\].*_\[j\]' "$tmp/judged.folded" | grep -v ';\[truncated: JIT code without frame pointer\];' >&2 &&
		has_share "$tmp/judged.folded" ';burn_\[r\]' 'heavy_[r];' 60 &&
		has_share "$tmp/judged.folded" ';burn_\[r\]' 'light_[r];' 30 &&
		has_whole_chains "$tmp/judged.folded" ';spin_\[r\]' 2 "${yjit_chains[@]}"
}

runtime=ruby
idle=("$ruby" -e sleep)
first_recording() { record "$tmp/first.folded" -F 499 -- "$ruby" "$program" "$((2 * $1))e-2"; }

plan 7
check "a recording makes the unwind table, with the description" is_read_after_recordings
record "$tmp/lines.folded" -F 1999 --lines -- "$ruby" "$program" 0.1
check "--lines has the lines of calls and of what ran" has_lines "$tmp/lines.folded"
sed -E 's/ \([^();]*:[0-9]+\)//g' "$tmp/lines.folded" >"$tmp/shares.folded"
check "the share of a method" has_share "$tmp/shares.folded" ';burn_\[r\]' 'heavy_[r];' 60
check "the share of a method that calls a block through a function of C" has_share "$tmp/shares.folded" ';burn_\[r\]' 'light_[r];' 30
check "the share of a fiber" has_share "$tmp/shares.folded" ';burn_\[r\]' 'block in tiny_[r];' 10
check "samples have all callers" has_whole_chains "$tmp/shares.folded" ';spin_\[r\]' 2 "${chains[@]}"
if "$ruby" --yjit -e 'exit RubyVM::YJIT.enabled?' 2>/dev/null; then
	check "shares and callers in code of YJIT" judge_yjit
else
	skip "shares and callers in code of YJIT" "Ruby has no YJIT"
fi
finish
