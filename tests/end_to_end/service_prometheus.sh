#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# /metrics as Prometheus sees it: promtool has nothing to say, and a Prometheus scrapes it by TCP.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
has curl || skip_all "no curl"
has prometheus && has promtool || skip_all "no prometheus"

# A port that nobody has.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# query EXPRESSION: the value of its one result.
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

# What Prometheus has summed up is what the books say: fired = stored + dropped.
books_close() {
	local difference

	difference=$(query 'sum(pilotlight_samples_fired_total) - sum(pilotlight_samples_stored_total) - sum(pilotlight_samples_dropped_total)')
	note "$(query 'sum(pilotlight_samples_fired_total)') fired, $difference unaccounted"
	[ "$difference" = 0 ]
}

plan 5
port=$(free_port) prometheus_port=$(free_port)
printf '[Api]\nListen=127.0.0.1:%s\n[History]\nWindow=2s\n' "$port" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
check "it starts" start_service
check "promtool has nothing to say" no_complaint
cat >"$tmp/prometheus.yml" <<EOF
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: pilotlight
    static_configs: [ { targets: [ "127.0.0.1:$port" ] } ]
EOF
start prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/prometheus" \
	--web.listen-address="127.0.0.1:$prometheus_port" --log.level=error
check "a Prometheus scrapes it" wait_for 60 is_up
check "its books close there" books_close
check "it ends when it is told to" stop_service
finish
