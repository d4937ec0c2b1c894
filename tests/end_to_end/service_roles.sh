#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What code inside each process of the service can do: role_table.txt says what is expected, and the tracer
# tests/workloads/intruder.c tries it. The service runs as its unit runs it: as a user with six capabilities, in an
# empty network, with services of other users that fetch, that send and that open perf events. The mount namespace and
# the system call filters of the units are not there: what the table shows is held without them. tests/vm/boot_systemd
# tries the units themselves.
# Runs beside others: it judges what is refused.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

intruder=$workloads/intruder
section=
table=$root/tests/end_to_end/role_table.txt
service=12321 other=12322 fetcher=12323 events=12324 sender=12325

# as USER COMMAND...
as() {
	local user=$1

	shift
	setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
}

# Can this machine trace a process, suspend its filters and copy it?
has_intruder() {
	start sleep 600
	wait_for 10 grep -q nanosleep "/proc/${started[-1]}/wchan" || sleep 0.5
	[ "$("$intruder" "${started[-1]}" read_device 2>"$tmp/intruder.log")" = "read_device yes" ]
}

# The intruder also stops a process outside of system calls, such as an engine that has just started.
tries_busy_process() {
	local round

	start gzip -c /dev/zero
	for round in {1..20}; do
		[ "$("$intruder" "${started[-1]}" read_device 2>"$tmp/intruder.log")" = "read_device yes" ] && continue
		note "$(cat "$tmp/intruder.log")"
		return 1
	done
	kill -KILL "${started[-1]}"
	wait "${started[-1]}" 2>/dev/null
	return 0
}

# --- what the attempts need --------------------------------------------------------------------

# put FILE USER MODE
put() {
	echo secret >"$1" && chown "$2:$2" "$1" && chmod "$3" "$1"
}

make_files() {
	chmod 700 "$STATE_DIRECTORY" "$CACHE_DIRECTORY"
	mkdir "$tmp/closed" && put "$tmp/roots_file" 0 600 && put "$tmp/users_file" $other 600 &&
		put "$tmp/closed/file" $other 644 && chown $other "$tmp/closed" && chmod 700 "$tmp/closed" || return
	export ROOTS_FILE=$tmp/roots_file USERS_FILE=$tmp/users_file CLOSED_FILE=$tmp/closed/file
	export CONFIGURATION=$CONFIGURATION_DIRECTORY/pilotlight.conf
	export STATE_FILE=$STATE_DIRECTORY/intruder CACHE_FILE=$CACHE_DIRECTORY/intruder
	export RUNTIME_FILE=$RUNTIME_DIRECTORY/intruder BUS=$tmp/bus DATAGRAMS=$tmp/datagrams
	export ABSTRACT=test-of-roles-$$
}

# start_as USER COMMAND...: sets started_pid to the PID of the command itself.
start_as() {
	start setpriv --reuid="$1" --regid="$1" --clear-groups -- "${@:2}"
	started_pid=${started[-1]}
	wait_for 60 grep -qx "$2" "/proc/$started_pid/comm"
}

start_others() {
	start systemd-socket-activate --accept --listen="$BUS" true
	start systemd-socket-activate --accept --listen="@$ABSTRACT" true
	start systemd-socket-activate --datagram --listen="$DATAGRAMS" sleep 600
	start_as $service sleep 600 && export SIBLING=$started_pid &&
		start_as $other sleep 600 && export OTHER=$started_pid &&
		start_as 0 sleep 600 && export ROOT=$started_pid &&
		wait_for 60 [ -S "$BUS" -a -S "$DATAGRAMS" ] && chmod 666 "$BUS" "$DATAGRAMS"
}

# Each fetching service writes its PID and waits for the tracer.
start_fetching_service() {
	export PILOTLIGHT_FETCH_SOCKET=$tmp/fetch.sock
	cat >"$tmp/fetch" <<END
#!/bin/sh
echo \$\$ >"$tmp/fetch.pid.new"
mv "$tmp/fetch.pid.new" "$tmp/fetch.pid"
timeout 60 sh -c 'until [ -e "$tmp/fetch.go" ]; do sleep 0.1; done'
exec setpriv --reuid=$fetcher --regid=$fetcher --clear-groups --no-new-privs '$real' fetch-service
END
	chmod +x "$tmp/fetch"
	start systemd-socket-activate --accept --seqpacket --listen="$PILOTLIGHT_FETCH_SOCKET" "$tmp/fetch"
	wait_for 60 [ -S "$PILOTLIGHT_FETCH_SOCKET" ] && chown $service "$PILOTLIGHT_FETCH_SOCKET" &&
		chmod 600 "$PILOTLIGHT_FETCH_SOCKET"
}

# The same for senders, which wait only while there is a file send.hold. They have a receiver.
start_sending_service() {
	mkdir "$tmp/receiver" && echo ok >"$tmp/receiver/mode" || return
	start python3 "$root/tests/end_to_end/receiver.py" "$tmp/receiver"
	export PILOTLIGHT_SEND_SOCKET=$tmp/send.sock
	cat >"$tmp/send" <<END
#!/bin/sh
if [ -e "$tmp/send.hold" ]; then
	echo \$\$ >"$tmp/send.pid.new"
	mv "$tmp/send.pid.new" "$tmp/send.pid"
	timeout 60 sh -c 'while [ -e "$tmp/send.hold" ]; do sleep 0.1; done'
fi
export CONFIGURATION_DIRECTORY='$CONFIGURATION_DIRECTORY'
exec setpriv --reuid=$sender --regid=$sender --clear-groups --no-new-privs '$real' send-service
END
	chmod +x "$tmp/send"
	start systemd-socket-activate --accept --seqpacket --listen="$PILOTLIGHT_SEND_SOCKET" "$tmp/send"
	wait_for 60 [ -S "$PILOTLIGHT_SEND_SOCKET" -a -s "$tmp/receiver/port" ] &&
		chown $service "$PILOTLIGHT_SEND_SOCKET" && chmod 600 "$PILOTLIGHT_SEND_SOCKET" &&
		printf '[sink test]\nType=otlp\nUrl=http://127.0.0.1:%s\nInterval=2s\nNameWait=0\n' \
			"$(cat "$tmp/receiver/port")" >>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# Starts the service and waits for a day and a symbol file.
start_whole_service() {
	start_service && start_load || return
	has_state() {
		ask && export HISTORY=$(find "$STATE_DIRECTORY/history" -name '*.db' | head -n 1) &&
			export SYMBOLS=$(find "$CACHE_DIRECTORY/symbols" -name '*.sym' | head -n 1) &&
			[ -n "$HISTORY" ] && [ -n "$SYMBOLS" ]
	}
	wait_for 60 has_state
}

ask() { "$pilotlight" report --last 1min -o "$tmp/asked.txt" 2>/dev/null; }

# Starts a workload with a new build-id, so that a worker must read it and a fetcher asks for it. Workers run only
# on idle CPUs, so the workload sleeps half of the time.
new_program() {
	local bytes

	bytes=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
	echo "#include <unistd.h>
		int main(void) { volatile unsigned long n = 0; for (;; usleep(5000)) while (++n % 2000000); }" |
		gcc -x c -O1 -Wl,--build-id=0x"$bytes" - -o "$tmp/program" && start "$tmp/program"
}

# --- one role ----------------------------------------------------------------------------------

# compare ROLE: the results in $tmp/ROLE are those of the role's column; if $section is set, in that section of the
# table. Notes every cell that differs.
compare() {
	awk -v role="$1" -v section="$section" '
		FNR == NR && /^# / { current = substr($0, 3) }
		/^#/ || NF == 0 { next }
		FNR == NR && !column {
			for (i = 1; i <= NF; i++)
				if ($i == role)
					column = i
			next
		}
		FNR == NR && section && current != section { others[$1] = 1; next }
		FNR == NR { expected[$1] = $column; next }
		$1 in others { next }
		!($1 in expected) { print $1 " is not in the table: " $2; wrong = 1; next }
		index("|" expected[$1] "|", "|" $2 "|") == 0 {
			print $1 " of the " role ": " $2 " instead of " expected[$1]
			wrong = 1
		}
		{ seen[$1] = 1 }
		END {
			for (name in expected)
				if (!(name in seen)) {
					print name " was not tried"
					wrong = 1
				}
			exit wrong
		}' "$table" <(grep -E '^[a-z_0-9]+ [A-Za-z]+[A-Z0-9a-z]*$' "$tmp/$1") >"$tmp/differences" && return
	note "$(cat "$tmp/differences" "$tmp/intruder.log")"
	return 1
}

has_no_privileges() {
	local file=$1

	# Only root can empty the bounding set; without new privileges nothing is gained by it.
	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):\s0{16}$' "$file")" = 4 ] &&
		grep -qP '^NoNewPrivs:\t1$' "$file" && grep -qP '^Seccomp:\t2$' "$file" && return
	note "$(grep -v ' ' "$file")"
	return 1
}

# What one role could make, the next one could not.
remove_made() {
	rm -rf /tmp/intruder.* "$STATE_FILE" "$CACHE_FILE" "$RUNTIME_FILE"
}

clean_up_made() {
	remove_made
	clean_up_service
}

# try ROLE PID: that running process.
try() {
	remove_made
	"$intruder" "$2" status all >"$tmp/$1" 2>"$tmp/intruder.log" && compare "$1"
}

# Every thread of the engine.
try_engine() {
	local thread engine

	engine=$(role_pids engine)
	for thread in /proc/"$engine"/task/*; do
		try engine "${thread##*/}" && has_no_privileges "$tmp/engine" || return
		note "thread ${thread##*/}: $(cat "$thread/comm"), $(grep -c ' ' "$tmp/engine") attempts"
	done
	[ "$(role_pids engine)" = "$engine" ]
}

# The broker's opener is a child without a role. It ends when it is idle, and asking for new programs starts one.
find_opener() {
	local pid

	start "$workloads/spawner" 1 1
	for pid in $(pgrep -P "$service_pid"); do
		! cmp -s "/proc/$pid/cmdline" "/proc/$service_pid/cmdline" || opener=$pid
	done
	[ -n "$opener" ]
}

try_opener() {
	local opener=

	wait_for 60 find_opener && try opener "$opener"
}

# watch PARENT ROLE: makes the next process of that role, a child of PARENT, try everything. Returns once the
# tracer is ready.
watch() {
	remove_made
	rm -f "$tmp/intruder.log"
	"$intruder" --spawned-by "$1" "$2" status all >"$tmp/$2" 2>"$tmp/intruder.log" &
	watcher=$!
	started+=($watcher)
	wait_for 60 grep -q ready "$tmp/intruder.log"
}

has_watcher_ended() {
	ask
	! kill -0 $watcher 2>/dev/null
}

# watched NAME ROLE: the tracer has ended without an error.
watched() {
	wait_for 90 has_watcher_ended && wait $watcher || { note "$(cat "$tmp/intruder.log")"; return 1; }
	mv "$tmp/$2" "$tmp/$1.results" && mv "$tmp/$1.results" "$tmp/$1"
	compare "$1" && has_no_privileges "$tmp/$1"
}

try_answer() {
	watch "$service_pid" answer && watched answer answer
}

try_worker() {
	watch "$service_pid" symbol-worker && new_program && watched worker symbol-worker
}

try_fetcher() {
	rm -f "$tmp/fetch.pid" "$tmp/fetch.go"
	new_program && wait_for 90 eval 'ask; [ -s "$tmp/fetch.pid" ]' && watch "$(cat "$tmp/fetch.pid")" symbol-fetch &&
		: >"$tmp/fetch.go" && watched fetcher symbol-fetch && grep -qP "^Uid:\t$fetcher\t" "$tmp/fetcher"
}

try_sender() {
	rm -f "$tmp/send.pid"
	: >"$tmp/send.hold"
	wait_for 90 [ -s "$tmp/send.pid" ] && watch "$(cat "$tmp/send.pid")" sink-send && rm "$tmp/send.hold" &&
		watched sender sink-send && grep -qP "^Uid:\t$sender\t" "$tmp/sender"
}

# What an intruder in the engine can ask of a sender: to send bytes to a sink of the configuration, and nothing else.
# The broker, which this plays first, gives it that. The formats are those of broker/child_service.h,
# child/child_request.c and send/send_request.h.
senders_know_their_receivers() {
	as $service /usr/bin/python3 - "$PILOTLIGHT_SEND_SOCKET" "$CONFIGURATION_DIRECTORY/pilotlight.conf" <<'END'
import os, socket, struct, sys

def ask(sink, kind):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(sys.argv[1])
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end, their_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    batch = os.memfd_create("batch")
    os.write(batch, b"batch")
    configuration = open(sys.argv[2])
    socket.send_fds(connection, [struct.pack("II", 2, 3)],
                    [theirs.fileno(), their_end.fileno(), configuration.fileno()])
    request = struct.pack("II8BIIQ32s16s", 1, 1, 5, 0, 0, 0, 0, 0, 0, 0, 4, 0, 5, sink, kind)
    socket.send_fds(ours, [request], [batch])
    ours.settimeout(60)
    _, error, status, _, _, _, text = struct.unpack("IiIIQQ160s", ours.recv(4096))
    print("#", sink, kind, error, status, text.rstrip(b"\0"))
    return b"has no sink" in text

sys.exit(ask(b"test", b"otlp") or not ask(b"other", b"otlp") or not ask(b"test", b"pyroscope"))
END
}

# It has one capability, CAP_SYS_ADMIN, and waits for five seconds.
try_events() {
	local pid

	start systemd-socket-activate --accept --seqpacket --listen="$tmp/events.sock" \
		setpriv --reuid=$events --regid=$events --clear-groups --no-new-privs --inh-caps=-all,+sys_admin \
		--ambient-caps=-all,+sys_admin --bounding-set=-all,+sys_admin "$real" event-service
	wait_for 60 [ -S "$tmp/events.sock" ] || return
	start python3 -c 'import socket, sys, time
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect(sys.argv[1])
time.sleep(600)' "$tmp/events.sock"
	is_confined() { pid=$(pgrep -x -u $events event-service) && grep -q '^Seccomp:.2' "/proc/$pid/status"; }
	wait_for 60 is_confined && try events "$pid" && grep -qP '^CapPrm:\t0{10}200000$' "$tmp/events"
}

# -----------------------------------------------------------------------------------------------

need_root
need_programs
need_service
need_commands setpriv unshare gcc systemd-socket-activate timeout python3
ldconfig -p | grep -q libdebuginfod.so.1 || skip_all "needs libdebuginfod.so.1"
unshare --net true 2>/dev/null || skip_all "network namespaces are refused here"
has_intruder || skip_all "processes cannot be traced here: $(cat "$tmp/intruder.log")"
real=$pilotlightd
printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Symbols]\nDebuginfodUrls=http://127.0.0.1:1\n' \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
plan 20
check "the tracer also stops a process outside of system calls" tries_busy_process
at_exit clean_up_made
make_files && start_others || { echo "Bail out! the files and processes cannot be made"; exit 1; }
confine_service $service unshare --net
check "a fetching service listens" start_fetching_service
check "a sending service listens" start_sending_service
check "the service starts" start_whole_service
check "the broker can do what the table says" try broker "$service_pid"
check "its opener can do what the table says" try_opener
check "each thread of the engine can do what the table says" try_engine
check "a worker can do what the table says" try_worker
check "an answer process can do what the table says" try_answer
check "a fetcher can do what the table says" try_fetcher
check "a sender can do what the table says" try_sender
check "a sender sends to sinks of the configuration alone" senders_know_their_receivers
check "a process that opens perf events can do what the table says" try_events
check "the service has survived all that, and stops" stop_service

# Filters alone keep the roles from each other, although they have one user: Landlock only adds to them.
section="other processes"
pilotlightd=$real
confine_service $service unshare --net "$workloads/without" landlock
check "without Landlock the service starts" start_service
check "... and its engine can reach no process either" try_engine
check "... nor can an answer process" try_answer
check "... nor can a fetcher" try_fetcher
check "... nor can a sender" try_sender
check "... and the service stops" stop_service
finish
