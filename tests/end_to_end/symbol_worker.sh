#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The worker that makes symbol files: what it may not do, and files that ask for more than anybody has.
. "$(dirname "$0")/lib.sh"

cache=$tmp/cache
hostile=$tmp/hostile

# add NAME OPTIONS...: of the hostile file; the answer is in $tmp/answer. 124: it did not end.
add() {
	local name=$1

	shift
	timeout 100 "$pilotlight" symbols add --cache "$cache" --json --timeout 40 "$@" \
		"$hostile/$name" >"$tmp/answer" 2>"$tmp/err"
}

# field NAME: of the answer.
field() {
	grep -o "\"$1\":[^,}]*" "$tmp/answer" | head -n 1 | cut -d: -f2- | tr -d '"'
}

# is_told NAME RESULT REASONS: the worker ended by itself or its limits, and it is told how.
is_told() {
	local name=$1 result=$2 reasons=$3

	add "$name"
	note "$name: status $?, $(field result) $(field reason) $(cut -c 1-200 "$tmp/err")"
	[ "$(field result)" = "$result" ] && [[ " $reasons " == *" $(field reason) "* ]]
}

is_added() {
	add "$1" || { note "$(cat "$tmp/err")"; return 1; }
	note "$1: $(cat "$tmp/answer")"
	[ "$(field result)" = added ]
}

# worker_of PID: its child, stopped in the sandbox. Fails if there is none and will be none.
worker_of() {
	local parent=$1 worker

	while kill -0 "$parent" 2>/dev/null; do
		worker=$(pgrep -P "$parent" -x symbol-worker)
		if [ -n "$worker" ] && grep -q $'^Seccomp:\t2$' "/proc/$worker/status" 2>/dev/null &&
			kill -STOP "$worker" 2>/dev/null; then
			echo "$worker"
			return
		fi
		read -r -t 0.02 <>"$tmp/never"
	done
	return 1
}

# status_is NAME VALUE
status_is() {
	local value

	value=$(sed -n "s/^$1:[[:space:]]*//p" "$tmp/status" | tr -s '[:space:]' ' ')
	value=${value% }
	[ "$value" = "$2" ] && return
	note "$1 is '$value'"
	return 1
}

# limit_is NAME VALUE: the soft one.
limit_is() {
	local value

	value=$(sed -n "s/^$1  *\([0-9a-z]*\) .*/\1/p" "$tmp/limits")
	[ "$value" = "$2" ] && return
	note "$1 is '$value'"
	return 1
}

has_no_capabilities() {
	local set

	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		status_is "$set" 0000000000000000 || return
	done
}

# 10 is the socket on which it asks for pieces of split DWARF; 11 is for the piece that comes.
has_only_its_files() {
	local open

	open=$(ls "/proc/$worker/fd" | sort -n | tr '\n' ' ')
	note "open: $open"
	[ "$open" = "0 1 2 3 4 5 6 10 " ]
}

# It cannot end by itself, as it is stopped.
dies_with_its_parent() {
	kill -KILL "$adding"
	wait "$adding" 2>/dev/null
	while kill -0 "$worker" 2>/dev/null; do
		read -r -t 0.02 <>"$tmp/never"
	done
	return 0
}

# Sets worker and adding, its parent. It may end before anybody has looked: then there is another one.
catch_worker() {
	local i

	for i in {1..20}; do
		"$pilotlight" symbols add --cache "$cache" --force "$hostile/xz_bomb" >"$tmp/out" 2>&1 &
		adding=$!
		started+=("$adding")
		! worker=$(worker_of "$adding") || return 0
	done
	return 1
}

check_live_worker() {
	catch_worker
	check "live: there is a worker" [ -n "$worker" ] || note "$(cat "$tmp/out")"
	cat "/proc/$worker/status" >"$tmp/status"
	cat "/proc/$worker/limits" >"$tmp/limits"
	check "live: it is nobody" status_is Uid "65534 65534 65534 65534"
	check "live: it is of nobody's group" status_is Gid "65534 65534 65534 65534"
	check "live: it is of no other groups" status_is Groups ""
	check "live: it has no capabilities" has_no_capabilities
	check "live: it can gain none" status_is NoNewPrivs 1
	check "live: memory is limited" limit_is "Max data size" $((256 << 20))
	check "live: CPU time is limited" limit_is "Max cpu time" 120
	check "live: processes are limited" limit_is "Max processes" 0
	check "live: descriptors are limited" limit_is "Max open files" 12
	check "live: core files are limited" limit_is "Max core file size" 0
	check "live: it has its files and no others" has_only_its_files
	check "live: it dies with its parent" dies_with_its_parent
}

no_drafts_are_left() {
	local left

	"$pilotlight" symbols prune --cache "$cache" >"$tmp/out" 2>&1 || { note "$(cat "$tmp/out")"; return 1; }
	left=$(ls "$cache/tmp")
	[ -z "$left" ] || { note "left: $left"; return 1; }
}

nobody_has_the_cache_open() {
	local open

	open=$(find /proc/[0-9]*/fd -lname "$cache/*" 2>/dev/null)
	[ -z "$open" ] || { note "$open"; return 1; }
}

a_sound_binary_is_added() {
	"$pilotlight" symbols add --cache "$cache" "$workloads/shares" >"$tmp/out" 2>&1 ||
		{ note "$(cat "$tmp/out")"; return 1; }
}

need_root
need_programs
has python3 || skip_all "needs python3"
mkfifo "$tmp/never"
mkdir -p "$hostile"
python3 "$root/tests/end_to_end/hostile_elf.py" "$hostile" || { echo "Bail out! no hostile files"; exit 1; }
plan 25

ends="nothing damaged too-big no-memory timeout"
check "10 GB that are mostly a hole" is_told sparse failed "$ends"
check "2^32 sections" is_told sections failed "$ends"
check "cyclic references" is_added cycles
check "300,000 nested calls" is_added deep
check "xz: 2 GiB out of 300 KiB" is_told xz_bomb failed "$ends"
check "xz: a dictionary of 3 GiB" is_told xz_dictionary failed "$ends"
check "zlib: 2 GiB out of 2 MiB" is_told zlib_bomb failed "$ends"
check "zlib: more than was said" is_told zlib_understated failed "$ends"
check "zlib: less than was said" is_told zlib_overstated failed "$ends"
check "a sound binary after all of them" a_sound_binary_is_added
check_live_worker
check "no drafts are left" no_drafts_are_left
check "no worker is left" nobody_has_the_cache_open
finish
