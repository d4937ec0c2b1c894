#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/node_agree.sh [PROGRAM...]
#
# Are the stacks of real JavaScript programs those that V8's own profiler sees in the same instants, with the default
# flags of node? Prints a row for each program (node_agree.py). Needs root, and npm, which installs what the programs
# work on. NODE is the program (node), AGREE_SECONDS (30) is how long the server runs, KEEP a folder for what was
# compared. Not part of make check: the packages come from the network.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
build=$root/build/programs/node
node=${NODE:-node}
port=8917
export PILOTLIGHT_SYMBOL_CACHE=$build/cache NODE_PATH=$build/node_modules NODE_BEGIN=$tmp/begin

need_root
if [ ! -d "$build/node_modules/express" ]; then
	mkdir -p "$build" && npm install --silent --no-audit --no-fund --prefix "$build" \
		express@4 typescript@5.6 rxjs@7 || exit 1
fi

# V8's profiler writes when the program ends.
run_program() {
	local profiler=(--cpu-prof --cpu-prof-interval 1000 --cpu-prof-dir "$tmp/profiles" -r "$src/node_wait.js")

	case $1 in
	express)
		start "$node" "${profiler[@]}" "$src/node_express.js" $port "${AGREE_SECONDS:-30}"
		watched=${started[-1]}
		start python3 "$src/python_client.py" $port
		return
		;;
	tsc)
		start "$node" "${profiler[@]}" "$build/node_modules/typescript/bin/tsc" --target es2019 --moduleResolution node \
			--outDir "$tmp/built" "$build/node_modules/rxjs/src/index.ts"
		;;
	esac
	watched=${started[-1]}
}

compare() {
	local round

	rm -rf "$tmp/profiles" "$NODE_BEGIN"
	run_program "$1" || return
	# Where many other programs run, it may have to be started again.
	for round in {1..10}; do
		! start_recording -F 4999 -e signal:signal_deliver --lines -p "$watched" -o "$tmp/$1.folded" || break
		[ "$round" -lt 10 ] || { note "$(cat "$tmp/err")"; return 1; }
	done
	# Until node's table is loaded.
	sleep "${TABLE_SECONDS:-5}"
	touch "$NODE_BEGIN"
	wait "$watched"
	ended_with 0 || return
	grep "^ *signal:signal_deliver" "$tmp/err" >&2
	stop_started
	[ -z "${KEEP:-}" ] || cp "$tmp/$1.folded" "$tmp/profiles"/*.cpuprofile "$KEEP"
	"$root/tests/programs/node_agree.py" "$1" "$tmp/$1.folded" "$tmp/profiles"/*.cpuprofile
}

[ $# -gt 0 ] || set -- express tsc
for program; do
	compare "$program"
done
