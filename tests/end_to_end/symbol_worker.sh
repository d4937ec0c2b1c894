#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The worker that makes symbol files: its sandbox and limits, and files that would need more than the limits.
# Runs beside others: its limits are of memory and of CPU time.
. "$(dirname "$0")/lib.sh"

cache=$tmp/cache
hostile=$tmp/hostile

# add NAME OPTIONS...: adds the hostile file, with the answer in $tmp/answer. Status 124: the command did not end.
add() {
	local name=$1

	shift
	timeout 100 "$pilotlight" symbols add --cache "$cache" --json --timeout 40 "$@" \
		"$hostile/$name" >"$tmp/answer" 2>"$tmp/err"
}

# field NAME: prints a field of the answer.
field() {
	grep -o "\"$1\":[^,}]*" "$tmp/answer" | head -n 1 | cut -d: -f2- | tr -d '"'
}

# is_reported NAME RESULT REASONS: the worker ended by itself or by its limits, and the answer has the reason.
is_reported() {
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

# worker_of PID: prints its child, stopped in the sandbox. Fails if there will be none.
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

# limit_is NAME VALUE: compares the soft limit.
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

# Descriptor 10 is the socket for requests of split DWARF files; 11 is for a received file.
has_only_its_files() {
	local open

	open=$(ls "/proc/$worker/fd" | sort -n | tr '\n' ' ')
	note "open: $open"
	[ "$open" = "0 1 2 3 4 5 6 10 " ]
}

# The worker is stopped, so it cannot end by itself.
dies_with_its_parent() {
	kill -KILL "$adding"
	wait "$adding" 2>/dev/null
	while kill -0 "$worker" 2>/dev/null; do
		read -r -t 0.02 <>"$tmp/never"
	done
	return 0
}

# Sets worker and adding, its parent. Starts another one if the worker ends before it could be examined.
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
	check "live: a worker runs" [ -n "$worker" ] || note "$(cat "$tmp/out")"
	cat "/proc/$worker/status" >"$tmp/status"
	cat "/proc/$worker/limits" >"$tmp/limits"
	check "live: the worker runs as nobody" status_is Uid "65534 65534 65534 65534"
	check "live: the worker has nobody's group" status_is Gid "65534 65534 65534 65534"
	check "live: the worker has no other groups" status_is Groups ""
	check "live: the worker has no capabilities" has_no_capabilities
	check "live: the worker cannot gain capabilities" status_is NoNewPrivs 1
	check "live: memory is limited" limit_is "Max data size" $((256 << 20))
	check "live: CPU time is limited" limit_is "Max cpu time" 120
	check "live: processes are limited" limit_is "Max processes" 0
	check "live: descriptors are limited" limit_is "Max open files" 12
	check "live: core files are limited" limit_is "Max core file size" 0
	check "live: the worker has only its own files open" has_only_its_files
	check "live: the worker dies with its parent" dies_with_its_parent
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
need_commands python3
mkfifo "$tmp/never"
mkdir -p "$hostile"
python3 "$root/tests/end_to_end/hostile_elf.py" "$hostile" || { echo "Bail out! no hostile files"; exit 1; }
plan 25

ends="nothing damaged too-big no-memory timeout"
check "10 GB that are mostly a hole" is_reported sparse failed "$ends"
check "2^32 sections" is_reported sections failed "$ends"
check "cyclic references" is_added cycles
check "300,000 nested calls" is_added deep
check "xz: 2 GiB out of 300 KiB" is_reported xz_bomb failed "$ends"
check "xz: a dictionary of 3 GiB" is_reported xz_dictionary failed "$ends"
check "zlib: 2 GiB out of 2 MiB" is_reported zlib_bomb failed "$ends"
check "zlib: more data than announced" is_reported zlib_understated failed "$ends"
check "zlib: less data than announced" is_reported zlib_overstated failed "$ends"
check "a valid binary is added after all of them" a_sound_binary_is_added
check_live_worker
check "no temporary files are left" no_drafts_are_left
check "no process has the cache open" nobody_has_the_cache_open
finish
