#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/bench/sinks.sh [SECONDS]
#
# What sampling costs while a sink's receiver fails. Five services run side by side for SECONDS (300): without a sink,
# and with one whose receiver is healthy, not there, slow, or lies (sink_receivers.py). Prints for each the CPU time of
# the BPF programs, of the engine, and of the broker with its children, which make and send batches; samples; losses;
# and what the sink sent. Needs root, and a quiet machine.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

seconds=${1:-300} kinds=(none healthy dead slow lying)
need_root
need_programs
need_service

# start_host KIND
start_host() {
	local folder=$tmp/$1

	mkdir -p "$folder"/{state,cache,run,etc}
	printf '[Sampling]\nMaxCostPercent=100\n' >"$folder/etc/pilotlight.conf"
	[ "$1" = none ] || cat >>"$folder/etc/pilotlight.conf" <<END
[sink bench]
Type=otlp
Url=http://127.0.0.1:$(cat "$tmp/port.$1")
Interval=10s
NameWait=0
Timeout=20s
END
	STATE_DIRECTORY=$folder/state CACHE_DIRECTORY=$folder/cache RUNTIME_DIRECTORY=$folder/run \
		CONFIGURATION_DIRECTORY=$folder/etc start bash -c 'exec "$1" >"$2" 2>&1' - "$pilotlightd" "$folder/log"
	wait_for 60 metric_of "$1" windows_sealed_total
}

# metric_of KIND NAME...: the sum of these metrics of a service, whatever their labels.
metric_of() {
	local name=$2

	curl -sf --unix-socket "$tmp/$1/run/api.sock" http://localhost/metrics |
		awk -v name="pilotlight_$name" '{ split($1, parts, "{") } parts[1] == name && !/reason="(idle|filtered)/ { sum += $NF; found = 1 }
			END { printf "%.6f\n", sum; exit !found }'
}

read_all() {
	local kind name

	for kind in "${kinds[@]}"; do
		for name in bpf_cpu_seconds_total engine_cpu_seconds_total broker_cpu_seconds_total samples_stored_total \
			samples_dropped_total sink_sent_batches_total; do
			echo "$kind $name $(metric_of "$kind" "$name")"
		done
	done
}

for kind in healthy dead slow lying; do
	start python3 "$root/tests/bench/sink_receivers.py" "$kind" "$tmp/port.$kind"
	wait_for 60 test -s "$tmp/port.$kind"
done
start "$workloads/many_stacks" 100000 64
for kind in "${kinds[@]}"; do
	start_host "$kind" || exit 1
done
# Symbols are read meanwhile, and sinks have begun to fail.
sleep 60
read_all >"$tmp/before"
sleep "$seconds"
read_all >"$tmp/after"
awk -v seconds="$seconds" '
NR == FNR { before[$1, $2] = $3; next }
{ grown[$1, $2] = $3 - before[$1, $2]; if (!($1 in seen)) { seen[$1]; order[++count] = $1 } }
END {
	print "ms of CPU a second; samples a second; lost; batches sent"
	printf "%-10s %8s %8s %8s %8s %8s %8s\n", "receiver", "BPF", "engine", "broker", "samples", "lost", "sent"
	for (i = 1; i <= count; i++) {
		kind = order[i]
		printf "%-10s %8.3f %8.3f %8.3f %8.1f %8d %8d\n", kind,
			1000 * grown[kind, "bpf_cpu_seconds_total"] / seconds,
			1000 * grown[kind, "engine_cpu_seconds_total"] / seconds,
			1000 * grown[kind, "broker_cpu_seconds_total"] / seconds,
			grown[kind, "samples_stored_total"] / seconds, grown[kind, "samples_dropped_total"],
			grown[kind, "sink_sent_batches_total"]
	}
}' "$tmp/before" "$tmp/after"
