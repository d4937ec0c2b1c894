#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The broker, traced for its whole life, reads only listed files and links without a parser. Other users get no
# access. What code inside the service's processes can do: service_roles.sh.
# Runs beside others: it judges what each process reads and links.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl setpriv

symbol_stages='dwarf extract symbol symbolize jit process store resolve query render export serve'

# --- the broker --------------------------------------------------------------------------------

# make_traced CALLS: writes a script that runs the service with its broker under strace from start to end.
make_traced() {
	cat >"$tmp/traced" <<END
#!/bin/sh
exec strace -D -f -b execve -qq -y -s 48 -e signal=none -o '$tmp/trace' -e trace=$1 '$real' "\$@"
END
	chmod +x "$tmp/traced"
}

# Prints the calls of the broker and of its file openers, which are forks, without the leading PID. strace does
# not follow what they execute. It divides the calls during which another process made one.
calls() {
	awk '{ pid = $1; sub(/^[0-9]+ +/, "") }
		sub(/ *<unfinished \.\.\.>$/, "") { begun[pid] = $0; next }
		sub(/^<\.\.\. [a-z0-9_]+ resumed>/, "") { $0 = begun[pid] $0; delete begun[pid] }
		{ print }
		END { for (pid in begun) print begun[pid] }' "$tmp/trace"
}

# Causes every kind of request: mappings, markers, perf maps, deleted programs, debug files and children.
# raw_code has code without a marker, which makes the engine request a perf map. Workers run only on idle
# CPUs, so each load ends after 10 s of the clock, however little CPU time it got.
busy_service() {
	local end=$((SECONDS + 90))

	start_service || return
	start "$workloads/jit_writer"
	until was_drawn_and_asked; do
		[ $SECONDS -lt $end ] || return
		start timeout 10 "$workloads/deep" 10
		start timeout 10 "$workloads/raw_code" 10
		start "$workloads/spawner" 50 10
		wait_for 20 was_drawn_and_asked
	done
	"$pilotlight" report --last 1min -o "$tmp/traced.txt" 2>/dev/null || return
	# Reload the configuration, then replace the engine.
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

# Prints the files that the broker read or mapped. Left out are files of which it read only the
# start, to recognize them, and reads during which it was killed.
files_read() {
	calls | grep -E '^(read|readv|pread64|preadv2?|mmap)\(' |
		grep -vE '^pread64\([0-9]+<.*>(\(deleted\))?, *"[^"]*"(\.\.\.)?, (4|18|4096), 0\) = [0-9]+$|^pread64\([0-9]+<.*>(\(deleted\))?,$' |
		grep -oE '^[a-z0-9]+\(([^<]*, )?[0-9]+<[^>]*>' | sed -E 's/^[^<]*<//; s/>$//' | sort -u
}

# Keep this list equal to the one in pilotlightd(8), SECURITY.
is_allowed_file() {
	case $1 in
	"/proc/$service_pid_kept/fdinfo/"* | "/proc/$service_pid_kept/statm") ;;
	/sys/kernel/btf/vmlinux | /sys/devices/system/cpu/*) ;;
	/proc/sys/kernel/perf_event_max_stack) ;;
	"$CONFIGURATION_DIRECTORY/"* | "/proc/$service_pid_kept/cgroup" | /sys/fs/cgroup/*/memory.*) ;;
	anon_inode:* | pipe:* | socket:* | UNIX*) ;;
	*) [[ $1 =~ ^/proc/[0-9]+/(stat|status|maps|mem)$ ]] || grep -qxF -- "$1" "$tmp/own" ;;
	esac
}

# The files that the dynamic loader reads: the program, its libraries and their cache.
own_files() {
	realpath "$real"
	ldd "$real" | grep -oE '/[^ ]+' | xargs realpath
	echo /etc/ld.so.cache
}

reads_nothing_else() {
	local file wrong=0

	own_files >"$tmp/own"
	files_read >"$tmp/read"
	grep -q '/stat$' "$tmp/read" || { note "the trace lacks /proc/PID/stat, which the broker always reads"; return 1; }
	while read -r file; do
		is_allowed_file "$file" && continue
		note "the broker read $file"
		wrong=1
	done <"$tmp/read"
	note "$(grep -c '' "$tmp/trace") calls, $(grep -vcxFf "$tmp/own" "$tmp/read") files read"
	[ $wrong = 0 ]
}

# The broker uses no other call that reads bytes, reaches other processes or starts an untraced thread.
has_no_other_way() {
	! calls | grep -E '^(sendfile|splice|tee|vmsplice|copy_file_range|process_vm_|io_uring_|ptrace|open_by_handle_at)|CLONE_THREAD' >"$tmp/ways" && return
	note "$(head -n 5 "$tmp/ways")"
	return 1
}

# The engine requested every kind of file. Otherwise the trace would prove nothing.
was_asked() {
	local what

	for what in '"maps"' '"map_files/' '"perf-[0-9]+\.map"' '/proc/kallsyms' '"exe"'; do
		calls | grep -E "^openat2?\(.*$what" >/dev/null && continue
		note "no request for $what"
		return 1
	done
}

# Links a broker from its six stages alone. Its engine and workers are the usual program of the same build.
link_broker() {
	local stage program=$root/build/release/pilotlightd archives=() include=(-iquote "$root/daemon" -iquote "$root/include")

	for stage in supervise capture child broker sandbox base; do
		archives+=("$root/build/release/lib/$stage.a")
		[ -e "${archives[-1]}" ] || { note "no ${archives[-1]}"; return 1; }
	done
	cat >"$tmp/broker.c" <<END
#include "base/fault.h"
#include "sandbox/sandbox.h"
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
	if (sandbox_forbid_broker() == 0 && supervisor_run(&options, &fault) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", fault.text);
	return 1;
}
END
	gcc -std=gnu17 -D_GNU_SOURCE "${include[@]}" "$tmp/broker.c" "${archives[@]}" \
		-Wl,--as-needed -lbpf -lelf -lseccomp -lxxhash -lm -o "$tmp/broker" 2>"$tmp/link.log" &&
		return
	note "$(tail -n 5 "$tmp/link.log")"
	return 1
}

# The broker links neither parsing stages nor parsing libraries, except libelf, which libbpf needs.
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

# Libraries that only one role uses are neither linked nor loaded in the others: workers and answers load
# nothing that the program does not link. The test runs without systemd, so libsystemd is not loaded.
has_its_libraries_alone() {
	local loaded='libmicrohttpd|libgnutls|libsystemd|libcurl'

	ldd "$real" >"$tmp/linked" && [ -s "$tmp/linked" ] || return
	! grep -E "$loaded" "$tmp/linked" && ! grep -E "$loaded" "/proc/$service_pid/maps" || return
	grep -q libmicrohttpd "/proc/$(role_pids engine)/maps" &&
		! grep -E 'libsystemd|libcurl' "/proc/$(role_pids engine)/maps"
}

# The service uses no name that another user could create first: no abstract socket, no file in shared
# memory. It opens running programs wherever they are, but not for writing.
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

plan 17
real=$pilotlightd
printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Api]\nGroup=nogroup\n' \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
# The engine may give its socket only the group of the folder.
nogroup=$(getent group nogroup | cut -d: -f3)
chgrp "$nogroup" "$RUNTIME_DIRECTORY" && chmod 2755 "$RUNTIME_DIRECTORY"
start_service || { echo "Bail out! the service does not start"; exit 1; }
ok "the service starts"
start_load

check "a group member may query" asks_as 65534 "$nogroup"
not_asks() { ! asks_as 2 2; }
check "other users may not query" not_asks
check "other users cannot read the history or the symbols" sees_no_files
check "other users cannot reach its processes" reaches_no_process
check "each process has only the libraries of its role" has_its_libraries_alone
check "the service uses no name that another user could create" takes_no_public_name

check "the service ends on SIGTERM" stop_service
stop_started

# Without a service manager the service must create the folder of its socket. If the machine lacks the
# group, only the service sees it, in a mount namespace.
if ! skip_without_mounts "the service creates its own folder" \
	"a group member may query there, too" "other users may not query there"; then
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
	check "the service creates its own folder" start_service
	check "a group member may query there, too" asks_as 65534 "$group"
	not_asks_there() { ! asks_as 65534 65534; }
	check "other users may not query there" not_asks_there
	stop_service
fi
# Without a folder the broker would look up the group to make one, and so read more files.
mkdir -p "$RUNTIME_DIRECTORY"

if has strace; then
	stop_started
	rm -rf "${CACHE_DIRECTORY:?}"/*
	make_traced read,readv,pread64,preadv,preadv2,mmap,sendfile,splice,tee,vmsplice,copy_file_range,process_vm_readv,io_uring_setup,ptrace,clone,clone3,open_by_handle_at,openat,openat2
	pilotlightd=$tmp/traced
	check "the broker runs under strace from start to end" busy_service
	service_pid_kept=$(grep -oE '/proc/[0-9]+/statm' "$tmp/trace" | head -n 1 | cut -d/ -f3)
	check "the engine requested every kind of file" was_asked
	check "the broker read only its own files and the kernel's" reads_nothing_else
	check "the broker used no other call that reads bytes" has_no_other_way
else
	for name in "the broker under strace" "requested files" "files read" "other calls"; do
		skip "$name" "no strace"
	done
fi
if has gcc && has nm && [ -e "$root/build/release/lib/supervise.a" ]; then
	links() { link_broker && has_no_parser; }
	check "a broker links without a parser" links
	check "the broker without a parser serves requests" broker_serves
else
	skip "a broker links without a parser" "needs gcc, nm and the release archives"
	skip "the broker without a parser serves requests" "needs gcc, nm and the release archives"
fi
finish
