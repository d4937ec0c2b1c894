#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The interface of `pilotlight jit`: the output of each command for files of real runtimes, exit statuses and
# messages. Symbols must equal those of an independent reader. A running runtime is listed and followed.
# Runs beside others: it reads files and waits for a runtime.
. "$(dirname "$0")/lib.sh"

need_programs
subcommand=jit
dumps=$root/tests/data/jitdump
maps=$root/tests/data/perfmap

symbols_agree() {
	local file

	for file in "$dumps"/*.dump "$maps"/{erlang25,node20,openjdk17,php82}*.map; do
		run 0 symbols "$file" || return
		cmp -s "$tmp/out" "${file%.*}.symbols" && continue
		note "$file: $(diff "$tmp/out" "${file%.*}.symbols" | head -4)"
		return 1
	done
}

# The dump has every LOAD of the independent reader's list, and all JSON is valid.
dumps_are_whole() {
	local file

	for file in "$dumps"/*.dump; do
		run 0 dump "$file" || return
		[ "$(grep -c ' LOAD ' "$tmp/out")" = "$(grep -c '^[^ ]* [0-9]* [^ ]*$' "${file%.*}.lines")" ] ||
			{ note "$file has $(grep -c ' LOAD ' "$tmp/out") LOADs"; return 1; }
		run 0 dump --json "$file" && is_json_lines "$tmp/out" || return
		"$pilotlight" jit verify --json "$file" >"$tmp/out" 2>&1
		is_json_lines "$tmp/out" || return
	done
}

damage_is_found() {
	run 1 verify "$dumps/node20-sigkill-partial-tail.dump" && prints ' partial-tail ' &&
		prints ' lines-biased ' && prints ' header-clock ' && prints ' lines-damaged ' &&
		run 0 verify "$dumps/openjdk17-libperf-jvmti.dump" && prints 'nothing to tell of'
}

# `symbols --at` accepts the time that `dump` prints for a LOAD.
times_are_those_of_dump() {
	local file=$dumps/node20-perf-prof.dump line time address

	run 0 dump "$file" || return
	line=$(grep ' LOAD ' "$tmp/out" | sed -n 10p)
	time=$(awk '{print $2}' <<<"$line") address=$(awk '{print substr($5, 3)}' <<<"$line")
	run 0 symbols --at "$time" "$file" && prints "^$address " && [ "$(wc -l <"$tmp/out")" -le 10 ]
}

misuse_is_reported() {
	run 2 && run 2 nothing && run 2 dump && run 2 symbols --at soon x && run 2 tail me &&
		run 1 dump "$maps/php82.map" && says_one_sentence && run 1 dump /dev/zero &&
		says_one_sentence && run 0 --help && prints '  verify '
}

a_gone_reader_is_no_error() {
	"$pilotlight" jit dump "$dumps/openjdk17-libperf-jvmti.dump" 2>"$tmp/err" | head -n 1 >/dev/null
	[ ! -s "$tmp/err" ]
}

# --- a running runtime ----------------------------------------------------------------------

start_node() {
	cat >"$tmp/hot.js" <<'END'
function hotFunction(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
setInterval(() => hotFunction(1e6), 5);
END
	cd "$tmp" || return
	start node "$@" "$tmp/hot.js"
	node=${started[-1]}
	cd "$root" || return
}

# Waits until `jit tail` prints the function.
is_followed() {
	timeout 60 "$pilotlight" jit tail -n all "$node" 2>"$tmp/err" | grep -m1 -q hotFunction && return
	note "$(cat "$tmp/err")"
	return 1
}

is_listed() {
	run 0 list --json && is_json_lines "$tmp/out" &&
		prints "\"pid\":$node,.*\"comm\":\"node\",\"runtime\":\"V8\",\"kind\":\"$1\",.*\"symbols\":[1-9]"
}

has_file() {
	"$pilotlight" jit list --json | grep -q "\"pid\":$node,.*\"kind\":\"$1\""
}

waits_for_file() {
	wait_for 60 has_file "$1" && return
	note "no $1 of $node: $("$pilotlight" jit list)"
	return 1
}

running_node() {
	if ! has node; then
		skip "a growing jitdump is followed" "needs node"
		skip "its process is listed" "needs node"
		return
	fi
	start_node --perf-prof
	check "a growing jitdump is followed" eval 'waits_for_file jitdump && is_followed'
	check "its process is listed" is_listed jitdump
	stop_started
}

manual() {
	if ! has mandoc; then
		skip "the manual has no mistakes" "needs mandoc"
		return
	fi
	check "the manual has no mistakes" mandoc -Tlint -Wwarning "$root/tools/pilotlight-jit.1"
}

plan 9
check "symbols equal those of an independent reader" symbols_agree
check "every record is printed, also as JSON" dumps_are_whole
check "verify reports deviations" damage_is_found
check "symbols --at accepts the times that dump prints" times_are_those_of_dump
check "misuse is reported" misuse_is_reported
check "a reader that closes the pipe is no error" a_gone_reader_is_no_error
running_node
manual
finish
