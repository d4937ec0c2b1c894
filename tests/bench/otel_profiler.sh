#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares pilotlight with OpenTelemetry's profiler (opentelemetry-ebpf-profiler), one after the other on the same load
# of Python or JavaScript. Needs root and the profiler, built with `CGO_ENABLED=0 go build` in its repository:
#
#	OTEL_PROFILER=.../ebpf-profiler tests/bench/otel_profiler.sh [PYTHON|NODE...]
#
#   BPF     time in BPF programs a sample of the load, by the kernel's statistics, which count the programs of a tail
#           call with their caller. The profiler samples only the CPU on which the load runs. On a busy machine others
#           run there, too: its line tells how many of the samples that it sent were the load's. pilotlight samples all
#           CPUs: a second recording, of a process that sleeps, tells what a sample of others costs
#   CPU     user and system time from start to end. The profiler reads the files of all processes at its start
#   memory  the peak resident set and the BPF maps
#   named   how many frames a stack has of functions of the load's own source, and how many stacks have all calls of the
#           function that recurs
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
pilotlight=${PILOTLIGHT:-build/release/pilotlight}
rate=${RATE:-199} seconds=${SECONDS_EACH:-15} cpu=$(($(nproc) - 1))
[ -x "${OTEL_PROFILER:-}" ] || { echo "otel_profiler: skipped: OTEL_PROFILER names no program" >&2; exit 0; }
[ "$(id -u)" = 0 ] || { echo "otel_profiler: needs root" >&2; exit 1; }
[ -x /usr/bin/time ] || { echo "otel_profiler: needs time(1): apt-get install time" >&2; exit 1; }
tmp=$(mktemp -d) || exit 1
statistics=$(cat /proc/sys/kernel/bpf_stats_enabled)
trap 'kill ${profiler:-} $(jobs -p) 2>/dev/null; wait; echo "$statistics" >/proc/sys/kernel/bpf_stats_enabled; rm -rf "$tmp"' EXIT
echo 1 >/proc/sys/kernel/bpf_stats_enabled

# A busy machine delays the load less than other programs, and a profiler less than its load.
measured=(nice -n -10 /usr/bin/time -o "$tmp/time" -f '%U %S %M')

# statistics_of PID: the nanoseconds and runs of its BPF programs for samples, and the bytes of its maps.
statistics_of() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '
		{ value[$1] = $2 }
		$1 == "map_id:" && !($2 in maps) { maps[$2] = value["memlock:"]; bytes += value["memlock:"] }
		$1 == "prog_type:" { kind = $2 }
		$1 == "run_cnt:" && kind == 7 && !(value["prog_id:"] in programs) {
			programs[value["prog_id:"]] = 1; ns += value["run_time_ns:"]; runs += $2 }
		END { printf "%d %d %d\n", ns, runs, bytes }'
}

# by_otel LOAD
by_otel() {
	local port timed receiver first last

	# Those of the last load would be read before the shell truncates them.
	: >"$tmp/port"
	: >"$tmp/otel.log"
	python3 tests/bench/otel_receiver.py "$1" "$tmp/otel.folded" >"$tmp/port" 2>"$tmp/sent" &
	receiver=$!
	until [ -s "$tmp/port" ]; do kill -0 $receiver || exit 1; sleep 0.1; done
	read -r port <"$tmp/port"
	"${measured[@]}" "$OTEL_PROFILER" -disable-tls -collection-agent "127.0.0.1:$port" -samples-per-second "$rate" \
		-pin-cpu-ids "$cpu" -reporter-interval 1s >"$tmp/otel.log" 2>&1 &
	timed=$!
	until grep -q 'Attached sched monitor' "$tmp/otel.log"; do
		kill -0 $timed 2>/dev/null || { tail -n 3 "$tmp/otel.log" >&2; exit 1; }
		sleep 0.1
		read -r profiler <"/proc/$timed/task/$timed/children"
	done
	sleep 5
	first=$(statistics_of "$profiler")
	sleep "$seconds"
	last=$(statistics_of "$profiler")
	sleep 2
	kill "$profiler"
	profiler=
	wait $timed $receiver
	echo "$first $last $(tail -n 1 "$tmp/time")" | awk '{ runs = $5 - $2
		printf "BPF %.1f us a sample; CPU %.1f s; memory %.0f MiB, with %.0f MiB of maps; %d samples of the CPU, ",
			($4 - $1) / runs / 1000, $7 + $8, $9 / 1024 + $6 / 1048576, $6 / 1048576, runs }'
	tr -d '\n' <"$tmp/sent"
}

# by_pilotlight LOAD SLEEPER
by_pilotlight() {
	"$pilotlight" record -F "$rate" -d 2 -p "$1" -o "$tmp/warm_up.folded" 2>"$tmp/warm_up"
	nice -n -10 "$pilotlight" record -F "$rate" -d "$seconds" -p "$2" -o "$tmp/others.folded" 2>"$tmp/others" &
	"${measured[@]}" "$pilotlight" record -F "$rate" -d "$seconds" -p "$1" -o "$tmp/pilotlight.folded" 2>"$tmp/pilotlight"
	wait $!
	echo "$(numbers pilotlight)$(numbers others)$(tail -n 1 "$tmp/time")" | awk '{ other = 1000 * $6 / $5
		printf "BPF %.1f us a sample; CPU %.1f s; ", (1000 * $3 - other * $2) / $1, $7 + $8 }'
	grep -o 'memory at most.*' "$tmp/pilotlight" | tr -d '\n'
}

# numbers NAME: the samples that were stored, those of others, and the milliseconds of all.
numbers() {
	sed -n 's/^cost .* a sample, \([0-9.]*\) ms in all.*/\1/p; s/.* = \([0-9]*\) stored .* \([0-9]*\) filtered.*/\1 \2/p' \
		"$tmp/$1" | tr '\n' ' '
}

# named FILE: the last part of a line, of the stacks in FILE.
named() {
	awk -v functions=" $functions " -v recurs="$recurs" -v calls="$calls" '{
		found = deep = 0
		count = $NF
		sub(/ [0-9]+$/, "")
		frames = split($0, frame, ";")
		for (i = 1; i <= frames; i++) {
			sub(/_\[[a-z]\]$/, "", frame[i])
			sub(/.*<locals>\./, "", frame[i])
			found += index(functions, " " frame[i] " ") > 0
			deep += frame[i] == recurs
		}
		stacks += count; all += count * found; whole += count * (deep == calls) }
		END { printf "; %d stacks of the load, %.1f of its functions named in each, %.1f %% whole\n", stacks,
			all / (stacks ? stacks : 1), 100 * whole / (stacks ? stacks : 1) }' "$1"
}

sleep 10000 &
sleeper=$!
for runtime in "${@:-python3}"; do
	program=tests/bench/python_load.py functions="<module> step encode search order score generate <lambda> <genexpr>"
	recurs=step calls=13
	[[ $(basename "$runtime") != node* ]] ||
		{ program=tests/bench/node_load.js functions="descend work"; recurs=descend calls=17; }
	nice -n -5 taskset -c "$cpu" "$runtime" "$program" $((2 * seconds + 120)) &
	load=$!
	sleep 2
	echo "$runtime"
	printf '  OpenTelemetry  '; by_otel $load; named "$tmp/otel.folded"
	printf '  pilotlight     '; by_pilotlight $load $sleeper; named "$tmp/pilotlight.folded"
	kill $load
	wait $load 2>/dev/null
done
