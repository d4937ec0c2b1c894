#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording in OpenTelemetry's format, read by protoc against a schema of its own.
# Runs beside others: it judges what a file holds, not shares or times.
. "$(dirname "$0")/lib.sh"

need_root
need_programs
need_commands protoc

# decodes NAME: no field is unknown to the schema.
decodes() {
	gzip -dc "$tmp/$1.otlp.gz" | protoc -I "$root/tests/data" --decode=Request otlp_profiles.proto >"$tmp/$1.txt" &&
		! grep -nE '^ *[0-9]+[:{ ]' "$tmp/$1.txt"
}

has_all() {
	local file=$tmp/$1.txt text

	shift
	for text; do
		grep -qF "$text" "$file" || { note "no $text"; return 1; }
	done
}

# As many samples with one value each, as there are samples.
has_one_value_a_sample() {
	awk '/^ *samples \{/ { samples++ } /^ *values:/ { values++ }
		END { print "# " samples " samples"; exit !(samples > 0 && samples == values) }' "$tmp/$1.txt"
}

# Nearly as many times as values, all between these seconds. Samples whose stacks the kernel counts have no time.
has_times_between() {
	awk -v from="$2" -v to="$3" '/^ *timestamps_unix_nano:/ { times++; wrong += $2 / 1e9 < from || $2 / 1e9 > to }
		/^ *values:/ { values++ }
		END { print "# " times + 0 " times, " wrong + 0 " wrong"; exit !(times >= 0.9 * values && times <= values && !wrong) }' "$tmp/$1.txt"
}

plan 7

# Without functions of interpreters the kernel verifies the sampler faster.
"$pilotlight" record --runtime-frames=native -q -o "$tmp/cpu.otlp.gz" -- "$workloads/shares" 2 >"$tmp/log" 2>&1 || note "$(cat "$tmp/log")"
check "protoc knows each field" decodes cpu
check "functions, services and types are there" has_all cpu 'strings: "hot_60"' 'key: "service.name"' \
	'key: "host.name"' 'name: "pilotlight"' 'strings: "samples"' 'strings: "process.executable.build_id.gnu"'
check "each sample has one value" has_one_value_a_sample cpu

begun=$(date +%s.%N)
"$pilotlight" record --runtime-frames=native -q --times -o "$tmp/times.otlp.gz" -- "$workloads/shares" 1 >"$tmp/log" 2>&1 || note "$(cat "$tmp/log")"
check "protoc knows each field of samples with times" decodes times
check "--times tells when they were taken" has_times_between times "$begun" "$(date +%s.%N)"

"$pilotlight" record --runtime-frames=native -q -e offcpu -f otlp -o "$tmp/offcpu.otlp.gz" -- sleep 1 >"$tmp/log" 2>&1 || note "$(cat "$tmp/log")"
check "protoc knows each field of time off CPU" decodes offcpu
check "its type is an amount" has_all offcpu 'strings: "off_cpu"' 'strings: "nanoseconds"'
finish
