#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No unprivileged user can blind the service, fill its history, kill it or read through it, and one user's excess
# costs that user only. Honest processes of another user and of root run all the time, first alone, then beside the
# attacks of tests/workloads/abuse, eight at once. end_to_end/service_abuse.sh runs it with ABUSE_CHECK=yes, which judges
# only what other load cannot spoil. Run it by hand, after `make programs workloads`:
#
#   ABUSE_SECONDS=600      makes each attack alone as well, all in that time
#   ABUSE_ATTACKS="NAME …" makes only these; `build/release/workloads/abuse --list` lists them
#   ABUSE_WINDOW_SECONDS   is the length of a window (2); a longer one has less room for each sample
#   ABUSE_HZ               is the rate (99); 997 on two CPUs fills a window as 20 CPUs do
#   MAX_COST_PERCENT       is high (100): the service would sample less often while the machine is busy
#   ABUSE_SAMPLING         adds keys of [Sampling], such as 'OffCpu=yes\nRunQueue=yes'
#   ABUSE_LOG              names a folder for the measurements
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl setpriv python3 /usr/bin/python3
# Eight attacks at once may take that much, and the machine must not kill others for it.
available_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
[ "$available_kib" -ge $((4 << 20)) ] || skip_all "needs 4 GiB of free memory"
[ -x "$workloads/abuse" ] || { echo "Bail out! no $workloads/abuse: make workloads"; exit 1; }

AT_ONCE=8
SHORT_PHASE_S=4
USUAL_S=${ABUSE_USUAL_SECONDS:-8}
window_s=${ABUSE_WINDOW_SECONDS:-2}
max_cost=${MAX_COST_PERCENT:-100}
table=$root/tests/abuse/abuse_table.py
mapfile -t attacks < <("$workloads/abuse" --list | cut -f 1)
[ -z "${ABUSE_ATTACKS:-}" ] || read -ra attacks <<<"$ABUSE_ATTACKS"
abusers=()

# --- users -------------------------------------------------------------------------------------

# Prints a user ID from $1 on that no process and no account has.
free_uid() {
	local uid=$1

	while getent passwd "$uid" >/dev/null || pgrep -U "$uid" >/dev/null; do
		uid=$((uid + 1))
	done
	echo "$uid"
}

# as UID GROUP_FILE COMMAND...: runs it as that user in that cgroup.
as() {
	local uid=$1 group=$2

	shift 2
	echo "$BASHPID" >"$group" || return
	exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

stop_abusers() {
	[ ${#abusers[@]} = 0 ] || kill -TERM "${abusers[@]}" 2>/dev/null
	[ ${#abusers[@]} = 0 ] || wait "${abusers[@]}" 2>/dev/null
	abusers=()
}

clean_up_abuse() {
	local pid

	stop_abusers
	clean_up_service
	for pid in $map_pid $node_pid "${new_map_pids[@]}"; do
		rm -f "/tmp/perf-$pid.map"
	done
	remove_cpu_groups
}
at_exit clean_up_abuse

# --- honest processes --------------------------------------------------------------------------

# start_honest UID COMMAND...: adds its PID to honest.
start_honest() {
	start as "$1" "$honest_group" "${@:2}"
	honest+=("${started[-1]}")
}

start_honest_processes() {
	local program

	mkdir "$tmp/honest" && chown "$honest_uid" "$tmp/honest" && cd "$tmp/honest" || return
	for program in shares many_stacks; do
		cp "$workloads/$program" "$tmp/honest/honest_$program" || return
	done
	start_honest "$honest_uid" "$tmp/honest/honest_shares" 100000
	cp "$root/tests/end_to_end/python_programs/shares.py" "$tmp/honest/honest.py" || return
	start_honest "$honest_uid" /usr/bin/python3 -S -B "$tmp/honest/honest.py" 100000
	start_honest "$honest_uid" "$workloads/jit_writer" reuse --comm honest_dump --seconds 100000
	start_honest "$honest_uid" "$workloads/jit_writer" steady --comm honest_map --output map --seconds 100000
	map_pid=${honest[-1]}
	if has node; then
		start_honest "$honest_uid" node --perf-basic-prof -e \
			'const all = [];
			for (let i = 0; i < 200; i++)
				all.push(new Function("n", `return (function honest_${i}(n) {
					let s = ${i}; for (let j = 0; j < n; j++) s = (s * 31 + j) % 1000003; return s; })(n)`));
			for (;;) for (const one of all) one(100000);'
		node_pid=${honest[-1]}
	fi
	start_honest 0 "$tmp/honest/honest_many_stacks" 100000 64
	cd "$tmp" || return
}

# Starts processes that the service does not know yet: a program, one with a perf map, and one of Python. Each
# ends after $1 seconds; that of Python takes ten times its argument, of CPU time. Sets newcomers.
start_newcomers() {
	local new_folder=$tmp/honest/new.$RANDOM

	mkdir "$new_folder" && chown "$honest_uid" "$new_folder" && cp "$workloads/shares" "$new_folder/newcomer" || return
	start as "$honest_uid" "$honest_group" "$new_folder/newcomer" "$1"
	newcomers=${started[-1]}
	start as "$honest_uid" "$honest_group" "$workloads/jit_writer" steady --comm new_map --output map --seconds "$1"
	newcomers+=,${started[-1]} new_map_pids+=("${started[-1]}")
	start as "$honest_uid" "$honest_group" /usr/bin/python3 -S -B "$tmp/honest/honest.py" "$1e-1"
	newcomers+=,${started[-1]}
}

# The phase without attacks needs readings from its beginning on, and a busy machine starts the watcher late.
watches() {
	grep -q '"cpu": {"' "$tmp/watched" && grep -q '"values": {"' "$tmp/watched"
}

# The service has read the names of all honest processes. Debian strips its runtimes: some of their functions have none.
has_honest_names() {
	local pid

	for pid in "${honest[@]}"; do
		"$pilotlight" export -q --last 4s --pid "$pid" -o "$tmp/names.folded" &&
			[ -s "$tmp/names.folded" ] || return
		grep -qE '\[jit: unknown|\[(honest_|jit_writer)[^]]*\+0x|\[unknown' "$tmp/names.folded" && return 1
	done
	return 0
}

# --- attacks -----------------------------------------------------------------------------------

# run_phase NAME SECONDS ATTACK...: runs the attacks at once.
run_phase() {
	local name=$1 seconds=$2 begin=$EPOCHREALTIME attack status ran=0 i

	shift 2
	[ $# -gt 0 ] || ran=1
	for attack; do
		as "$abuse_uid" "$abuse_group" "$workloads/abuse" "$attack" "$seconds" 2>>"$tmp/abuse.$attack" &
		abusers+=($!)
	done
	# The attacks have begun when the newcomers start.
	sleep 1
	start_newcomers "$((seconds - 1))"
	[ $# -gt 0 ] || sleep "$((seconds - 1))"
	for ((i = 1; i <= $#; i++)); do
		wait "${abusers[i - 1]}"
		status=$?
		echo "$status ${!i}" >>"$tmp/statuses"
		[ $status = 77 ] || ran=1
	done
	abusers=()
	[ $ran = 0 ] || echo "$begin $EPOCHREALTIME $newcomers $name" >>"$tmp/phases"
}

run_alone() {
	local attack

	for attack in "${attacks[@]}"; do
		run_phase "$attack" "$1" "$attack"
	done
}

# The attacks at once are of different kinds: every ninth of the list. One group may have some more.
run_at_once() {
	local groups=$((${#attacks[@]} / AT_ONCE)) group i chosen

	[ $groups -gt 0 ] || groups=1
	for ((group = 0; group < groups; group++)); do
		chosen=()
		for ((i = group; i < ${#attacks[@]}; i += groups)); do
			chosen+=("${attacks[i]}")
		done
		note "group $((group + 1)): ${chosen[*]}"
		run_phase "group $((group + 1))" "$1" "${chosen[@]}"
	done
}

# Divides ABUSE_SECONDS among the attacks alone and the groups.
run_all() {
	local phase_s

	[ -n "${ABUSE_SECONDS:-}" ] || { run_at_once "${ABUSE_PHASE_SECONDS:-$SHORT_PHASE_S}"; return; }
	phase_s=$((ABUSE_SECONDS / (${#attacks[@]} + ${#attacks[@]} / AT_ONCE + 1)))
	run_alone $((phase_s < SHORT_PHASE_S ? SHORT_PHASE_S : phase_s))
	run_at_once $((phase_s < SHORT_PHASE_S ? SHORT_PHASE_S : phase_s))
}

# Skipped attacks are shown with the reason.
attacks_ran() {
	grep '^77 ' "$tmp/statuses" | while read -r _ attack; do
		note "$attack: $(tail -n 1 "$tmp/abuse.$attack")"
	done
	! grep -vE '^(0|77) ' "$tmp/statuses" >"$tmp/failed" && return
	while read -r status attack; do
		note "$attack: status $status: $(head -n 3 "$tmp/abuse.$attack")"
	done <"$tmp/failed"
	return 1
}

reaches_nothing() {
	[[ " ${attacks[*]} " != *" service-closed "* ]] || grep -qx '0 service-closed' "$tmp/statuses" && ! grep -h reached "$tmp"/abuse.*
}

# holds PROPERTY: every phase has it.
holds() {
	[ -e "$tmp/lacking/$1" ] && [ ! -s "$tmp/lacking/$1" ] && return
	note "$(cat "$tmp/lacking/$1")"
	return 1
}

# Honest programs of Python and JavaScript have their functions, and none of a hostile interpreter's, which are called
# "abuser".
has_own_functions() {
	"$pilotlight" export -q --last 1h --user "$honest_uid" -f folded -o "$tmp/functions.folded" &&
		grep -q ';main_\[p\];heavy_\[p\];burn_\[p\];spin_\[p\]' "$tmp/functions.folded" &&
		{ [ -z "$node_pid" ] || grep -q ';honest_[0-9]*_\[v\]' "$tmp/functions.folded"; } &&
		! grep 'abuse[^;]*_\[[pvjhre]\]' "$tmp/functions.folded"
}

# What runtime-objects runs is taken for a JVM, V8, PHP, Ruby and Perl.
has_hostile_functions() {
	local letter

	[[ " ${attacks[*]} " == *" runtime-objects "* ]] || return 0
	"$pilotlight" export -q --last 1h --user "$abuse_uid" -f folded -o "$tmp/hostile.folded" || return
	for letter in j v h r e; do
		grep -q "abuse[^;]*_\[$letter\]" "$tmp/hostile.folded" || { note "none of _[$letter]"; return 1; }
	done
}

# An engine that renews itself, after phases that a busy machine makes long, loses no sample.
engine_stays() {
	[ "$figures" = no ] || { holds engine; return; }
	! grep -E 'the engine (ended by signal|made no progress)|samples stay in' "$tmp/service.log"
}

# A user whose processes are slow to ask does not keep others from being asked what they claim.
claims_come() {
	as "$abuse_uid" "$abuse_group" "$workloads/abuse" mapping-claims 40 2>>"$tmp/abuse.claims" &
	abusers+=($!)
	sleep 10
	start as "$honest_uid" "$honest_group" "$workloads/spans" change 1e9
	wait_for 20 eval '"$pilotlight" export -q --last 10s --service spans --user "$honest_uid" -o "$tmp/claims.folded"'
	local result=$?
	note "claims came after $(ps -o etimes= -p "${started[-1]}") s"
	kill -KILL "${started[-1]}"
	stop_abusers
	return "$result"
}

# The history has the last phase.
is_covered() {
	[ "$(metric pilotlight_sealed_until_time_seconds | cut -d. -f1)" -gt "${ended%.*}" ]
}

# check_figure NAME COMMAND...: judges a figure of time or rate, which other load may spoil.
check_figure() {
	[ "$figures" = no ] || check "$@"
}

# Names are judged over all phases if other load may leave few samples to one.
if [ "${ABUSE_CHECK:-no}" = yes ]; then
	figures=no all="all "
	plan 14
else
	figures=yes all=
	plan 20
fi
same_day $((${ABUSE_SECONDS:-100} + 120))
honest_uid=$(free_uid 64100) abuse_uid=$(free_uid 64200)
printf '[Sampling]\nFrequencyHz=%s\nMaxCostPercent=%s\n%b\n[History]\nWindow=%ss\n' "${ABUSE_HZ:-99}" "$max_cost" "${ABUSE_SAMPLING:-}" "$window_s" \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
cpu_groups=$(find_cpu_groups)
[ -n "$cpu_groups" ] || note "no CPU cgroups here: the attacks may starve the rest"
honest_group=$(make_cpu_group honest) abuse_group=$(make_cpu_group abuse) service_group=$(make_cpu_group service)
service_in_cpu_group "$service_group"
# As udev makes it, for everyone.
ABUSE_FUSE=$tmp/fuse
mknod -m 666 "$ABUSE_FUSE" c 10 229
export ABUSE_FUSE PILOTLIGHT=$pilotlight
check "the service starts" start_service
broker=$service_pid
honest=() map_pid='' node_pid='' new_map_pids=()
start_honest_processes
check "the honest processes have their names" wait_for 60 has_honest_names
mkfifo "$tmp/watching"
(
	echo $BASHPID >"$service_group"
	exec python3 -B "$table" watch "$tmp/watched" "$broker" "${honest[@]}" <"$tmp/watching"
) &
started+=($!)
exec 9>"$tmp/watching"
wait_for 60 watches || note "nothing is measured"
run_phase "none" "$USUAL_S"
run_all
ended=$EPOCHREALTIME
wait_for 60 is_covered || note "no window ends after the attacks"
exec 9>&-
check "the attacks ran" attacks_ran
check "the service's socket, files and processes are closed to others" reaches_nothing
mkdir "$tmp/lacking"
[ -z "${ABUSE_LOG:-}" ] || { mkdir -p "$ABUSE_LOG" && cp -r "$tmp/watched" "$tmp/phases" "$STATE_DIRECTORY/history" "$ABUSE_LOG"; }
note "$(python3 -B "$table" table "$tmp/watched" "$tmp/phases" "$tmp/lacking" 2>&1)"
check "honest frames keep their names" holds "${all}named"
check "new honest processes get their names" holds "${all}newcomers"
check "honest programs of Python and JavaScript show their own functions" has_own_functions
check_figure "hostile programs pass for a JVM, V8, PHP, Ruby and Perl" has_hostile_functions
check_figure "honest samples follow the CPU time" holds sampled
check_figure "no samples are lost" holds lost
check_figure "the sampling rate stays" holds rate
check "the engine stays" engine_stays
check "the broker stays" kill -0 "$broker"
check "the accounts close" holds accounts
check "the memory is within its budget" holds memory
check_figure "claims of others come" claims_come
check "the history grows within bounds" holds history
check_figure "every query is answered" holds answers
check "the service ends on SIGTERM" stop_service
complaints() { grep -cE 'failed|died|killed|dropped' "$tmp/service.log"; }
check "the service logged no failure" [ "$(complaints)" = 0 ]
note "$(tail -n 8 "$tmp/service.log")"
finish
