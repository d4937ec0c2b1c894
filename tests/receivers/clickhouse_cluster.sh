# SPDX-License-Identifier: GPL-2.0-or-later
# Four ClickHouse servers on loopback, two shards of two replicas, and a ZooKeeper for them. Source it behind
# clickhouse.sh. Server N answers HTTP at cluster_url N; 0 and 1 are the replicas of the first shard.

cluster_pids=()
# Below the ports of clients; runs beside each other rarely have the same.
cluster_port=$((12000 + $$ % 400 * 50))

cluster_url() {
	echo "http://127.0.0.1:$((cluster_port + 10 * $1))"
}

# Installs ZooKeeper, whose package starts nothing.
fetch_cluster() {
	fetch_clickhouse || return
	dpkg -s zookeeper default-jre-headless >/dev/null 2>&1 ||
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends zookeeper default-jre-headless
} >"$tmp/cluster-fetch.log" 2>&1 </dev/null

start_zookeeper() {
	mkdir -p "$tmp/zookeeper/data"
	printf '%s\n' tickTime=2000 "dataDir=$tmp/zookeeper/data" "clientPort=$((cluster_port + 40))" \
		clientPortAddress=127.0.0.1 admin.enableServer=false >"$tmp/zookeeper/zoo.cfg"
	start java -Xmx256m -Dzookeeper.log.dir="$tmp/zookeeper" -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
		org.apache.zookeeper.server.quorum.QuorumPeerMain "$tmp/zookeeper/zoo.cfg"
	wait_for 60 bash -c ": </dev/tcp/127.0.0.1/$((cluster_port + 40))" 2>/dev/null
}

# cluster_shard N...: of these replicas.
cluster_shard() {
	local i

	echo "<shard><internal_replication>true</internal_replication>"
	for i; do
		echo "<replica><host>127.0.0.1</host><port>$((cluster_port + 10 * i + 1))</port></replica>"
	done
	echo "</shard>"
}

cluster_start() {
	start_clickhouse "server-$1" $((cluster_port + 10 * $1)) "
		<remote_servers><fleet>$(cluster_shard 0 1)$(cluster_shard 2 3)</fleet></remote_servers>
		<zookeeper><node><host>127.0.0.1</host><port>$((cluster_port + 40))</port></node></zookeeper>
		<macros><shard>$(($1 / 2))</shard><replica>$(($1 % 2))</replica></macros>
		<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>" || return
	cluster_pids[$1]=$clickhouse_pid
}

# Have all replicas what the others of their shards have? One that has just started does not know yet what it lacks.
cluster_is_level() {
	local i

	for i in 0 1 2 3; do
		[ "$(ask $((cluster_port + 10 * i)) "SELECT max(absolute_delay) + sum(queue_size) FROM system.replicas")" = 0 ] || return
	done
}

cluster_stop() {
	kill -9 "${cluster_pids[$1]}" || return
	wait "${cluster_pids[$1]}" 2>/dev/null || :
}

cluster_start_all() {
	local i

	start_zookeeper || return
	for i in 0 1 2 3; do
		cluster_start "$i" || return
	done
}

cluster_explain() {
	tail -n 2 "$tmp"/cluster-fetch.log "$tmp"/server-*/{output,errors} 2>/dev/null
}
