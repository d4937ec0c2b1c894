#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sinks that send, against receivers that fail in each way that receiver.py knows: nothing arrives twice, and what does
# not arrive is counted.
# Runs beside others: it judges requests, files and messages, not times or shares.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3 openssl

plain=$tmp/plain secure=$tmp/secure other=$tmp/other house=$tmp/house spool=$STATE_DIRECTORY/push/plain

# start_receiver FOLDER [ARGUMENT...]: in the mode "ok". Its port stays the same when it is started again.
start_receiver() {
	mkdir -p "$1"
	chmod 711 "$1" "$tmp"
	[ -e "$1/mode" ] || echo ok >"$1/mode"
	touch "$1/log"
	RECEIVER_PORT=$(cat "$1/port" 2>/dev/null) start python3 "$root/tests/end_to_end/receiver.py" "$@"
	receiver_pid=${started[-1]}
	wait_for 60 listens "$1"
}

listens() {
	[ -s "$1/port" ] && : 2>/dev/null >"/dev/tcp/127.0.0.1/$(cat "$1/port")"
}

# set_mode FOLDER MODE
set_mode() {
	echo "$2" >"$1/mode.new" && mv "$1/mode.new" "$1/mode"
}

# A certificate authority, and certificates of it for the receiver and for a client.
make_certificates() {
	local name

	cd "$tmp" || return
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.pem &&
		openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=stranger -days 2 -keyout other.key -out other.pem ||
		return
	for name in receiver client; do
		openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr &&
			openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $name.pem \
				-extfile <(echo subjectAltName=IP:127.0.0.1) || return
	done
	printf 'secret-token-1\n' >token
	# The sender of a service of root is the user nobody.
	chmod 644 ./*.pem ./*.key token
	cd - >/dev/null
} >"$tmp/openssl.log" 2>&1

configure() {
	cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<END
[Sampling]
OffCpu=no
RunQueue=no
[History]
Window=1s
[sink plain]
Type=otlp
Url=http://127.0.0.1:$(cat "$plain/port")
Interval=2s
NameWait=0
Timeout=20s
Label=deployment.environment=test tier=1
[sink secure]
Type=otlp
Url=https://127.0.0.1:$(cat "$secure/port")/
Interval=5s
NameWait=0
Labels=service
CaFile=$tmp/ca.pem
CertificateFile=$tmp/client.pem
KeyFile=$tmp/client.key
TokenFile=$tmp/token
Header=X-Scope-OrgID: team one
[sink pyroscope]
Type=pyroscope
Url=http://127.0.0.1:$(cat "$other/port")
Interval=5s
NameWait=0
Label=deployment.environment=test
[sink parca]
Type=parca
Url=http://127.0.0.1:$(cat "$other/port")
Interval=5s
NameWait=0
Label=deployment.environment=test
[sink house]
Type=clickhouse
Url=http://127.0.0.1:$(cat "$house/port")
Interval=2s
NameWait=0
Timeout=20s
Header=X-ClickHouse-User: pilot
TokenFile=$tmp/token
Label=tier=1
[sink small]
Type=otlp
Url=http://127.0.0.1:1
Interval=2s
NameWait=0
[sink stranger]
Type=otlp
Url=https://127.0.0.1:$(cat "$secure/port")
Interval=5s
NameWait=0
CaFile=$tmp/other.pem
END
}

# sink NAME METRIC[,LABEL]: the value of a metric of a sink.
sink() {
	local label=${2#*,}

	[ "$label" != "$2" ] || label=
	metric "pilotlight_sink_${2%%,*}{sink=\"$1\"${label:+,$label}}"
}

is() { [ "$(sink "$1" "$2")" = "$3" ]; }
more_than() { awk -v is="$(sink "$1" "$2")" -v least="$3" 'BEGIN { exit !(is > least) }'; }

count_files() { find "$spool" -name '*.otlp.gz' | wc -l; }
has_files() { [ "$(count_files)" -ge "$1" ]; }
is_almost_empty() { [ "$(count_files)" -le 1 ]; }

# asked FOLDER MODE: a request came in that mode.
asked() { grep -q "\"mode\": \"$2\"" "$1/log"; }

explain() {
	note "$("$pilotlight" status | sed -n '/^Sinks/,/^[A-Z]/p')" "$(tail -n 3 "$tmp/service.log")" \
		"$(tail -n 1 "$plain/log" | cut -c 1-300)"
	return 1
}

# takes_again: in mode "ok", all that waits is sent.
takes_again() {
	local before

	before=$(sink plain sent_batches_total)
	set_mode "$plain" ok
	wait_for 120 more_than plain sent_batches_total "$before" && wait_for 120 is_almost_empty &&
		wait_for 60 is plain failing 0 || explain
}

# survives MODE: a receiver that fails so is asked again, and the batches wait.
survives() {
	set_mode "$plain" "$1"
	wait_for 120 asked "$plain" "$1" && wait_for 120 is plain failing 1 && takes_again || explain
}

refused_connections_wait() {
	wait_for 120 is plain failing 1 && wait_for 120 has_files 2 && start_receiver "$plain" && takes_again || explain
}

# At the end the receiver may mend itself between two batches: the first is then dropped, and counted.
holds() {
	local refused

	refused=$(sink plain 'skipped_seconds_total,reason="refused"')
	set_mode "$plain" "$1"
	wait_for 120 is plain held 1 && wait_for 120 has_files 2 && grep -q 'sink plain: its receiver refuses every batch' \
		"$tmp/service.log" && "$pilotlight" status | grep -q "The sink plain fails: held: it answers $2" &&
		[ "$(sink plain 'skipped_seconds_total,reason="refused"')" = "$refused" ] && takes_again &&
		is plain held 0 || explain
}

drops_one() {
	set_mode "$plain" "$1"
	wait_for 120 more_than plain "skipped_seconds_total,reason=\"$2\"" 0 && takes_again || explain
}

# A mistake in the file of the configuration, and then in what was to be loaded.
mistake_stops_nothing() {
	local before result file=$CONFIGURATION_DIRECTORY/pilotlight.conf

	cp "$file" "$tmp/right.conf"
	printf '[sink plain]\nUrl=nonsense\n' >>"$file"
	kill -HUP "$service_pid"
	wait_for 60 refuses_configuration && before=$(sink plain sent_batches_total) &&
		wait_for 120 more_than plain sent_batches_total "$((before + 1))" && wait_for 60 is plain failing 0 || explain
	result=$?
	cp "$tmp/right.conf" "$file"
	return "$result"
}

refuses_configuration() {
	[ "$(metric pilotlight_config_refused)" = 1 ] &&
		"$pilotlight" status | grep -q 'The configuration was not reloaded, as it has a mistake'
}

rejected_profiles_are_counted() {
	set_mode "$plain" partial
	wait_for 120 more_than plain rejected_profiles_total 2 && takes_again || explain
}

secure_arrives() {
	wait_for 120 more_than secure sent_batches_total 0 && python3 - "$secure/log" <<'END'
import json, sys
entry = json.loads(open(sys.argv[1]).read().rpartition("\n")[0].splitlines()[-1])
headers = entry["headers"]
assert entry["client"] == "client", entry
assert headers["authorization"] == "Bearer secret-token-1" and headers["x-scope-orgid"] == "team one", headers
assert headers["content-type"] == "application/x-protobuf" and headers["content-encoding"] == "gzip", headers
assert headers["otlp-profiles-development-version"] == "1", headers
assert entry["path"] == "/v1development/profiles", entry["path"]
END
}

stranger_is_refused() {
	wait_for 120 is stranger failing 1 && "$pilotlight" status | grep -qi 'sink stranger fails: .*certificate' &&
		is stranger sent_batches_total 0 || explain
}

resources_are_right() {
	local application=5d0bd7f2a4f84d3c8f6a1be2c7a94e10

	python3 - "$plain/log" "$(systemd-id128 machine-id --app-specific=$application 2>/dev/null)" <<'END'
import json, socket, sys

host = sys.argv[2]
entries = [json.loads(line) for line in open(sys.argv[1]).read().rpartition("\n")[0].splitlines()]
resources = [resource for entry in entries for resource in entry.get("resources", [])]
assert resources
for resource in resources:
    assert resource["host.name"] == socket.gethostname(), resource
    assert resource["service.name"], resource
    assert resource.get("host.id") == (host or None), resource
    assert resource["deployment.environment"] == "test" and resource["tier"] == "1", resource
END
}

pyroscope_arrives() {
	wait_for 120 more_than pyroscope sent_batches_total 1 && python3 - "$other/log" <<'END'
import json, socket, sys

entries = [json.loads(line) for line in open(sys.argv[1]).read().rpartition("\n")[0].splitlines()]
entries = [entry for entry in entries if entry["path"] == "/push.v1.PusherService/Push"]
assert all(entry["headers"]["content-type"] == "application/proto" for entry in entries)
ids = [id for entry in entries for id in entry["ids"]]
assert len(ids) == len(set(ids)) > 0, ids
for series in [series for entry in entries for series in entry["series"]]:
    labels = series["labels"]
    assert labels["__name__"] == "process_cpu" and labels["service_name"], labels
    assert labels["host_name"] == socket.gethostname() and labels["deployment_environment"] == "test", labels
    assert series["types"] == [["samples", "count"], ["cpu", "nanoseconds"]], series["types"]
END
}

# The receiver answers 200 to uploads of names, too, but with no id for them.
parca_arrives() {
	wait_for 120 more_than parca sent_batches_total 1 && python3 - "$other/log" <<'END'
import json, socket, sys

entries = [json.loads(line) for line in open(sys.argv[1]).read().rpartition("\n")[0].splitlines()]
entries = [entry for entry in entries if entry["path"] == "/api/profiles/writeraw"]
assert len(entries) > 1 and all(entry["headers"]["content-type"] == "application/json" for entry in entries)
for series in [series for entry in entries for series in entry["series"]]:
    labels = series["labels"]
    assert labels["__name__"] == "process_cpu" and labels["service_name"], labels
    assert labels["node"] == socket.gethostname() and labels["deployment_environment"] == "test", labels
    assert series["types"] == [["samples", "count"], ["cpu", "nanoseconds"]], series["types"]
END
}

# house_survives MODE: ClickHouse fails so, is asked whether it has the batch, and gets all that waits.
house_survives() {
	local before

	before=$(sink house sent_batches_total)
	set_mode "$house" "$1"
	wait_for 120 asked "$house" "$1" && wait_for 120 is house failing 1 || explain || return
	set_mode "$house" ok
	wait_for 120 more_than house sent_batches_total "$((before + 1))" && wait_for 60 is house failing 0 || explain
}

house_holds() {
	set_mode "$house" "code 60"
	wait_for 120 is house held 1 && "$pilotlight" status | grep -q 'sink house fails: held: it answers 500: Code: 60' ||
		explain || return
	set_mode "$house" ok
	wait_for 120 is house held 0 || explain
}

# Returns the number of the first that failed, or 0. It takes as long as the failures of the other receiver.
house_fails_and_goes_on() {
	house_survives "reset samples" || return 1
	house_survives "lost samples" || return 2
	house_survives "code 241" || return 3
	house_holds || return 4
}

# Rows refer to rows that came before them, not only in their batch: a host remembers what it sent. A batch is there
# once, and the next begins where it ends. What was there when its sender asked for it does not come again.
house_has_all_once() {
	python3 - "$house/log" <<'END'
import json, socket, sys

stacks, locations, lost, new, samples, questions, remembered = set(), set(), set(), set(), set(), 0, 0
for entry in map(json.loads, open(sys.argv[1]).read().rpartition("\n")[0].splitlines()):
    headers, rows = entry["headers"], entry.get("rows")
    assert headers["x-clickhouse-user"] == "pilot" and headers["x-clickhouse-key"] == "secret-token-1", headers
    if entry.get("table") == "samples":
        assert entry["hash"] not in lost, f"was there, and came again: {rows[0]}"
        if entry["mode"] == "lost samples":
            lost.add(entry["hash"])
    if not entry.get("taken"):
        continue
    table = entry["table"]
    questions += table == ""
    if table == "locations":
        locations |= {row["id"] for row in rows}
    elif table == "stacks":
        stacks |= {row["id"] for row in rows}
        new |= {row["id"] for row in rows}
        assert all(location in locations for row in rows for location in row["locations"])
    elif table == "samples":
        first = rows[0]
        assert len({(row["ts"], row["type"], row["duration_ns"]) for row in rows}) == 1
        assert all(row["stack"] in stacks and row["host"] == socket.gethostname() for row in rows)
        assert all("tier=1" in row["labels"] and row["weight"] == 1 for row in rows)
        batch = first["type"], first["ts"], first["duration_ns"]
        assert batch not in samples, f"twice: {first}"
        samples.add(batch)
        remembered += any(row["stack"] not in new for row in rows)
        new = set()
# Starts are rounded: behind a window that ended late, two can be equal.
batches = sorted(batch for batch in samples if batch[0] == "cpu")
for before, after in zip(batches, batches[1:]):
    assert abs(after[1] - before[1] - before[2] / 1e9) < 1, (before, after)
print(f"# {len(samples)} batches, {remembered} of them with stacks of earlier ones, {questions} questions")
assert questions >= 3 and remembered > 0
END
}

# A disk of 64 KiB for the folder of one sink.
make_small_disk() {
	mkdir -p "$STATE_DIRECTORY/push/small" &&
		mount -t tmpfs -o size=64k,mode=700 none "$STATE_DIRECTORY/push/small" 2>/dev/null && has_small_disk=1
}

remove_small_disk() {
	[ -z "$has_small_disk" ] || umount -l "$STATE_DIRECTORY/push/small"
	clean_up_service
}

small_disk_is_full() {
	full() {
		"$pilotlight" status | tr -s ' \n' ' ' |
			grep -q 'sink small fails: cannot write to its folder: No space left'
	}
	wait_for 120 full || explain
}

# Its files follow each other: what could not be written came later.
small_disk_goes_on() {
	local before

	before=$(sink small batches_total)
	mount -o remount,size=64m "$STATE_DIRECTORY/push/small" &&
		wait_for 120 more_than small batches_total "$((before + 1))" &&
		python3 - "$STATE_DIRECTORY/push/small" <<'END'
import calendar, os, re, sys, time

last = None
for name in sorted(name for name in os.listdir(sys.argv[1]) if name.endswith("_cpu.otlp.gz")):
    parts = re.fullmatch(r"(\d{8}T\d{6})\.(\d{9})Z_(\d+)ns_cpu\.otlp\.gz", name)
    start = calendar.timegm(time.strptime(parts[1], "%Y%m%dT%H%M%S")) * 10**9 + int(parts[2])
    if last is not None and start != last:
        sys.exit(f"# {name} begins {start - last} ns after the one before it")
    last = start + int(parts[3])
END
}

# What the receiver has taken begins where the last one ended, but for times at which the service did not run, and
# those that the metrics count as skipped. A batch whose answer was lost or late came again, the same.
nothing_is_missing_or_twice() {
	python3 - "$plain/log" "$tmp/pauses" "$1" <<'END'
import json, sys

entries = [json.loads(line) for line in open(sys.argv[1]).read().rpartition("\n")[0].splitlines()]
pauses = [float(line) for line in open(sys.argv[2])]
skipped = float(sys.argv[3])
taken = {}
for entry in entries:
    if not entry.get("taken"):
        continue
    known = taken.setdefault(entry["ids"][0], entry)
    if known["hash"] != entry["hash"]:
        sys.exit(f"# twice: {known['mode']} {known['start']}, then {entry['mode']}")
batches = sorted(taken.values(), key=lambda entry: entry["start"])
missing = 0
for before, after in zip(batches, batches[1:]):
    gap = (after["start"] - before["end"]) / 1e9
    if gap < -0.1:
        sys.exit(f"# {after['start']} begins {-gap} s before the end of the one before it")
    # A second is a window; windows end some milliseconds early or late.
    if gap > 0.5 and not any(before["end"] / 1e9 - 3 < pause < after["start"] / 1e9 + 1 for pause in pauses):
        missing += gap
print(f"# {len(batches)} batches in {len(entries)} requests, {missing:.1f} s missing, {skipped:.1f} s counted")
if abs(missing - skipped) > 1:
    sys.exit(1)
END
}

has_small_disk=
at_exit remove_small_disk
plan 33

check "certificates are made" make_certificates
check "a receiver listens" start_receiver "$plain"
kill "$receiver_pid"
check "a receiver with TLS listens" start_receiver "$secure" "$tmp/receiver.pem" "$tmp/receiver.key" "$tmp/ca.pem"
check "one of another protocol listens" start_receiver "$other"
check "one that is ClickHouse listens" start_receiver "$house"
configure
: >"$tmp/pauses"
start_load
make_small_disk
check "the service starts" start_service
house_fails_and_goes_on >"$tmp/house.notes" &
house_pid=$!
check "a refused connection: batches wait until it is taken" refused_connections_wait
check "429 with Retry-After" survives 429
check "503" survives 503
check "a connection that is reset in mid-body" survives reset
check "an answer that is lost" survives lost
check "a receiver that does not answer" survives slow
check "one batch that is refused is dropped, and counted" drops_one "400 once" refused
skipped_refused=$(sink plain 'skipped_seconds_total,reason="refused"')
check "one batch that is too large is dropped, and counted" drops_one "413 once" refused_size
skipped_size=$(sink plain 'skipped_seconds_total,reason="refused_size"')
check "a mistake in the configuration stops no sender" mistake_stops_nothing
check "rejected profiles are counted" rejected_profiles_are_counted
check "TLS, a client certificate, a token and a header" secure_arrives
check "batches in the protocol of Pyroscope" pyroscope_arrives
check "batches in the JSON of Parca" parca_arrives
wait "$house_pid"
house_failed=$?
cat "$tmp/house.notes"
check "ClickHouse: a connection that is reset between two inserts" [ "$house_failed" != 1 ]
check "ClickHouse: an answer to the samples that is lost" [ "$house_failed" != 2 ]
check "ClickHouse: an exception that may pass" [ "$house_failed" != 3 ]
check "ClickHouse: one that does not, such as of a missing table" [ "$house_failed" != 4 ]
check "ClickHouse: each batch is there once" house_has_all_once
check "a certificate of a stranger's is not trusted" stranger_is_refused
check "resources say whose they are" resources_are_right

if [ -n "$has_small_disk" ]; then
	check "a full disk is reported" small_disk_is_full
	check "what could not be written comes later" small_disk_goes_on
else
	skip "a full disk is reported" "cannot mount"
	skip "what could not be written comes later" "cannot mount"
fi

# A new engine counts anew.
set_mode "$plain" 503
check "batches wait over a restart" wait_for 120 has_files 2
date +%s.%N >>"$tmp/pauses"
stop_service
start_service
date +%s.%N >>"$tmp/pauses"
check "a run of 400s holds the spool and raises an alarm" holds 400 "400: refused"
check "an unknown version does, too" holds version "400: unsupported version"
check "a wrong token does at the first batch" holds 401 "401: refused"
takes_again
check "nothing was lost uncounted, nothing came twice" \
	nothing_is_missing_or_twice "$(awk -v a="$skipped_refused" -v b="$skipped_size" \
		-v c="$(sink plain 'skipped_seconds_total,reason="refused"')" 'BEGIN { print a + b + c }')"
stop_service
finish
