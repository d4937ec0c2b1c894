#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Only the chosen units, cgroups and containers are recorded, by `record` and by the service.
# Runs beside others: it judges which programs are recorded, of cgroups with names of its own.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl
has_cgroup2 || skip_all "cgroup2 is not writable here"

slice=/pilotlightchoice$$.slice
id=$(printf '%064x' $$)
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)

plan 17

mkdir "$mount$slice"
# Programs of different names, so that stacks tell them apart.
for name in inner outer later; do
	cp "$workloads/shares" "$tmp/$name"
done
clean_up_choice() {
	clean_up_service
	sleep 0.1
	rmdir "$mount$slice"/*/* "$mount$slice"/* "$mount$slice" 2>/dev/null
}
at_exit clean_up_choice

in_cgroup "$slice/one$$.service" "$tmp/inner" 600
in_cgroup "$slice/two$$.service/docker-$id.scope" "$tmp/outer" 600

# record NAME OPTIONS...: no functions of interpreters are judged, and without them the kernel verifies the sampler faster.
record() {
	"$pilotlight" record --runtime-frames=native -F 999 -d 2 -f folded -o "$tmp/$1.folded" "${@:2}" >"$tmp/$1.log" 2>&1 && return
	note "$(cat "$tmp/$1.log")"
	return 1
}

# has_only NAME PROGRAM OTHER
has_only() {
	grep -q "^$2;" "$tmp/$1.folded" && ! grep -q "^$3;" "$tmp/$1.folded"
}

closes() {
	note "$(grep '^samples' "$tmp/$1.log")"
	grep -Eq '^samples .* [1-9][0-9]* filtered' "$tmp/$1.log"
}

check "a unit is recorded" record unit --unit "one$$"
check "and no other" has_only unit inner outer
check "whose samples count as filtered" closes unit
check "a container is recorded" record container --container "${id:0:60}" --exclude-unit "one$$"
check "and no other unit" has_only container outer inner
check "a slice without a unit is recorded" record slice --cgroup "$slice/" --exclude-unit "one$$.service"
check "without the unit" has_only slice outer inner
check "what nothing belongs to is recorded, too" record none --unit "none$$"
check "and the summary says so" grep -q 'nothing ran in what was chosen' "$tmp/none.log"

wrong_rules_are_refused() {
	! "$pilotlight" record --container 12345 >"$tmp/wrong.log" 2>&1 && grep -q "12 to 64 hexadecimal digits" "$tmp/wrong.log"
}
check "a wrong rule is refused with a remedy" wrong_rules_are_refused

# --- the service -------------------------------------------------------------------------------

configure() {
	printf '[Sampling]\nFrequencyHz=499\nMaxCostPercent=50\n%s\n[History]\nWindow=1s\n' "$1" >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
}

# asks FROM PROGRAM: has the history since then stacks of it?
asks() {
	"$pilotlight" export --from "@$1" -f folded -o - 2>/dev/null | grep -q "^$2;"
}

configure "Include=unit:one$$.service unit:later$$"
begun=$(date +%s)
check "the service starts with Include=" start_service
check "it records the unit" wait_for 60 asks "$begun" inner
in_cgroup "$slice/later$$.service" "$tmp/later" 600
check "and one that starts later" wait_for 60 asks "$begun" later
check "and no other" bash -c '! "$0" export --from "@$1" -f folded -o - | grep -q "^outer;"' "$pilotlight" "$begun"
check "the accounts close" accounts_of_metrics
tells_choice() {
	"$pilotlight" status | grep -q "Only  *unit:one$$.service unit:later$$.service"
}
check "status tells the choice" tells_choice

reloads() {
	configure "Exclude=unit:one$$"
	kill -HUP "$service_pid"
	wait_for 60 asks "$begun" outer
}
check "a reload changes it" reloads
finish
