#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kills each role with SIGKILL at random moments under load, KILLS (6) times. The service comes back with valid
# databases and all sealed windows, and reports what was not sealed.
# Runs beside others: it judges what is there after a kill, and kills its own service only.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands sqlite3 curl

kills=${KILLS:-6}
window_s=2
rate_hz=199
sealed=0 slowest_ms=0 came_back=0 sealed_lost=0 engine_kills=0 broker_kills=0 crowded=0

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# Sets sealed, the latest time known to be sealed, in whole s since 1970.
read_sealed() {
	local value

	value=$(metric pilotlight_sealed_until_time_seconds)
	value=${value%%.*}
	[ "${value:-0}" -le $sealed ] || sealed=$value
}

# count_history TO: sets samples, the number of samples in history up to TO, in s. Repeats the query while an
# engine that has just started does not answer.
count_history() {
	ask() {
		"$pilotlight" export --from "@$begun" --to "@$1" -f folded -o "$tmp/part.folded" 2>"$tmp/part.log"
	}
	wait_for 60 ask "$1" || return
	samples=$(folded_total "$tmp/part.folded")
}

has_sealed() {
	local samples

	read_sealed
	[ "$sealed" -gt "$begun" ] && count_history "$sealed" && [ "$samples" -gt 0 ]
}

kill_role() {
	local role=$1 pid engine

	engine=$(role_pids engine)
	case $role in
	broker) pid=$service_pid ;;
	worker) pid=$(role_pids '(symbol-worker|answer)' | head -n 1) ;;
	engine) pid=$engine ;;
	esac
	[ -n "$pid" ] || return
	kill -KILL "$pid" 2>/dev/null || return
	[ "$role" != broker ] || { restart_broker "$engine" && broker_kills=$((broker_kills + 1)); }
	[ "$role" = worker ] || engine_kills=$((engine_kills + 1))
}

# has_too_many REPORT FACTOR: the report has more than FACTOR times the samples, with losses, that can fire in its time.
has_too_many() {
	awk -v factor="$2" -v each=$((rate_hz * $(getconf _NPROCESSORS_ONLN))) '
		$2 == "time" { sub(/.*UTC, /, ""); seconds = $1 }
		$2 == "samples" { fired = $3 }
		END { exit !(fired > factor * each * seconds + 20) }' "$1" || return
	note "$(grep -E '^# (time|samples|lost)' "$1")"
}

# A new engine finds samples from before its start, so its first window, which reports them and the losses, must
# begin before it. A new service is exempt: the losses of the previous service are from before its first window.
count_crowded() {
	"$pilotlight" report --last 2s -o "$tmp/last.txt" 2>/dev/null || return 0
	! has_too_many "$tmp/last.txt" 1.25 || crowded=$((crowded + 1))
}

# One kill: all sealed samples must remain.
one_kill() {
	local role=$1 until before start end samples

	sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
	sleep $((RANDOM % 3))
	read_sealed
	until=$sealed
	count_history "$until" || { note "$role: no history before the kill: $(cat "$tmp/part.log")"; return 1; }
	before=$samples
	[ "$role" != worker ] || { "$pilotlight" flamegraph --last 1min -o "$tmp/x.svg" >/dev/null 2>&1 & }
	start=$(now_ms)
	kill_role "$role" || return 0
	until answers; do
		[ $(($(now_ms) - start)) -lt 60000 ] || { note "$role: did not come back"; return 1; }
		sleep 0.02
	done
	end=$(now_ms)
	came_back=$((came_back + 1))
	[ "$role" != engine ] || [ $broker_kills -gt 0 ] || count_crowded
	[ $((end - start)) -le $slowest_ms ] || slowest_ms=$((end - start))
	count_history "$until" || { note "$role: no history after the kill: $(cat "$tmp/part.log")"; return 1; }
	if [ "$samples" -lt "$before" ]; then
		sealed_lost=$((sealed_lost + 1))
		note "$role: $before samples were sealed, $samples are there"
	fi
}

is_reported() {
	"$pilotlight" report --from "@$begun" -o "$tmp/report.txt" 2>/dev/null || return
	lost=$(grep -oE 'engine killed [0-9,]+' "$tmp/report.txt" | head -n 1)
	[ -n "$lost" ]
}

# The history reports the losses of killed engines. Few engines hold unsealed samples, because drained samples
# are sealed soon; an engine that has just drained the samples of its predecessor does.
losses_are_reported() {
	local end=$((SECONDS + 180)) lost

	until wait_for 8 is_reported; do
		[ $SECONDS -lt $end ] || { note "no loss is reported"; return 1; }
		kill_role engine
		wait_for 60 answers
		kill_role engine
	done
	note "$lost; $(metric 'pilotlight_samples_lost_with_engines_total') in the last service's own count"
}

# --- killed while a window is written --------------------------------------------------------

# Kills the engine while it waits for the disk. No reader sees the window then, and the next engine finds it. A
# tracer delays only fsync(2) and fdatasync(2) for long.
is_held() {
	[[ $(uname -m) != x86_64 || $(cat "/proc/$1/syscall") =~ ^7[45]\  ]] &&
		grep -q '^State:.t' "/proc/$1/status" && sleep 0.5 && grep -q '^State:.t' "/proc/$1/status"
}

history() {
	sqlite3 "file:$(ls "$STATE_DIRECTORY"/history/*.db | tail -n 1)?mode=ro" "$1"
}

# windows_until TIME_NS: prints the number of windows that end before it.
windows_until() {
	history "SELECT count(*) FROM windows WHERE level < 8 AND is_supplement = 0 AND end_ns <= $1"
}

has_tracer() { has strace && strace -qq -o /dev/null true; }

# The engine may wait for the disk before the window is in the file. Then this tries the next window.
kill_in_a_commit() {
	local i

	for i in 1 2 3; do
		! kill_in_commit || return 0
	done
	return 1
}

kill_in_commit() {
	local engine thread before killed_ns tracer

	engine=$(role_pids engine)
	thread=$(grep -lx pilotlightd-db "/proc/$engine"/task/*/comm | cut -d / -f 5)
	strace -qq -o /dev/null -p "$thread" -e trace=fsync,fdatasync \
		-e inject=fsync,fdatasync:delay_exit=3000000 2>/dev/null &
	tracer=$!
	started+=($tracer)
	wait_for 60 is_held "$thread" || { note "the writer did not wait for the disk"; return 1; }
	killed_ns=$(date +%s%N)
	before=$(windows_until "$killed_ns")
	kill -KILL "$engine"
	kill "$tracer"
	wait_for 60 answers || return
	note "$before windows before it, $(windows_until "$killed_ns") afterwards"
	[ "$(windows_until "$killed_ns")" -gt "$before" ] || return
	written=$(history "SELECT samples || ' ' || (start_ns + 1000000) FROM windows WHERE level < 8 AND
		is_supplement = 0 AND end_ns <= $killed_ns ORDER BY monotonic_ns DESC LIMIT 1")
	written_s=${written#* }
	written_s=${written_s%?????????}.${written_s: -9}
	written=${written% *}
}

# No two windows overlap in time.
none_overlap() {
	local overlaps

	overlaps=$(history "SELECT count(*) FROM (
		SELECT monotonic_ns - lag(monotonic_ns + end_ns - start_ns) OVER (ORDER BY monotonic_ns, id) AS gap
		FROM windows WHERE level < 8 AND is_supplement = 0) WHERE gap < 0") && [ "$overlaps" = 0 ] && return
	note "windows that overlap: $overlaps"
	return 1
}

# From that window's start on, no more samples are stored or reported as lost than can fire.
is_reported_once() {
	none_overlap || return
	"$pilotlight" report --from "@$written_s" -o "$tmp/once.txt" 2>/dev/null || return
	note "that window has $written samples; from its start: $(grep -E '^# (time|samples|lost)' "$tmp/once.txt" | tr -s '\n' ' ')"
	[ "$written" -gt 0 ] && ! has_too_many "$tmp/once.txt" 1.05
}

has_next_window() { [ "$(windows_until 9000000000000000000)" -gt "$windows" ]; }

plan 11
same_day 400
# Each source has windows of its own; one is enough here.
printf '[History]\nWindow=%ss\n[Sampling]\nFrequencyHz=%s\nMaxCostPercent=50\nOffCpu=no\nRunQueue=no\n' $window_s $rate_hz >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "the service starts" start_service
start_busy_cpus
start "$workloads/spawner" 50 600
begun=$(date +%s)
sealed=$begun
sleep 5
wait_for 60 has_sealed || note "nothing was sealed"
for ((i = 0; i < kills; i++)); do
	roles=(engine engine broker worker)
	one_kill "${roles[$((i % 4))]}" || break
done
note "$i kills, slowest to answer again: $slowest_ms ms"
check "the service came back each time and answered from history" [ "$i" = "$kills" ]
check "no sealed sample is missing" [ $sealed_lost = 0 ]
check "the losses of open windows are reported" losses_are_reported
check "no window has more samples than can fire in its time" [ $crowded = 0 ]
check "at least one engine was killed" [ $engine_kills -gt 0 ]
if has_tracer; then
	check "a window survives although its engine dies during the commit" kill_in_a_commit
	windows=$(windows_until 9000000000000000000)
	wait_for 60 has_next_window
	check "that window's samples are reported once" is_reported_once
else
	skip "a window survives although its engine dies during the commit" "no strace"
	skip "that window's samples are reported once" "no strace"
fi
check "the service ends on SIGTERM" stop_service
check "the databases pass integrity_check" databases_are_sound
check "no database was set aside" nothing_set_aside
finish
