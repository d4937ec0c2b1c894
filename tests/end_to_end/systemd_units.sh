#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the units with systemd's tools, without starting them: they are valid, confined, and the manual explains
# every remaining privilege. tests/vm/boot_systemd starts them.
# Runs beside others: it only reads files.
. "$(dirname "$0")/lib.sh"

EXPOSURE_MAX=20 # tenths
FETCH_EXPOSURE_MAX=13
SEND_EXPOSURE_MAX=13
EVENTS_EXPOSURE_MAX=10
FAILED_EXPOSURE_MAX=13

prepare() {
	mkdir -p "$tmp/root/usr/lib/systemd/system" "$tmp/root/usr/sbin" "$tmp/root/bin"
	cp "$root"/systemd/pilotlightd.{service,socket} "$root"/systemd/pilotlight-{fetch,send,events}{.socket,@.service} \
		"$root/systemd/pilotlight-failed@.service" \
		"$tmp/root/usr/lib/systemd/system/"
	# The files that the units name must exist, but are not executed.
	cp "$(type -P true)" "$tmp/root/usr/sbin/pilotlightd"
	mkdir -p "$tmp/root/usr/bin"
	cp "$(type -P true)" "$tmp/root/usr/bin/pilotlight"
	cp "$(type -P true)" "$tmp/root/bin/sh"
	for unit in sysinit.target basic.target shutdown.target multi-user.target sockets.target \
		system.slice -.slice -.mount tmp.mount; do
		file=$(find /lib/systemd/system /usr/lib/systemd/system -name "$unit" 2>/dev/null | head -n 1)
		[ -z "$file" ] || cp "$file" "$tmp/root/usr/lib/systemd/system/"
	done
}

are_sound() {
	systemd-analyze verify --man=no --root="$tmp/root" pilotlightd.service pilotlightd.socket \
		pilotlight-fetch.socket pilotlight-fetch@1.service \
		pilotlight-send.socket pilotlight-send@1.service \
		pilotlight-events.socket pilotlight-events@1.service pilotlight-failed@getty@tty1.service.service \
		>"$tmp/log" 2>&1
	[ $? = 0 ] && ! grep pilotlight "$tmp/log" && return
	note "$(cat "$tmp/log")"
	return 1
}

# A unit with a mistake is rejected. Otherwise the test above would prove nothing.
mistakes_are_seen() {
	sed -i.kept 's/^ProtectSystem=/ProtectSistem=/' "$tmp/root/usr/lib/systemd/system/pilotlightd.service"
	! are_sound >/dev/null
	local status=$?

	mv "$tmp/root/usr/lib/systemd/system/pilotlightd.service"{.kept,}
	return $status
}

# security UNIT OPTION...
security() {
	systemd-analyze security --offline=true --no-pager "${@:2}" "$root/systemd/$1" 2>"$tmp/err"
}

# is_closed UNIT TENTHS
is_closed() {
	security "$1" --threshold="$2" >"$tmp/log" && return
	note "$(grep -E '✗|→' "$tmp/log")" "$(cat "$tmp/err")"
	return 1
}

# For each open point, prints the word that the manual must have: the capability, the group of system calls or
# the setting.
open_points() {
	security pilotlightd.service --json=short | python3 -c '
import json, re, sys
for point in json.load(sys.stdin):
    if point["set"] or not point["exposure"]:
        continue
    name = point["name"]
    for capability in re.findall(r"CAP_[A-Z_()|*]+", name):
        name = "CAP_DAC_READ_SEARCH" if "DAC_" in capability else capability
    group = re.search(r"~(@[a-z-]+|AF_[A-Z]+)", name)
    print(group.group(1) if group else name.split("=")[0])
'
}

open_points_are_told() {
	local point

	open_points >"$tmp/points"
	[ -s "$tmp/points" ] || { note "no points: $(cat "$tmp/err")"; return 1; }
	while read -r point; do
		sed -n '/^\.Sh SECURITY/,/^\.Sh COST/p' "$root/daemon/pilotlightd.8" |
			grep -qF -- "$point" && continue
		note "$point is open, and the manual does not say why"
		return 1
	done <"$tmp/points"
}

# The broker's capabilities equal those in the manual.
capabilities_are_those() {
	local wanted='CAP_BPF CAP_PERFMON CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE CAP_SYSLOG'

	[ "$(sed -n 's/^AmbientCapabilities=//p' "$root/systemd/pilotlightd.service")" = "$wanted" ] &&
		[ "$(sed -n 's/^CapabilityBoundingSet=//p' "$root/systemd/pilotlightd.service")" = "$wanted" ]
}

# setting UNIT NAME: prints all values.
setting() { sed -n "s/^$2=//p" "$root/systemd/$1"; }

# is_apart fetch|send: the unit has another user than the service, no capability, and a socket that only the service
# may use.
is_apart() {
	[ "$(setting "pilotlight-$1@.service" User)" = "pilotlight-$1" ] &&
		grep -q "^u pilotlight-$1 " "$root/systemd/sysusers.conf" &&
		grep -qx 'CapabilityBoundingSet=' "$root/systemd/pilotlight-$1@.service" &&
		[ -z "$(setting "pilotlight-$1@.service" AmbientCapabilities)" ] &&
		[ "$(setting "pilotlight-$1.socket" SocketUser)" = "$(setting pilotlightd.service User)" ] &&
		[ "$(setting "pilotlight-$1.socket" SocketMode)" = 0600 ] &&
		grep -qxF "Environment=PILOTLIGHT_${1^^}_SOCKET=$(setting "pilotlight-$1.socket" ListenSequentialPacket)" \
			"$root/systemd/pilotlightd.service"
}

# CAP_SYS_ADMIN is in a unit of its own, and only the service may use its socket.
events_are_apart() {
	[ "$(setting pilotlight-events@.service DynamicUser)" = yes ] &&
		[ "$(setting pilotlight-events@.service CapabilityBoundingSet)" = CAP_SYS_ADMIN ] &&
		[ "$(setting pilotlight-events@.service PrivateNetwork)" = yes ] &&
		[ "$(setting pilotlight-events.socket SocketUser)" = "$(setting pilotlightd.service User)" ] &&
		[ "$(setting pilotlight-events.socket SocketMode)" = 0600 ] &&
		grep -qxF "Environment=PILOTLIGHT_EVENT_SOCKET=$(setting pilotlight-events.socket ListenSequentialPacket)" \
			"$root/systemd/pilotlightd.service"
}

# The service itself has no network.
service_has_no_network() {
	[ "$(setting pilotlightd.service PrivateNetwork)" = yes ] &&
		[ "$(setting pilotlightd.service RestrictAddressFamilies)" = AF_UNIX ]
}

failed_is_a_member() {
	[ "$(setting pilotlight-failed@.service DynamicUser)" = yes ] &&
		[ "$(setting pilotlight-failed@.service SupplementaryGroups)" = "$(setting pilotlightd.socket SocketGroup)" ] &&
		[ -z "$(setting pilotlight-failed@.service CapabilityBoundingSet)" ] &&
		[ "$(setting pilotlight-failed@.service PrivateNetwork)" = yes ] &&
		[ "$(setting pilotlight-failed@.service ConditionPathExists)" = "$(setting pilotlightd.socket ListenStream)" ]
}

need_commands systemd-analyze
plan 14
prepare
check "the units are valid" are_sound
check "a mistake is found" mistakes_are_seen
check "systemd-analyze security: at most $EXPOSURE_MAX tenths" is_closed pilotlightd.service $EXPOSURE_MAX
check "... and at most $FETCH_EXPOSURE_MAX for fetches" is_closed pilotlight-fetch@.service $FETCH_EXPOSURE_MAX
check "... and at most $SEND_EXPOSURE_MAX for sending" is_closed pilotlight-send@.service $SEND_EXPOSURE_MAX
check "... and at most $EVENTS_EXPOSURE_MAX for perf events" is_closed pilotlight-events@.service $EVENTS_EXPOSURE_MAX
check "... and at most $FAILED_EXPOSURE_MAX for noting failed units" is_closed pilotlight-failed@.service $FAILED_EXPOSURE_MAX
check "noting a failed unit needs no more than the group of the socket" failed_is_a_member
if has python3; then
	check "the manual explains every open point" open_points_are_told
else
	skip "the manual explains every open point" "needs python3"
fi
check "the broker has exactly six capabilities" capabilities_are_those
check "the unit for fetches has its own user and socket" is_apart fetch
check "the unit for sending has its own user and socket" is_apart send
check "the unit for perf events has one capability, its own user and socket" events_are_apart
check "the service itself has no network" service_has_no_network
finish
