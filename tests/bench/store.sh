#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What history costs on disk and to read: a day of four busy CPUs at 99 Hz, and thirty days of coarse
# windows. Made from windows of ten seconds that are recorded here and now, of whatever runs, at
# such a rate that they have as many samples as four CPUs would; keep the machine busy meanwhile.
# As root, after `make` and `make bench`. WINDOWS=24 and RECORDED=FOLDER (of .pb.gz) may be set.
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
# The unit that has most samples is unknown to us: any command that was recorded serves.
mkdir "$folder/day"
$store generate "$folder/day" 24 4 "$recorded"/*.pb.gz || exit 1
$store read "$folder/day" || exit 1
$store read "$folder/day" "${UNIT:-/system.slice/cc1.service}" || exit 1
$store coarsen "$folder/day" || exit 1
$store month "$folder/day" 30 || exit 1
$store read "$folder/day"
