#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user links a program with the build-id of another program and without unwind information, and runs it
# first. The other program still gets its own names and whole stacks, in this and later recordings.
# Runs beside others: it judges names and stacks of its own programs.
. "$(dirname "$0")/lib.sh"

tables=$(sed -n 's/^#define PILOTLIGHT_UNWIND_FOLDER "\(.*\)"/\1/p' "$root/include/pilotlight/unwind.h")

BUILD_ID=f01dedf01dedf01dedf01dedf01dedf01dedf01d
NOBODY=65534
SECONDS_EACH=1

# program NAME OPTIONS...: main() calls NAME_outer, which calls NAME_middle, which calls NAME_inner, which uses
# the CPU time given as first argument, in seconds.
program() {
	local name=$1

	shift
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=0x$BUILD_ID \
		-DINNER="${name}_inner" -DMIDDLE="${name}_middle" -DOUTER="${name}_outer" "$@" \
		"$tmp/program.c" -o "$tmp/$name"
}

make_programs() {
	cat >"$tmp/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

#ifdef PADDING
/* So that nothing is where it is in the other one. */
__attribute__((noinline, used)) void forged_padding(void)
{
	__asm__ volatile(".skip 3000, 0x90");
}
#endif

__attribute__((noinline)) int INNER(int n)
{
	int numbers[64];

	for (int i = 0; i < 64; i++)
		numbers[i] = n ^ i;
	for (int i = 0; i < 200000; i++)
		sink += (unsigned)numbers[i % 64] * 3u;
	return numbers[n % 64];
}

__attribute__((noinline)) int MIDDLE(int n)
{
	volatile char room[200];

	room[n % 200] = 1;
	return INNER(n) + room[n % 200];
}

__attribute__((noinline)) int OUTER(int n)
{
	volatile char room[40];

	room[n % 40] = 1;
	return MIDDLE(n) + room[n % 40];
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int n = 0, has_told = 0;
	struct timespec now;
	double elapsed;

	do {
		sink += (unsigned)OUTER(n++);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		elapsed = now.tv_sec + now.tv_nsec / 1e9;
		if (!has_told && elapsed > 0.5) {
			has_told = 1;
			puts("has begun");
			fflush(stdout);
		}
	} while (elapsed < seconds);
	return 0;
}
END
	program victim && program forger -DPADDING -fno-asynchronous-unwind-tables -fno-unwind-tables &&
		objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr "$tmp/forger" &&
		chown $NOBODY "$tmp/forger"
}

as_nobody() {
	setpriv --reuid $NOBODY --clear-groups "$@"
}
export -f as_nobody
export NOBODY SECONDS_EACH

# run_programs WHICH...: runs `forger` and `victim` one after the other; `both` runs them in parallel, the
# forger first.
run_programs() {
	local which

	for which; do
		case $which in
		forger) as_nobody "$tmp/forger" $SECONDS_EACH ;;
		victim) "$tmp/victim" $SECONDS_EACH ;;
		both)
			exec {begun}< <(as_nobody "$tmp/forger" 3)
			read -r -u "$begun"
			"$tmp/victim" $SECONDS_EACH
			cat <&"$begun"
			;;
		esac
	done
}
export -f run_programs
export tmp

# record_programs OUTPUT WHICH...
record_programs() {
	local output=$1

	shift
	record "$output" -F 499 -- bash -c 'run_programs "$@"' - "$@"
}

# Recordings do not wait for unwind tables. A table file appears complete.
has_own_table() {
	[ -e "$PILOTLIGHT_SYMBOL_CACHE/$tables/${BUILD_ID:0:2}/${BUILD_ID:2}.sym" ]
}

has_others_table() {
	[ -n "$(find "$PILOTLIGHT_SYMBOL_CACHE/$tables" -name '*.owned.sym')" ]
}

has_both_tables() {
	has_own_table && has_others_table
}

# record_until HAS OUTPUT WHICH...: repeats the recording until its tables are in the cache, for a minute at
# most.
record_until() {
	local has=$1 end=$((SECONDS + 61))

	shift
	while record_programs "$@"; do
		! "$has" || return 0
		[ $SECONDS -lt $end ] || { note "no table was made"; return 1; }
	done
	return 1
}

# has_own_names FILE NAME OTHER: samples of NAME are in NAME's functions and none in OTHER's.
has_own_names() {
	local own other

	own=$(folded_count "$1" "$2" "${2}_inner")
	other=$(grep -c "^$2;.*${3}_" "$1")
	note "$own samples of $2 in ${2}_inner, $other stacks with names of $3"
	[ "$own" -ge 50 ] && [ "$other" = 0 ]
}

# has_whole_stacks FILE: without its own table, or with the forger's, the victim has none. On a busy machine the
# first stacks are sampled long before the table exists.
has_whole_stacks() {
	local all whole

	all=$(folded_count "$1" victim victim_inner)
	whole=$(awk '/^victim;_start;.*;main;victim_outer;victim_middle;victim_inner / { sum += $NF }
		END { print sum + 0 }' "$1")
	note "$whole of $all samples of the victim have whole stacks"
	[ "$whole" -ge 50 ]
}

check_victim() {
	check "$1: the victim has its own names" has_own_names "$2" victim forger
	check "$1: ... and whole stacks" has_whole_stacks "$2"
}

# The build-id's cache entry is the victim's. The other user's file has a separate entry.
cache_knows_both() {
	"$pilotlight" symbols list >"$tmp/list"
	grep -q "^$BUILD_ID .*/victim$" "$tmp/list" && grep -q '^owned:.*/forger$' "$tmp/list" &&
		[ "$(grep -c /forger "$tmp/list")" = 1 ] && return
	note "$(cat "$tmp/list")"
	return 1
}

# The folder of tables has one table for each owner.
tables_are_apart() {
	local own others

	own=$(find "$PILOTLIGHT_SYMBOL_CACHE/$tables" -name "${BUILD_ID:2}.sym" | wc -l)
	others=$(find "$PILOTLIGHT_SYMBOL_CACHE/$tables" -name '*.owned.sym' | wc -l)
	note "$own tables of the build-id, $others of other owners"
	[ "$own" = 1 ] && [ "$others" = 1 ]
}

# A command that root runs rebuilds an entry that a recording made.
force_makes_anew() {
	"$pilotlight" symbols add --force "$tmp/victim" | grep -q 'unwind table was removed' &&
		! has_own_table
}

all_is_whole() {
	"$pilotlight" symbols verify >"$tmp/verified" && grep -q ' unwind tables of ' "$tmp/verified"
}

need_root
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands gcc objcopy setpriv
[ "$(uname -m)" = x86_64 ] || skip_all "unwind tables exist only for x86-64"
make_programs || skip_all "the programs cannot be compiled"

plan 20
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache
check "forger first: record succeeds" record_until has_others_table "$tmp/one.folded" forger
check "forger first: the forger has its own names" has_own_names "$tmp/one.folded" forger victim
check "victim later: record succeeds" record_until has_own_table "$tmp/two.folded" victim
check "victim later: ... and again" record_programs "$tmp/three.folded" victim
check_victim "victim later" "$tmp/three.folded"
check "the cache separates the symbols by owner" cache_knows_both
check "... and the tables" tables_are_apart

rm -rf "$PILOTLIGHT_SYMBOL_CACHE"
check "side by side: record succeeds" record_until has_both_tables "$tmp/four.folded" both
check "side by side: the victim has its own names" has_own_names "$tmp/four.folded" victim forger
check "side by side: ... and again" record_programs "$tmp/five.folded" both
check_victim "side by side, again" "$tmp/five.folded"

rm -rf "$PILOTLIGHT_SYMBOL_CACHE"
check "victim first: record succeeds" record_until has_own_table "$tmp/six.folded" victim forger
check "victim first: ... and again" record_programs "$tmp/seven.folded" victim forger
check_victim "victim first" "$tmp/seven.folded"
check "--force makes anew" force_makes_anew
check "... record succeeds, and the table is there again" \
	record_until has_own_table "$tmp/eight.folded" victim
check "... all of it is whole" all_is_whole
finish
