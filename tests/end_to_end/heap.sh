#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Memory that programs allocate and hold, of a program whose call sites allocate and keep known amounts.
. "$(dirname "$0")/lib.sh"

need_root
need_programs

# A sample is of 1 KiB. The rate is such that none stands for more: of both sources, each then has room for a half of
# 20000 samples a CPU in 100 ms, and the program's are 7700 of each. If some did, which depends on how fast the program
# runs, a call site's amount would be out by up to 20 %.
period=1024
rate=20000
plan 17

# record NAME OPTION... -- COMMAND...: without functions of interpreters the kernel verifies the sampler faster.
record() {
	# The kernel lowers its limit of all rates while the machine is slow. 100000 is its default.
	echo 100000 2>/dev/null >/proc/sys/kernel/perf_event_max_sample_rate
	"$pilotlight" record --runtime-frames=native -F $rate -f folded -o "$tmp/$1" "${@:2}" >"$tmp/$1.log" 2>&1 </dev/null && return
	note "$(cat "$tmp/$1.log")"
	return 1
}

# bytes FILE FRAME
bytes() {
	echo $(($(folded_count "$tmp/$1" '' "$2") * period))
}

# has_amounts FILE COLUMN [LOG]: each call site has the bytes that the program has printed. An allocation that is no
# whole number of periods is rounded up or down by chance. The sum's standard deviation is 1.6 % for keep_small, of
# whose 65536 allocations one in 16 is sampled, and less than 0.2 % for all others. The tolerances are six of them.
has_amounts() {
	local log=$tmp/${3:-heap.log} name allocated live wanted got tolerance count=0

	while read -r name allocated live; do
		wanted=$allocated
		[ "$2" = live ] && wanted=$live
		got=$(bytes "$1" "$name")
		tolerance=$((wanted / 80))
		[ "$name" = keep_small ] && tolerance=$((wanted / 10))
		note "$name: $got bytes of $wanted"
		count=$((count + 1))
		within "$got" "$wanted" "$tolerance" || { note "$(cat "$log")"; return 1; }
	done < <(grep '^[a-z_]* [0-9]* [0-9]*$' "$log")
	[ "$count" -gt 0 ]
}

# nothing_is_missing LOG: no sample stands for others, and none is lost.
nothing_is_missing() {
	! grep -q 'stand for others' "$tmp/$1" && [ "$(grep -c '^heap:.* 0 B lost$' "$tmp/$1")" = 2 ] && return
	note "$(cat "$tmp/$1")"
	return 1
}

# On a busy machine the ring may fill before it is drained: then again, five times at most.
record_whole() {
	local turn

	for turn in {1..5}; do
		record "$@" || return
		! nothing_is_missing "$1.log" >/dev/null || return 0
	done
}

if record_whole heap -e heap:alloc/period=$period/,heap:live/period=$period/ -- "$workloads/heap"; then
	ok "a program's heap is recorded"
elif grep -q 'cannot sample heaps' "$tmp/heap.log"; then
	skip_all "no samples of heaps here: $(grep -v '^#' "$tmp/heap.log" | tail -n 1)"
else
	not_ok "a program's heap is recorded"
fi

starts_at_the_caller() {
	! grep -q 'malloc\|calloc\|_mid_memalign' "$tmp/heap.heap:alloc"
}

check "each allocation that is sampled counts for itself" nothing_is_missing heap.log
check "what each call site allocates is right" has_amounts heap.heap:alloc allocated
check "what each call site holds is right" has_amounts heap.heap:live live
tells_ages() {
	grep -q ';keep_small;\[age ' "$tmp/heap.heap:live" && ! grep -q '\[age ' "$tmp/heap.heap:alloc"
}

check "stacks of what lives end in its age" tells_ages
check "stacks begin at the caller of the allocator" starts_at_the_caller

# An allocator that samples itself: its reports count, and calls of malloc() do not, which it makes for each of them.
reports_count() {
	record_whole reports -e heap:alloc/period=$period/,heap:live/period=$period/ -- "$workloads/heap_reports" &&
		has_amounts reports.heap:alloc allocated reports.log && has_amounts reports.heap:live live reports.log
}

calls_do_not() {
	note "without a report: $(bytes reports.heap:alloc unreported) bytes"
	[ "$(bytes reports.heap:alloc unreported)" = 0 ]
}

check "what an allocator reports by USDT probes is right" reports_count
check "each of its reports counts for itself" nothing_is_missing reports.log
check "its calls of malloc() do not count" calls_do_not

child_is_sampled() {
	record child -e heap:alloc/period=$period/,heap:live/period=$period/ -- "$workloads/heap" child &&
		within "$(bytes child.heap:alloc keep_large)" 10000000 1000000
}

holds_nothing_after_its_end() {
	[ -e "$tmp/child.heap:live" ] && [ "$(bytes child.heap:live keep_large)" = 0 ]
}

survives_execve() {
	record shell -e heap:alloc/period=$period/ -- sh -c "\"$workloads/heap\"; :" &&
		within "$(bytes shell keep_small)" 4194304 419430
}

check "what a child allocates is sampled" child_is_sampled
check "a child that ended holds nothing" holds_nothing_after_its_end
check "a program that a shell starts is sampled" survives_execve

# limit BYTES: makes a memory cgroup, of either version; its list of processes is $group/cgroup.procs.
limit() {
	local root

	root=$(awk '$3 == "cgroup" && $4 ~ /memory/ { print $2; exit }' /proc/mounts)
	if [ -n "$root" ]; then
		group=$root/pilotlight-test-$$
		mkdir "$group" && echo "$1" >"$group/memory.limit_in_bytes"
		return
	fi
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	group=$root/pilotlight-test-$$
	[ -n "$root" ] && mkdir "$group" && echo "$1" >"$group/memory.max" && echo 0 >"$group/memory.swap.max"
}

hog_is_killed() {
	# The hog is no process that the recording is of: it would hold its memory anyway.
	record oom -e heap:live -- sh -c "(echo 0 >\"$group/cgroup.procs\" && exec \"$workloads/heap\" hog); :" || return
	note "$(grep -c 'killed: out of memory' "$tmp/oom") stacks of a victim"
	at_least "$(($(folded_count "$tmp/oom" '' '[killed: out of memory]') * 16384))" 50000000 &&
		grep -q 'hog;\[killed: out of memory\]' "$tmp/oom"
}

if limit $((64 << 20)) 2>"$tmp/limit.log"; then
	check "a victim of the lack of memory keeps what it held" hog_is_killed
	rmdir "$group"
else
	skip "a victim of the lack of memory keeps what it held" "no memory cgroup: $(cat "$tmp/limit.log")"
fi

refuses_all_processes() {
	"$pilotlight" record -e heap:alloc -f folded -d 1 -o "$tmp/all" 2>"$tmp/all.log"
	[ $? = 2 ] && grep -q 'heap:alloc and heap:live sample processes of -p or a COMMAND' "$tmp/all.log"
}
check "heaps of all processes are refused" refuses_all_processes

# The engine stands still while more is sampled than its ring holds. The profile cannot show what was lost.
losses_are_told() {
	local recorder child engine=

	mkfifo "$tmp/start" && exec 8<>"$tmp/start" || return
	"$pilotlight" record --runtime-frames=native -q -F 20000 -f folded -o "$tmp/lost" -e heap:live/period=1/ -- \
		sh -c ": >\"$tmp/begun\"; read -r _ <\"$tmp/start\"; \"$workloads/heap\" busy 60000; : >\"$tmp/allocated\"" \
		>"$tmp/lost.log" 2>&1 </dev/null &
	recorder=$!
	wait_beside $recorder test -e "$tmp/begun" || return
	for child in $(cat "/proc/$recorder/task/$recorder/children"); do
		[ "$(readlink "/proc/$child/exe")" = "$(readlink "/proc/$recorder/exe")" ] && engine=$child
	done
	kill -STOP "$engine"
	echo >&8
	exec 8>&-
	wait_beside $recorder test -e "$tmp/allocated"
	kill -CONT "$engine"
	wait $recorder || return
	note "$(cat "$tmp/lost.log")"
	grep -q 'heap:live lacks what lives of lost samples: ring full [0-9.]* [KM]iB' "$tmp/lost.log"
}
check "a quiet recording tells what is missing from what lives" losses_are_told

# Those of processes that run are of other tests.
leaves_no_probes() {
	local pid

	for pid in $(grep -o 'pilotlight/p[0-9]*' /sys/kernel/tracing/uprobe_events | tr -dc '0-9\n' | sort -u); do
		[ -d "/proc/$pid" ] || return
	done
}
check "no probes are left" leaves_no_probes

has_types() {
	record types -e heap:alloc,heap:live -f pprof -- "$workloads/heap" &&
		gzip -dc <"$tmp/types.heap:alloc" | grep -qa alloc_space &&
		gzip -dc <"$tmp/types.heap:live" | grep -qa inuse_space
}
check "pprof has Go's names of sample types" has_types

finish
