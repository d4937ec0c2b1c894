#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SelfAccess=yes: two users with programs of their own. Each sees their own samples in every format, and nothing of
# the other, of root or of the machine, by any endpoint or parameter. The socket's group sees everything.
# Runs beside others: it judges answers.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl setpriv python3

# Nobody has these numbers. Carol runs nothing, and Gina is in the socket's group.
alice=64001 bob=64002 carol=64003 gina=64004
api=http://localhost/api/v1

# as UID COMMAND...
as() {
	local user=$1 group=$1

	shift
	[ "$user" != $gina ] || group=$nogroup
	setpriv --reuid="$user" --regid="$group" --clear-groups -- "$@"
}

# start_as UID PROGRAM: for all of the test.
start_as() {
	start setpriv --reuid="$1" --regid="$1" --clear-groups -- "$2" 600
}

# asks UID STATUS URL: the answer goes to $tmp/answer.
asks() {
	local status

	rm -f "$tmp/answer"
	status=$(as "$1" curl -s --max-time 60 --unix-socket "$PILOTLIGHT_SOCKET" -w '%{http_code}' "$3" -o - >"$tmp/raw"
		tail -c 3 "$tmp/raw")
	head -c -3 "$tmp/raw" >"$tmp/answer"
	[ "$status" = "$2" ] && return
	note "$3 as user $1: status $status instead of $2: $(head -c 300 "$tmp/answer" | tr -d '\0')"
	return 1
}

folded() {
	asks "$1" 200 "$api/profile?last=10min&format=folded${2:-}"
}

# has_comm COMM: in the folded answer.
has_comm() {
	grep -q "^$1;" "$tmp/answer"
}

# Programs of a user, besides the tools of this test that run as that user.
only_comms() {
	local others

	others=$(sed 's/;.*//' "$tmp/answer" | sort -u | grep -vxE "setpriv|curl|pilotlight|bash|sleep|$1")
	[ -z "$others" ] && return
	note "also: $others"
	return 1
}

# With the names of their functions.
everyone_was_sampled() {
	folded 0 && has_comm suids && has_comm roots && grep -q '^alices;.*;hot_60' "$tmp/answer" &&
		grep -q '^bobs;.*;deep_work' "$tmp/answer"
}

sees_all() {
	folded "$1" && has_comm alices && has_comm bobs && has_comm roots
}

alice_sees_hers() {
	folded $alice && has_comm alices && only_comms 'alices|suids' && grep -q ';hot_60' "$tmp/answer"
}

bob_sees_his() {
	folded $bob && has_comm bobs && only_comms bobs && grep -q ';deep_work' "$tmp/answer"
}

has_setuid_program() {
	folded $alice && has_comm suids && folded $bob && ! has_comm suids
}

knows_no_losses() {
	folded "$1" && ! grep -q '^\[' "$tmp/answer"
}

svg_is_own() {
	asks $alice 200 "$api/profile?last=10min&format=svg" && grep -q hot_60 "$tmp/answer" &&
		! grep -qE 'bobs|deep_work|roots|lost:' "$tmp/answer"
}

# Of the whole machine the table tells nothing: all that fired is the user's.
table_is_own() {
	local numbers

	asks $alice 200 "$api/profile?last=10min&format=txt" && ! grep -qE 'deep_work|bobs|roots' "$tmp/answer" || return
	numbers=$(grep '^# samples ' "$tmp/answer")
	note "$numbers"
	[[ $numbers =~ \ ([0-9]+)\ fired\ =\ ([0-9]+)\ stored\ \+\ 0\ idle\ \+\ 0\ filtered\ \+\ 0\ lost$ ]] &&
		[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

# Prints each text of a pprof profile, and "pid N" and "user N" for each such label.
decode_pprof() {
	PYTHONPATH=$root/tests/harness python3 -B - "$1" <<'END'
import gzip, sys
from protobuf import fields
message = list(fields(gzip.decompress(open(sys.argv[1], "rb").read())))
texts = [value.decode() for field, value in message if field == 6]
labels = set()
for field, value in message:
    if field == 2:
        for inner, label in fields(value):
            if inner == 3:
                label = dict(fields(label))
                labels.add((texts[label[1]], label.get(3, 0)))
print("\n".join(texts))
print("\n".join(f"{key} {number}" for key, number in labels if key in ("pid", "user")))
END
}

# The pid separates processes: without it they are merged.
pprof_is_own() {
	asks $alice 200 "$api/profile?last=10min&format=pprof&pid=$alices_pid&pid=$bobs_pid" || return
	cp "$tmp/answer" "$tmp/own.pb.gz"
	decode_pprof "$tmp/own.pb.gz" >"$tmp/decoded" || return
	grep -qx alices "$tmp/decoded" && grep -qx hot_60 "$tmp/decoded" && grep -qx "pid $alices_pid" "$tmp/decoded" &&
		! grep -qE 'bobs|roots|deep_work|lost:' "$tmp/decoded" || return
	[ "$(grep -cE '^(pid|user) ' "$tmp/decoded")" = 2 ] && grep -qx "user $alice" "$tmp/decoded" &&
		grep -q '^dropped idle=0$' "$tmp/decoded"
}

difference_is_own() {
	asks $alice 200 "$api/diff?last=10min&comm=alices&comm=bobs&against.comm=*&against.user=$bob&against.user=$alice&format=svg" &&
		grep -q hot_60 "$tmp/answer" && ! grep -qE 'deep_work|main.*roots|lost:' "$tmp/answer"
}

# Each endpoint that the service has, and some that it has not.
others_are_refused() {
	local path

	for path in /api/v1/status '/api/v1/status?format=text' /metrics /debug/pprof/ '/debug/pprof/profile?seconds=1' \
		/api/v1/profile/ /api/v1/windows /api/v1 /favicon.ico '/metrics?user=64001' //metrics; do
		asks $alice 403 "http://localhost$path" && grep -q 'usermod -aG pilotlight' "$tmp/answer" || return
	done
	asks $alice 200 http://localhost/ && grep -q 'your own processes' "$tmp/answer" && ! grep -q metrics "$tmp/answer"
}

# Alternatives of a parameter add up, but only to what is the user's.
parameters_do_not_widen() {
	local more

	for more in "&user=$bob" '&user=0' '&comm=bobs' "&pid=$bobs_pid" '&exe=*bobs' '&user=0&user=64002'; do
		asks $alice 404 "$api/profile?last=10min&format=folded$more" || return
		# It suggests nothing of others.
		! grep -E 'roots|there is .*bobs|deep' "$tmp/answer" || return
	done
	for more in "&user=$bob&user=$alice" "&user=$alice&user=$bob" '&comm=*' '&cgroup=/' "&user=0&user=$alice"; do
		folded $alice "$more" && has_comm alices && only_comms 'alices|suids' || return
	done
	asks $alice 400 "$api/profile?last=10min&user=bob" && asks $alice 400 "$api/profile?last=10min&scope=1" &&
		asks $alice 400 "$api/profile?last=10min&USER=0" && asks $alice 404 "$api/diff?last=10min&against.user=$bob"
}

# Suggestions for a wrong name come from the user's own samples.
suggestions_are_own() {
	asks $alice 404 "$api/profile?last=10min&comm=alic" && grep -q 'there is .*alices' "$tmp/answer" &&
		! grep -qE 'bobs|roots' "$tmp/answer"
}

carol_sees_nothing() {
	asks $carol 404 "$api/profile?last=1min&comm=alices" && ! grep -q 'there is .*alices' "$tmp/answer" &&
		asks $carol 404 "$api/profile?last=1min&exe=*bobs"
}

command_works() {
	as $alice "$pilotlight" report --last 10min -o - >"$tmp/report" && grep -q hot_60 "$tmp/report" &&
		! grep -q deep_work "$tmp/report" || return
	! as $alice "$pilotlight" status >"$tmp/status" 2>&1 && grep -q 'usermod -aG pilotlight' "$tmp/status"
}

group_may_select() {
	folded $gina "&user=$bob" && has_comm bobs && only_comms bobs &&
		"$pilotlight" report --last 10min --user root --exe roots -o - >"$tmp/report" &&
		grep -q deep_work "$tmp/report" && ! "$pilotlight" report --last 10min --user root --exe alices -o - 2>/dev/null &&
		asks $gina 200 http://localhost/metrics
}

# Three users ask all the time, on more connections than they get.
flood() {
	local user

	for user in $alice $bob $carol; do
		for _ in {1..12}; do
			start setpriv --reuid=$user --regid=$user --clear-groups -- \
				bash -c 'while :; do curl -s --unix-socket "$0" "$1"; sleep 0.1; done' \
				"$PILOTLIGHT_SOCKET" "$api/profile?last=10min"
		done
	done
	floods=("${started[@]: -36}")
}

answers_others() {
	local user

	for user in 0 $gina 0 $gina; do
		asks "$user" 200 "$api/profile?last=10min" && asks "$user" 200 http://localhost/metrics || return
	done
	note "$(grep '^pilotlight_http_responses_total' "$tmp/answer" | tr '\n' ' ')"
}

end_flood() {
	kill "${floods[@]}" && wait "${floods[@]}" 2>/dev/null
}

# Without SelfAccess=yes the mode of the socket opens nothing.
others_are_strangers() {
	local path

	for path in / /metrics "/api/v1/profile?last=1min&user=$alice" /none; do
		asks $alice 403 "http://localhost$path" && grep -q 'SelfAccess=yes' "$tmp/answer" || return
	done
}

# configure YES|NO
configure() {
	printf '[History]\nWindow=2s\n[Sampling]\nMaxCostPercent=50\n[Api]\nGroup=nogroup\nSelfAccess=%s\n' "$1" \
		>"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# As systemd starts it: with a socket that the service did not make.
start_with_socket() {
	cat >"$tmp/activate" <<END
#!/usr/bin/env python3
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("$PILOTLIGHT_SOCKET")
os.chown("$PILOTLIGHT_SOCKET", 0, $nogroup)
os.chmod("$PILOTLIGHT_SOCKET", 0o660)
listener.listen()
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"], os.environ["LISTEN_PID"] = "1", str(os.getpid())
os.execv("$real", ["$real"] + sys.argv[1:])
END
	chmod +x "$tmp/activate"
	rm -f "$PILOTLIGHT_SOCKET"
	pilotlightd=$tmp/activate
	start_service
}

warns_of_mode() {
	grep -q 'SelfAccess=yes has no effect.*SocketMode=0666' "$tmp/service.log"
}

own_by_inherited_socket() {
	chmod 666 "$PILOTLIGHT_SOCKET" && alice_sees_hers && sees_all $gina
}

plan 27
real=$pilotlightd
configure yes
nogroup=$(getent group nogroup | cut -d: -f3)
chgrp "$nogroup" "$RUNTIME_DIRECTORY" && chmod 2755 "$RUNTIME_DIRECTORY"
mkdir "$tmp/bin"
cp "$workloads/shares" "$tmp/bin/alices"
cp "$workloads/shares" "$tmp/bin/suids"
cp "$workloads/deep" "$tmp/bin/bobs"
cp "$workloads/deep" "$tmp/bin/roots"
chmod 4755 "$tmp/bin/suids"
check "the service starts" start_service
socket_is_public() { [ "$(stat -c '%a %G' "$PILOTLIGHT_SOCKET")" = "666 nogroup" ]; }
check "every user may connect" socket_is_public
start_as $alice "$tmp/bin/alices"
start_as $alice "$tmp/bin/suids"
start_as $bob "$tmp/bin/bobs"
start "$tmp/bin/roots" 600
alices_pid=${started[0]} suids_pid=${started[1]} bobs_pid=${started[2]}
is_setuid() { [ "$(awk '$1 == "Uid:" { print $2, $3 }' "/proc/$suids_pid/status")" = "$alice 0" ]; }
wait_for 10 is_setuid
check "a program runs with another user's rights" is_setuid
check "the samples of all are in the history" wait_for 60 everyone_was_sampled
# All answers are about these samples, and come sooner without the load.
kill -STOP "${started[@]}"
check "root sees everything" sees_all 0
check "a member of the socket's group sees everything" sees_all $gina
check "the group may select users" group_may_select
check "a user sees their own stacks alone" alice_sees_hers
check "another user sees theirs" bob_sees_his
check "a setuid program belongs to the user who runs it" has_setuid_program
check "its losses are not shown" knows_no_losses $alice
check "a flame graph is the user's own" svg_is_own
check "a table is the user's own, with its totals" table_is_own
check "a pprof profile is the user's own" pprof_is_own
check "a difference is the user's own" difference_is_own
check "all other endpoints are refused" others_are_refused
check "parameters do not widen what is seen" parameters_do_not_widen
check "suggestions are the user's own" suggestions_are_own
check "a user without samples learns nothing" carol_sees_nothing
check "the command shows the same, and the refusal" command_works
flood
check "a flood of users' queries does not shut others out" answers_others
end_flood
engine=$(role_pids engine)
is_replaced() { [ -n "$(role_pids engine)" ] && [ "$(role_pids engine)" != "$engine" ] && "$pilotlight" status; }
configure no
kill -HUP "$service_pid"
wait_for 60 is_replaced
chmod 666 "$PILOTLIGHT_SOCKET"
check "without the setting they are refused" others_are_strangers
check "and the group still sees everything" sees_all $gina
check "the service ends" stop_service
configure yes
: >"$tmp/service.log"
check "it starts with a socket of systemd" start_with_socket
check "it warns if only the group may connect" warns_of_mode
check "the group of that socket sees everything, and users their own" own_by_inherited_socket
stop_service
finish
