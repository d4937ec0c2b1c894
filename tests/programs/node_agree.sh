#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/node_agree.sh [PROGRAM...]
#
# Are the stacks of real JavaScript programs those that V8's own profiler sees in the same instants, with the compilers
# that node uses by default? Prints a row for each program (node_agree.py). Needs root, perf, and npm, which installs
# what the programs work on. NODE is the program (node), AGREE_SECONDS (60) is how long the server runs, KEEP a folder
# for what was compared. Not part of make check: the packages come from the network.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
build=$root/build/programs/node
node=${NODE:-node}
port=8917
export PILOTLIGHT_SYMBOL_CACHE=$build/cache NODE_PATH=$build/node_modules NODE_BEGIN=$tmp/begin

need_root
need_commands perf npm "$node"
if [ ! -d "$build/node_modules/webpack" ]; then
	mkdir -p "$build" && npm install --silent --no-audit --no-fund --prefix "$build" \
		express@4 typescript@5.6 rxjs@7 webpack@5 || exit 1
fi

run_program() {
	# Not more often: our times are rounded to 10 ms. Functions of the snapshot are not in the log.
	local profiler=(--no-node-snapshot --prof --prof-sampling-interval=20000 --logfile="$tmp/v8.log"
		--no-logfile-per-isolate -r "$src/node_wait.js")

	# V8 logs what is inlined.
	case $("$node" --version) in
	v18.*) profiler+=(--log-source-code) ;;
	*) profiler+=(--log-source-position) ;;
	esac
	case $1 in
	express)
		start "$node" "${profiler[@]}" "$src/node_express.js" $port "${AGREE_SECONDS:-60}"
		watched=${started[-1]}
		start python3 "$src/python_client.py" $port
		return
		;;
	tsc)
		start "$node" "${profiler[@]}" "$build/node_modules/typescript/bin/tsc" --target es2019 --moduleResolution node \
			--outDir "$tmp/built" "$build/node_modules/rxjs/src/index.ts"
		;;
	webpack)
		start "$node" "${profiler[@]}" "$src/node_webpack.js" "$tmp/built" express rxjs typescript
		;;
	esac
	watched=${started[-1]}
}

compare() {
	local round

	rm -rf "$tmp/v8.log" "$NODE_BEGIN"
	run_program "$1" || return
	# Where many other programs run, it may have to be started again.
	for round in {1..10}; do
		! start_recording -e signal:signal_deliver --times -p "$watched" -o "$tmp/$1.pb.gz" || break
		[ "$round" -lt 10 ] || { note "$(cat "$tmp/err")"; return 1; }
	done
	# The signals' own event is filtered by our program.
	start perf record -q -k mono -e syscalls:sys_enter_rt_sigreturn --call-graph dwarf,32768 --user-regs=ip,sp,bp -m 16M \
		-o "$tmp/$1.perf" -p "$watched"
	# Until node's table is loaded.
	sleep "${TABLE_SECONDS:-5}"
	touch "$NODE_BEGIN"
	wait "$watched"
	ended_with 0 || return
	wait "${started[-1]}"
	grep "^ *signal:signal_deliver" "$tmp/err" >&2
	stop_started
	if [ -n "${KEEP:-}" ]; then
		cp "$tmp/$1.pb.gz" "$tmp/$1.perf" "$KEEP"
		cp "$tmp/v8.log" "$KEEP/$1.log"
	fi
	"$root/tests/programs/node_agree.py" "$1" "$tmp/$1.pb.gz" "$tmp/v8.log" "$tmp/$1.perf"
}

[ $# -gt 0 ] || set -- express tsc webpack
for program; do
	compare "$program"
done
