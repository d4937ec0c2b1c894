#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of the always-on service with all CPUs busy at 99 Hz. Run it as root on an otherwise idle machine:
#
#	make && make workloads && tests/bench/always_on.sh
#
# Measures DURATION (600) seconds under load, every PERIOD (10) seconds. LOAD=programs (default) runs python3 and xz
# on alternating CPUs. LOAD=interpreters runs python3 and node, with some 20 functions that call each other. LOAD=stacks
# runs a process on each CPU that rotates through 4096 stacks, so that samples rarely repeat. Then ROUNDS (5) of a fixed
# job on each CPU (JOB_MIB (48) of compression) run in turns without a profiler, with the service, and with `perf record
# -F 99 -a -g`; ROUNDS=0 skips these.
#   CPU     the share of the machine from the service's start, and from SETTLED (60) seconds on, which excludes
#           loading the programs and reading new binaries: time in BPF programs, and user and system time of all
#           its processes. By the service's own /metrics, and by the kernel: run_time_ns of the programs, and the
#           cgroup's account or /proc
#   memory  by the service's own count; the processes' Pss without BPF maps, plus the memory of maps and rings; and
#           the cgroup's charge, which includes page cache
#   job     medians of the time from the first start to the last end, and the slowdown against no profiler
#
# Rate control is off, so the figures are the full cost of 99 Hz. This is a bench, not a test: no figure makes it
# fail.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlightd=${PILOTLIGHTD:-$root/build/release/pilotlightd}
workloads=${WORKLOADS:-$root/build/release/workloads}
duration=${DURATION:-600}
period=${PERIOD:-10}
rounds=${ROUNDS:-5}
load_kind=${LOAD:-programs}
settled_s=${SETTLED:-60}
job_mib=${JOB_MIB:-48}
patience=30
cpus=$(nproc)
hz=$(getconf CLK_TCK)
tmp=$(mktemp -d) && chmod 755 "$tmp" || exit 1 # other users must enter it
load=() service='' perf=''
statistics=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)
cpu_group='' memory_group=''
settled='' ended='' # results of spent() at these times

needs() {
	echo "always_on: $*" >&2
	exit 1
}

# The programs never end by themselves.
load_cpu() {
	local python='import json
text = json.dumps({"n": [{"k": i, "s": str(i)} for i in range(500)]})
while True:
    json.loads(text, parse_float=str)'

	if [ "$load_kind" = stacks ]; then
		exec "$workloads/many_stacks" $((duration + 10 * patience)) 4096
	elif [ "$load_kind" = interpreters ] && [ $(($1 % 2)) = 0 ]; then
		exec python3 "$root/tests/bench/python_load.py" $((duration + 10 * patience))
	elif [ "$load_kind" = interpreters ]; then
		exec node "$root/tests/bench/node_load.js" $((duration + 10 * patience))
	elif [ $(($1 % 2)) = 0 ]; then
		exec python3 -c "$python"
	else
		exec xz -9 -c /dev/urandom >/dev/null
	fi
}

start_load() {
	local cpu

	for ((cpu = 0; cpu < cpus; cpu++)); do
		load_cpu $cpu &
		load+=($!)
	done
}

stop_load() {
	[ ${#load[@]} = 0 ] || { kill -KILL "${load[@]}"; wait "${load[@]}"; } 2>/dev/null
	load=()
}

stop_perf() {
	[ -z "$perf" ] || { kill -INT "$perf"; wait "$perf"; } 2>/dev/null
	perf=''
}

stop_service() {
	local pid=$service

	[ -n "$pid" ] || return 0
	service=''
	kill -TERM "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# Kills processes that a crashed service left in the group.
remove_group() {
	local turn

	for ((turn = 0; turn < 50 && $(wc -l <"$1/cgroup.procs") > 0; turn++)); do
		kill -KILL $(cat "$1/cgroup.procs")
		sleep 0.1
	done
	rmdir "$1"
}

clean_up() {
	local group

	stop_load
	stop_perf
	stop_service
	[ -z "$statistics" ] || echo "$statistics" >/proc/sys/kernel/bpf_stats_enabled
	for group in $cpu_group $memory_group; do
		[ ! -d "$group" ] || remove_group "$group"
	done 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# --- the service -------------------------------------------------------------------------------

# Makes one cgroup of version 2, or of version 1 if it has the controllers. Works without either.
make_groups() {
	local name=pilotlight-always-on.$$ fs=/sys/fs/cgroup

	if [ -f $fs/cgroup.controllers ]; then
		echo "+cpu +memory" >$fs/cgroup.subtree_control
		mkdir $fs/$name && cpu_group=$fs/$name memory_group=$fs/$name
	else
		mkdir $fs/cpuacct/$name && cpu_group=$fs/cpuacct/$name
		mkdir $fs/memory/$name && memory_group=$fs/memory/$name
	fi 2>/dev/null
}

metrics() {
	curl -sf --max-time 5 --unix-socket "$tmp/run/api.sock" http://localhost/metrics >"$tmp/metrics"
}

# metric NAME: prints its value, or nothing.
metric() {
	awk -v name="pilotlight_$1" '$1 == name { print $2; exit }' "$tmp/metrics"
}

start_service() {
	local waited

	mkdir -p "$tmp"/{state,cache,run,config}
	printf '[Sampling]\nFrequencyHz=99\nMaxCostPercent=100\n' >"$tmp/config/pilotlight.conf"
	started_ns=$(date +%s%N)
	(
		for group in $cpu_group $memory_group; do
			echo $BASHPID >"$group/cgroup.procs"
		done
		export STATE_DIRECTORY=$tmp/state CACHE_DIRECTORY=$tmp/cache \
			RUNTIME_DIRECTORY=$tmp/run CONFIGURATION_DIRECTORY=$tmp/config
		unset NOTIFY_SOCKET DEBUGINFOD_URLS
		exec "$pilotlightd" --config "$tmp/config/pilotlight.conf"
	) >"$tmp/service.log" 2>&1 &
	service=$!
	for ((waited = 0; waited < patience * 10; waited++)); do
		! metrics || return 0
		kill -0 "$service" 2>/dev/null || break
		sleep 0.1
	done
	cat "$tmp/service.log" >&2
	needs "$pilotlightd does not answer"
}

# Prints the service's main process and its descendants.
processes() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed -nE 's/^([0-9]+) \(.*\) . ([0-9]+) .*/\1 \2/p' |
		awk -v service="$service" '
		{ parent[$1] = $2 }
		END {
			for (pid in parent) {
				for (at = pid; at in parent && at != service; at = parent[at])
					;
				if (at == service)
					print pid
			}
		}'
}

# --- cost ----------------------------------------------------------------------------

# CPU time by the kernel, in ns: of the cgroup, or of all live and reaped processes.
cpu_ns() {
	local pid

	if [ -f "$cpu_group/cpuacct.usage" ]; then
		cat "$cpu_group/cpuacct.usage"
	elif [ -f "$cpu_group/cpu.stat" ]; then
		awk '$1 == "usage_usec" { print $2 * 1000 }' "$cpu_group/cpu.stat"
	else
		for pid in $(processes); do
			sed 's/.*) //' "/proc/$pid/stat"
		done 2>/dev/null |
			awk -v hz="$hz" '{ sum += $12 + $13 + $14 + $15 } END { printf "%.0f\n", sum / hz * 1e9 }'
	fi
}

# fdinfo_sum KEY ID: sums KEY over all BPF objects that the processes hold, each once. A link has its program's id
# too, but not its time.
fdinfo_sum() {
	local pid

	for pid in $(processes); do
		tail -v -n +1 /proc/"$pid"/fdinfo/*
	done 2>/dev/null | awk -v key="$1:" -v id="$2:" '
		function take() {
			if (object != "" && value > 0)
				values[object] = value
			object = ""; value = 0
		}
		/^==>/ { take() }
		$1 == key { value = $2 }
		$1 == id { object = $2 }
		END { take(); for (i in values) sum += values[i]; printf "%.0f\n", sum }'
}

# Bytes of the processes' private memory, plus the rings mapped from perf events.
own_bytes() {
	local pid

	for pid in $(processes); do
		cat "/proc/$pid/smaps"
	done 2>/dev/null | awk '
		/^[0-9a-f]+-[0-9a-f]+ / { is_map = /anon_inode:bpf-map/ }
		$1 == "Pss:" && !is_map { sum += $2 }
		END { printf "%.0f\n", sum * 1024 }'
}

charged_bytes() {
	cat "$memory_group/memory.current" "$memory_group/memory.usage_in_bytes" 2>/dev/null || :
}

# Prints a line: seconds, then bytes by the service, by /proc and by the cgroup.
look() {
	metrics || needs "the service no longer answers: $(tail -n 3 "$tmp/service.log")"
	echo "$((($(date +%s%N) - started_ns) / 1000000))" "$(metric memory_bytes)" \
		$(($(own_bytes) + $(fdinfo_sum memlock map_id))) "$(charged_bytes)" |
		awk '{ $1 /= 1000; print }' >>"$tmp/looks"
}

# Prints a line of kernel times in ns: since the start, in BPF, on CPUs.
spent() {
	echo "$(($(date +%s%N) - started_ns)) $(fdinfo_sum run_time_ns prog_id) $(cpu_ns)"
}

watch() {
	local begin=$SECONDS

	while [ $SECONDS -lt $((begin + duration)) ]; do
		sleep "$period"
		look
		[ -n "$settled" ] || [ $SECONDS -lt $((begin + settled_s)) ] || settled=$(spent)
	done
	ended=$(spent)
}

# --- tables ------------------------------------------------------------------------------------

# median <FILE
median() {
	sort -n | awk '{ v[NR] = $1 } END {
		if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# print_cost TITLE BPF_SECONDS CPU_SECONDS ELAPSED_SECONDS
print_cost() {
	awk -v title="$1" -v bpf="$2" -v cpu="$3" -v elapsed="$4" -v cpus="$cpus" 'BEGIN {
		printf "%-24s %8.3f s %8.3f s %9.4f %%\n", title, bpf, cpu,
			100 * (bpf + cpu) / elapsed / cpus }'
}

print_costs() {
	local elapsed bpf cpu bpf_ns cpu_ns

	metrics || needs "the service no longer answers"
	cpu=$(cpu_ns) bpf=$(fdinfo_sum run_time_ns prog_id)
	elapsed=$(awk -v ns=$(($(date +%s%N) - started_ns)) 'BEGIN { print ns / 1e9 }')
	printf '%-24s %10s %10s %11s\n' "of the machine" BPF CPU share
	print_cost "as it tells itself" "$(metric bpf_cpu_seconds_total)" "$(awk -v a="$(metric \
		engine_cpu_seconds_total)" -v b="$(metric broker_cpu_seconds_total)" \
		'BEGIN { print a + b }')" "$elapsed"
	print_cost "by the kernel" "$(awk -v ns="$bpf" 'BEGIN { print ns / 1e9 }')" \
		"$(awk -v ns="$cpu" 'BEGIN { print ns / 1e9 }')" "$elapsed"
	[ -z "$settled" ] || read -r elapsed bpf_ns cpu_ns < <(echo "$settled $ended" |
		awk '{ print ($4 - $1) / 1e9, ($5 - $2) / 1e9, ($6 - $3) / 1e9 }')
	[ -z "$settled" ] || print_cost "from $settled_s s on" "$bpf_ns" "$cpu_ns" "$elapsed"
	awk -v fired="$(metric samples_fired_total)" -v lost="$(metric samples_lost_total)" \
		-v bpf="$bpf" -v rate="$(metric sampling_rate_hertz)" \
		-v starts="$(metric engine_starts_total)" 'BEGIN {
		printf "%d samples at %s Hz, %d lost, %.2f us of BPF each; %s start(s) of the engine\n\n",
			fired, rate, lost, fired ? bpf / fired / 1000 : 0, starts }'
}

# print_memory TITLE COLUMN: prints the minimum, median and maximum of each half, and the slope of the second half
# by least squares.
print_memory() {
	awk -v title="$1" -v column="$2" -v middle="$(awk 'END { print $1 / 2 }' "$tmp/looks")" '
	function half(n, v,    i, j, swap) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
				swap = v[j]; v[j] = v[j - 1]; v[j - 1] = swap
			}
		return n ? sprintf("%6.1f %6.1f %6.1f", v[1], v[int((n + 1) / 2)], v[n]) : "     -      -      -"
	}
	$column != "" {
		mib = $column / 1048576
		if ($1 <= middle) { first[++m] = mib; next }
		second[++n] = mib
		x += $1; y += mib; xx += $1 * $1; xy += $1 * mib
	}
	END {
		if (m + n == 0) exit
		slope = n > 1 && n * xx > x * x ? (n * xy - x * y) / (n * xx - x * x) * 1024 * 60 : 0
		printf "%-24s %s   %s %8.1f KiB/min\n", title, half(m, first), half(n, second), slope
	}' "$tmp/looks"
}

print_memories() {
	printf '%-24s %20s   %20s %16s\n' "memory, MiB" "first half" "second half" "second rises by"
	print_memory "as it tells itself" 2
	print_memory "mapped, maps and rings" 3
	print_memory "charged to its cgroup" 4
	echo
}

# --- the fixed job -----------------------------------------------------------------------------

make_job() {
	local size=$((job_mib << 20))

	while [ "$(stat -c %s "$tmp/job" 2>/dev/null || echo 0)" -lt $size ]; do
		cat "$(readlink -f "$BASH")" "$pilotlightd" >>"$tmp/job"
	done
	truncate -s $size "$tmp/job"
}

# Runs a job on each CPU and prints the seconds.
run_job() {
	local cpu begun jobs=()

	begun=$(date +%s%N)
	for ((cpu = 0; cpu < cpus; cpu++)); do
		gzip -9 -c "$tmp/job" >/dev/null &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	awk -v ns=$(($(date +%s%N) - begun)) 'BEGIN { print ns / 1e9 }' >>"$tmp/$1.job"
}

with_none() {
	run_job none
}

# The job's time excludes the profiler's start.
with_service() {
	start_service
	sleep 5
	run_job service
	stop_service
}

with_perf() {
	perf record -q -a -g -F 99 -o "$tmp/perf.data" >"$tmp/perf.log" 2>&1 &
	perf=$!
	sleep 5
	kill -0 "$perf" 2>/dev/null || { cat "$tmp/perf.log" >&2; needs "perf does not run"; }
	run_job perf
	stop_perf
}

# print_job TITLE NAME
print_job() {
	awk -v title="$1" -v seconds="$(median <"$tmp/$2.job")" -v none="$(median <"$tmp/none.job")" \
		-v least="$(sort -n "$tmp/$2.job" | head -n 1)" \
		-v most="$(sort -n "$tmp/$2.job" | tail -n 1)" 'BEGIN {
		printf "%-24s %8.3f s (%.3f to %.3f) %+8.2f %%\n", title, seconds, least, most,
			100 * (seconds / none - 1) }'
}

compare_jobs() {
	local round tool tools=(none service)

	if command -v perf >/dev/null; then tools+=(perf); else echo "perf is not there: left out"; fi
	make_job
	run_job warm_up
	for ((round = 0; round < rounds; round++)); do
		for tool in "${tools[@]}"; do
			"with_$tool"
		done
	done
	echo "$job_mib MiB compressed on each CPU, medians of $rounds rounds in turns"
	print_job "no profiler" none
	print_job "the service, 99 Hz" service
	[ ! -f "$tmp/perf.job" ] || print_job "perf record -F 99 -a -g" perf
}

[ "$(id -u)" = 0 ] || needs "needs root"
[ -x "$pilotlightd" ] || needs "no $pilotlightd: make"
case $load_kind in
programs) ;;
interpreters) command -v node >/dev/null || needs "needs node: apt-get install nodejs" ;;
stacks) [ -x "$workloads/many_stacks" ] || needs "no $workloads: make workloads" ;;
*) needs "no LOAD=$load_kind: programs, interpreters or stacks" ;;
esac
command -v curl >/dev/null || needs "needs curl(1): apt-get install curl"

[ -z "$statistics" ] || echo 1 >/proc/sys/kernel/bpf_stats_enabled
make_groups
start_load
start_service
watch
echo "$(uname -srm), $cpus CPUs busy ($load_kind), $duration s"
print_costs
print_memories
stop_service
stop_load
[ "$rounds" = 0 ] || compare_jobs
