# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers for tests with real ClickHouse servers: version 18.16, which Debian packages, and the engine of 26.9 as a
# library. Source it after lib.sh. Both are taken apart into folders, as nothing needs to be installed; ports are of the
# loopback device alone.
clickhouse=${RECEIVERS_BIN:-$root/build/receivers}/clickhouse
chdb=${RECEIVERS_BIN:-$root/build/receivers}/chdb

# fetch_clickhouse: what is missing, some 16 MB.
fetch_clickhouse() {
	[ -x "$clickhouse/root/usr/sbin/clickhouse-server" ] && return
	mkdir -p "$clickhouse/archives/partial" &&
		apt-get -y -q --no-install-recommends --download-only --reinstall -o Dir::Cache::archives="$clickhouse/archives" \
			install clickhouse-server || return
	for package in "$clickhouse"/archives/*.deb; do
		dpkg -x "$package" "$clickhouse/root" || return
	done
} >"$tmp/clickhouse-fetch.log" 2>&1

# start_clickhouse NAME PORT [CONFIGURATION]: HTTP is on PORT, the servers' own protocol on PORT + 1, replication on
# PORT + 2. CONFIGURATION is more XML, such as <remote_servers>. Logs to $tmp/NAME/log; its pid is clickhouse_pid.
start_clickhouse() {
	local folder=$tmp/$1 port=$2

	mkdir -p "$folder/data/tmp"
	cat >"$folder/users.xml" <<END
<yandex>
	<profiles><default/></profiles>
	<quotas><default/></quotas>
	<users><default>
		<password/><profile>default</profile><quota>default</quota>
		<networks><ip>127.0.0.1</ip></networks>
	</default></users>
</yandex>
END
	cat >"$folder/config.xml" <<END
<yandex>
	<logger><level>warning</level><log>$folder/log</log><errorlog>$folder/errors</errorlog></logger>
	<listen_host>127.0.0.1</listen_host>
	<http_port>$port</http_port><tcp_port>$((port + 1))</tcp_port>
	<interserver_http_port>$((port + 2))</interserver_http_port>
	<interserver_http_host>127.0.0.1</interserver_http_host>
	<path>$folder/data/</path><tmp_path>$folder/data/tmp/</tmp_path>
	<users_config>$folder/users.xml</users_config>
	<default_profile>default</default_profile><default_database>default</default_database>
	<mark_cache_size>268435456</mark_cache_size>
	<timezone>UTC</timezone>
	${3-}
</yandex>
END
	LD_LIBRARY_PATH=$clickhouse/root/usr/lib/x86_64-linux-gnu \
		"$clickhouse/root/usr/sbin/clickhouse-server" --config-file="$folder/config.xml" \
		>"$folder/output" 2>&1 &
	clickhouse_pid=$!
	started+=("$clickhouse_pid")
	wait_for 60 curl -sf -o /dev/null "http://127.0.0.1:$port/ping"
}

install_chdb() {
	[ -d "$chdb" ] || pip install --quiet --no-deps --target "$chdb.new" chdb-core==26.9.0 &&
		{ [ -d "$chdb" ] || mv "$chdb.new" "$chdb"; }
} >"$tmp/pip.log" 2>&1

# start_chdb PORT: its pid is chdb_pid.
start_chdb() {
	mkdir -p "$tmp/engine"
	PYTHONPATH=$chdb start python3 "$root/tests/receivers/chdb_server.py" "$1" "$tmp/engine"
	chdb_pid=$!
	wait_for 60 curl -sf -o /dev/null --data 'SELECT 1' "http://127.0.0.1:$1/"
}

# ask PORT SQL: prints the answer.
ask() {
	curl -sS "http://127.0.0.1:$1/" --data-binary "$2"
}
