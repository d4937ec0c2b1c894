#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures what whole stacks cost and how many stacks are whole, compared with perf. As root:
#
#	make && make bench && tests/bench/unwind.sh [cost|whole|agree|tables]...
#
# cost    the kernel's time per sample, in the handler of the sampling timer (tracepoints
#         timer:hrtimer_expire_entry and _exit), so that BPF and perf compare. Nothing is
#         subtracted: `perf` without stacks is the floor. It samples at RATE (99) Hz on all CPUs,
#         where caches are cold. The tools take turns on the same process, ROUNDS (7) times
#         SECONDS_EACH (4), and are measured after they have settled. Figures are medians of the
#         rounds' medians and means. Frames are those of the user stack without inlined ones; the
#         time per frame is what exceeds the floor. Mounts tracefs if needed.
# whole   the share of user stacks that reach a root, for programs under load. The name of the
#         outermost frame decides, for all tools alike (unwind_stacks.py). `first` is a recording
#         with an empty cache of tables, `ours` one after it.
# agree   how many chains of functions agree with `perf record --call-graph dwarf` where both reach a
#         root (unwind_agree.py); in brackets, how far perf agrees with itself. perf samples at
#         PERF_RATE (3997) Hz beside RATE, for AGREE_SECONDS (20); KEEP names a folder for the
#         recordings.
# tables  the size of the unwind tables of all files that are mapped executable now, and of libLLVM
#         if installed, and the cost of making them (unwind_tables.c).
#
# LOADS selects from python six node sqlite openssl xz gxx git java nginx redis postgres go rust;
# programs that are not installed are left out. WHY=1 shows where stacks end that are not whole. The
# timer is that of cpu-clock: on a machine with a PMU, `cost` shows nothing for tools that sample by
# cycles.
#
# This is a bench, not a test: no figure makes it fail.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/bench
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
tables=${TABLES:-$root/build/release/bench/unwind_tables}
rate=${RATE:-99}
rounds=${ROUNDS:-7}
seconds=${SECONDS_EACH:-4}
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/unwind-bench.XXXXXX")
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

. "$here/unwind_loads.sh"

clean_up() {
	stop_load
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

needs() {
	echo "unwind: $*" >&2
	exit 1
}

# record TOOL SECONDS: writes $tmp/TOOL.folded or $tmp/TOOL.data.
record() {
	local tool=$1 perf=(perf record -q -a -F "$rate" -e cpu-clock -o "$tmp/$1.data")

	case $tool in
	none) "${perf[@]}" -- sleep "$2" ;;
	frame_pointers) "${perf[@]}" -g -- sleep "$2" ;;
	dwarf) "${perf[@]}" --call-graph dwarf -- sleep "$2" ;;
	ours_fp) "$pilotlight" record -q -F "$rate" -d "$2" --unwind=fp -o "$tmp/$tool.folded" ;;
	ours | first) "$pilotlight" record -q -F "$rate" -d "$2" -o "$tmp/$tool.folded" ;;
	esac >"$tmp/$tool.out" 2>&1 || needs "$tool failed: $(cat "$tmp/$tool.out")"
}

# stacks TOOL COMM [REASONS]: prints the counts of unwind_stacks.py for the recording.
stacks() {
	local tool=$1

	shift
	case $tool in
	none) ;;
	ours* | first) "$here/unwind_stacks.py" folded "$@" <"$tmp/$tool.folded" ;;
	*)
		perf script --no-inline -i "$tmp/$tool.data" -F comm,ip,sym,dso 2>/dev/null |
			"$here/unwind_stacks.py" perf "$@"
		;;
	esac
}

# The median of the numbers on standard input, or `-`.
median() {
	grep -v -e - | sort -n | awk '{ v[NR] = $1 }
		END { print NR ? (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 : "-" }'
}

# Measures all files that are mapped executable now, and libLLVM.
print_tables() {
	local files

	[ -x "$tables" ] || needs "no $tables: make bench"
	mapfile -t files < <({
		cat /proc/[0-9]*/maps 2>/dev/null | awk '$2 ~ /x/ && $6 ~ /^\// { print $6 }'
		readlink -f /usr/lib/*/libLLVM-*.so.1
	} | sort -u)
	printf '\ntables of what is mapped now\n'
	"$tables" "${files[@]}"
}

. "$here/unwind_cost.sh"
. "$here/unwind_whole.sh"
. "$here/unwind_agree.sh"

[ "$(id -u)" = 0 ] || needs "needs root"
[ -x "$pilotlight" ] || needs "no $pilotlight: make"
has perf || needs "needs perf"
echo "$(uname -srm), $(nproc) CPUs"
[ $# -gt 0 ] || set -- cost whole tables
for part in "$@"; do
	case $part in
	cost) print_costs ;;
	whole) print_wholeness ;;
	agree) print_agreement ;;
	tables) print_tables ;;
	*) needs "'$part' is none of cost, whole, agree, tables" ;;
	esac
done
