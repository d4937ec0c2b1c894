#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service without network gets debug files from a fetching service, as pilotlight-fetch.socket and its unit have
# it: systemd-socket-activate listens, and another user fetches. tests/vm/boot_systemd tries the units themselves.
# Runs beside others: it judges names, however long they take.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

FETCHER=64123 # a user and group of no name
program=$tmp/fetched

# A program whose inlined function only debug information names, and a server of its debug file. The server writes
# the users of the processes that ask it to $tmp/users.
prepare() {
	local id

	cat >"$tmp/program.c" <<'END'
#include <unistd.h>
static inline __attribute__((always_inline)) unsigned long burn(unsigned long n)
{
	for (volatile unsigned long i = 0; i < 100000; i++)
		n = n * 31 + i;
	return n;
}
int main(int argc, char **argv)
{
	unsigned long n = (unsigned long)argc;

	(void)argv;
	for (; n; usleep(300))
		n = burn(n) | 1;
	return 0;
}
END
	gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id=sha1 "$tmp/program.c" -o "$program" &&
		id=$(readelf -n "$program" | awk '/Build ID/ { print $3 }') && [ -n "$id" ] &&
		mkdir -p "$tmp/served/buildid/$id" &&
		objcopy --only-keep-debug "$program" "$tmp/served/buildid/$id/debuginfo" && strip "$program" || return
	start python3 -c '
import http.server, os, sys
os.chdir(sys.argv[1])
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        # Others, or closed connections, may have the same port on their side.
        ends = [":%04X" % self.client_address[1], ":%04X" % self.server.server_port, "01"]
        sockets = [line.split() for line in open("/proc/net/tcp")]
        users = [s[7] for s in sockets if all(at.endswith(end) for at, end in zip(s[1:4], ends))]
        print(*users, file=open(sys.argv[2], "a"))
        super().do_GET()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open(sys.argv[3] + ".new", "w").write(str(server.server_port))
os.rename(sys.argv[3] + ".new", sys.argv[3])
server.serve_forever()' "$tmp/served" "$tmp/users" "$tmp/port"
	wait_for 60 [ -s "$tmp/port" ]
}

# The service runs in a network namespace with nothing in it.
start_without_network() {
	cat >"$tmp/apart" <<END
#!/bin/sh
exec unshare --net '$real' "\$@"
END
	chmod +x "$tmp/apart"
	pilotlightd=$tmp/apart
	printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Symbols]\nDebuginfodUrls=http://127.0.0.1:%s\n' \
		"$(cat "$tmp/port")" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	PILOTLIGHT_FETCH_SOCKET=$tmp/fetch.sock start_service && start "$program"
}

start_fetching_service() {
	start systemd-socket-activate --accept --seqpacket --listen="$tmp/fetch.sock" \
		setpriv --reuid=$FETCHER --regid=$FETCHER --clear-groups --no-new-privs "$real" fetch-service
	wait_for 60 [ -S "$tmp/fetch.sock" ]
}

asks() { "$pilotlight" report --last 1min -o "$tmp/asked.txt" 2>/dev/null; }
is_warned() {
	asks
	grep -q 'cannot ask debuginfod servers: nothing listens at .*pilotlight-fetch.socket' "$tmp/service.log"
}
warns() {
	wait_for 60 is_warned && return
	note "$(tail -n 5 "$tmp/service.log")"
	return 1
}

has_inlined_name() {
	"$pilotlight" flamegraph --last 1min -f folded -o "$tmp/named.folded" 2>/dev/null &&
		grep -q '^fetched;.*;burn_\[i\]' "$tmp/named.folded"
}
gets_names() {
	wait_for 90 has_inlined_name && return
	note "$(grep '^fetched;' "$tmp/named.folded" | head -n 3)" "$(cat "$tmp/users")" "$(tail -n 5 "$tmp/service.log")"
	return 1
}

only_the_fetcher_asked() {
	note "users: $(sort "$tmp/users" | uniq -c | tr '\n' ' ')"
	[ "$(sort -u "$tmp/users")" = $FETCHER ]
}

no_folders_are_left() {
	none_is_left() { [ -z "$(find "$CACHE_DIRECTORY" -name 'fetch.*')" ] && ! pgrep -u $FETCHER >/dev/null; }
	wait_for 60 none_is_left
}

need_root
need_programs
need_service
need_commands python3 gcc objcopy readelf setpriv unshare systemd-socket-activate
ldconfig -p | grep -q libdebuginfod.so.1 || skip_all "needs libdebuginfod.so.1"
unshare --net true 2>/dev/null || skip_all "network namespaces are refused here"
real=$pilotlightd
# Another user must reach the socket and the program.
chmod 711 "$tmp"
prepare || { echo "Bail out! no program or no server"; exit 1; }
plan 7

check "a service without network starts" start_without_network
check "without a fetching service it says what to do" warns
stop_service
rm -rf "${CACHE_DIRECTORY:?}"/* "$tmp/users"
: >"$tmp/users"
check "the fetching service listens" start_fetching_service
check "the service starts again" start_without_network
check "names come from the server" gets_names
check "only the fetcher's user asked the server" only_the_fetcher_asked
stop_service
check "neither folders nor fetchers are left" no_folders_are_left
finish
