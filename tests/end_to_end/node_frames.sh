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

# start_as NAME [LIBRARY]: a program of that name, which maps a library of that name.
start_as() {
	cp --remove-destination "$(command -v bash)" "$tmp/$1" || return
	[ -z "${2:-}" ] || cp --remove-destination "$library" "$tmp/$2" || return
	LD_PRELOAD=${2:+$tmp/$2} start "$tmp/$1" -c 'while :; do :; done'
}

# has_interpreters RUNTIME,STATE,NAME...: the interpreters of the program that started last, in any order.
has_interpreters() {
	local found

	"$pilotlight" runtimes --json >"$tmp/runtimes" 2>&1 || return
	found=$(grep "\"pid\":${started[-1]}," "$tmp/runtimes" |
		sed -E 's/.*"runtime":"([^"]*)".*"state":"([^"]*)".*"path":"[^"]*\/([^"/]*)".*/\1,\2,\3/' | sort)
	[ "$found" = "$(printf '%s\n' "$@" | sort)" ]
}

lists() {
	local status

	wait_for 60 has_interpreters "$@"
	status=$?
	[ $status = 0 ] || note "$(cat "$tmp/runtimes")"
	return $status
}

# gives_reason NAME REASON: why the program that started last is not read.
gives_reason() {
	"$pilotlight" runtimes >"$tmp/text" &&
		grep -qE "^ *${started[-1]}  .*  only native functions are shown: $2: .*/$1$" "$tmp/text" &&
		grep "\"pid\":${started[-1]}," "$tmp/runtimes" | grep -qF "\"reason\":\"$2\"" && return
	note "$(cat "$tmp/text" "$tmp/runtimes")"
	return 1
}

# The program lacks the symbols v8dbg_.... Only a recording looks for them.
deno_is_refused_once_seen() {
	local round

	start_as deno && lists v8,unseen,deno || return
	for round in {1..10}; do
		record "$tmp/deno.folded" -d 1 -p "${started[-1]}" || return
		! wait_for 2 has_interpreters v8,unknown,deno || break
		note "no table after recording $round"
	done
	gives_reason deno "it lacks the symbols v8dbg_..., which tell how V8's objects are read"
}

bun_is_refused() {
	start_as bun && lists jsc,unknown,bun && gives_reason bun "JavaScriptCore is not supported"
}

# Debian's node is a small program, and libnode the runtime. Other libraries are listed beside the program.
libraries_are_runtimes() {
	start_as node && lists v8,unknown,node && start_as node libnode.so.1 && lists v8,unseen,libnode.so.1 &&
		start_as deno libruby.so.1 && lists v8,unknown,deno ruby,unseen,libruby.so.1
}

need_root
need_programs
need_commands node
library=$(ldd "$pilotlight" | awk '/libelf/ { print $3 }')
[[ $(node --version) =~ ^v(18|20|22|24)\. ]] || skip_all "needs Node.js 18, 20, 22 or 24"
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
compiled=(node --no-turbo-inlining)
node --no-maglev-inlining -e 0 2>"$tmp/ignored" && compiled+=(--no-maglev-inlining)
runtime=v8
idle=(node -e 'setInterval(() => {}, 1e9)')
first_recording() { record "$tmp/first.folded" -F 499 -- node "$program" "$1"; }
plan 14

check "before the first recording nobody has met V8" is_runtime unseen 60
check "Deno is refused with a reason, once a recording has met it" deno_is_refused_once_seen
check "Bun is refused at once" bun_is_refused
check "a program is not listed beside the library that is its runtime" libraries_are_runtimes
stop_started
check "a recording makes the unwind table, with the description" is_read_after_recordings
check "a recording of interpreted functions" \
	record "$tmp/interpreted.folded" -F 1999 -- node --no-opt --no-sparkplug "$program" 0.5
check "the shares of interpreted functions" has_shares "$tmp/interpreted.folded"
check "they have all callers" has_whole_chains "$tmp/interpreted.folded" ';burn_\[v\]' 1 "${chains[@]}"
record "$tmp/compiled.folded" -F 1999 -- "${compiled[@]}" "$program" 0.5
check "the shares of compiled functions" has_shares "$tmp/compiled.folded"
# While two threads start node, a higher rate would use up a user's room for names.
record "$tmp/worker.folded" -F 499 -- "${compiled[@]}" "$program" 2 worker
check "the shares in a worker thread" has_shares "$tmp/worker.folded"
check "no callers that did not call" has_no_invented_callers "$tmp/worker.folded"
# Two seconds are longer than the 1.1 s after which a user may send names again: until then the worker's code may lack lines.
for option in no-sparkplug always-sparkplug; do
	record "$tmp/$option.folded" -F 499 --lines -- node --max-optimized-bytecode-size=0 --"$option" "$program" 2 worker
done
check "functions in a worker thread, with the lines that are interpreted" has_lines "$tmp/no-sparkplug.folded"
check "the same of code that was compiled without being optimized" has_lines "$tmp/always-sparkplug.folded"
record "$tmp/inlined.folded" -F 999 --lines -- node "$inlined" 1
check "functions within the code of their callers, with the lines that run" has_inlined_functions "$tmp/inlined.folded"
finish
