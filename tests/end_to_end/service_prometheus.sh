#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# promtool accepts /metrics without a warning, and a Prometheus server scrapes it by TCP with a bearer token. It
# sees CPU time in functions, as sections of the configuration ask for it.
# Runs beside others: it judges values that do not depend on load.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl prometheus promtool

# Prints two free ports.
draw_ports() {
	python3 -c 'import socket
drawn = [socket.socket() for i in range(2)]
for one in drawn:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in drawn))'
}

# query EXPRESSION: prints the value of its single result.
query() {
	curl -sG "http://127.0.0.1:$prometheus_port/api/v1/query" --data-urlencode "query=$1" |
		grep -oE '"value":\[[0-9.]+,"[^"]*"' | sed 's/.*"\([^"]*\)"$/\1/'
}

is_up() {
	[ "$(query 'up{job="pilotlight"}')" = 1 ]
}

no_complaint() {
	curl -sf --unix-socket "$PILOTLIGHT_SOCKET" http://localhost/metrics >"$tmp/metrics" || return
	promtool check metrics <"$tmp/metrics" >"$tmp/promtool" 2>&1 && [ ! -s "$tmp/promtool" ] ||
		{ note "$(cat "$tmp/promtool")"; return 1; }
}

# The sums in Prometheus close: fired = stored + dropped.
accounts_close_there() {
	local difference

	difference=$(query 'sum(pilotlight_samples_fired_total) - sum(pilotlight_samples_stored_total) - sum(pilotlight_samples_dropped_total)')
	note "$(query 'sum(pilotlight_samples_fired_total)') fired, $difference unaccounted"
	[ "$difference" = 0 ]
}

listens() {
	curl -sf -o /dev/null -H "Authorization: Bearer $(cat "$tmp/token")" "http://127.0.0.1:$port/metrics"
}

# Another program may have bound a port meanwhile, so this tries other ports, three times in all.
start_on_ports() {
	local i

	for i in 1 2 3; do
		read -r port prometheus_port < <(draw_ports)
		cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<EOF
[Api]
Listen=127.0.0.1:$port
BearerTokenFile=$tmp/token
[History]
Window=2s
[metric whole]
Select=exe:shares
Function=^main$
[metric part]
Select=exe:shares
Function=^hot_(30|10)$
By=comm
[metric nothing]
Select=exe:shares unit:no-such
[sink files]
EOF
		start_service && wait_for 10 listens && return
		stop_service 2>/dev/null
	done
	return 1
}

is_up_or_gone() {
	is_up || ! kill -0 "${started[-1]}" 2>/dev/null
}

is_scraped() {
	local i

	for i in 1 2 3; do
		start prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/prometheus" \
			--web.listen-address="127.0.0.1:$prometheus_port" --log.level=error
		wait_for 60 is_up_or_gone
		! is_up || return 0
		kill -KILL "${started[-1]}" 2>/dev/null
		read -r _ prometheus_port < <(draw_ports)
	done
	return 1
}

# in_metrics PATTERN
in_metrics() {
	curl -sf --unix-socket "$PILOTLIGHT_SOCKET" http://localhost/metrics | grep -E "$1"
}

# number NAME: prints the value of a metric in $tmp/functions.
number() {
	grep -F "pilotlight_function_$1 " "$tmp/functions" | sed 's/.* //'
}

# The parts are less than the whole, and what was measured was all of these threads.
functions_add_up() {
	in_metrics '^pilotlight_function_' >"$tmp/functions"
	note "$(cat "$tmp/functions")"
	awk -v whole="$(number 'cpu_seconds_total{metric="whole"}')" \
		-v part="$(number 'cpu_seconds_total{metric="part",comm="shares"}')" \
		-v selected="$(number 'selected_cpu_seconds_total{metric="whole"}')" \
		'BEGIN { exit !(0 < part && part < whole && whole <= selected) }' || return
	[ "$(number 'selected_cpu_seconds_total{metric="whole"}')" = \
		"$(number 'selected_cpu_seconds_total{metric="part"}')" ] &&
		[ "$(number 'cpu_seconds_total{metric="nothing"}')" = 0.000000000 ]
}

is_measured_there() {
	[ "$(query 'pilotlight_function_cpu_seconds_total{metric="whole"} > bool 0')" = 1 ]
}

# Each metric of docs/grafana.json is there, counters are read as rates, and Prometheus understands each question.
dashboard_fits() {
	python3 - "$root/docs/grafana.json" "$tmp/metrics" "http://127.0.0.1:$prometheus_port" <<'END'
import json, re, sys, urllib.parse, urllib.request

types = dict(line.split()[2:4] for line in open(sys.argv[2]) if line.startswith("# TYPE "))
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        expression = target["expr"].replace("$job", ".*").replace("$__rate_interval", "1m")
        for before, name in re.findall(r"(\w*\(?)(pilotlight_\w+)", expression):
            assert name in types, name + " is no metric"
            assert (types[name] == "counter") == (before in ("rate(", "increase(")), expression
        question = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        assert json.load(urllib.request.urlopen(sys.argv[3] + question))["status"] == "success", expression
END
}

refuses_a_bad_pattern() {
	printf '[metric a]\nFunction=regex(\n' >"$tmp/bad.conf"
	! "$pilotlightd" --check --config "$tmp/bad.conf" >"$tmp/out" 2>&1 && prints ':2: .*at character 6: '
}

plan 10
(umask 077 && echo 0123456789abcdef0123456789abcdef >"$tmp/token")
start_load
check "the service starts" start_on_ports
check "CPU time in functions is measured" \
	wait_for 90 in_metrics '^pilotlight_function_cpu_seconds_total\{metric="part",comm="shares"\}'
check "it adds up" wait_for 60 functions_add_up
check "promtool has no complaint" no_complaint
cat >"$tmp/prometheus.yml" <<EOF
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: pilotlight
    authorization: { credentials_file: "$tmp/token" }
    static_configs: [ { targets: [ "127.0.0.1:$port" ] } ]
EOF
check "a Prometheus server scrapes the service" is_scraped
check "the accounts close in Prometheus" accounts_close_there
check "Prometheus sees CPU time in functions" wait_for 20 is_measured_there
check "the dashboard for Grafana asks for metrics that are there" dashboard_fits
check "the check tells where a pattern is wrong" refuses_a_bad_pattern
check "the service ends on SIGTERM" stop_service
finish
