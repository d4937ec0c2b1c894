#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `pilotlight doctor` with all privileges, without privileges, and without /proc and /sys.
# Runs beside others: it judges what the machine has.
. "$(dirname "$0")/lib.sh"

# state NAME: prints the state of a check in $tmp/out.
state() {
	awk -v name="$1" 'index($0, "  " name "  ") && $1 ~ /^(ok|limited|missing|unknown)$/ { print $1; exit }' \
		"$tmp/out"
}

# doctor STATUS COMMAND...: runs COMMAND with standard output in $tmp/out.
doctor() {
	local expected=$1 status

	shift
	timeout 60 "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status = "$expected" ] && [ ! -s "$tmp/err" ] && return
	note "status $status instead of $expected: $(cat "$tmp/err")"
	return 1
}

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# Every limited or missing item has a remedy.
remedies_are_there() {
	[ -s "$tmp/out" ] && awk '
	/^  (limited|missing)/ { if (wants) exit 1; wants = 1 }
	/^           remedy  ./ { wants = 0 }
	END { exit wants }' "$tmp/out"
}

closing_line_is() {
	tail -n 1 "$tmp/out" | grep -q "^$1" && return
	note "$(tail -n 1 "$tmp/out")"
	return 1
}

has_no_escapes() {
	! grep -q $'\033' "$tmp/out"
}

# Runs the command on a new terminal; script(1) passes on its output.
on_terminal() {
	script -qec "$1" /dev/null </dev/null >"$tmp/out" 2>"$tmp/err"
}

json_agrees() {
	python3 - "$tmp/out" "$1" <<'END'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert report["ready"] is (sys.argv[2] == "true"), report["ready"]
assert len(report["checks"]) > 30
for check in report["checks"]:
    assert check["state"] in ("ok", "limited", "missing", "unknown"), check
    assert check["name"] and check["group"] and check["found"], check
    assert check["state"] == "ok" or check["lost"], check
    assert check["state"] != "ok" or (check["lost"] is None and check["remedy"] is None), check
END
}

lacks_landlock() {
	doctor 0 "$workloads/without" landlock "$pilotlight" doctor && [ "$(state Landlock)" = limited ] &&
		remedies_are_there
}

lacks_zydis() {
	local library

	library=$(ldconfig -p | awk '/libZydis\.so\.4/ { print $NF; exit }')
	[ "$library" ] && doctor 0 unshare --mount sh -c 'mount --bind /dev/null "$(readlink -f "$1")" && exec "$2" doctor' \
		sh "$library" "$pilotlight" && [ "$(state 'inferred unwind rules')" = missing ] &&
		[ "$(state 'functions of Python')" = missing ] && remedies_are_there
}

with_all_privileges() {
	check "root: ready" doctor 0 "$pilotlight" doctor
	check "root: the last line says so" closing_line_is "Ready: "
	check "root: capabilities are ok" [ "$(state CAP_BPF)$(state CAP_PERFMON)" = okok ]
	check "root: programs load" [ "$(state 'perf_event programs')" = ok ]
	check "root: everything that is not ok has a remedy" remedies_are_there
	check "root: no Landlock is a limitation" lacks_landlock
	check "root: inferring unwind rules works" [ "$(state 'inferred unwind rules')" = ok ]
	check "root: no Zydis is told" lacks_zydis
	check "root: no colour in a file" has_no_escapes
	check "json: ready" doctor 0 "$pilotlight" doctor --json
	if has python3; then
		check "json: valid" python3 -m json.tool "$tmp/out" "$tmp/json"
		check "json: complete" json_agrees true
	else
		skip "json: valid" "needs python3"
		skip "json: complete" "needs python3"
	fi
	DEBUGINFOD_URLS=$'"quoted\\\x01\xff' check "json: hostile text in the environment" doctor 0 \
		"$pilotlight" doctor --json
	if has python3; then
		check "json: hostile text is escaped" json_agrees true
	else
		skip "json: hostile text is escaped" "needs python3"
	fi
}

with_none() {
	cp "$pilotlight" "$tmp/pilotlight"
	chmod 755 "$tmp/pilotlight"
	check "nobody: not ready" doctor 1 "${nobody[@]}" "$tmp/pilotlight" doctor
	check "nobody: the last line says so" closing_line_is "Not ready: .*CAP_BPF, CAP_PERFMON"
	check "nobody: capabilities are missing" [ "$(state CAP_BPF)" = missing ]
	check "nobody: the state of BPF programs is unknown" [ "$(state 'perf_event programs')" = unknown ]
	check "nobody: everything that is not ok has a remedy" remedies_are_there
	check "one capability: not ready" doctor 1 "${nobody[@]}" \
		--inh-caps=+syslog --ambient-caps=+syslog "$tmp/pilotlight" doctor
	check "one capability: only this one is ok" \
		[ "$(state CAP_SYSLOG) $(state CAP_BPF)" = "ok missing" ]
}

in_namespaces() {
	if unshare --user --map-root-user true 2>/dev/null; then
		check "user namespace: not ready" doctor 1 unshare --user --map-root-user \
			"$pilotlight" doctor
		check "user namespace: capabilities are ok, programs do not load" \
			[ "$(state CAP_BPF) $(state 'perf_event programs')" = "ok missing" ]
	else
		skip "user namespace: not ready" "user namespaces are refused"
		skip "user namespace: capabilities are ok, programs do not load" "user namespaces are refused"
	fi
	skip_without_mounts "pid namespace: ready" "pid namespace: reported as limited" \
		"no /proc, no /sys: not ready" \
		"no /proc, no /sys: BTF is missing, settings are unknown, capabilities are not" && return
	check "pid namespace: ready" doctor 0 unshare --fork --pid --mount-proc "$pilotlight" doctor
	check "pid namespace: reported as limited" [ "$(state 'pid namespace')" = limited ]
	check "no /proc, no /sys: not ready" doctor 1 unshare --mount sh -c \
		'mount -t tmpfs tmpfs /proc && mount -t tmpfs tmpfs /sys && exec "$1" doctor' \
		sh "$pilotlight"
	check "no /proc, no /sys: BTF is missing, settings are unknown, capabilities are not" \
		[ "$(state BTF) $(state kernel.kptr_restrict) $(state CAP_BPF)" = "missing unknown ok" ]
}

# runs PID FILE: the process has executed the file.
runs() {
	[ "/proc/$1/exe" -ef "$2" ]
}
export -f runs wait_for

# doctors_beside FILE: runs doctor while a process executes FILE, with output in $tmp/out, and again after it
# has ended, in $tmp/after. If possible it does so in a pid namespace, because doctor names only some files.
doctors_beside() {
	local alone=()

	! has_mount_namespaces || alone=(unshare --fork --pid --mount-proc)
	"${alone[@]}" bash -c '"$3" &
		wait_for 60 runs $! "$3"
		"$1" doctor >"$2/out"
		kill $!
		wait $! 2>/dev/null
		"$1" doctor >"$2/after"' bash "$pilotlight" "$tmp" "$1"
}

# A running program without unwind information.
unwinding() {
	local silent=$tmp/silent

	if ! has gcc; then
		skip "stacks: a program without unwind information is named" "needs gcc"
		skip "stacks: it is no longer named after it has ended" "needs gcc"
		return
	fi
	echo 'void pause(void); __asm__(".text\n.fill 200000, 1, 0x90"); int main() { pause(); }' |
		gcc -x c - -O2 -fno-asynchronous-unwind-tables -fomit-frame-pointer -o "$silent" 2>"$tmp/err" ||
		note "$(cat "$tmp/err")"
	doctors_beside "$silent"
	check "stacks: a program without unwind information is named" eval \
		'[ "$(state "unwind information")" = limited ] && grep -q "^  *$silent\$" "$tmp/out"'
	check "stacks: it is no longer named after it has ended" eval \
		'[ -s "$tmp/after" ] && ! grep -q "$silent" "$tmp/after"'
}

at_its_edges() {
	check "an unknown option is a usage error" eval \
		'"$pilotlight" doctor --nonsense 2>"$tmp/err"; [ $? = 2 ] && grep -q ^pilotlight: "$tmp/err"'
	check "a full disk is an error" eval \
		'"$pilotlight" doctor 2>"$tmp/err" >/dev/full; [ $? = 1 ] && grep -q "No space" "$tmp/err"'
	if has script; then
		on_terminal "env -u NO_COLOR TERM=xterm $pilotlight doctor"
		check "output on a terminal has colour" eval '! has_no_escapes'
		on_terminal "env NO_COLOR=1 TERM=xterm $pilotlight doctor"
		check "NO_COLOR is respected" has_no_escapes
	else
		skip "output on a terminal has colour" "needs script(1)"
		skip "NO_COLOR is respected" "needs script(1)"
	fi
}

need_root
need_programs
plan 33

with_all_privileges
with_none
in_namespaces
unwinding
at_its_edges
finish
