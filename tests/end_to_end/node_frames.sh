#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The functions of a Node.js program without a flag that asks for them: interpreted and compiled, in worker threads, with
# V8's own functions between them.
# Runs beside others: it judges shares within one thread alone.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/runtimes.sh"

program=$root/tests/end_to_end/node_programs/shares.js
inlined=$root/tests/end_to_end/node_programs/inlined.js

has_shares() {
	local below=';main_\[v\];(heavy|light|tiny)_\[v\]'

	has_share "$1" "$below" "main_[v];heavy_[v];burn_[v]" 60 && has_share "$1" "$below" "main_[v];light_[v];" 30 &&
		has_share "$1" "$below" "main_[v];tiny_[v];burn_[v]" 10
}

# Samples in burn(), but for those within its first and last instructions.
chains=(
	';\(anonymous\)_\[v\];.*main_\[v\];(heavy|tiny)_\[v\];burn_\[v\]'
	';main_\[v\];light_\[v\];.*;(light)?\(anonymous\)_\[v\];burn_\[v\]'
)

# Of a worker thread, by line.
has_lines() {
	grep -qE ";inWorker \(shares.js:46\)_\[v\];main \(shares.js:38\)_\[v\];heavy \(shares.js:15\)_\[v\];burn \(shares.js:10\)_\[v\]" "$1"
}

# Most of the time is in the loop of count(), which has no code of its own then.
has_inlined_functions() {
	awk '
	!/_\[v\]/ { next }
	{ all += $NF }
	/;turn \(inlined\.js:26\)_\[v\];add \(inlined\.js:16\)_\[v\];count \(inlined\.js:(8|10|11)\)_\[v\]/ { inlined += $NF }
	END {
		printf "# %d of %d samples\n", inlined, all
		exit !(all >= 100 && inlined >= all / 2)
	}' "$1"
}

# What earlier calls left on the stack of compiled code is no caller. Optimized code that no longer
# holds calls the deoptimizer.
has_no_invented_callers() {
	! grep -E "(heavy|light|tiny)_\[v\];(v8|node)::" "$1" | grep -v "_\[v\];v8::internal::Deoptimizer::"
}

# Programs of engines that are not read are told by their names: is_refused NAME RUNTIME
is_refused() {
	cp "$(command -v sleep)" "$tmp/$1" && start "$tmp/$1" 600
	is_told() {
		"$pilotlight" runtimes --json >"$tmp/runtimes" 2>&1 &&
			grep "\"pid\":${started[-1]}," "$tmp/runtimes" | grep "\"runtime\":\"$2\"" |
			grep -q '"state":"unknown","reason":"[^"]'
	}
	wait_for 60 is_told "$@" || note "$(cat "$tmp/runtimes")"
	is_told "$@" && "$pilotlight" runtimes | grep -q " ${started[-1]} .*  only native functions are shown: .*/$1$"
}

need_root
need_programs
need_commands node
[[ $(node --version) =~ ^v(18|20|22|24)\. ]] || skip_all "needs Node.js 18 to 24"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
compiled=(node --no-turbo-inlining)
node --no-maglev-inlining -e 0 2>"$tmp/ignored" && compiled+=(--no-maglev-inlining)
runtime=v8
idle=(node -e 'setInterval(() => {}, 1e9)')
first_recording() { record "$tmp/first.folded" -F 499 -- node "$program" 0.2; }
plan 13

check "before the first recording nobody has met V8" is_runtime unseen 60
check "Deno is refused with a reason" is_refused deno v8
check "so is Bun" is_refused bun jsc
check "a recording makes the unwind table, with the description" is_read_after_recordings
check "a recording of interpreted functions" \
	record "$tmp/interpreted.folded" -F 1999 -- node --no-opt --no-sparkplug "$program" 0.5
check "the shares of interpreted functions" has_shares "$tmp/interpreted.folded"
check "they have all callers" has_whole_chains "$tmp/interpreted.folded" ';burn_\[v\]' 1 "${chains[@]}"
record "$tmp/compiled.folded" -F 1999 -- "${compiled[@]}" "$program" 0.5
check "the shares of compiled functions" has_shares "$tmp/compiled.folded"
record "$tmp/worker.folded" -F 1999 -- "${compiled[@]}" "$program" 0.5 worker
check "the shares in a worker thread" has_shares "$tmp/worker.folded"
check "no callers that did not call" has_no_invented_callers "$tmp/worker.folded"
for option in no-sparkplug always-sparkplug; do
	record "$tmp/$option.folded" -F 999 --lines -- node --max-optimized-bytecode-size=0 --"$option" "$program" 0.2 worker
done
check "functions in a worker thread, with the lines that are interpreted" has_lines "$tmp/no-sparkplug.folded"
check "the same of code that was compiled without being optimized" has_lines "$tmp/always-sparkplug.folded"
record "$tmp/inlined.folded" -F 999 --lines -- node "$inlined" 1
check "functions within the code of their callers, with the lines that run" has_inlined_functions "$tmp/inlined.folded"
finish
