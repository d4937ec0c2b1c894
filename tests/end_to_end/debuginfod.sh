#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A stripped program gets its names from Debian's debuginfod server on loopback. Other servers fail.
# Runs beside others: it judges names, however long they take.
. "$(dirname "$0")/lib.sh"

cache=$tmp/cache
program=$tmp/program
silent_url= wrong_url=
# Later attempts are longer, because a background fetch may finish too late.
RECORD_SECONDS='8 24 72'

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# http_status PORT PATH
http_status() {
	python3 - "$1" "$2" <<'END' 2>/dev/null
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
connection.request("GET", sys.argv[2])
print(connection.getresponse().status)
END
}

# Builds a program with an inlined function, which only debug information names, and a separate debug file.
# The program runs until it is killed.
build_program() {
	cat >"$tmp/program.c" <<'END'
static inline __attribute__((always_inline)) unsigned long burn(unsigned long n)
{
	for (volatile unsigned long i = 0; i < 1000; i++)
		n = n * 31 + i;
	return n;
}
int main(int argc, char **argv)
{
	unsigned long n = (unsigned long)argc;

	(void)argv;
	while (n)
		n = burn(n) | 1;
	return 0;
}
END
	mkdir -p "$tmp/served" &&
		gcc -g -O2 -fno-omit-frame-pointer -Wl,--build-id=sha1 "$tmp/program.c" -o "$program" &&
		objcopy --only-keep-debug "$program" "$tmp/served/program.debug" &&
		main_address=$(nm "$program" | awk '$3 == "main" { print $1 }') &&
		strip "$program" &&
		build_id=$(readelf -n "$program" | awk '/Build ID/ { print $3 }') && [ -n "$build_id" ]
}

# Returns once the server has scanned the program's folder.
start_server() {
	local deadline=$((SECONDS + 60))

	port=$(free_port)
	start debuginfod -d "$tmp/served.sqlite" -F -p "$port" "$tmp/served"
	until [ "$(http_status "$port" "/buildid/$build_id/debuginfo")" = 200 ]; do
		[ $SECONDS -lt $deadline ] || return 1
		read -r -t 0.1 <>"$tmp/never"
	done
	return 0
}

# Starts a server that accepts connections and never answers. It creates $tmp/asked when it listens and adds a
# line for each connection.
start_silent_server() {
	local port

	port=$(free_port)
	silent_url=http://127.0.0.1:$port
	start python3 -c '
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen(100)
open(sys.argv[2], "w").close()
kept = []
while True:
    kept.append(server.accept())
    print("asked", file=open(sys.argv[2], "a"))' "$port" "$tmp/asked"
	wait_for 60 [ -e "$tmp/asked" ]
}

answers() {
	[ "$(http_status "$1" /)" = 200 ]
}

# Starts a server that answers every request with the same debug file.
start_wrong_server() {
	local port

	port=$(free_port)
	wrong_url=http://127.0.0.1:$port
	echo 'int main(void) { return 0; }' >"$tmp/wrong.c" &&
		gcc -g -Wl,--build-id=sha1 "$tmp/wrong.c" -o "$tmp/wrong.debug" || return
	start python3 -c '
import http.server, sys
wrong = open(sys.argv[2], "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(wrong)))
        self.end_headers()
        self.wfile.write(wrong)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()' \
		"$port" "$tmp/wrong.debug"
	wait_for 60 answers "$port"
}

names_of_main() {
	"$pilotlight" symbols lookup --cache "$cache" "$build_id" "$main_address" 2>/dev/null
}

fetch() {
	timeout 60 "$pilotlight" symbols fetch --cache "$cache" "$@" >"$tmp/out" 2>"$tmp/err"
}

# fails_saying TEXT OPTIONS...
fails_saying() {
	local text=$1 status

	shift
	fetch "$@"
	status=$?
	[ $status = 1 ] && grep -q "$text" "$tmp/err" && return
	note "status $status: $(cat "$tmp/out" "$tmp/err")"
	return 1
}

is_fetched() {
	fetch --urls "http://127.0.0.1:$port" "$program" && return
	note "$(cat "$tmp/out" "$tmp/err")"
	return 1
}

main_has_its_name_and_line() {
	note "$(names_of_main)"
	names_of_main | grep -qx main && names_of_main | grep -q "/program.c:[1-9]"
}

# record_with URLS CACHE SECONDS OUTPUT: records the program, with messages in $tmp/out.
record_with() {
	local status

	DEBUGINFOD_URLS=$1 PILOTLIGHT_SYMBOL_CACHE=$2 timeout "${patience:-200}" "$pilotlight" record \
		-F 499 -d "$3" -o "$4" -- nice "$program" >"$tmp/out" 2>&1 && [ -s "$4" ] && return
	status=$?
	note "status $status: $(cat "$tmp/out")"
	return 1
}

# The silent server must not delay the recording, which otherwise waits up to a minute for symbols. The first
# recording fills the cache with this machine's symbols.
recording_does_not_wait() {
	record_with '' "$tmp/other" 2 "$tmp/before.folded" || return
	: >"$tmp/asked"
	patience=30 record_with "$silent_url" "$tmp/other" 8 "$tmp/slow.folded" || return
	wait_for 10 [ -s "$tmp/asked" ]
	note "$(wc -l <"$tmp/asked") requests to the silent server"
	[ -s "$tmp/asked" ]
}

wrong_files_are_not_counted_as_fetched() {
	local not seconds

	for seconds in $RECORD_SECONDS; do
		record_with "$wrong_url" "$tmp/wrong" "$seconds" "$tmp/wrong.folded" || return
		! grep -q 'burn_\[i\]' "$tmp/wrong.folded" || break
		not=$(sed -n 's/.*; debuginfod: 0 fetched, \([0-9]*\) failed$/\1/p' "$tmp/out")
		[ "${not:-0}" = 0 ] || return 0
	done
	note "$(cat "$tmp/out")"
	return 1
}

# The recording fetches the file itself. On a busy machine it may arrive too late for the first recording.
recording_has_names() {
	local seconds

	for seconds in $RECORD_SECONDS; do
		record_with "http://127.0.0.1:$port" "$tmp/own" "$seconds" "$tmp/named.folded" || return
		note "$seconds seconds: $(grep -o 'debuginfod: .*' "$tmp/out")"
		has_inlined_name && return
	done
	note "$(cat "$tmp/out")"
	return 1
}

has_inlined_name() {
	local share

	share=$(awk '/^program;/ { all += $NF } /burn_\[i\]/ { burn += $NF }
		END { printf "%d\n", all ? 100 * burn / all : 0 }' "$tmp/named.folded")
	note "burn_[i] has $share %"
	[ "$share" -ge 80 ]
}

# Makes an authority's certificate for the name debug.test, and a folder that serves the program's debug file.
prepare_tls() {
	mkdir -p "$tmp/tls/buildid/$build_id" && cp "$tmp/served/program.debug" "$tmp/tls/buildid/$build_id/debuginfo" &&
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=debug.test \
			-addext subjectAltName=DNS:debug.test -keyout "$tmp/tls.key" -out "$tmp/tls.pem" 2>"$tmp/log"
}

# A name server and a TLS server in a network of their own. The name server knows all names at 127.0.0.1.
cat >"$tmp/servers.py" <<'END'
import fcntl, http.server, os, socket, ssl, struct, sys, threading
up = struct.pack("16sh14x", b"lo", 1)
fcntl.ioctl(socket.socket(), 0x8914, up)
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.53", 53))
def answer_names():
    while True:
        query, peer = names.recvfrom(512)
        end = query.index(b"\0", 12) + 5
        wants_ipv4 = query[end - 4:end - 2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if wants_ipv4 else b""
        counts = b"\0\1" + (b"\0\1" if wants_ipv4 else b"\0\0") + b"\0\0\0\0"
        names.sendto(query[:2] + b"\x85\x80" + counts + query[12:end] + answer, peer)
threading.Thread(target=answer_names, daemon=True).start()
folder, certificate, key, ready = sys.argv[1:]
os.chdir(folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
open(ready, "w").close()
server.serve_forever()
END

# fetches_by_tls AUTHORITIES: whether a fetch from https://debug.test succeeds if these certificates are trusted.
fetches_by_tls() {
	rm -rf "$tmp/tls.cache" "$tmp/tls.ready"
	echo "nameserver 127.0.0.53" >"$tmp/resolv.conf"
	timeout 60 unshare --net --mount bash -c '
		trusted=/etc/ssl/certs/ca-certificates.crt
		mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$2" "$trusted" || exit 3
		python3 "$1/servers.py" "$1/tls" "$1/tls.pem" "$1/tls.key" "$1/tls.ready" 2>/dev/null &
		until [ -e "$1/tls.ready" ]; do kill -0 $! && read -r -t 0.1 <>"$1/never"; done
		"$3" symbols fetch --cache "$1/tls.cache" --urls https://debug.test "$4"
		status=$?
		kill $!
		exit $status' bash "$tmp" "$1" "$pilotlight" "$program" >"$tmp/out" 2>"$tmp/err"
}

trusts_the_authority() {
	fetches_by_tls "$tmp/tls.pem" && return
	note "status $?: $(cat "$tmp/out" "$tmp/err")"
	return 1
}

trusts_no_other() {
	local status

	: >"$tmp/no.pem"
	fetches_by_tls "$tmp/no.pem"
	status=$?
	note "status $status: $(cat "$tmp/err")"
	[ $status = 1 ]
}

no_folders_are_left() {
	[ -z "$(find "$cache" "$tmp/other" "$tmp/own" "$tmp/wrong" -name 'fetch.*')" ]
}

need_root
need_programs
need_commands python3 debuginfod gcc objcopy
ldconfig -p | grep -q libdebuginfod.so.1 || skip_all "needs libdebuginfod.so.1"
mkfifo "$tmp/never"
unset DEBUGINFOD_URLS
build_program || { echo "Bail out! the program could not be built"; exit 1; }
start_silent_server || { echo "Bail out! no silent server"; exit 1; }
start_wrong_server || { echo "Bail out! no wrong file"; exit 1; }
plan 14

check "the server has the program" start_server
check "without a server the error says so" fails_saying "no server to ask" "$program"
check "an unreachable server: the error says so" fails_saying "could not be reached" --urls http://127.0.0.1:1 "$program"
check "a silent server: the error says so" fails_saying "within 2 s" --urls "$silent_url" --timeout 2 "$program"
check "an unknown build-id: the error says so" fails_saying "no server has" --urls "http://127.0.0.1:$port" \
	00112233445566778899aabbccddeeff00112233
check "before the fetch there are no source lines" [ -z "$(names_of_main | grep program.c)" ]
check "the debug file is fetched" is_fetched
check "lookup gives names and lines" main_has_its_name_and_line
check "a recording fetches the debug file" recording_has_names
check "wrong debug files do not count as fetched" wrong_files_are_not_counted_as_fetched
check "a silent server does not delay a recording" recording_does_not_wait
if ! has openssl || [ ! -e /etc/ssl/certs/ca-certificates.crt ] || ! prepare_tls; then
	skip "a name is resolved by DNS, and its certificate is trusted" "needs openssl and ca-certificates"
	skip "a certificate of an unknown authority is refused" "needs openssl and ca-certificates"
elif ! skip_without_mounts "a name is resolved by DNS, and its certificate is trusted" \
	"a certificate of an unknown authority is refused"; then
	check "a name is resolved by DNS, and its certificate is trusted" trusts_the_authority
	check "a certificate of an unknown authority is refused" trusts_no_other
fi
check "no temporary folders are left" no_folders_are_left
finish
