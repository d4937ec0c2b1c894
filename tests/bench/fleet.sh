#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/bench/fleet.sh [HOSTS] [MINUTES] [ROWS] [VERSION]
#
# What a fleet costs in ClickHouse: HOSTS simulated hosts (1000) push MINUTES windows (5) of 60 s each into two servers of
# VERSION 18.16 (the default) here, each a shard, or into one engine of 26.9. Each host has ROWS (1000) of the rows that
# this host pushes for a minute, by the real encoder, and pushes all but a twentieth of them, with other counts. The
# servers then copy these minutes, with other counts again, until there is an hour. Prints bytes a row, what a host needs
# in a day, the servers' CPU time, and how long questions about the hour take. Needs root, and the network at the first
# time. Let this host do what the hosts shall do: an idle one has 30 rows a minute.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/receivers/clickhouse.sh"

columns='ts, duration_ns, host, service, type, labels, stack, value, period, weight'
hosts=${1:-1000} minutes=${2:-5} row_count=${3:-1000} version=${4:-18.16}
# Below the ports of clients; runs beside each other rarely have the same.
port=$((12000 + $$ % 400 * 50))
need_root
need_programs

# start_shards: the tables of one server become the shard's, and Distributed ones over both take their names.
start_shards() {
	local shards='' table

	ports=("$port" $((port + 10))) pids=() part=_local
	fetch_clickhouse || return
	for port in "${ports[@]}"; do
		shards+="<shard><replica><host>127.0.0.1</host><port>$((port + 1))</port></replica></shard>"
	done
	for port in "${ports[@]}"; do
		start_clickhouse "server-$port" "$port" "<remote_servers><fleet>$shards</fleet></remote_servers>" || return
		pids+=("$clickhouse_pid")
	done
	for port in "${ports[@]}"; do
		"$pilotlight" fleet init --clickhouse "http://127.0.0.1:$port" >/dev/null || return
		for table in samples stacks locations names; do
			ask "$port" "RENAME TABLE pilotlight.$table TO pilotlight.${table}_local"
			ask "$port" "CREATE TABLE pilotlight.$table AS pilotlight.${table}_local
				ENGINE = Distributed(fleet, pilotlight, ${table}_local, cityHash64(host))"
		done
	done
}

start_engine() {
	ports=("$port") part=
	install_chdb && start_chdb "$port" || return
	pids=("$chdb_pid")
	"$pilotlight" fleet init --clickhouse "http://127.0.0.1:$port" >/dev/null
}

case $version in
18.16) start_shards ;;
26.9) start_engine ;;
*) echo "fleet.sh: version $version is not known: 18.16 or 26.9" >&2 && false ;;
esac || exit 1

cpu_ticks() {
	local pid sum=0

	for pid in "${pids[@]}"; do
		sum=$((sum + $(awk '{ print $14 + $15 }' "/proc/$pid/stat")))
	done
	echo "$sum"
}

# sum SQL: of a number of each server.
sum() {
	local port sum=0

	for port in "${ports[@]}"; do
		sum=$((sum + $(ask "$port" "$1")))
	done
	echo "$sum"
}

bytes() { sum "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'pilotlight' AND table LIKE '$1$part'"; }

echo "recording a minute of this host"
"$pilotlight" record -q -d 60 -o "$tmp/batch.clickhouse" || exit 1
start=$(($(date +%s) / 3600 * 3600 - 3600))
before=$(cpu_ticks)
read -r _ batches _ rows _ first _ sent _ seconds < <(python3 "$root/tests/bench/fleet_hosts.py" \
	"$tmp/batch.clickhouse" "$hosts" "$minutes" "$row_count" "$start" "${ports[@]/#/http://127.0.0.1:}") || exit 1
ticks=$(($(cpu_ticks) - before))
fresh=$(bytes samples)
for port in "${ports[@]}"; do
	for table in samples stacks locations names; do
		ask "$port" "OPTIMIZE TABLE pilotlight.$table$part"
	done
done
samples=$(bytes samples) others=$(($(bytes %) - samples))

awk -v hosts="$hosts" -v minutes="$minutes" -v batches="$batches" -v rows="$rows" -v first="$first" -v sent="$sent" \
	-v seconds="$seconds" -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" -v fresh="$fresh" -v samples="$samples" \
	-v others="$others" '
BEGIN {
	printf "%d hosts, %d minutes: %d batches, %d rows of samples, %.0f rows a batch\n", hosts, minutes, batches, rows,
		rows / batches
	rest = minutes > 1 ? (sent - first) / (batches - hosts) : 0
	printf "sent: %.1f KB a host in the first minute of a day, then %.1f KB; %.1f MB a host and day\n",
		first / hosts / 1e3, rest / 1e3, (first / hosts + 1439 * rest) / 1e6
	printf "inserted: %.0f rows/s, %.1f batches/s; the simulator is on the same machine\n", rows / seconds,
		batches / seconds
	printf "servers: %.1f ms of CPU a batch, so %.3f CPUs for 1,000 hosts\n", ticks / hz / batches * 1e3,
		ticks / hz / batches * 1000 / 60
	printf "samples: %.2f bytes a row on disk when inserted, %.2f after a merge; %.2f MB a host and day\n",
		fresh / rows, samples / rows, samples / batches * 1440 / 1e6
	printf "stacks, locations, names: %.2f MB in all\n", others / 1e6
}'

ask "${ports[0]}" "SELECT name, data_compressed_bytes FROM system.columns WHERE database = 'pilotlight' AND
	table = 'samples$part' ORDER BY data_compressed_bytes DESC" |
	awk '{ sum += $2; line = line sprintf("%s%s %d", NR > 1 ? ", " : "", $1, $2 / 1000) } END { print "columns, KB: " line }'

for ((minute = minutes; minute < 60; minute += minutes)); do
	for port in "${ports[@]}"; do
		ask "$port" "INSERT INTO pilotlight.samples$part ($columns) SELECT ts + $((60 * minute)), duration_ns, host,
			service, type, labels, stack, 1 + rand() % (2 * value - 1), period, weight FROM pilotlight.samples$part
			WHERE ts < toDateTime($((start + 60 * minutes)))"
	done
done
for port in "${ports[@]}"; do
	ask "$port" "OPTIMIZE TABLE pilotlight.samples$part FINAL"
done
all=$(sum "SELECT count() FROM pilotlight.samples$part")
awk -v rows="$all" -v bytes="$(bytes samples)" \
	'BEGIN { printf "an hour: %d rows, %.2f bytes a row after a full merge\n", rows, bytes / rows }'

# ask_fleet TITLE OPTIONS...: the median of five, and the servers' CPU time, which other load changes less.
ask_fleet() {
	local title=$1 i began ticks

	shift
	ticks=$(cpu_ticks)
	for i in 1 2 3 4 5; do
		began=$(date +%s%N)
		"$pilotlight" fleet export --clickhouse "http://127.0.0.1:${ports[0]}" -q -f folded -o "$tmp/folded" \
			--from "@$start" --to "@$((start + 3600))" "$@" || return
		echo $((($(date +%s%N) - began) / 1000000))
	done | sort -n | sed -n "3s/\$/ ms: $title/p"
	echo "    $((($(cpu_ticks) - ticks) * 1000 / $(getconf CLK_TCK) / 5)) ms of the servers' CPUs," \
		"$(wc -l <"$tmp/folded") stacks, $(awk '{ sum += $NF } END { print sum }' "$tmp/folded") samples"
}
ask_fleet "the flame graph of all hosts"
echo "    the servers have $(ask "${ports[0]}" "SELECT sum(value) FROM pilotlight.samples WHERE type = 'cpu'") samples"
ask_fleet "of one host" --host host-00001
service=$(ask "${ports[0]}" "SELECT service FROM pilotlight.samples WHERE type = 'cpu' GROUP BY service
	ORDER BY sum(value) DESC LIMIT 1")
ask_fleet "of the service with most samples, $service" --service "$service"
ask_fleet "of one program" --comm python3
