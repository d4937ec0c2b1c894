#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service under several hostile loads at once for LOAD_SECONDS (24): FORKS (5000) processes a second, a process
# of THREADS (10000) threads, CLIENTS (50) clients, more than the service accepts, and hostile clients.
# MAX_COST_PERCENT (100) keeps the rate at 99 Hz, because the service would otherwise sample less often. The load
# and the service each have their own cgroup, as units do.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl setpriv python3

seconds=${LOAD_SECONDS:-24}
forks=${FORKS:-5000}
threads=${THREADS:-10000}
clients=${CLIENTS:-50}
window_s=2
max_cost=${MAX_COST_PERCENT:-100}
hostile=$root/tests/end_to_end/hostile_clients.py
page=$tmp/metrics

# --- sharing the CPU --------------------------------------------------------------------------

# loaded COMMAND...: runs it in the load's cgroup.
loaded() {
	echo "$BASHPID" >"$load_group" && exec "$@"
}

clean_up_groups() {
	clean_up_service
	remove_cpu_groups
	[ -z "$memory_folder" ] || rm -rf "$memory_folder"
}
at_exit clean_up_groups

# Keeps the history in memory if possible; another test covers slow disks.
on_memory() {
	memory_folder=$(mktemp -d /dev/shm/pilotlight-test.XXXXXX 2>/dev/null) || return 0
	export STATE_DIRECTORY=$memory_folder
}
memory_folder=
cpu_groups=$(find_cpu_groups)
load_group=$(make_cpu_group load) service_group=$(make_cpu_group service)
# The time limit in seconds: short if the service has its share of the CPUs, longer if it competes with thousands
# of threads.
patience=15
[ -n "$cpu_groups" ] || { patience=30; note "no CPU cgroups here: the service competes with thousands of threads"; }

# --- measurements -------------------------------------------------------------------------

value() {
	awk -v name="$1" '$1 == name { print $2 }' "$page"
}

# Sets took, the time in seconds by curl (without its own slow start), and code, the HTTP status, 000 without an
# answer.
read_page() {
	local written

	written=$(curl -sf --max-time $patience --unix-socket "$PILOTLIGHT_SOCKET" -o "$page" \
		-w '%{time_total} %{http_code}' http://localhost/metrics)
	set -- $? $written
	took=${2:-0} code=${3:-000}
	return "$1"
}

# Prints the private memory of engine and broker, in bytes.
private_bytes() {
	cat /proc/"$service_pid"/smaps_rollup /proc/"$engine"/smaps_rollup |
		awk '/^Private_(Clean|Dirty)/ { sum += $2 } END { print sum * 1024 }'
}

# Writes a line a second, and a few in any case: seconds, memory by the service's own count, memory by ours, and
# drain lag. Also tracks the slowest answer to the well-behaved client.
watch_service() {
	local begin=$EPOCHREALTIME end=$((SECONDS + seconds)) took code

	while [ $SECONDS -lt $end ] || [ $((answers + unanswered)) -lt 20 ]; do
		if read_page; then
			answers=$((answers + 1))
			slowest=$(awk -v a="$took" -v b="$slowest" 'BEGIN { print (a > b ? a : b) }')
		else
			unanswered=$((unanswered + 1))
			note "no answer but $code after $took s"
		fi
		awk -v begin="$begin" -v now="$EPOCHREALTIME" -v counted="$(value pilotlight_memory_bytes)" \
			-v own="$(private_bytes)" -v maps="$(value pilotlight_memory_map_bytes)" \
			-v lag="$(value pilotlight_drain_lag_seconds)" \
			'BEGIN { printf "%.1f %d %d %s\n", now - begin, counted, own + maps, lag }' >>"$tmp/watched"
		sleep 1
	done
}

largest() {
	awk -v column="$1" '$column > most { most = $column } END { print most + 0 }' "$tmp/watched"
}

within_memory() {
	local budget

	budget=$(value pilotlight_memory_max_bytes)
	note "at most $(largest 2) bytes by its own count, $(largest 3) by ours, of $budget"
	[ "$(largest 2)" -le "$budget" ] && [ "$(largest 3)" -le "$budget" ]
}

# usual_bytes FROM TO: prints the median memory in the lines after FROM up to TO, because answers use memory for a
# short time.
usual_bytes() {
	awk -v from="$1" -v to="$2" 'NR > from && NR <= to { print $2 }' "$tmp/watched" | sort -n |
		awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] + 0 }'
}

# Compares the last third with the one before: a leak would still grow.
is_flat() {
	local before after count

	count=$(grep -c '' "$tmp/watched")
	before=$(usual_bytes $((count / 3)) $((count * 2 / 3)))
	after=$(usual_bytes $((count * 2 / 3)) "$count")
	note "$before bytes, then $after"
	[ "$before" -gt 0 ] && [ "$after" -le $((before * 112 / 100 + 1048576)) ]
}

accounts_of_page() {
	awk '/^pilotlight_samples_fired_total/ { fired = $2 }
		/^pilotlight_samples_stored_total/ || /^pilotlight_samples_dropped_total/ { sum += $2 }
		END { print "# " fired " fired, " sum " stored or dropped"; exit !(fired > 0 && fired == sum) }' "$page"
}

loses_little() {
	local lost

	lost=$(value pilotlight_samples_lost_total)
	grep -E '^pilotlight_samples_dropped_total.* [1-9]' "$page" | sed 's/^/# /'
	note "$lost lost; sampled at $(value pilotlight_sampling_rate_hertz) Hz in the end"
	awk -v lost="$lost" -v fired="$(value pilotlight_samples_fired_total)" 'BEGIN { exit !(lost * 1000 < fired) }'
}

none_dropped() {
	note "$(value pilotlight_windows_sealed_total) windows sealed, $(value pilotlight_windows_dropped_total) dropped"
	[ "$(value pilotlight_windows_dropped_total)" = 0 ]
}

ask_history() {
	sqlite3 "file:$(ls "$STATE_DIRECTORY"/history/*.db | tail -n 1)?mode=ro" "$1"
}

# Windows cover the load from start to end without gaps.
no_window_missing() {
	local gaps covered

	gaps=$(ask_history "SELECT count(*) FROM (SELECT monotonic_ns - lag(monotonic_ns + end_ns - start_ns)
		OVER (ORDER BY monotonic_ns) AS gap FROM windows WHERE level < 8 AND is_supplement = 0)
		WHERE gap > 1000000") || return
	covered=$(ask_history "SELECT min(start_ns) / 1000000000 <= $begun AND
		max(end_ns) / 1000000000 >= $ended FROM windows WHERE level < 8") || return
	note "$gaps gaps; $(ask_history "SELECT count(*) || ' windows, of ' || max((end_ns - start_ns) / 1000000) ||
		' ms at most' FROM windows WHERE level < 8 AND is_supplement = 0")"
	[ "$gaps" = 0 ] && [ "$covered" = 1 ]
}

day_of_history() {
	ask_history "SELECT 'a window: ' || (sum(body_bytes) / count(*)) || ' bytes of ' || (sum(samples) / count(*)) ||
		' samples, and ' || ((SELECT sum(length(body)) FROM dictionary) / count(*)) || ' of the dictionary'
		FROM windows WHERE level < 8"
}

# --- the load ----------------------------------------------------------------------------------

# Sends one request after the other; CODES gets a line for each answer.
loop_client() {
	local path=$1 end=$((SECONDS + seconds))

	while [ $SECONDS -lt $end ]; do
		curl -s --max-time 30 --unix-socket "$PILOTLIGHT_SOCKET" -o /dev/null -w '%{http_code}\n' \
			"http://localhost$path"
		sleep 0.1
	done
}

start_clients() {
	local paths=(/metrics "/api/v1/profile?last=$((patience + 5))s&format=folded" /api/v1/status) i

	export -f loop_client
	export seconds
	for ((i = 0; i < clients; i++)); do
		loaded setpriv --reuid 65534 --regid "$socket_group" --clear-groups bash -c 'loop_client "$1"' client "${paths[$((i % 3))]}" >"$tmp/codes.$i" 2>/dev/null &
		started+=($!)
	done
}

start_hostile() {
	local what=$1

	shift
	loaded python3 "$hostile" "$PILOTLIGHT_SOCKET" "$seconds" 1 "$what" "$@" >"$tmp/$what" 2>&1 &
	started+=($!)
	hostile_pids+=($!)
}

codes() {
	cat "$tmp"/codes.* | sort | uniq -c | awk '{ printf "%s x %s  ", $2, $1 }'
}

answered() {
	note "clients: $(codes)"
	[ "$(cat "$tmp"/codes.* | grep -c '^200$')" -gt 0 ]
}

# On a busy machine, few of the ordinary clients may run at once; the senders of garbage count, too.
surplus_is_refused() {
	[ "$clients" -le 32 ] || { cat "$tmp"/codes.*; grep -oE 'status_[0-9]+' "$tmp/garbage"; } |
		grep -qE '^(status_)?(429|503)$'
}

# Every reply is an HTTP answer, and none is a failure of the service.
no_other_answers() {
	! cat "$tmp"/codes.* | grep -vE '^(200|429|503|000)$'
}

garbage_is_refused() {
	note "garbage: $(cat "$tmp/garbage")"
	grep -q status_4 "$tmp/garbage" && ! grep -qE 'status_(2|500)|Traceback' "$tmp/garbage"
}

silence_is_ended() {
	note "silent: $(cat "$tmp/silent"); slow: $(cat "$tmp/slow")"
	grep -qE 'closed=[1-9]' "$tmp/silent" && grep -qE 'bytes=[1-9]' "$tmp/slow"
}

has_short_lived() {
	local begin=$EPOCHREALTIME took

	"$pilotlight" export --last 1min --comm short_lived -o "$tmp/short.folded" || return
	took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
	note "$(folded_count "$tmp/short.folded" short_lived '') samples of them, answered after $took s"
	[ "$(folded_count "$tmp/short.folded" short_lived short_lived_work)" -gt 0 ] && at_least $patience "$took"
}

plan 21
same_day 200
printf '[Sampling]\nMaxCostPercent=%s\n[History]\nWindow=%ss\n' "$max_cost" $window_s >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
service_in_cpu_group "$service_group"
on_memory
check "the service starts" start_service
has_window() { [ "$(metric pilotlight_windows_sealed_total)" -ge 1 ]; }
wait_for 60 has_window
# The workload's symbols are cached before the load, like those of programs that a machine runs often.
start "$workloads/spawner" 50 90
wait_for 60 has_short_lived || note "no short-lived process has its names"
stop_started
begun=$(date +%s)
# The clients are members of the socket's group, and outside of the service's cgroup.
socket_group=$(stat -c %g "$PILOTLIGHT_SOCKET")
engine=$(role_pids engine)
answers=0 unanswered=0 slowest=0
hostile_pids=()
loaded "$workloads/crowd" $((seconds + 30)) "$threads" 2 >"$tmp/crowd" 2>&1 &
started+=($!)
loaded "$workloads/forks" "$forks" "$seconds" >"$tmp/forks" 2>&1 &
started+=($!) forks_pid=$!
start loaded "$workloads/spawner" $((forks / 20 + 1)) $((seconds + 30)) 1
start_clients
start_hostile silent 30
start_hostile slow
start_hostile garbage
watch_service
check "a well-behaved client gets answers under the load" has_short_lived
wait "$forks_pid" "${hostile_pids[@]}"
stop_started
ended=$(date +%s)
note "$(cat "$tmp/forks") forks in $seconds s, a process of $(cat "$tmp/crowd") threads"
note "requests each second: $answers answers, the slowest after $slowest s; $unanswered without"
check "at most 5 % of its requests get no answer" [ $((unanswered * 20)) -le "$answers" ]
check "its answers take at most $patience s" at_least $patience "$slowest"
check "the other clients get answers" answered
check "surplus clients are refused" surplus_is_refused
check "no client gets any other reply" no_other_answers
check "garbage is refused" garbage_is_refused
check "silent and slow connections are closed" silence_is_ended
# The window open at the end of the load is sealed later.
covers_the_load() { [ "$(metric pilotlight_sealed_until_time_seconds | cut -d. -f1)" -gt "$ended" ]; }
wait_for 60 covers_the_load || note "no window ends after the load"
check "metrics are available after the load" wait_for 60 read_page
check "the accounts close" accounts_of_page
check "less than 0.1 % of the samples is lost" loses_little
check "no window is dropped" none_dropped
if has sqlite3; then
	wait_for 60 no_window_missing
	check "no window is missing" no_window_missing
	note "$(day_of_history)"
else
	skip "no window is missing" "no sqlite3"
fi
note "drain lag at most $(largest 4) s"
check "the drain lag is at most $patience s" at_least $patience "$(largest 4)"
check "the memory is within its budget" within_memory
check "the memory does not keep growing" is_flat
check "the engine has the same PID" [ "$(role_pids engine)" = "$engine" ]
check "the engine was started only once" [ "$(value pilotlight_engine_starts_total)" = 1 ]
check "the service ends on SIGTERM" stop_service
# Not counting refused requests.
complaints() { grep -v "' refused to " "$tmp/service.log" | grep -cE 'cannot|failed|died|killed'; }
check "the service logged no other warning" [ "$(complaints)" = 0 ]
note "$(tail -n 5 "$tmp/service.log")"
note "history: $(du -sb "$STATE_DIRECTORY/history" | cut -f 1) bytes"
finish
