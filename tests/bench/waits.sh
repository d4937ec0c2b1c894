#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How right times off the CPU are: of each way of workloads/waits, whose processes know their own times. Run it as root:
#
#	make && make workloads && tests/bench/waits.sh [WAY]...
#
# Each way runs SECONDS_EACH (3) seconds beside `pilotlight record -e offcpu,runqueue`, and again beside offcputime and
# runqlat of libbpf-tools (LIBBPF_TOOLS: the folder with them), if they are there. Prints the truth in ms, and the errors
# in per cent of the wall-clock time of all threads: pilotlight's of the time blocked and of the time waiting for a CPU,
# offcputime's of their sum, which is all that it tells, and runqlat's of the latter. It has a histogram, of which each
# bucket counts with its middle. The way "spin" runs in a control group that has a fifth of a CPU. This is a bench, not
# a test: no figure makes it fail.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
waits=${WORKLOADS:-$root/build/release/workloads}/waits
seconds=${SECONDS_EACH:-3}
tools=${LIBBPF_TOOLS:-}
START_SECONDS=3 # for the others to begin
tmp=$(mktemp -d) || exit 1
group=''

clean_up() {
	[ -z "$group" ] || rmdir "$group" 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT

needs() {
	echo "waits: $*" >&2
	exit 1
}

tool() {
	if [ -n "$tools" ]; then
		[ -x "$tools/$1" ] && echo "$tools/$1"
	else
		command -v "$1"
	fi
}

make_group() {
	local fs=/sys/fs/cgroup

	if [ -e $fs/cpu/tasks ]; then
		group=$fs/cpu/pilotlight-waits.$$
		mkdir "$group" && echo 20000 >"$group/cpu.cfs_quota_us"
	else
		group=$fs/pilotlight-waits.$$
		echo +cpu >$fs/cgroup.subtree_control
		mkdir "$group" && echo '20000 100000' >"$group/cpu.max"
	fi 2>/dev/null || group=''
}

# run_way WAY [COMMAND...]: COMMAND runs the way. Its line goes to $tmp/truth.
run_way() {
	local way=$1

	shift
	if [ "$way" = spin ] && [ -n "$group" ]; then
		"$@" sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" "$3" "$4"' sh \
			"$group" "$waits" "$way" "$seconds"
	else
		"$@" "$waits" "$way" "$seconds"
	fi >"$tmp/truth"
}

# All processes are sampled, so that all tools see the same.
beside_pilotlight() {
	run_way "$1" "$pilotlight" record -q -a -f folded -e offcpu,runqueue -o "$tmp/folded" --
}

beside_others() {
	local pids=()

	"$offcputime" $((seconds + 2 * START_SECONDS)) >"$tmp/offcputime" 2>/dev/null &
	pids+=($!)
	"$runqlat" -L $((seconds + 2 * START_SECONDS)) 1 >"$tmp/runqlat" 2>/dev/null &
	pids+=($!)
	sleep $START_SECONDS
	run_way "$1"
	wait "${pids[@]}"
}

# sum_folded FILE: ms.
sum_folded() {
	awk '/^waits-worker;/ { sum += $NF } END { print sum + 0 }' "$1"
}

# A line with the thread, then one with its microseconds.
sum_offcputime() {
	awk '/waits-worker \(/ { getline; sum += $1 } END { print sum / 1000 }' "$tmp/offcputime"
}

sum_runqlat() {
	awk '/waits-worker/ { on = 1; next } /^(pid|tid|comm) *=/ { on = 0 }
		on && $2 == "->" { sum += ($1 + $3) / 2 * $5 } END { print sum / 1000 }' "$tmp/runqlat"
}

# print_error FOUND_MS FIELD...: fields of the truth, whose sum it should be.
print_error() {
	awk -v found="$1" -v fields="${*:2}" '{
		n = split(fields, field, " ")
		for (i = 1; i <= n; i++)
			found -= $field[i]
		printf " %+9.2f", 100 * found / ($2 + $4 + $6)
	}' "$tmp/truth"
}

print_way() {
	beside_pilotlight "$1" 2>"$tmp/log" || { cat "$tmp/log" >&2; needs "cannot record"; }
	awk -v way="$1" '{ printf "%-15s %9.1f %9.1f %9.1f", way, $2, $4, $6 }' "$tmp/truth"
	print_error "$(sum_folded "$tmp/folded.offcpu")" 4
	print_error "$(sum_folded "$tmp/folded.runqueue")" 6
	if [ -n "$offcputime" ] && [ -n "$runqlat" ]; then
		beside_others "$1"
		print_error "$(sum_offcputime)" 4 6
		print_error "$(sum_runqlat)" 6
	fi
	echo
}

[ "$(id -u)" = 0 ] || needs "needs root"
[ -x "$waits" ] || needs "no $waits: make workloads"
offcputime=$(tool offcputime) runqlat=$(tool runqlat)
make_group
printf '%-15s %9s %9s %9s %9s %9s %9s %9s\n' way cpu blocked queued blocked queued offcputime runqlat
[ $# -gt 0 ] || set -- $("$waits")
for way in "$@"; do
	print_way "$way"
done
