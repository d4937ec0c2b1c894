#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of history, on disk and to read: a day of four busy CPUs at 99 Hz, and thirty days of coarse windows. They
# are made from windows of ten seconds, which this script records from the running machine, at a rate that gives the
# samples of four CPUs; keep the machine busy meanwhile. Run it as root after `make` and `make bench`. Options:
# WINDOWS=24 and RECORDED=FOLDER (of .pb.gz).
set -u
cd "$(dirname "$0")/../.." || exit 1
store=build/release/bench/store
[ -x $store ] || { echo "$store is not there: run make bench" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
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
$store generate "$folder/day" 24 4 "$recorded"/*.pb.gz || exit 1
$store read "$folder/day" || exit 1
$store read "$folder/day" "${UNIT:-/system.slice/cc1.service}" || exit 1
$store coarsen "$folder/day" || exit 1
$store month "$folder/day" 30 || exit 1
$store read "$folder/day"
