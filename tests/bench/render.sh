#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of rendering 100,000 and 1,000,000 distinct stacks: CPU seconds (user and system) and peak memory with the
# profile itself. If inferno-flamegraph and flamegraph.pl are on PATH, they draw the same stacks from folded text.
# Run `make bench` first. The last line of each size has stacks that share few frames.
set -u
cd "$(dirname "$0")/../.." || exit 1
render=build/release/bench/render
[ -x $render ] || { echo "$render is not there: run make bench" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Prints CPU seconds and peak memory of a command whose output goes to a file.
measure() {
	local name=$1 TIMEFORMAT='%U %S' status seconds
	shift
	if [ -x /usr/bin/time ]; then
		/usr/bin/time -o "$folder/time" -f '%U %S %M' "$@" >"$folder/out" 2>"$folder/errors"
		status=$?
	else
		{ time "$@" >"$folder/out" 2>"$folder/errors"; } 2>"$folder/time"
		status=$?
	fi
	[ $status = 0 ] || { echo "$name failed: $(tail -n 1 "$folder/errors")"; return; }
	seconds=$(tail -n 1 "$folder/time")
	awk -v name="$name" -v bytes="$(stat -c %s "$folder/out")" '{
		peak = "?"
		if (NF > 2)
			peak = sprintf("%.1f", $3 / 1024)
		printf("%-20s %7.3f s CPU %7s MiB peak %7.1f MiB written\n", name, $1 + $2, peak,
			bytes / 1048576)
	}' <<<"$seconds"
}

for stacks in 100000 1000000; do
	for format in svg folded table; do
		$render $stacks $format "$folder/rendered"
		[ $format = folded ] && mv "$folder/rendered" "$folder/folded"
	done
	$render $stacks svg "$folder/rendered" 8
	for peer in inferno-flamegraph flamegraph.pl; do
		if command -v $peer >/dev/null; then
			measure $peer $peer "$folder/folded"
		else
			echo "$peer: not on PATH"
		fi
	done
done
