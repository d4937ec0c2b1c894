#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing of the service grows with its uptime: descriptors, threads, memory, BPF objects and files stay flat while
# programs, libraries, generated code and cgroups come and go, configurations are reloaded, queries are asked and its
# processes are killed. Run it by hand, after `make programs workloads`:
#
#   SOAK_SECONDS=7200      is how long it takes
#   SOAK_CPU_PERCENT=25    is the share of one CPU that the churn gets
#   SOAK_LOG               names a folder for the measurements
#
# Blocks of a sixth of an hour at most alternate. In one, a process is killed each minute, the main process once a
# block, and each third minute the configuration is reloaded, which replaces the engine. In the other, engine and main
# process live on, so that what they gather with age shows.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3 sqlite3

seconds=${SOAK_SECONDS:-7200}
table=$root/tests/abuse/soak.py
churn=

# clamp VALUE LEAST MOST
clamp() {
	echo $(($1 < $2 ? $2 : $1 > $3 ? $3 : $1))
}

block_s=$(clamp $((seconds / 12)) 30 600)
kill_s=$((block_s / 10))
reload_s=$((kill_s * 3))
declare -A killed=([engine]=0 [symbol-worker]=0 [answer]=0 [opener]=0 [main]=0)

# --- churn -------------------------------------------------------------------------------------

# Prints the folder in which cgroups come and go, or nothing.
find_cgroups() {
	has_cgroup2 && awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# limit_churn FILE: FILE is cgroup.procs of the churn's cgroup.
limit_churn() {
	local folder=${1%/*} percent=${SOAK_CPU_PERCENT:-25}

	if [ -e "$folder/cpu.max" ]; then
		echo "$((percent * 1000)) 100000" >"$folder/cpu.max"
	elif [ -e "$folder/cpu.cfs_quota_us" ]; then
		echo 100000 >"$folder/cpu.cfs_period_us" && echo $((percent * 1000)) >"$folder/cpu.cfs_quota_us"
	else
		note "no CPU cgroups here: only pauses slow the churn"
	fi
}

start_churn() {
	(
		echo $BASHPID >"$churn_group"
		exec nice -n 10 python3 -B "$table" churn 2>>"$tmp/churn.log"
	) &
	churn=$!
	started+=($churn)
}

# Without bash's report of the kill.
end_quietly() {
	kill -KILL "$1"
	wait "$1"
} 2>/dev/null

# What the churn was running at that moment ends by itself, or here.
stop_churn() {
	local pid

	end_quietly $churn
	[ "$churn_group" != /dev/null ] || return 0
	while read -r pid; do
		kill -KILL "$pid" 2>/dev/null
	done <"$churn_group"
}

clean_up_soak() {
	stop_churn
	rmdir "$SOAK_CGROUPS"/pilotlight-soak-*.service 2>/dev/null
	clean_up_service
	remove_cpu_groups
}
at_exit clean_up_soak

# --- kills -------------------------------------------------------------------------------------

# child_of ROLE: sets child, a process of that role, or fails. Starts no process, because callers repeat it.
child_of() {
	local pid own arguments

	mapfile -d '' -t own <"/proc/$service_pid/cmdline"
	read -ra pids <"/proc/$service_pid/task/$service_pid/children"
	for pid in "${pids[@]}"; do
		{ mapfile -d '' -t arguments <"/proc/$pid/cmdline"; } 2>/dev/null || continue
		[ ${#arguments[@]} -gt 0 ] || continue
		child=$pid
		[ "${arguments[1]:-}" != "$1" ] || return 0
		[ "$1" != opener ] || [ "${arguments[*]}" != "${own[*]}" ] || return 0
	done
	return 1
}

# Waits for a process of that role, for as long as the kills are apart.
await_child() {
	local role=$1 tries=$((kill_s * 20))

	while ! child_of "$role"; do
		[ $((tries -= 1)) -gt 0 ] || return
		sleep 0.05
	done
} 2>/dev/null

# A reload just before leaves two engines: the old one, and one that does not have its name yet.
kill_main() {
	local children

	read -ra children <"/proc/$service_pid/task/$service_pid/children"
	kill -KILL "$service_pid" && killed[main]=$((killed[main] + 1))
	restart_broker "${children[@]}"
	echo "$service_pid" >"$tmp/main"
	wait_for 60 service_answers || note "no answer a minute after the main process was killed"
}

kill_one() {
	local role=$1

	[ "$role" != main ] || { kill_main; return; }
	if [ "$role" = answer ]; then
		"$pilotlight" flamegraph --last 20min -o "$tmp/asked.svg" >/dev/null 2>&1 &
	fi
	await_child "$role" || return
	kill -KILL "$child" 2>/dev/null && killed[$role]=$((killed[$role] + 1))
}

# Sets role, which is killed as the Nth of a block.
choose_role() {
	local hard=(engine symbol-worker answer opener engine answer opener symbol-worker main engine) soft=(symbol-worker answer)

	if [ $((block % 2)) = 0 ]; then role=${soft[$1 % 2]}; else role=${hard[$1 % 10]}; fi
}

# A main process that ends by itself is a failure, but the soak goes on.
main_is_there() {
	kill -0 "$service_pid" 2>/dev/null && return
	main_ended=$((main_ended + 1))
	note "the main process ended: $(tail -n 3 "$tmp/service.log")"
	restart_broker
	echo "$service_pid" >"$tmp/main"
	wait_for 60 service_answers
}

soak() {
	local end=$((SECONDS + seconds)) begin=$SECONDS next_kill=$((SECONDS + kill_s)) next_reload=$((SECONDS + reload_s))
	local block role count=0

	while [ $SECONDS -lt $end ]; do
		sleep 1
		main_is_there
		block=$(((SECONDS - begin) / block_s))
		if [ $SECONDS -ge $next_kill ]; then
			choose_role $((count++))
			kill_one "$role"
			next_kill=$((SECONDS + kill_s))
		fi
		if [ $SECONDS -ge $next_reload ] && [ $((block % 2)) = 1 ]; then
			kill -HUP "$service_pid" && reloads=$((reloads + 1))
			next_reload=$((SECONDS + reload_s))
		fi
	done
}

# --- judgement ---------------------------------------------------------------------------------

holds() {
	[ -e "$tmp/lacking/$1" ] && [ ! -s "$tmp/lacking/$1" ] && return
	note "$(sort "$tmp/lacking/$1" | uniq -c | head -n 20)"
	return 1
}

# Nothing is under way in the main process: it has no child but the engine, and the opener, which stays while others'
# programs start.
is_quiet() {
	read -ra pids <"/proc/$service_pid/task/$service_pid/children"
	[ ${#pids[@]} = 1 ] || { [ ${#pids[@]} = 2 ] && child_of opener; }
}

# Prints the descriptors of the main process, sorted, without what names a single one and without the opener's three.
main_descriptors() {
	find "/proc/$service_pid/fd" -type l -printf '%l\n' | sed -E 's/[0-9]+/N/g' | sort | uniq -c |
		awk -v openers=$((${#pids[@]} - 1)) '/\[pidfd\]|\[timerfd\]|socket:/ { $1 -= openers } $1 > 0 { print $1, $2 }'
}

# is_quiet_with FILE: ... and has the same descriptors a moment later. FILE gets them. A child that starts or ends while
# they are read has left some of its own among them.
is_quiet_with() {
	is_quiet && main_descriptors >"$1" && sleep 0.2 && is_quiet && main_descriptors | cmp -s - "$1"
}

# The main process has the same descriptors when nothing is under way.
is_as_before() {
	wait_for 180 is_quiet_with "$tmp/quiet.after" || note "it has children still: ${pids[*]}"
	diff "$tmp/quiet.before" "$tmp/quiet.after" >"$tmp/quiet.diff" && return
	note "$(cat "$tmp/quiet.diff")"
	return 1
}

# Each engine that a signal ended was killed here. An engine that its main process takes along is not reported.
engine_deaths_are_ours() {
	local reported

	reported=$(grep -cE 'the engine (ended by signal|made no progress)' "$tmp/service.log")
	note "$reported engines died, ${killed[engine]} were killed"
	[ "$reported" -le "${killed[engine]}" ]
}

plan 11
export SOAK_FOLDER=$tmp SOAK_CGROUPS WORKLOADS=$workloads PILOTLIGHT=$pilotlight SOAK_LIBRARY
SOAK_CGROUPS=$(find_cgroups)
SOAK_LIBRARY=$(ldconfig -p | awk '$1 == "libz.so.1" { print $NF; exit }')
# The least that the configuration allows, so that these bounds are reached.
printf '[Symbols]\nCacheBytes=16M\n[History]\nMaxBytes=16M\nMinuteAfter=10min\nTenMinutesAfter=1h\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
cpu_groups=$(find_cpu_groups)
churn_group=$(make_cpu_group churn)
limit_churn "$churn_group"
main_ended=0 reloads=0
check "the service starts" start_service
echo "$service_pid" >"$tmp/main"
wait_for 120 is_quiet_with "$tmp/quiet.before" || note "the service stays busy"
python3 -B "$table" watch "$tmp/watched" "$tmp/main" "$(clamp $((seconds / 120)) 2 30)" 2>"$tmp/watch.log" &
watcher=$!
started+=($watcher)
start_churn
soak
stop_churn
end_quietly $watcher
note "killed: $(for role in "${!killed[@]}"; do printf '%s %s, ' "$role" "${killed[$role]}"; done)$reloads reloads"
mkdir "$tmp/lacking"
[ -z "${SOAK_LOG:-}" ] || { mkdir -p "$SOAK_LOG" && cp -r "$tmp/watched" "$tmp/service.log" "$tmp/churn.log" "$SOAK_LOG"; }
note "$(python3 -B "$table" table "$tmp/watched" "$tmp/lacking" 2>&1)"
note "$(cat "$tmp/watch.log" "$tmp/churn.log" | sort | uniq -c | tail -n 20)"
check "descriptors, threads and BPF objects are flat" holds descriptors
check "memory is flat" holds memory
check "memory, history and symbol cache keep their limits" holds limits
check "the accounts close" holds accounts
check "the main process ended only when it was killed" [ "$main_ended" = 0 ]
check "engines died only when they were killed" engine_deaths_are_ours
check "the main process has the descriptors that it had before" is_as_before
check "the service ends on SIGTERM" stop_service
check "the databases pass integrity_check" databases_are_sound
check "no database was set aside" nothing_set_aside
note "$(grep -vE 'SIGKILL|killed' "$tmp/service.log" | sed -E 's/[0-9]+/N/g' | sort | uniq -c | sort -rn | head -n 20)"
finish
