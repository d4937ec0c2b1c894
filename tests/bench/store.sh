#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of history, on disk and to read: a day of four busy CPUs at 99 Hz, with and without times of samples, and
# thirty days of coarse windows. They are made from windows of ten seconds, which this script records from the running
# machine, at a rate that gives the samples of four CPUs; keep the machine busy meanwhile. In a day with times the CPUs
# stall for 50 ms: is that seen? Run it as root after `make` and `make bench`. Options: WINDOWS=24 and RECORDED=FOLDER
# (of .pb.gz).
set -u
cd "$(dirname "$0")/../.." || exit 1
store=build/release/bench/store
[ -x $store ] || { echo "$store is not there: run make bench" >&2; exit 1; }
answer=build/release/bench/answer
day=1788480000 stall=1788523000.5 # as store.c has it
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# find_stall HISTORY: the cells of the heat map of its hour with the fewest samples, and the code of the two cells of 20 ms
# that lie within its 50 ms.
find_stall() {
	$answer "$1" "$folder/heat.json" $((day + 86400)) kind heatmap format json from @$((${stall%.*} - 1800)) \
		to @$((${stall%.*} + 1800)) || exit 1
	python3 -c 'import json, sys
heat = json.load(open(sys.argv[1]))
cells = sorted((count, heat["from"] + i * heat["column"] / heat["rows"]) for i, count in enumerate(heat["cells"]))
print("fewest samples in 20 ms:", *("%d at %+.2f s," % (count, at - float(sys.argv[2])) for count, at in cells[:4]),
      "in the middle", cells[len(cells) // 2][0])' "$folder/heat.json" $stall
	$answer "$1" "$folder/folded" $((day + 86400)) format folded windows exact \
		from @$stall to @${stall}39 || exit 1
	head -n 5 "$folder/folded"
}

recorded=${RECORDED:-}
if [ -z "$recorded" ]; then
	recorded=$folder/recorded
	mkdir "$recorded"
	for ((i = 10; i < 10 + ${WINDOWS:-24}; i++)); do
		build/release/pilotlight record -F $((4 * 99 / $(nproc))) -d 10 \
			-o "$recorded/$i.pb.gz" 2>"$folder/errors" ||
			{ tail -n 1 "$folder/errors" >&2; exit 1; }
	done
fi
# Any recorded command will do, because the unit with the most samples is unknown here.
mkdir "$folder/day"
$store generate "$folder/day" 24 4 0 "$recorded"/*.pb.gz || exit 1
for run in 1 8; do
	echo "with times of samples, of threads that run for $run of them:"
	mkdir "$folder/times"
	$store generate "$folder/times" 24 4 $run "$recorded"/*.pb.gz || exit 1
	find_stall "$folder/times"
	$store maintain "$folder/times" 49 || exit 1
	rm -r "$folder/times"
done
$store read "$folder/day" || exit 1
$store read "$folder/day" "${UNIT:-/system.slice/cc1.service}" || exit 1
$store maintain "$folder/day" 96 || exit 1
$store month "$folder/day" 30 || exit 1
$store read "$folder/day"
