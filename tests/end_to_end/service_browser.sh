#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A browser at the service's TCP address. Flame graphs work under the policy that the service sends with them. A
# hostile page gets no profile, neither from its own origin nor by a name that it points to the address. The page asks
# for the token, and keeps it in memory.
# Runs beside others: it judges what a browser shows.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$browser" ] || skip_all "no chromium is installed"

free_port() {
	python3 -c 'import socket
one = socket.socket()
one.bind(("127.0.0.1", 0))
print(one.getsockname()[1])'
}

# has_samples TIME
has_samples() {
	"$pilotlight" report --last "$1" --comm deep && "$pilotlight" report --last "$1" --comm shares
}

has_names() {
	"$pilotlight" report --last 1h --comm deep | grep -q work && "$pilotlight" report --last 1h --comm shares | grep -q work
}

token=0123456789abcdef-0123456789abcdef

# operate [TOKEN]: reports what the browser found.
operate() {
	python3 "$root/tests/end_to_end/service_browser.py" "$browser" "$port" "$tmp" "$@" >"$tmp/results" 2>"$tmp/python.log"
	note "$(tail -n 5 "$tmp/python.log")"
	while IFS= read -r line; do
		case $line in
		ok\ -\ *) ok "${line#ok - }" ;;
		not\ ok\ -\ *) not_ok "${line#not ok - }" ;;
		esac
	done <"$tmp/results"
}

needs_token() {
	[ "$(curl -s -o "$tmp/answer" -w '%{http_code}' "http://127.0.0.1:$port/metrics")" = 401 ]
}

plan 30
port=$(free_port)
printf '[Api]\nListen=127.0.0.1:%s\n[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n' "$port" \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
start nice "$workloads/deep" 600
start_load
check "the service starts" start_service
# Symbol workers run only on idle CPUs, and the programs must still exist when the workers read them.
wait_for 60 has_samples 1h
kill -STOP "${started[@]}"
check "functions have names" wait_for 120 has_names
# The page asks for the last minute, and may not come within one.
kill -CONT "${started[@]}"
wait_for 60 has_samples 1min
operate
(umask 077 && echo "$token" >"$tmp/token")
sed -i "1a BearerTokenFile=$tmp/token" "$CONFIGURATION_DIRECTORY/pilotlight.conf"
kill -HUP "$service_pid"
check "the service reloads with a token" wait_for 60 needs_token
operate "$token"
finish
