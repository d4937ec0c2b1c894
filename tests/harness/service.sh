# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers for tests of the service, which runs in the foreground with its own folders. Source it after
# lib.sh. PILOTLIGHTD selects a build other than release.
pilotlightd=${PILOTLIGHTD:-$root/build/release/pilotlightd}
service_pid=
cgroups=()
cpu_groups=

# All folders of the service are under $tmp, and the command-line tools query this service.
export STATE_DIRECTORY=$tmp/state CACHE_DIRECTORY=$tmp/cache RUNTIME_DIRECTORY=$tmp/run
export CONFIGURATION_DIRECTORY=$tmp/etc PILOTLIGHT_SOCKET=$tmp/run/api.sock
unset NOTIFY_SOCKET WATCHDOG_USEC LISTEN_FDS LISTEN_PID

clean_up_service() {
	[ -z "$service_pid" ] || kill -KILL "$service_pid" 2>/dev/null
	clean_up
	[ ${#cgroups[@]} = 0 ] || rmdir "${cgroups[@]}" 2>/dev/null
}
at_exit clean_up_service

need_service() {
	[ -x "$pilotlightd" ] || { echo "Bail out! no $pilotlightd: make"; exit 1; }
	! "$pilotlight" doctor | grep -q '^  limited *Landlock ' || skip_all "the service of root needs Landlock"
	mkdir -p "$STATE_DIRECTORY" "$CACHE_DIRECTORY" "$RUNTIME_DIRECTORY" "$CONFIGURATION_DIRECTORY"
}

# Succeeds also if the service has ended, because then it will never answer.
service_answers() {
	"$pilotlight" status || ! kill -0 "$service_pid"
}

# start_service [OPTIONS...]: logs to $tmp/service.log. Returns once the service answers.
start_service() {
	"$pilotlightd" "$@" >>"$tmp/service.log" 2>&1 &
	service_pid=$!
	wait_for 60 service_answers && kill -0 "$service_pid" && return
	note "$(tail -n 20 "$tmp/service.log")"
	return 1
}

# same_day SECONDS: makes sure that the current UTC day, and so its database, lasts for SECONDS. If it would
# end earlier, waits for the next day.
same_day() {
	local left=$((86400 - $(date +%s) % 86400))

	[ $left -gt "$1" ] || sleep $((left + 1))
}

# Ends the service and returns its exit status.
stop_service() {
	local status

	kill -TERM "$service_pid"
	wait "$service_pid"
	status=$?
	service_pid=
	return $status
}

# confine_service USER [COMMAND...]: start_service runs the service as that user with the six capabilities of its
# unit: read any file, ptrace, syslog, perfmon, bpf and checkpoint_restore, by their numbers for setpriv of any
# version. COMMAND is put before it.
confine_service() {
	local capabilities=+cap_2,+cap_19,+cap_34,+cap_38,+cap_39,+cap_40 user=$1

	shift
	cat >"$tmp/confined" <<END
#!/bin/sh
exec $* setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=$capabilities \
	--ambient-caps=$capabilities --bounding-set=-all,$capabilities -- '$pilotlightd' "\$@"
END
	chmod +x "$tmp/confined"
	chown -R "$user:$user" "$STATE_DIRECTORY" "$CACHE_DIRECTORY" "$RUNTIME_DIRECTORY"
	pilotlightd=$tmp/confined
}

# has_exited PID: the process holds nothing any more: it is gone, or a zombie without other threads. /proc/PID/exe is no
# sign of that: it vanishes before the descriptors, and with them locks and sockets, are closed.
has_exited() {
	local tasks=("/proc/$1/task/"*) stat

	[ ${#tasks[@]} = 1 ] || return
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*)} = " Z "* ]]
}

# restart_broker CHILD...: like a service manager, waits for all of the unit's processes and starts a new service.
restart_broker() {
	local pid

	wait "$service_pid" 2>/dev/null
	for pid in "$@"; do
		# The process that now is their parent may be slow to reap them.
		until has_exited "$pid"; do
			sleep 0.02
		done
	done
	"$pilotlightd" >>"$tmp/service.log" 2>&1 &
	service_pid=$!
}

answers() {
	curl -sf --max-time 2 --unix-socket "$PILOTLIGHT_SOCKET" -o /dev/null http://localhost/api/v1/status
}

databases_are_sound() {
	local path answer

	for path in "$STATE_DIRECTORY"/history/*.db; do
		answer=$(sqlite3 "$path" "PRAGMA integrity_check")
		note "${path##*/}: $answer"
		[ "$answer" = ok ] || return 1
	done
}

nothing_set_aside() {
	[ "$(find "$STATE_DIRECTORY" -type f | grep -vcE '/(lock|[0-9-]+\.db(-wal|-shm)?)$')" = 0 ]
}

# role_pids ROLE: the service's processes of that role: engine, symbol-worker or answer. The broker is
# $service_pid.
role_pids() {
	pgrep -P "$service_pid" -f "^pilotlightd? $1"
}

metrics() {
	curl -s --max-time 10 --unix-socket "$PILOTLIGHT_SOCKET" http://localhost/metrics
}

# metric NAME[{labels}]: prints its value.
metric() {
	metrics | awk -v name="$1" '$1 == name { print $2 }'
}

# Every sample is accounted for exactly (I1).
accounts_of_metrics() {
	metrics |awk '/^pilotlight_samples_fired_total/ { fired = $2 }
			/^pilotlight_samples_stored_total/ { sum += $2 }
			/^pilotlight_samples_dropped_total/ { sum += $2 }
			END { print "# " fired " fired, " sum " stored or dropped"; exit !(fired > 0 && fired == sum) }'
}

# in_cgroup PATH COMMAND...: runs the command in that cgroup, in the background, until stop_started. Returns
# once it is in the cgroup.
in_cgroup() {
	local folder

	folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)$1
	shift
	mkdir -p "$folder" || return
	cgroups+=("$folder")
	start bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$folder" "$@"
	wait_for 60 grep -qx "${started[-1]}" "$folder/cgroup.procs"
}

has_cgroup2() {
	local folder

	folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$folder" ] && mkdir "$folder/pilotlight-test-$$" 2>/dev/null &&
		rmdir "$folder/pilotlight-test-$$"
}

# --- sharing the CPU ---------------------------------------------------------------------------

# Prints the folder of cgroups with a CPU controller, or nothing.
find_cpu_groups() {
	local folder

	folder=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
	if [ -z "$folder" ]; then
		folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		grep -qw cpu "$folder/cgroup.controllers" 2>/dev/null || return
		echo +cpu 2>/dev/null >"$folder/cgroup.subtree_control" || return
	fi
	mkdir "$folder/pilotlight-test-$$" 2>/dev/null && rmdir "$folder/pilotlight-test-$$" && echo "$folder"
}

# make_cpu_group NAME: prints the file to which a process writes its PID to enter the cgroup, in the folder $cpu_groups.
make_cpu_group() {
	[ -n "$cpu_groups" ] || { echo /dev/null; return; }
	mkdir "$cpu_groups/pilotlight-$1-$$" && echo "$cpu_groups/pilotlight-$1-$$/cgroup.procs"
}

remove_cpu_groups() {
	local folder

	for folder in "$cpu_groups"/pilotlight-*-$$; do
		[ ! -d "$folder" ] || wait_for 60 rmdir "$folder"
	done
}

# service_in_cpu_group FILE: start_service starts it in that cgroup.
service_in_cpu_group() {
	local program=$pilotlightd

	pilotlightd=$tmp/pilotlightd
	printf '#!/bin/sh\necho $$ >"%s"\nexec "%s" "$@"\n' "$1" "$program" >"$pilotlightd"
	chmod +x "$pilotlightd"
}
