#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service's TCP address: who gets an answer there, by host name, origin and bearer token.
# Runs beside others: it judges answers.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3

token=0123456789abcdef-0123456789abcdef
port=$(python3 -c 'import socket
one = socket.socket()
one.bind(("127.0.0.1", 0))
print(one.getsockname()[1])')

# configure LINE...: writes the configuration with these lines in [Api].
configure() {
	printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Api]\nListen=127.0.0.1:%s\n' "$port" \
		>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
	printf '%s\n' "$@" >>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# asks STATUS [CURL-OPTION...]: requests /metrics by TCP. Leaves the answer in $tmp/answer and $tmp/head.
asks() {
	local expected=$1 status

	shift
	status=$(curl -s --max-time 10 -D "$tmp/head" -o "$tmp/answer" -w '%{http_code}' "$@" "http://127.0.0.1:$port/metrics")
	[ "$status" = "$expected" ] && return
	note "$status instead of $expected: $*; $(head -c 300 "$tmp/answer")"
	return 1
}

# says WORDS: in the last answer.
says() {
	grep -qF -- "$1" "$tmp/answer" "$tmp/head"
}

logs() {
	grep -qF -- "$1" "$tmp/service.log"
}

# reload LINE...: with these lines in [Api], in a new engine.
reload() {
	local engine

	is_another() { [ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ]; }
	engine=$(role_pids engine)
	configure "$@"
	kill -HUP "$service_pid"
	wait_for 60 is_another && wait_for 60 "$pilotlight" status
}

answers_locally() {
	"$pilotlight" status >/dev/null
}

asks_with() {
	asks "$1" -H "Authorization: Bearer $2"
}

# page_asks STATUS [CURL-OPTION...]: requests the page by TCP.
page_asks() {
	local expected=$1 status

	shift
	status=$(curl -s --max-time 10 -D "$tmp/head" -o "$tmp/answer" -w '%{http_code}' "$@" "http://127.0.0.1:$port/ui")
	[ "$status" = "$expected" ] && return
	note "$status instead of $expected: $*"
	return 1
}

page_has_no_data() {
	says "connect-src 'self'" && ! grep -q 'application/json" id="data"' "$tmp/answer"
}

plan 35
configure HostNames=profiles.example
check "the service starts" start_service
check "it warns that TCP clients need no token" logs "set BearerTokenFile= in [Api]"
check "an address is answered" asks 200
asks_localhost() { asks 200 -H 'Host: localhost'; }
check "localhost is answered" asks_localhost
asks_known() { asks 200 -H "Host: Profiles.Example:$port"; }
check "a name of HostNames= is answered" asks_known
check "another name is refused" asks 403 -H 'Host: evil.example'
check "the refusal says what to do" says "add the name to HostNames="
check "no Host is refused" asks 400 --http1.0 -H 'Host:'
check "a foreign origin is refused" asks 403 -H 'Origin: http://evil.example'
check "an image of another site is refused" asks 403 -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors' \
	-H 'Sec-Fetch-Dest: image'
check "refusals are inert in a browser" says "Content-Security-Policy: default-src 'none'"

(umask 077 && echo "$token" >"$tmp/token")
check "the service reloads with a token" reload "BearerTokenFile=$tmp/token"
check "without the token it refuses" asks 401
check "the refusal asks for a token" says "WWW-Authenticate: Bearer"
check "a wrong token is refused" asks_with 401 "${token}x"
check "the token is accepted" asks_with 200 "$token"
check "the unix socket needs no token" answers_locally
check "the page needs no token, since a browser cannot send one" page_asks 200
check "it has no data" page_has_no_data
check "but no wrong token" page_asks 401 -H "Authorization: Bearer ${token}x"
check "nor another name (DNS rebinding)" page_asks 403 -H 'Host: evil.example'
check "nor another origin" page_asks 403 -H 'Origin: http://evil.example'
check "nor a frame of another site" page_asks 403 -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' \
	-H 'Sec-Fetch-Dest: iframe'
asks_in_address() { asks 401 -G -d "token=$token" -d "key=$token"; }
check "a token in the address counts for nothing" asks_in_address
(umask 077 && mkdir "$tmp/credentials" && echo "$token$token" >"$tmp/credentials/http")
chmod 644 "$tmp/token"
finds_readable() {
	! "$pilotlightd" --check >"$tmp/check.log" && grep -q "other users may read or change '$tmp/token'" "$tmp/check.log"
}
check "--check rejects a file that others may read" finds_readable
check "the service reloads with it" reload "BearerTokenFile=$tmp/token"
check "no TCP client gets an answer" asks_with 503 "$token"
check "not even the page" page_asks 503
check "the log says why" logs "other users may read or change '$tmp/token'"
check "the unix socket still answers" answers_locally
check "the service ends" stop_service

configure BearerTokenFile=http
export CREDENTIALS_DIRECTORY=$tmp/credentials
check "the service starts with a credential" start_service
check "an old token is refused" asks_with 401 "$token"
check "the credential is accepted" asks_with 200 "$token$token"
check "the service ends again" stop_service
finish
