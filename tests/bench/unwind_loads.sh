# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by unwind.sh: real programs under load. start_load NAME starts a load, whose processes run in new sessions,
# and sets `comm`, a pattern of its threads' names. It fails if a program is not installed. stop_load ends the load.
# Files are in $tmp.

loads_folder=$root/tests/bench/unwind_loads
load_sessions=()

has() {
	command -v "$1" >/dev/null
}

in_background() {
	setsid "$@" >/dev/null 2>&1 </dev/null &
	load_sessions+=($!)
}

# again COMMAND...: repeats the command until the load ends.
again() {
	in_background bash -c 'while :; do "$@"; done' again "$@"
}

stop_load() {
	local session

	for session in "${load_sessions[@]}"; do
		pkill -KILL -s "$session"
		wait "$session"
	done 2>/dev/null
	load_sessions=()
}

# until_it_does COMMAND...: repeats the command until it succeeds, for 10 seconds at most.
until_it_does() {
	local turn

	for ((turn = 0; turn < 100; turn++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}

# The distribution's python, not a locally built one.
python=/usr/bin/python3

load_python() {
	comm=python3
	[ -x $python ] && in_background $python "$loads_folder/nested.py"
}

load_six() {
	comm=six_frames
	has gcc || return
	gcc -O2 -fomit-frame-pointer -o "$tmp/six_frames" "$loads_folder/six_frames.c" || return
	in_background "$tmp/six_frames"
}

load_node() {
	comm='node|libuv-worker|V8.*|.*Worker'
	has node && in_background node "$loads_folder/work.js"
}

load_sqlite() {
	comm=sqlite3
	has sqlite3 && again sqlite3 :memory: \
		'with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000000)
		select count(*), sum(x), max(hex(x)) from c group by x % 7;'
}

load_openssl() {
	comm=openssl
	has openssl && again openssl speed -seconds 1 sha256 aes-256-cbc rsa2048 ecdhp256
}

load_xz() {
	comm=xz
	has xz && again bash -c 'cat /usr/bin/* | xz -9 -c'
}

load_gxx() {
	comm='cc1plus|as|ld|collect2|g\+\+'
	has g++ && again g++ -O2 -o "$tmp/heavy" "$loads_folder/heavy.cc"
}

load_git() {
	comm=git
	has git && git -C "$root" rev-parse HEAD >/dev/null 2>&1 || return
	again bash -c 'git -C "$1" grep -c "a.*b.*c" $(git -C "$1" rev-list HEAD | head -n 40)' \
		grep "$root"
}

load_java() {
	comm='java|main|G1.*|GC.*|C[12] .*|VM .*|Signal.*|Common.*|Reference.*|Finalizer|Sweeper.*'
	has javac && javac -d "$tmp" "$loads_folder/Work.java" || return
	in_background java -XX:+PreserveFramePointer -cp "$tmp" Work
}

load_nginx() {
	comm=nginx
	has nginx && has curl || return
	mkdir -p "$tmp/nginx"
	cat >"$tmp/nginx/conf" <<-END
		user root;
		daemon off;
		worker_processes 1;
		pid $tmp/nginx/pid;
		error_log /dev/null;
		events { }
		http {
			access_log $tmp/nginx/log;
			gzip on;
			gzip_types *;
			server {
				listen unix:$tmp/nginx/socket;
				root $root;
				keepalive_requests 1000000;
			}
		}
	END
	rm -f "$tmp/nginx/socket"
	in_background nginx -p "$tmp/nginx" -c "$tmp/nginx/conf"
	until_it_does [ -S "$tmp/nginx/socket" ] || return
	again curl -s --compressed --unix-socket "$tmp/nginx/socket" -o /dev/null \
		'http://localhost/Makefile?[1-100000]'
}

load_redis() {
	comm='redis-server|bio_.*|io_thd.*|jemalloc.*'
	has redis-server && has redis-benchmark || return
	in_background redis-server --port 0 --unixsocket "$tmp/redis.sock" --save '' --dir "$tmp"
	until_it_does redis-cli -s "$tmp/redis.sock" ping || return
	again redis-benchmark -s "$tmp/redis.sock" -q -n 100000 -t set,get,lrange_100,zadd,mset
}

load_postgres() {
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups) bin data=$tmp/postgres

	comm=postgres
	bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | tail -n 1)")
	[ -x "$bin/postgres" ] && has pgbench || return
	if [ ! -d "$data" ]; then
		chmod 755 "$tmp"
		install -d -m 700 -o 65534 -g 65534 "$data"
		"${as[@]}" "$bin/initdb" -D "$data" -U bench -A trust --no-sync >/dev/null 2>&1 ||
			return
	fi
	in_background "${as[@]}" "$bin/postgres" -D "$data" -k "$data" -h '' -c fsync=off
	until_it_does pgbench -h "$data" -U bench -i -s 2 postgres || return
	again pgbench -h "$data" -U bench -c 2 -T 600 postgres
}

load_go() {
	comm=work_go
	has go || return
	GOCACHE=$tmp/go_cache go build -o "$tmp/work_go" "$loads_folder/work.go" || return
	in_background "$tmp/work_go"
}

load_rust() {
	comm='work_rust|<unnamed>'
	has rustc && rustc -O -o "$tmp/work_rust" "$loads_folder/work.rs" || return
	in_background "$tmp/work_rust"
}

start_load() {
	"load_$1" && return
	stop_load
	return 1
}
