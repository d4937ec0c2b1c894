#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `pilotlight ui` shows the history in a browser, to who knows its address and to no one else.
# Runs beside others: it judges who may see what, not how much there is.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3 setpriv
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
ui_pid=

clean_up_ui() {
	[ -z "$ui_pid" ] || kill -KILL "$ui_pid" 2>/dev/null
	clean_up_service
}
at_exit clean_up_ui

has_address() {
	[ -s "$tmp/address" ]
}

start_ui() {
	"$pilotlight" ui --no-open "$@" >"$tmp/address" 2>"$tmp/ui.err" &
	ui_pid=$!
	wait_for 10 has_address
	address=$(cat "$tmp/address") origin=${address%/#*} key=${address##*#key=}
}

# status_of URL [CURL_OPTION...]: the HTTP status; the answer is in $tmp/answer, its head in $tmp/head.
status_of() {
	curl -sS -o "$tmp/answer" -D "$tmp/head" -w '%{http_code}' "${@:2}" "$1"
}

is_page() {
	[ "$(status_of "$origin/")" = 200 ] && grep -qi "^content-security-policy: .*script-src 'sha256-" "$tmp/head" &&
		! grep -qi "unsafe\|http://" "$tmp/head" && grep -q '<script type="module">' "$tmp/answer"
}

is_json() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/answer" "$1" >"$tmp/value"
}

has_profile() {
	[ "$(status_of "$origin/api/v1/profile?last=1h&format=json&key=$key")" = 200 ] && is_json stored &&
		[ "$(cat "$tmp/value")" -gt 0 ]
}

has_timeline() {
	[ "$(status_of "$origin/api/v1/timeline?last=1h&buckets=100&key=$key")" = 200 ] &&
		python3 -c 'import json, sys; assert sum(json.load(open(sys.argv[1]))["buckets"]["amount"]) > 0' "$tmp/answer"
}

# refuses WANTED URL [CURL_OPTION...]: with this status, and nothing of the profile.
refuses() {
	[ "$(status_of "${@:2}")" = "$1" ] && ! grep -q 'frames' "$tmp/answer"
}

# As another user, who knows the port only.
refuses_others() {
	[ "$(setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -o /dev/null -w '%{http_code}' \
		"$origin/api/v1/profile?last=1h&format=json")" = 403 ]
}

# operate COUNT [gone]: as many checks of what the browser shows.
operate() {
	local line seen=0

	if [ -n "$browser" ]; then
		while IFS= read -r line; do
			seen=$((seen + 1))
			case $line in
			ok\ -\ *) ok "${line#ok - }" ;;
			*) not_ok "${line#not ok - }" ;;
			esac
		done < <(python3 "$root/tests/end_to_end/ui_browser.py" "$browser" "$address" "$tmp" "${@:2}" 2>"$tmp/python.log")
		note "$(tail -n 5 "$tmp/python.log")"
	fi
	for ((; seen < $1; seen++)); do
		[ -n "$browser" ] && not_ok "the browser ends too early" || skip "what a browser shows" "no chromium is installed"
	done
}

has_incident() {
	"$pilotlight" incidents >"$tmp/incidents" && grep -q "$1" "$tmp/incidents"
}

notes_incident() {
	"$pilotlight" incident "deploy 42" >"$tmp/noted" && grep -q '^Noted' "$tmp/noted" && wait_for 60 has_incident 'manual *deploy 42$'
}

draws_incident() {
	"$pilotlight" flamegraph --incident 1 -o "$tmp/incident.svg" && [ -s "$tmp/incident.svg" ] &&
		! "$pilotlight" flamegraph --incident 9 -o "$tmp/none.svg" 2>"$tmp/err" && grep -q 'no such incident' "$tmp/err"
}

strip_has_incident() {
	[ "$(status_of "$origin/api/v1/timeline?last=1h&key=$key")" = 200 ] && is_json incidents && grep -q 'deploy 42' "$tmp/value"
}

says_remote() {
	[ "$("$pilotlight" ui --remote web1 --port 7001)" = \
		"ssh -t -o ExitOnForwardFailure=yes -L 7001:127.0.0.1:7001 web1 pilotlight ui --no-open --port 7001" ]
}

refuses_option_as_host() {
	"$pilotlight" ui --remote -oProxyCommand=x 2>"$tmp/err"
	[ $? = 2 ] && grep -q 'is no host name' "$tmp/err"
}

port_is_taken() {
	"$pilotlight" ui --no-open --port "${origin##*:}" 2>"$tmp/err"
	[ $? = 1 ] && grep -q "${origin##*:}" "$tmp/err"
}

ends() {
	kill -TERM "$ui_pid" && wait "$ui_pid"
}

plan 51
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=100\n[Api]\nListen=127.0.0.1:%s\n' "$port" \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
start_load
check "the service starts" start_service
check "there is a history" wait_for 60 "$pilotlight" report --last 1h
check "the command prints an address" start_ui
check "the page comes with its policy" is_page
check "the page gets a profile" has_profile
check "the page gets a time line" has_timeline
check "without the secret there is no profile" refuses 403 "$origin/api/v1/profile?last=1h&format=json"
check "with a wrong secret there is none" refuses 403 "$origin/api/v1/profile?last=1h&format=json&key=${key//?/0}"
check "another user gets none" refuses_others
check "no other part of the service is passed on" refuses 404 "$origin/metrics?key=$key"
check "a page of another origin gets none" refuses 403 "$origin/api/v1/profile?last=1h&key=$key" -H 'Origin: http://evil.example'
check "another name of the address gets none" refuses 403 "$origin/api/v1/profile?last=1h&key=$key" -H 'Host: evil.example'
check "a fault of the selection comes with its reason" refuses 404 "$origin/api/v1/profile?last=1h&unit=none&key=$key"
check "an incident is noted" notes_incident
check "an incident is drawn" draws_incident
operate 27
check "the strip shows it" strip_has_incident
check "over TCP nobody notes one" refuses 403 "http://127.0.0.1:$port/api/v1/incident?text=x"
check "--remote prints the command" says_remote
check "--remote refuses what is no host" refuses_option_as_host
check "a port that is taken is told" port_is_taken
stop_service
operate 2 gone
check "without a service the page says so" refuses 502 "$origin/api/v1/profile?last=1h&key=$key"
check "a signal ends it" ends
finish
