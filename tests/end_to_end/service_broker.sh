#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the broker gives to an engine that an attacker controls: code, jitdumps and perf maps, and nothing else.
# The service runs as its unit runs it, as a user with six capabilities. tests/workloads/impostor.c takes the
# engine's sockets and makes the requests.
# Runs beside others: it judges answers.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands setpriv

impostor=$workloads/impostor
service=12331 owner=12332 other=12333

# as USER COMMAND...
as() {
	local user=$1

	shift
	setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
}

# asks EXPECTED REQUEST...: what the engine gets for the request.
asks() {
	local expected=$1 answer

	shift
	answer=$("$impostor" "$(role_pids engine)" "$@" 2>&1)
	[[ $answer = $expected ]] && return
	note "$*: $answer, not $expected"
	return 1
}

# all_ask EXPECTED REQUEST...: the same for several requests, each one word.
all_ask() {
	local expected=$1 request

	shift
	for request; do
		# shellcheck disable=SC2086
		asks "$expected" $request || return
	done
}

# execute USER FILE: starts a process that maps the file as code. Sets process and range.
execute() {
	local user=$1

	: >"$tmp/range"
	setpriv --reuid="$user" --regid="$user" --clear-groups -- "$impostor" execute "$2" >"$tmp/range" 2>&1 &
	process=$!
	started+=($process)
	wait_for 10 grep -q '^[0-9a-f]* [0-9a-f]*$' "$tmp/range" || { note "$(cat "$tmp/range")"; return 1; }
	range=$(cat "$tmp/range")
}

# put FILE USER MODE TEXT. Root cannot write to what another user has in /tmp (fs.protected_regular), but can remove it.
put() {
	rm -f "$1" && printf '%b' "$4" >"$1" && chown "$2:$2" "$1" && chmod "$3" "$1"
}

# --- files -------------------------------------------------------------------------------------

make_files() {
	mkdir -m 755 "$tmp/open" && mkdir -m 700 "$tmp/closed"
	put "$tmp/closed/id_rsa" $owner 600 'a key\n' && put "$tmp/closed/notes" $owner 644 'a secret\n' &&
		put "$tmp/open/notes" $owner 644 'anybody may read this\n' &&
		put "$tmp/open/script" $owner 755 '#!/bin/sh\n' || return
	cp /bin/true "$tmp/closed/program" && cp /bin/true "$tmp/open/program" && cp /bin/true "$tmp/open/own" &&
		chmod 711 "$tmp/open/own" && chown -R $owner:$owner "$tmp/closed" "$tmp/open"
}

keeps_names_closed() {
	all_ask EACCES "path $tmp/closed/id_rsa" "path $tmp/closed/notes" "path $tmp/closed/program" \
		"path $tmp/open/own" "path /etc/shadow" "alternate $tmp/closed/program" &&
		asks ENOENT debuglink "$tmp/closed/x" program
}

keeps_names_of_processes_closed() {
	execute $owner "$tmp/open/program" || return
	all_ask EACCES "mapping $process 0 0 $tmp/closed/program" "mapping $process 0 0 $tmp/closed/id_rsa" \
		"mapping $process 1000 2000 $tmp/closed/program" "mapping $process 0 0 /etc/shadow" &&
		all_ask ENOENT "marker $process 0 0 $tmp/closed/notes" "marker $process 0 0 /etc/shadow"
}

gives_only_elf() {
	all_ask ENOEXEC "path $tmp/open/notes" "path $tmp/open/script" "path /etc/passwd" &&
		asks 'opened .ELF*' path "$tmp/open/program"
}

# A file that a process has mapped as code needs neither an open folder nor a mode for everyone.
gives_mapped_elf() {
	execute $owner "$tmp/closed/program" || return
	# shellcheck disable=SC2086
	asks 'opened .ELF*' mapping $process $range - && asks 'opened .ELF*' mapping $process $range "$tmp/open/notes"
}

keeps_mapped_text() {
	local file

	for file in "$tmp/closed/id_rsa" "$tmp/closed/notes" "$tmp/open/notes"; do
		execute $owner "$file" || return
		# shellcheck disable=SC2086
		all_ask ENOEXEC "mapping $process $range -" "mapping $process $range $tmp/open/program" \
			"marker $process $range -" || return
	done
}

# --- perf maps and jitdumps --------------------------------------------------------------------

# maps_are EXPECTED USER MODE: what the perf map and the jitdump of a process of $owner give if they belong to
# USER. The jitdump is asked for by its name.
maps_are() {
	put "/tmp/perf-$process.map" "$2" "$3" '1000 10 a_function\n' &&
		put "/tmp/jit-$process.dump" "$2" "$3" 'DTiJ a jitdump\n' || return
	asks "$1" map "$process" "$process" && asks "$1" marker "$process" 0 0 "/tmp/jit-$process.dump"
}

remove_maps() {
	rm -f "/tmp/perf-$process.map" "/tmp/jit-$process.dump"
}

clean_up_maps() {
	remove_maps
	clean_up_service
}

gives_own_maps() {
	maps_are 'opened *' $owner 600 && maps_are 'opened *' 0 644
}

keeps_others_maps() {
	maps_are EPERM $other 600 && maps_are EPERM $other 644 && maps_are EPERM 0 600
}

keeps_linked_maps() {
	remove_maps
	put "$tmp/open/linked" $owner 600 'a key\n' && ln "$tmp/open/linked" "/tmp/perf-$process.map" &&
		asks EMLINK map "$process" "$process" || return
	rm "/tmp/perf-$process.map" && ln -s "$tmp/open/linked" "/tmp/perf-$process.map" &&
		ln -s "$tmp/open/linked" "/tmp/jit-$process.dump" &&
		asks ELOOP map "$process" "$process" && asks ELOOP marker "$process" 0 0 "/tmp/jit-$process.dump"
	local result=$?
	remove_maps
	return $result
}

# Text under the name of a perf map.
keeps_false_maps() {
	put "/tmp/perf-$process.map" $owner 600 'a key\n' && asks ENOEXEC map "$process" "$process" &&
		put "/tmp/perf-$process.map" $owner 600 '' && asks 'opened ' map "$process" "$process"
}

# A debugger maps a core file to read it; before Linux 6.11 nothing but its type tells it from code.
keeps_core_files() {
	{ head -c 16 /bin/true && printf '\4\0' && tail -c +19 /bin/true; } >"$tmp/open/core" && chmod 755 "$tmp/open/core" &&
		asks ENOEXEC path "$tmp/open/core" && execute $owner "$tmp/open/core" || return
	# shellcheck disable=SC2086
	asks ENOEXEC mapping $process $range -
}

# A secret under the name of a jitdump, and an empty file under another name.
keeps_false_dumps() {
	put "/tmp/jit-$process.dump" $owner 600 'a key\n' &&
		asks ENOEXEC marker "$process" 0 0 "/tmp/jit-$process.dump" &&
		put "/tmp/jit-$process.dump" $owner 600 '' &&
		asks 'opened ' marker "$process" 0 0 "/tmp/jit-$process.dump" &&
		put "/tmp/jit-$process.dump" $owner 600 'DTi' &&
		asks ENOEXEC marker "$process" 0 0 "/tmp/jit-$process.dump"
}

# --- capture -----------------------------------------------------------------------------------

# Rate, MiB of maps, and event: 0 is the configured one, auto.
keeps_to_the_configuration() {
	all_ask EPERM 'capture 100000 1 0' 'capture 124 1 0' 'capture 123 1024 0' 'capture 123 65 0' 'capture 123 1 2'
}

# The running engine has other settings, which is found out after the limits.
allows_what_is_configured() {
	asks EBUSY capture 123 8 0
}

reloads() {
	printf '[Sampling]\nFrequencyHz=124\nEvent=cpu-clock\n[Memory]\nMaxBytes=65M\n' \
		>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	kill -HUP "$service_pid"
	is_reloaded() { [ -n "$(role_pids engine)" ] && asks EBUSY capture 124 65 2 >/dev/null; }
	wait_for 60 is_reloaded && all_ask EPERM 'capture 125 1 2' 'capture 124 66 2' 'capture 124 8 0'
}

# -----------------------------------------------------------------------------------------------

plan 16
printf '[Sampling]\nFrequencyHz=123\n[Memory]\nMaxBytes=64M\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
make_files || { echo "Bail out! the files cannot be made"; exit 1; }
confine_service $service
start_service || { echo "Bail out! the service does not start"; exit 1; }
ok "the service starts"

check "names lead nowhere that the service's user cannot go" keeps_names_closed
check "... nor do they within the root of a process" keeps_names_of_processes_closed
check "by a name only ELF files are opened" gives_only_elf
check "mapped ELF files are opened, whoever may read them" gives_mapped_elf
check "... but no other mapped files" keeps_mapped_text
check "... and no core files" keeps_core_files

execute $owner "$tmp/open/program" || { echo "Bail out! no process"; exit 1; }
at_exit clean_up_maps
check "a process's own perf map and jitdump are opened, and root's" gives_own_maps
check "... but not those of other users" keeps_others_maps
check "... nor links at their names" keeps_linked_maps
check "... nor other files named like jitdumps" keeps_false_dumps
check "... nor text that begins as no perf map does" keeps_false_maps
remove_maps

check "capture keeps to the configured rate, memory and event" keeps_to_the_configuration
check "... and allows these" allows_what_is_configured
check "a reload changes the limits" reloads
check "the service stops" stop_service

finish
