#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the service's processes may, by having them try: engine, answer and symbol worker are made to
# do what an intruder would do in their place (tests/workloads/intruder.c). Which files the broker
# reads in its whole life, and that it needs no parser to be linked. What other users get.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
has curl || skip_all "no curl"
has setpriv || skip_all "no setpriv"

intruder=$workloads/intruder
symbol_stages='extract symbol symbolize jit process store resolve query render export serve'

# --- intruders ---------------------------------------------------------------------------------

# May anybody be traced here, and his registers be set?
has_intruder() {
	start sleep 600
	wait_for 10 grep -q nanosleep "/proc/${started[-1]}/wchan" || sleep 0.5
	[ "$("$intruder" "${started[-1]}" getpid 2>"$tmp/intruder.log")" = "getpid allowed" ]
}

# Nor is anybody spared who is between two calls, as an engine is that has just started.
tries_who_computes() {
	local round

	start gzip -c /dev/zero
	for round in {1..20}; do
		[ "$("$intruder" "${started[-1]}" getpid 2>"$tmp/intruder.log")" = "getpid allowed" ] && continue
		note "$(cat "$tmp/intruder.log")"
		return 1
	done
	kill -KILL "${started[-1]}"
}

# refused FILE RESULTS CALL...: each of them was tried, and came to one of RESULTS.
refused() {
	local file=$1 results=$2 call

	shift 2
	grep -qx 'getpid allowed' "$file" || {
		note "nothing was tried: $(cat "$file" "$tmp/intruder.log")"
		return 1
	}
	for call; do
		grep -qxE "$call ($results)" "$file" && continue
		note "$call: $(grep "^$call " "$file" || echo "was not tried")"
		return 1
	done
}

has_no_privileges() {
	local file=$1

	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s0{16}$' "$file")" = 5 ] &&
		grep -qP '^NoNewPrivs:\t1$' "$file" && grep -qP '^Seccomp:\t2$' "$file" && return
	note "$(cat "$file")"
	return 1
}

# Of all threads of the engine that there are.
try_threads() {
	local thread engine

	engine=$(role_pids engine)
	: >"$tmp/threads"
	for thread in /proc/"$engine"/task/*; do
		"$intruder" "${thread##*/}" getpid "$@" >"$tmp/thread" 2>>"$tmp/intruder.log" || return
		cat "$tmp/thread" >>"$tmp/threads"
		refused "$tmp/thread" 'EPERM|EACCES|ENOSYS' "$@" || return
		grep -E '^(Cap|NoNew|Seccomp)' "/proc/$engine/task/${thread##*/}/status" |
			grep -v filters >"$tmp/privileges"
		has_no_privileges "$tmp/privileges" || return
	done
	note "$(grep -cx 'getpid allowed' "$tmp/threads") threads, $# calls each"
	[ "$(role_pids engine)" = "$engine" ]
}

# The engine, made to do that, dies of it, and another one is there.
dies_of() {
	local engine

	is_another() { [ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ]; }
	engine=$(role_pids engine)
	"$intruder" "$engine" getpid "$1" >"$tmp/died" 2>>"$tmp/intruder.log"
	refused "$tmp/died" SIGSYS "$1" && wait_for 60 is_another && wait_for 60 "$pilotlight" status
}

engine_dies_of_each() {
	local call

	for call; do
		dies_of "$call" || return
	done
}

# Of the forks that open files one goes, so that another one comes: a child that is never of any role.
replace_opener() {
	local pid

	for pid in $(pgrep -P "$service_pid"); do
		! cmp -s "/proc/$pid/cmdline" "/proc/$service_pid/cmdline" || kill -KILL "$pid"
	done
}

# watch_role ROLE FILE CALL...: the next process of that role tries these. Returns when it watches.
watch_role() {
	local role=$1 file=$2

	shift 2
	rm -f "$tmp/watch.log"
	"$intruder" --spawned-by "$service_pid" "$role" "$@" >"$file" 2>"$tmp/watch.log" &
	watcher=$!
	started+=($watcher)
	wait_for 60 grep -q ready "$tmp/watch.log" && replace_opener
}

# asked_until END: asks for a graph until END. Leaves the last one's exit status in $asked.
asked_until() {
	local end=$((SECONDS + 60))

	until [ $SECONDS -ge $end ]; do
		"$pilotlight" flamegraph --last 1min -o "$tmp/answer.svg" >/dev/null 2>"$tmp/answer.log"
		asked=$?
		"$1" && return
		sleep 0.1
	done
	note "$(cat "$tmp/watch.log" "$tmp/answer.log")"
	return 1
}

has_watcher_ended() { ! kill -0 $watcher 2>/dev/null; }

# What it told has come to its end.
watched() {
	wait $watcher && return
	note "$(cat "$tmp/watch.log")"
	return 1
}

# The answer's process is let go on, and what it answers is right.
try_answer() {
	watch_role answer "$tmp/answer" status getpid "$@" && asked_until has_watcher_ended || return
	[ "$asked" = 0 ] || { note "$(cat "$tmp/answer.log")"; return 1; }
	watched && grep -q '</svg>' "$tmp/answer.svg"
}

# Who asked it is told; the watcher may end only after that.
answer_dies_of() {
	local was_refused=false

	is_over() {
		[ "$asked" = 0 ] || was_refused=true
		has_watcher_ended
	}
	watch_role answer "$tmp/answer.died" getpid "$1" && asked_until is_over || return
	watched && refused "$tmp/answer.died" SIGSYS "$1" || return
	$was_refused || note "nobody was told that it died"
	$was_refused
}

# new_program NAME: a workload with a build-id that nobody has seen, so that a worker reads it. Workers have
# the CPUs that nobody else wants: it sleeps half of the time.
new_program() {
	local bytes

	bytes=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
	echo "#include <unistd.h>
		int main(void) { volatile unsigned long n = 0; for (alarm(60);; usleep(5000)) while (++n % 2000000); }" |
		gcc -x c -O1 -Wl,--build-id=0x"$bytes" - -o "$tmp/$1" && start "$tmp/$1"
}

# The one that reads a program which nobody has seen.
try_worker() {
	local file=$tmp/worker.$1

	watch_role symbol-worker "$file" status getpid open_passwd open_own_memory "$1" || return
	new_program "program.$1" && asked_until has_watcher_ended && watched || return
	kill -KILL "${started[-1]}"
	has_no_privileges "$file" && refused "$file" EPERM open_passwd open_own_memory &&
		refused "$file" SIGSYS "$1"
}

workers_die_of_each() {
	local call

	for call; do
		try_worker "$call" || return
	done
}

# --- the broker --------------------------------------------------------------------------------

# A service whose main process is traced from its first call to its last, and nobody else.
make_traced() {
	cat >"$tmp/traced" <<END
#!/bin/sh
exec strace -D -f -b execve -qq -y -s 48 -e signal=none -o '$tmp/trace' -e trace=$1 '$real' "\$@"
END
	chmod +x "$tmp/traced"
}

# The calls of the broker and of those that open files for it, which are forks; what it executes is not
# followed. Without the PID that begins each line.
calls() {
	sed -E 's/^[0-9]+ +//' "$tmp/trace"
}

# Requests of all kinds: mappings, markers, perf maps, programs that are gone, debug files, children.
# raw_code has code without a marker, so that a perf map is asked for. Workers have the CPUs that nobody
# else wants: half of the time nothing is busy.
busy_service() {
	local end=$((SECONDS + 90))

	start_service || return
	start "$workloads/jit_writer"
	until was_drawn_and_asked; do
		[ $SECONDS -lt $end ] || return
		start "$workloads/deep" 10
		start "$workloads/raw_code" 10
		start "$workloads/spawner" 50 10
		wait_for 20 was_drawn_and_asked
	done
	"$pilotlight" report --last 1min -o "$tmp/traced.txt" 2>/dev/null || return
	# A change of what there is, and of the engine.
	kill -HUP "$service_pid"
	kill -KILL "$(role_pids engine)"
	wait_for 60 "$pilotlight" status && stop_service
}

was_drawn_and_asked() {
	is_drawn && was_asked
}

is_drawn() {
	"$pilotlight" flamegraph --last 1min -o "$tmp/traced.svg" 2>/dev/null && grep -q work "$tmp/traced.svg"
}

# The files whose bytes came to the broker, numbers as N.
files_read() {
	calls | grep -E '^(read|readv|pread64|preadv2?|mmap)\(' |
		grep -oE '^[a-z0-9]+\(([^<]*, )?[0-9]+<[^>]*>' | sed -E 's/^[^<]*<//; s/>$//' | sort -u
}

# pilotlightd(8), SECURITY, has the same list.
is_allowed_file() {
	case $1 in
	"/proc/$service_pid_kept/fdinfo/"* | "/proc/$service_pid_kept/statm") ;;
	/sys/kernel/btf/vmlinux | /sys/devices/system/cpu/*) ;;
	/proc/sys/kernel/perf_event_max_stack) ;;
	anon_inode:* | pipe:* | socket:* | UNIX* | /memfd:keepsake*) ;;
	*) [[ $1 =~ ^/proc/[0-9]+/stat$ ]] || grep -qxF -- "$1" "$tmp/own" ;;
	esac
}

# The loader's: the program, its libraries, and their list.
own_files() {
	realpath "$real"
	ldd "$real" | grep -oE '/[^ ]+' | xargs realpath
	echo /etc/ld.so.cache
}

reads_nothing_else() {
	local file wrong=0

	own_files >"$tmp/own"
	files_read >"$tmp/read"
	grep -q '/stat$' "$tmp/read" || { note "the trace lacks what is known to be read"; return 1; }
	while read -r file; do
		is_allowed_file "$file" && continue
		note "the broker read $file"
		wrong=1
	done <"$tmp/read"
	note "$(grep -c '' "$tmp/trace") calls, $(grep -vcxFf "$tmp/own" "$tmp/read") files read"
	[ $wrong = 0 ]
}

# Beyond reading: other ways to bytes, to other processes, to threads that the trace would miss.
has_no_other_way() {
	! calls | grep -E '^(sendfile|splice|tee|vmsplice|copy_file_range|process_vm_|io_uring_|ptrace|open_by_handle_at)|CLONE_THREAD' >"$tmp/ways" && return
	note "$(head -n 5 "$tmp/ways")"
	return 1
}

# What it was asked for: else nothing would have been shown.
was_asked() {
	local what

	for what in '"maps"' '"map_files/' '"perf-[0-9]+\.map"' '/proc/kallsyms' '"exe"'; do
		calls | grep -E "^openat2?\(.*$what" >/dev/null && continue
		note "nobody has asked for $what"
		return 1
	done
}

# A broker of the six stages alone. Its engine and workers are the usual program, of the same build.
link_broker() {
	local stage program=$root/build/release/pilotlightd archives=() include=(-iquote "$root/daemon" -iquote "$root/include")

	for stage in supervise capture child broker sandbox base; do
		archives+=("$root/build/release/lib/$stage.a")
		[ -e "${archives[-1]}" ] || { note "no ${archives[-1]}"; return 1; }
	done
	cat >"$tmp/broker.c" <<END
#include "base/fault.h"
#include "supervise/supervisor.h"
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *arguments[] = { "pilotlightd", "engine", "--listen", "0", NULL };
	struct supervisor_options options = { .program = "$program", .engine_arguments = arguments };
	struct fault fault = { 0 };
	if (argc > 1)
		return execv("$program", argv);
	if (supervisor_run(&options, &fault) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", fault.text);
	return 1;
}
END
	gcc -std=gnu17 -D_GNU_SOURCE "${include[@]}" "$tmp/broker.c" "${archives[@]}" \
		-Wl,--as-needed -lbpf -lelf -lseccomp -lm -o "$tmp/broker" 2>"$tmp/link.log" &&
		return
	note "$(tail -n 5 "$tmp/link.log")"
	return 1
}

# Neither the stages that parse nor the libraries that do; libelf is libbpf's.
has_no_parser() {
	local stage

	nm --defined-only "$tmp/broker" | awk '$2 == "T" { print $3 }' | sort -u >"$tmp/symbols"
	for stage in $symbol_stages; do
		nm --defined-only "$root/build/release/lib/$stage.a" 2>/dev/null |
			awk '$2 == "T" { print $3 }' | sort -u >"$tmp/parsers"
		[ -s "$tmp/parsers" ] || { note "no symbols of $stage"; return 1; }
		[ -z "$(comm -12 "$tmp/symbols" "$tmp/parsers")" ] && continue
		note "$stage: $(comm -12 "$tmp/symbols" "$tmp/parsers" | head -n 3)"
		return 1
	done
	readelf -d "$tmp/broker" | grep NEEDED >"$tmp/needed"
	! grep -E 'libdw|libsqlite|libmicrohttpd|libsystemd|libcurl|libzstd|liblzma|libinih|ncurses' "$tmp/needed"
}

broker_serves() {
	pilotlightd=$tmp/broker
	start_service || return
	wait_for 60 is_drawn && stop_service
}

# --- other users -------------------------------------------------------------------------------

# as USER GROUP COMMAND...
as() {
	local user=$1 group=$2

	shift 2
	setpriv --reuid="$user" --regid="$group" --clear-groups -- "$@"
}

asks_as() {
	as "$1" "$2" curl -sf --max-time 10 --unix-socket "$PILOTLIGHT_SOCKET" -o /dev/null \
		http://localhost/api/v1/status
}

sees_no_files() {
	local path

	has_files() {
		find "$STATE_DIRECTORY/history" "$CACHE_DIRECTORY/symbols" -type f >"$tmp/files"
		grep -q '\.db$' "$tmp/files" && grep -q '\.sym$' "$tmp/files"
	}
	wait_for 60 has_files || return
	while read -r path; do
		! as 2 2 head -c 1 "$path" >/dev/null 2>&1 || { note "$path can be read"; return 1; }
	done <"$tmp/files"
}

reaches_no_process() {
	local pid

	for pid in "$service_pid" $(role_pids engine); do
		! as 2 2 kill -0 "$pid" 2>/dev/null || return
		! as 2 2 cat "/proc/$pid/maps" >/dev/null 2>&1 || return
	done
}

# What one role alone uses no other one has, in its memory or to be started with: workers and answers
# load nothing that the program does not link. Here is no systemd to talk to.
has_its_libraries_alone() {
	local loaded='libmicrohttpd|libgnutls|libsystemd|libcurl'

	ldd "$real" >"$tmp/linked" && [ -s "$tmp/linked" ] || return
	! grep -E "$loaded" "$tmp/linked" && ! grep -E "$loaded" "/proc/$service_pid/maps" || return
	grep -q libmicrohttpd "/proc/$(role_pids engine)/maps" &&
		! grep -E 'libsystemd|libcurl' "/proc/$(role_pids engine)/maps"
}

# Names that anybody may take before we do: abstract sockets, and files in shared memory.
# Programs that run are opened, too, wherever they are, but not to be written to.
takes_no_public_name() {
	local pid fd

	for pid in "$service_pid" $(role_pids engine); do
		for fd in "/proc/$pid/fd"/*; do
			grep -qE '^flags:\s+0*[0-7]*[12]$' "/proc/$pid/fdinfo/${fd##*/}" 2>/dev/null && readlink "$fd"
		done
		awk '$2 ~ /^.w.s/ { print $6 }' "/proc/$pid/maps"
	done >"$tmp/names"
	[ -s "$tmp/names" ] && ! grep -E '^(/dev/shm|/tmp/[^/]*$|/var/tmp)' "$tmp/names" || return
	awk 'NR > 1 && $8 ~ /^@.*pilotlight/ { found = 1 } END { exit found }' /proc/net/unix
}

# -----------------------------------------------------------------------------------------------

files='open_passwd open_program open_init_maps open_own_memory open_null make_file make_folder openat2'
modes='symlink chmod chown make_setuid make_writable'
sockets='socket_inet socket_unix socket_netlink connect bind'
processes='fork vfork clone_process clone_namespace clone3 kill_parent kill_init kill_all tgkill_parent tkill_parent sigqueue_parent prlimit_parent'
privileges='setuid setresgid setgroups capset dumpable outlive'
kernel='mmap_code bpf_program bpf_map bpf_pin bpf_find perf_event inject_input'
deadly='execve ptrace_parent read_parent pidfd_parent unshare'

plan 27
real=$pilotlightd
printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Api]\nGroup=nogroup\n' \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
# The engine may give its socket to no other group than the folder does.
nogroup=$(getent group nogroup | cut -d: -f3)
chgrp "$nogroup" "$RUNTIME_DIRECTORY" && chmod 2755 "$RUNTIME_DIRECTORY"
start_service || { echo "Bail out! the service does not start"; exit 1; }
ok "it starts"
start "$workloads/shares" 600

check "a member of the group may ask" asks_as 65534 "$nogroup"
not_asks() { ! asks_as 2 2; }
check "nobody else may" not_asks
check "nor read the history or the symbols" sees_no_files
check "nor reach its processes" reaches_no_process
check "each process has the libraries of its role alone" has_its_libraries_alone
check "it takes no name that others could have taken" takes_no_public_name

if has_intruder; then
	check "who computes is tried, too" tries_who_computes
	# shellcheck disable=SC2086
	check "the engine is refused, in all threads: files" try_threads $files $modes
	# shellcheck disable=SC2086
	check "sockets, processes, signals" try_threads $sockets $processes
	# shellcheck disable=SC2086
	check "privileges, code, BPF programs, events" try_threads $privileges $kernel
	# shellcheck disable=SC2086
	check "it dies of: $deadly" engine_dies_of_each $deadly
	# shellcheck disable=SC2086
	check "an answer is asked, and tries as much" try_answer $files $modes $sockets $processes $privileges $kernel
	check "it has no privileges" has_no_privileges "$tmp/answer"
	# shellcheck disable=SC2086
	check "it was refused all" refused "$tmp/answer" 'EPERM|EACCES|ENOSYS|EBADF' $files $modes $sockets $processes $privileges $kernel
	check "it dies of executing a program" answer_dies_of execve
	if has gcc; then
		check "symbol workers see no file, and die of the rest" \
			workers_die_of_each execve fork socket_unix
	else
		skip "symbol workers" "no gcc"
	fi
else
	for name in computes files sockets privileges deadly answer "answer's privileges" "answer's calls" \
		"answer's death" "symbol workers"; do
		skip "$name" "no registers can be set here: $(cat "$tmp/intruder.log")"
	done
fi
check "it ends when it is told to" stop_service
stop_started

# As it is begun without a service manager: nobody has made the folder of its socket. Where the group
# is not there, the service alone sees it.
if has unshare; then
	cp /etc/group "$tmp/group"
	grep -q '^pilotlight:' "$tmp/group" || echo 'pilotlight:x:64321:' >>"$tmp/group"
	group=$(awk -F: '$1 == "pilotlight" { print $3 }' "$tmp/group")
	printf '[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	rm -r "$RUNTIME_DIRECTORY"
	cat >"$tmp/grouped" <<END
#!/bin/sh
exec unshare --mount sh -c 'mount --bind "$tmp/group" /etc/group && exec "$real" "\$@"' sh "\$@"
END
	chmod +x "$tmp/grouped"
	pilotlightd=$tmp/grouped
	check "it makes its folder itself" start_service
	check "a member of the group may ask there, too" asks_as 65534 "$group"
	not_asks_there() { ! asks_as 65534 65534; }
	check "nobody else may" not_asks_there
	stop_service
else
	for name in "its own folder" "a member" "nobody else"; do
		skip "$name" "no unshare"
	done
fi

if has strace; then
	stop_started
	rm -rf "${CACHE_DIRECTORY:?}"/*
	make_traced read,readv,pread64,preadv,preadv2,mmap,sendfile,splice,tee,vmsplice,copy_file_range,process_vm_readv,io_uring_setup,ptrace,clone,clone3,open_by_handle_at,openat,openat2
	pilotlightd=$tmp/traced
	check "a life of the broker under strace" busy_service
	service_pid_kept=$(grep -oE '/proc/[0-9]+/statm' "$tmp/trace" | head -n 1 | cut -d/ -f3)
	check "it was asked for files of all kinds" was_asked
	check "it read its own and the kernel's, and nobody's" reads_nothing_else
	check "it has no other way to bytes" has_no_other_way
else
	for name in "the broker's life" "what it was asked" "what it read" "other ways"; do
		skip "$name" "no strace"
	done
fi
if has gcc && has nm && [ -e "$root/build/release/lib/supervise.a" ]; then
	links() { link_broker && has_no_parser; }
	check "a broker links without a parser" links
	check "and is one" broker_serves
else
	skip "a broker links without a parser" "needs gcc, nm and the release archives"
	skip "and is one" "needs gcc, nm and the release archives"
fi
finish
