#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bursts of 50 ms in the history: the heat map has them in their places, and the flame graph of that time has their code
# alone.
# Runs beside others: it judges times of its own program's samples, and no share.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands protoc

plan 10
bursts=10

# at MS [FORMAT]: as a calendar time, or in another format of date(1).
at() {
	date -d "@$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" "+${2:-%F %H:%M:%S.%3N}"
}

# Stacks of a new program are cut until the engine has read its unwind table, which on a busy machine is in the first
# burst.
is_walked_whole() {
	local from

	from=$(date +%s)
	"$workloads/bursts" 1 >/dev/null
	wait_for 30 eval '"$pilotlight" export --from "@$from" --comm bursts -o "$tmp/first.folded"' &&
		! grep -v ';main;' "$tmp/first.folded" | grep -q ';work_units'
}

# reaches MS: the history has a window that ends after that time.
reaches() {
	! "$pilotlight" export --from "$(at "$1")" -f folded -o "$tmp/rest.folded" 2>&1 | grep -q 'no history'
}

# The history reaches beyond the last of them.
knows_bursts() {
	local end

	read -r _ end < <(tail -n 1 "$tmp/bursts.txt")
	reaches "$end" &&
		"$pilotlight" export --from "@$begun" --comm bursts -o "$tmp/all.folded" &&
		[ "$(folded_count "$tmp/all.folded" bursts culprit)" -ge $bursts ]
}

# inner FROM TO: the slices that lie within a burst, without one at each end: the service reads two clocks one after the
# other. They are whole milliseconds.
inner() {
	from=$((($1 + 9) / 10 * 10 + 10)) to=$(($2 / 10 * 10 - 10))
}

# Each burst alone: nothing but culprit. Some of them have samples; fast clocks and few samples may leave one out.
holds_the_culprit_alone() {
	local from to begin end seen=0 count

	while read -r begin end; do
		inner "$begin" "$end"
		[ $from -lt $to ] || continue
		"$pilotlight" export --from "$(at $from)" --to "$(at $to)" --comm bursts -o "$tmp/burst.folded" \
			2>"$tmp/burst.log" || { grep -q 'matches all' "$tmp/burst.log" && continue; cat "$tmp/burst.log"; return 1; }
		count=$(folded_count "$tmp/burst.folded" bursts culprit)
		note "$(at $from) to $(at $to %S.%3N): $count samples in culprit"
		if [ "$(folded_count "$tmp/burst.folded" bursts '')" != "$count" ]; then
			note "$(grep -v ';culprit;' "$tmp/burst.folded")"
			return 1
		fi
		seen=$((seen + count))
	done <"$tmp/bursts.txt"
	[ $seen -ge $bursts ]
}

# Between two bursts there is background alone.
holds_the_background_alone() {
	local begin end last=0 from to seen=0 count

	while read -r begin end; do
		if [ $last -gt 0 ]; then
			inner $last "$begin"
			"$pilotlight" export --from "$(at $from)" --to "$(at $to)" --comm bursts -o "$tmp/between.folded" \
				2>/dev/null || continue
			count=$(folded_count "$tmp/between.folded" bursts background)
			[ "$(folded_count "$tmp/between.folded" bursts culprit)" = 0 ] || return 1
			seen=$((seen + count))
		fi
		last=$end
	done <"$tmp/bursts.txt"
	note "$seen samples in background"
	[ $seen -ge $bursts ]
}

# The map of the bursts' threads has as many samples with a time as the history, but for those that the kernel counted.
# On a slow machine their last window may be written between the two questions.
map_is_complete() {
	knows_bursts && "$pilotlight" heatmap --from "@$begun" --comm bursts -f json -q -o "$tmp/map.json" &&
		python3 - "$tmp/map.json" "$(folded_count "$tmp/all.folded" bursts '')" <<'END'
import json, sys
heat = json.load(open(sys.argv[1]))
all = int(sys.argv[2])
print("#", heat["timed"], "samples with a time,", heat["untimed"], "without,", all, "in all")
sys.exit(not (sum(heat["cells"]) == heat["timed"] and heat["timed"] + heat["untimed"] == all and heat["timed"] > 0 and
              len(heat["cells"]) == heat["columns"] * 50))
END
}

draws() {
	"$pilotlight" heatmap --from "@$begun" --comm bursts -q -o "$tmp/heat.svg" && grep -q '<path class="l8"' "$tmp/heat.svg" &&
		"$pilotlight" heatmap --from "@$begun" -q -o "$tmp/heat.html" && grep -q "default-src 'none'" "$tmp/heat.html"
}

# In OpenTelemetry's format, as protoc reads it: a value for each time, all samples, and no time before the program.
times_are_exported() {
	knows_bursts && "$pilotlight" export --from "@$begun" --comm bursts --times -q -o "$tmp/times.otlp.gz" &&
		gzip -dc "$tmp/times.otlp.gz" |
		protoc -I "$root/tests/data" --decode=Request otlp_profiles.proto >"$tmp/times.txt" &&
		! grep -nE '^ *[0-9]+[:{ ]' "$tmp/times.txt" &&
		awk -v all="$(folded_count "$tmp/all.folded" bursts '')" -v begun="$begun" '
			/^ *samples \{/ { pairs += times; wrong += times && times != values; times = values = 0 }
			/^ *values:/ { values++; sum += $2 }
			/^ *timestamps_unix_nano:/ { times++; wrong += $2 / 1e9 < begun - 2 }
			END {
				print "# " sum " of " all " samples, " pairs + times " times"
				exit !(sum == all && pairs + times > 0 && !wrong)
			}' "$tmp/times.txt"
}

# An hour ago there was no history; a day ago neither.
says_what_is_missing() {
	! "$pilotlight" report --from "$(at $((begun * 1000 - 3600000)))" --to +1s 2>"$tmp/missing" &&
		grep -q 'no history from' "$tmp/missing"
}

without_times() {
	printf '[Sampling]\nFrequencyHz=499\nMaxCostPercent=100\n[History]\nWindow=2s\nFineHistory=0\n' \
		>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	kill -HUP "$service_pid"
	wait_for 60 has_no_times
}

has_no_times() {
	! "$pilotlight" report --from "$(date '+%F %H:%M:%S.5' -d '-3 sec')" --to +1s >/dev/null 2>"$tmp/missing" &&
		grep -q 'keeps no times of samples' "$tmp/missing"
}

printf '[Sampling]\nFrequencyHz=499\nMaxCostPercent=100\n[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
same_day 300
check "the service starts" start_service
wait_for 60 is_walked_whole || note "stacks of bursts are cut"
# An export of whole seconds has whole windows, which a heat map cuts: the samples until now must be in earlier ones.
wait_for 60 reaches "$(date +%s%3N)" || note "the windows of the first burst are open"
begun=$(($(date +%s) + 1))
wait_for 5 eval '[ "$(date +%s)" -ge $begun ]'
"$workloads/bursts" $bursts >"$tmp/bursts.txt"
check "the history has the bursts" wait_for 60 knows_bursts
check "a flame graph of each burst has its code alone" holds_the_culprit_alone
check "between them there is the background alone" holds_the_background_alone
check "the heat map has all samples that have a time" wait_for 60 map_is_complete
check "it is drawn" draws
check "an export has the times of its samples" wait_for 60 times_are_exported
check "a time without history is named" says_what_is_missing
check "without FineHistory there are whole windows only" without_times
check "the service ends" stop_service
finish
