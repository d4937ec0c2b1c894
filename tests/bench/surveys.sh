#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What surveys of time off the CPU cost. Run it as root on an otherwise idle machine:
#
#	make && make workloads && tests/bench/surveys.sh
#
# The service runs for SECONDS_EACH (60) seconds with OffCpu= and RunQueue= as "no", "survey" and "yes", beside no
# further threads, beside IDLE (5000) threads that sleep for ever, beside CROWD (2000) threads that each work once a
# second, and beside PYTHON (100) threads of Python that sleep 20 functions deep, for half a second each time; 0 skips
# one of these. Prints the share of the machine of its broker and engine, user and system, without the first SETTLED
# (20) seconds, and of its BPF programs (run_time_ns of the kernel; a survey's is in both). The last column counts samples
# of time off the CPU: a sample stands for a second with "survey", and for 10 ms with "yes". Then come ROUNDS (3) of `waits
# pipes-on-cpus` by turns: the CPU time of a turn without the service and with each. This is a bench, not a test: no
# figure makes it fail.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

seconds=${SECONDS_EACH:-60} settled=${SETTLED:-20} idle=${IDLE:-5000} crowd=${CROWD:-2000} python=${PYTHON:-100} rounds=${ROUNDS:-3}
period=${SURVEY_PERIOD:-1s}
statistics=$(cat /proc/sys/kernel/bpf_stats_enabled)
clean_up_bench() {
	echo "$statistics" >/proc/sys/kernel/bpf_stats_enabled
	clean_up_service
}
at_exit clean_up_bench
echo 1 >/proc/sys/kernel/bpf_stats_enabled
need_root
need_programs
need_service

begin_service() {
	printf '[Sampling]\nMaxCostPercent=%s\nOffCpu=%s\nRunQueue=%s\nSurveyPeriod=%s\n' "${MAX_COST:-0.15}" "$1" "$1" \
		"$period" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	start_service || exit 1
}

processes() {
	echo "$service_pid"
	role_pids engine
}

# Of all their threads.
cpu_ns() {
	local pid

	for pid in $(processes); do
		cat "/proc/$pid"/task/*/schedstat
	done 2>/dev/null | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

bpf_ns() {
	local pid

	for pid in $(processes); do
		cat "/proc/$pid"/fdinfo/* 2>/dev/null
	done | awk '$1 == "prog_id:" { id = $2 } $1 == "run_time_ns:" { ns = $2 }
		$1 == "run_cnt:" { if (ns) values[id ":" ns] = ns; ns = 0 }
		END { for (i in values) sum += values[i]; printf "%.0f\n", sum }'
}

# cost WHAT MODE
cost() {
	local cpu bpf begun

	begin_service "$2"
	sleep "$settled"
	cpu=$(cpu_ns) bpf=$(bpf_ns) begun=$(date +%s%N)
	sleep "$seconds"
	awk -v what="$1" -v mode="$2" -v cpu=$(($(cpu_ns) - cpu)) -v bpf=$(($(bpf_ns) - bpf)) -v cpus="$(nproc)" \
		-v stored="$(metric 'pilotlight_source_samples_total{source="offcpu",outcome="stored"}')" \
		-v all=$(($(date +%s%N) - begun)) 'BEGIN {
		printf "%-26s %-7s %8.4f %% %8.4f %%   %d\n", what, mode, 100 * cpu / all / cpus,
			100 * bpf / all / cpus, stored }'
	stop_service
	rm -rf "$STATE_DIRECTORY"/*
}

costs() {
	local mode

	for mode in no survey yes; do
		cost "$1" "$mode"
	done
}

# costs_beside WHAT: of what has been started.
costs_beside() {
	sleep 5
	costs "$1"
	stop_started
	started=()
}

turn() {
	"$workloads/waits" pipes-on-cpus 3 >"$tmp/turn"
	awk -v mode="$1" '{ print mode ": " $0 }' "$tmp/turn"
}

echo "$(uname -srm), $(nproc) CPUs, $(($(cat /proc/[0-9]*/task/[0-9]*/comm 2>/dev/null | wc -l))) threads, SurveyPeriod=$period"
printf '%-26s %-7s %10s %10s   %s\n' beside OffCpu= processes BPF 'samples off the CPU'
costs "nothing"
if [ "$idle" != 0 ]; then
	start python3 -c 'import sys, threading, time
threading.stack_size(65536)
for i in range(int(sys.argv[1])): threading.Thread(target=time.sleep, args=(100000,), daemon=True).start()
time.sleep(100000)' "$idle"
	costs_beside "$idle idle threads"
fi
if [ "$crowd" != 0 ]; then
	start "$workloads/crowd" 100000 "$crowd" 0
	costs_beside "$crowd that work"
fi
if [ "$python" != 0 ]; then
	start python3 -c 'import sys, threading, time
def wait(depth):
    if depth: wait(depth - 1)
    while not depth: time.sleep(0.5)
for i in range(int(sys.argv[1])): threading.Thread(target=wait, args=(20,), daemon=True).start()
time.sleep(100000)' "$python"
	costs_beside "$python of Python that wait"
fi
for ((round = 0; round < rounds; round++)); do
	turn none
	for mode in no survey yes; do
		begin_service "$mode"
		sleep 5
		turn "$mode"
		stop_service
	done
done
