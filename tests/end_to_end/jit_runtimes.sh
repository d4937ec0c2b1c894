#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real runtimes, each running heavy three times as long as light (jit_programs/hot.*). Their generated code gets
# its names and the right shares, and perf names no hot function that we miss. The programs that
# tests/runtimes/prepare made are used if they exist.
# Runs beside others: it judges the names of its own programs, and shares within them.
. "$(dirname "$0")/lib.sh"

SECONDS_EACH=2 # of CPU time
programs=$root/tests/end_to_end/jit_programs
runtimes=$root/build/runtimes
agent=$runtimes/libperf-jvmti.so
wasm_python=$runtimes/wasmtime/bin/python3
# Otherwise a runtime would leave files in /tmp or $HOME.
export JITDUMPDIR=$tmp HOME=$tmp

# --- running -----------------------------------------------------------------------------------

# Saves the PID, which is in the names of the files that runtimes and perf leave in /tmp.
run_numbered() {
	echo $$ >>"$tmp/pids"
	exec "$@"
}

remove_left_files() {
	local pid

	[ -e "$tmp/pids" ] || return
	while read -r pid; do
		rm -f "/tmp/perf-$pid.map" "/tmp/jit-$pid.dump" /tmp/jitted-"$pid"-*.so
	done <"$tmp/pids"
	rm -f "$tmp/pids"
}

# record_runtime NAME COMMAND...: records, at the same time with perf if WITH_PERF is set. The names are those that the
# runtime writes.
record_runtime() {
	local output=$tmp/$1.folded beside=()

	shift
	[ -z "${WITH_PERF-}" ] ||
		beside=(perf record -q -k 1 -g -F 499 --no-buildid-cache -o "$tmp/perf.data" --)
	(cd "$tmp" && "${beside[@]}" "$pilotlight" record -F 499 --runtime-frames native -o "$output" -- \
		bash -c 'run_numbered "$@"' run "$@" >"$output.out" 2>"$output.log") && return
	note "$(tail -n 20 "$output.log")"
	return 1
}

# --- names ------------------------------------------------------------------------

# Prints the names of generated code that ran or called the kernel, with their samples. jcmd is a virtual
# machine too, but its names were not requested.
generated_leaves() {
	awk '!/^jcmd;/ {
		count = $NF
		sub(/ [0-9]+$/, "")
		for (n = split($0, frames, ";"); n > 1 && frames[n] ~ /_\[k\]$/; n--)
			;
		if (frames[n] ~ /_\[j\]$/)
			printf "%d\t%s\n", count, substr(frames[n], 1, length(frames[n]) - 4)
	}' "$1"
}

# is_right NAME HEAVY LIGHT: patterns of names. 99 % of the samples have a name, nearly all are heavy or light,
# and heavy has three quarters of these.
is_right() {
	generated_leaves "$tmp/$1.folded" | awk -F '\t' -v heavy="$2" -v light="$3" '
	{ all += $1 }
	$2 == "[jit: unknown]" { unknown += $1 }
	$2 ~ heavy { hot += $1 }
	$2 ~ light { warm += $1 }
	END {
		share = hot + warm ? 100 * hot / (hot + warm) : 0
		printf "# %d samples in generated code, %d without a name, %d in heavy, %d in light: %.1f %%\n",
			all, unknown, hot, warm, share
		exit !(all >= 100 && unknown * 100 <= all && (hot + warm) * 10 >= all * 9 &&
			share > 68 && share < 82)
	}'
}

# runtime_is_named NAME HEAVY LIGHT COMMAND...
runtime_is_named() {
	local name=$1 heavy=$2 light=$3

	shift 3
	record_runtime "$name" "$@" && accounts_close "$tmp/$name.folded.log" &&
		is_right "$name" "$heavy" "$light" && return
	note "$(tail -n 12 "$tmp/$name.folded.log")"
	return 1
}

# Prints perf's names from the jitdump that have a significant share, 1 % or more.
perf_names() {
	(cd "$tmp" && perf inject --jit -i perf.data -o injected.data >/dev/null 2>&1 &&
		perf report --no-demangle -i injected.data --no-children -g none --stdio -t '@' \
			-F sample,dso,symbol 2>/dev/null) | awk -F '@' '
	$2 ~ /jitted-/ {
		sub(/^ *\[.\] /, "", $3)
		sub(/ *$/, "", $3)
		count[$3] += $1
		total += $1
	}
	END {
		for (name in count)
			if (count[name] * 100 >= total && count[name] >= 10)
				print name
	}'
}

# Semicolons separate frames in a folded file, so names have colons instead.
perf_knows_no_more() {
	local name count=0 status=0

	perf_names | tr ';' ':' >"$tmp/theirs"
	generated_leaves "$tmp/$1.folded" | cut -f 2 | tr ';' ':' >"$tmp/ours"
	while IFS= read -r name; do
		count=$((count + 1))
		grep -qxF -e "$name" "$tmp/ours" || { note "not among ours: $name"; status=1; }
	done <"$tmp/theirs"
	note "$count hot names of perf"
	[ "$count" -gt 0 ] && return $status
}

# check_runtime NAME PROGRAM HEAVY LIGHT COMMAND...: skipped if PROGRAM is not installed.
check_runtime() {
	local name=$1 program=$2 heavy=$3 light=$4 also="perf names nothing hot that we do not"

	shift 4
	if ! has "$program" && [ ! -e "$program" ]; then
		skip "$name" "no $program"
		[ -z "${WITH_PERF-}" ] || skip "$name: $also" "no $program"
		return
	fi
	check "$name" runtime_is_named "$name" "$heavy" "$light" "$@"
	if [ -n "${WITH_PERF-}" ]; then
		check "$name: $also" perf_knows_no_more "$name"
	fi
	remove_left_files
}

# --- the runtimes ------------------------------------------------------------------------------

check_node() {
	local heavy='^(JS|LazyCompile):.*heavy ' light='^(JS|LazyCompile):.*light ' node=(node --no-turbo-inlining)

	WITH_PERF=$perf check_runtime "node --perf-prof" node "$heavy" "$light" \
		"${node[@]}" --perf-prof "$programs/hot.js" $SECONDS_EACH
	check_runtime "node --perf-prof-unwinding-info" node "$heavy" "$light" \
		"${node[@]}" --perf-prof --perf-prof-unwinding-info "$programs/hot.js" $SECONDS_EACH
	check_runtime "node --perf-basic-prof" node "$heavy" "$light" \
		"${node[@]}" --perf-basic-prof "$programs/hot.js" $SECONDS_EACH
}

check_erlang() {
	has erlc && erlc -o "$tmp" "$programs/hot.erl"
	check_runtime "erl +JPperf true" erl 'hot:heavy/2' 'hot:light/2' \
		erl +JPperf true -noshell -run hot main $SECONDS_EACH
	check_runtime "erl +JPperf map" erl 'hot:heavy/2' 'hot:light/2' \
		erl +JPperf map -noshell -run hot main $SECONDS_EACH
}

# opcache does not compile a script younger than two seconds.
check_php() {
	local php=(php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=32M -d opcache.jit=tracing)

	if has php && ! php -m | grep -q OPcache; then
		php=(php -d zend_extension=opcache "${php[@]:1}")
	fi
	cp "$programs/hot.php" "$tmp/" && touch -d '1 hour ago' "$tmp/hot.php"
	check_runtime "php, jit_debug 0x10" php heavy light \
		"${php[@]}" -d opcache.jit_debug=0x10 hot.php $SECONDS_EACH
	WITH_PERF=$perf check_runtime "php, jit_debug 0x20" php heavy light \
		"${php[@]}" -d opcache.jit_debug=0x20 hot.php $SECONDS_EACH
	check_runtime "php, jit_debug 0x20, a fork" php heavy light \
		"${php[@]}" -d opcache.jit_debug=0x20 hot.php $SECONDS_EACH fork
}

# Returns whether the process handles SIGQUIT. jcmd sends it, and it would kill a process without a handler.
takes_quit() {
	local caught

	caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status" 2>/dev/null)
	[ $((0x${caught:-0} & 4)) != 0 ]
}

# jcmd writes the map with the code of that moment.
has_java_map() {
	jcmd "$1" Compiler.perfmap && grep -q 'Hot.heavy' "/tmp/perf-$1.map" &&
		grep -q 'Hot.light' "/tmp/perf-$1.map"
}

# used_cpu PID SECONDS: the process has used that much CPU time.
used_cpu() {
	awk -v least="$2" -v hz="$(getconf CLK_TCK)" '
		{ sub(/.*\) /, ""); exit !(($12 + $13) / hz >= least) }' "/proc/$1/stat"
}

# Runs until the map has both functions, and then for SECONDS_EACH.
run_java_with_map() {
	local java

	java "$@" &
	java=$!
	echo $java >>"$tmp/pids"
	wait_for 60 takes_quit $java && wait_for 60 has_java_map $java &&
		wait_for 60 used_cpu $java $((SECONDS_EACH + 2)) && has_java_map $java >/dev/null ||
		echo "there is no map of $java"
	kill $java 2>/dev/null
	wait $java
	return 0
}

check_java() {
	local java=(-cp "$tmp" -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Hot.*)

	has javac && javac -d "$tmp" "$programs/Hot.java"
	check_runtime "java, a map by jcmd" javac 'Hot.heavy' 'Hot.light' \
		bash -c 'run_java_with_map "$@"' java "${java[@]}" Hot 300 300
	if [ -e "$agent" ]; then
		WITH_PERF=$perf check_runtime "java, perf's agent" javac 'Hot.*heavy' 'Hot.*light' \
			java "-agentpath:$agent" "${java[@]}" Hot $SECONDS_EACH
	else
		skip "java, perf's agent" "no $agent"
		[ -z "$perf" ] || skip "java, perf's agent: perf names nothing hot" "no $agent"
	fi
}

check_wasm() {
	WITH_PERF=$perf check_runtime "wasmtime" "$wasm_python" heavy light \
		"$wasm_python" "$programs/hot_wasm.py" $SECONDS_EACH
}

check_lli() {
	has clang && clang -O1 -fno-unroll-loops -fno-vectorize -emit-llvm -S "$programs/hot.c" \
		-o "$tmp/hot.ll"
	check_runtime "lli" lli heavy light lli --jit-kind=mcjit "$tmp/hot.ll" 400
}

need_root
need_programs
perf=
if has perf; then perf=yes; fi
export tmp SECONDS_EACH
export -f run_numbered run_java_with_map takes_quit has_java_map used_cpu wait_for
plan $((12 + ${#perf} / 3 * 4))
at_exit 'remove_left_files; clean_up'

check_node
check_erlang
check_php
check_java
check_wasm
check_lli
finish
