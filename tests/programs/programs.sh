#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/programs.sh [--fast] [NAME]...
#
# Profiles the programs of programs.table and judges what Pilotlight says of each by what perf says of the same seconds
# (judge.py). --fast runs those that are marked so; `make check-programs` runs all. Prints TAP, a test for each program,
# with its figures. build/programs/table has them as rows of the table in docs/programs.md; build/programs/NAME/ has the
# recordings.
#
# A program runs in a cgroup of its own, for PROGRAM_SECONDS (5; 2 with --fast). A first recording of one
# second, whose output is not used, makes all tables and symbols. Then three recordings run side by side:
#
#   ours     pilotlight record, 1,999 times a second
#   stacks   perf record --call-graph dwarf, 199 times a second: for whole stacks
#   leaves   perf record, 1,999 times a second: for the shares of leaf functions
#
# To add a program, add a line to programs.table, and its source to src/ if it has one.
. "$(dirname "$0")/../end_to_end/lib.sh"

here=$root/tests/programs
src=$here/src
build=$root/build/programs
RATE=1999
PLANTED='whole roots unnamed misnamed leaf chains' # that the judge can plant defects in
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local GOCACHE=$build/go-cache

names=() classes=() needs=() builds=() runs=() bounds=()
passed= # the first program that passed
group=

program() {
	names+=("$1") classes+=("$2") needs+=("$3") builds+=("$4") runs+=("$5")
	bounds+=("${*:6}")
}

stop_program() {
	[ -n "$group" ] || return 0
	echo 1 >"$group/cgroup.kill"
	wait "$session"
	wait_for 10 rmdir "$group"
	group=
} 2>/dev/null
at_exit 'stop_program; clean_up'

# is_there NEED: one of the commands or files, which colons separate.
is_there() {
	local one

	for one in ${1//:/ }; do
		if [[ $one == /* ]]; then [ -e "$one" ]; else has "$one"; fi && return
	done
	return 1
}

# missing NEEDS: prints the first that is not there.
missing() {
	local need

	for need in $1; do
		is_there "$need" || { echo "${need//:/ or }"; return; }
	done
}

# is_chosen INDEX
is_chosen() {
	local name

	[ -z "$fast" ] || [[ " ${bounds[$1]} " == *" fast "* ]] || return
	[ ${#chosen[@]} -gt 0 ] || return 0
	for name in "${chosen[@]}"; do
		# shellcheck disable=SC2053
		[[ ${names[$1]} == $name ]] && return
	done
	return 1
}

build_program() {
	(cd "$folder" && export src o && bash -ec "$1") >"$folder/build.log" 2>&1 </dev/null && return
	note "$(tail -n 5 "$folder/build.log")"
	return 1
}

# Starts it in a cgroup of its own, and waits until it has used half a second of CPU time.
start_program() {
	group=$cgroups/pilotlight-programs-$$
	mkdir -p "$group"
	(echo "$BASHPID" >"$group/cgroup.procs" && cd "$folder" && export src o && exec bash -c "$1") \
		>"$folder/run.log" 2>&1 </dev/null &
	session=$!
	wait_for 20 has_worked && wait_for 5 has_processes && return
	note "it did not work: $(tail -n 5 "$folder/run.log")"
	return 1
}

has_worked() {
	awk '$1 == "usage_usec" { exit $2 < 500000 }' "$group/cpu.stat"
}

has_processes() {
	[ -n "$(processes)" ]
}

# Prints the program's processes as options, without those that may be gone at once: their parents' later children
# are recorded.
processes() {
	xargs ps -o pid=,etimes= <"$group/cgroup.procs" | awk '$2 >= 2 { print "-p" $1 }'
}

# perf's own way to follow a process does not count threads that start later; its way to follow a cgroup does.
record_sides() {
	local sides=() side

	perf record -q -a -m 32M -F 199 -e cpu-clock -G "${group##*/}" --call-graph dwarf,65528 \
		-o "$folder/stacks.data" -- sleep "$seconds" >"$folder/stacks.log" 2>&1 &
	sides+=($!)
	perf record -q -a -m 4M -e "cpu-clock/freq=$RATE,call-graph=fp,max-stack=1/" -G "${group##*/}" \
		-o "$folder/leaves.data" -- sleep "$seconds" >"$folder/leaves.log" 2>&1 &
	sides+=($!)
	# shellcheck disable=SC2046
	"$pilotlight" record $(processes) -F $RATE -d "$seconds" --runtime-frames native -o "$folder/ours.pb.gz" \
		>"$folder/ours.log" 2>&1 &
	sides+=($!)
	for side in "${sides[@]}"; do
		wait "$side" || { note "$(cat "$folder"/{ours,stacks,leaves}.log)"; return 1; }
	done
}

# record_program RUN
record_program() {
	local status

	start_program "$1" || { stop_program; return 1; }
	# shellcheck disable=SC2046
	"$pilotlight" record -q $(processes) -F 999 -d 1 -o "$folder/first.folded" >/dev/null 2>&1
	record_sides
	status=$?
	stop_program
	[ $status = 0 ] || return
	print_stacks stacks &
	print_stacks leaves
	wait $!
}

# print_stacks SIDE
print_stacks() {
	perf script --no-inline --max-stack=1000 -i "$folder/$1.data" -F ip,sym,dso >"$folder/$1" 2>"$folder/$1.log"
	rm -f "$folder/$1.data"
}

# judge [OPTION...]: prints the figures.
judge() {
	"$here/judge.py" "$@" --ours "$folder/ours.pb.gz" --stacks "$folder/stacks" --leaves "$folder/leaves"
}

# try_program INDEX
try_program() {
	local name=${names[$1]} lacks bound=()

	lacks=$(missing "${needs[$1]}")
	[ -z "$lacks" ] || { skip "$name" "needs $lacks"; return; }
	folder=$build/$name o=$build/$name/$name
	rm -rf "$folder"
	mkdir -p "$folder"
	read -ra bound <<<"${bounds[$1]/fast/}"
	if build_program "${builds[$1]}" && record_program "${runs[$1]}" &&
			judge --row "$folder/row" ${bound[@]+"${bound[@]}"} >"$folder/figures"; then
		ok "$name"
		passed=${passed:-$1}
	else
		not_ok "$name"
	fi
	[ ! -s "$folder/row" ] || echo "| $name | $(cat "$folder/row") |" >>"$build/table.new"
	[ ! -s "$folder/figures" ] || sed 's/^/# /' "$folder/figures"
}

# finds_planted COLUMN: the judge refuses the first recording that it accepted with a defect, in its column.
finds_planted() {
	local found bound=()

	[ -n "$passed" ] || return
	folder=$build/${names[$passed]}
	read -ra bound <<<"${bounds[$passed]/fast/}"
	found=$(judge --plant "$1" ${bound[@]+"${bound[@]}"} | awk '/^not ok/ { print $3 }')
	note "${found//$'\n'/ }"
	[[ " ${found//$'\n'/ } " == *" $1 "* ]]
}

# All at once, as each takes seconds.
try_judge() {
	local column

	for column in $PLANTED; do
		finds_planted "$column" >"$tmp/planted.$column" &
		started+=($!)
	done
	for column in $PLANTED; do
		check "the judge finds a planted defect: $column" wait "${started[0]}"
		cat "$tmp/planted.$column"
		started=("${started[@]:1}")
	done
}

fast=
[ "${1:-}" != --fast ] || { fast=1; shift; }
seconds=${PROGRAM_SECONDS:-$([ "$fast" ] && echo 2 || echo 5)}
chosen=("$@")
. "$here/programs.table"

need_root
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands perf python3
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -e "$cgroups/cgroup.procs" ] || skip_all "needs cgroup2"
indices=()
for index in "${!names[@]}"; do
	is_chosen "$index" && indices+=("$index")
done
[ ${#indices[@]} -gt 0 ] || { echo "Bail out! no such program"; exit 1; }
columns=($PLANTED)
mkdir -p "$build"
rm -f "$build/table.new"
plan $((${#indices[@]} + ${#columns[@]}))
for index in "${indices[@]}"; do
	try_program "$index"
done
try_judge
mv "$build/table.new" "$build/table"
finish
