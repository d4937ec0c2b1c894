#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Are incidents noted, kept, and is the culprit on top of their comparison with the hour before? Run it as root:
#
#	make && make workloads && tests/bench/incidents.sh [ROUNDS]
#
# Beside a steady load, ROUNDS (2) times each: a CPU hog, a lock convoy, a cgroup that is throttled, and one that is short
# of memory (version 1 of cgroups for the last two). Each lasts SECONDS_EACH (8) seconds, after SECONDS_BETWEEN (30)
# seconds without. Prints for each whether it was noted, the cause, the rank of the culprit's program among the functions
# whose own time has grown (1: on top), and the sampling rate. `make check` tries one of them
# (end_to_end/service_incidents.sh). No figure makes it fail.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

[ "$(id -u)" = 0 ] && need_service && has_cgroup2 || { echo "incidents: needs root, and a cgroup2 to write" >&2; exit 1; }
rounds=${1:-2} seconds=${SECONDS_EACH:-8} between=${SECONDS_BETWEEN:-30}
culprit=$tmp/culprit
cp "$workloads/incident" "$culprit"
head -c 67108864 /dev/zero >"$tmp/file"
version1=
[ ! -e /sys/fs/cgroup/cpu/tasks ] || version1=/sys/fs/cgroup
printf '%s\n' '[Sampling]' MaxCostPercent=2 '[History]' Window=5s '[Incidents]' CoolDown=1s PerDay=200 UnitCpuTimes=4 \
	UnitCpuPercent=${UNIT_CPU_PERCENT:-40} MemoryPressurePercent=5 ThrottledPercent=30 RaisedHz=499 RaiseFor=20s \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"

# inject KIND NUMBER: runs one in a cgroup of its own, and waits for its end.
inject() {
	local unit=/incident-$1-$2-$$.service group

	case $1 in
	throttled)
		group=$version1/cpu$unit
		mkdir "$group" && cgroups+=("$group") && echo 20000 >"$group/cpu.cfs_quota_us"
		in_cgroup "$unit" bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$culprit" hog "$seconds"
		;;
	squeeze)
		group=$version1/memory$unit
		mkdir "$group" && cgroups+=("$group") && echo 8388608 >"$group/memory.limit_in_bytes"
		in_cgroup "$unit" bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
			"$culprit" squeeze "$seconds" "$tmp/file"
		;;
	*) in_cgroup "$unit" "$culprit" "$1" "$seconds" ;;
	esac
	wait "${started[-1]}"
}

# noted_since TIME KIND: an incident from then on, the first that names the cgroup, or else that is of the host: number and
# cause. Other units of a busy machine have incidents, too.
noted_since() {
	"$pilotlight" incidents --json | python3 -c '
import json, sys
later = [one for one in json.load(sys.stdin)["incidents"] if one["time"] >= float(sys.argv[1])]
of_host = [one for one in later if one["cause"] not in ("unit-cpu", "throttled")]
for one in [one for one in later if "incident-" + sys.argv[2] in one["text"]] + of_host:
    print(one["number"], one["cause"])
    break' "$1" "$2"
}

# The rank of the culprit among what has grown: by its binary, or the kernel on its behalf.
rank() {
	"$pilotlight" export --incident "$1" --comm culprit -o "$tmp/culprit.folded" >/dev/null 2>&1
	"$pilotlight" diff -f txt -n 0 --normalise time --incident "$1" 2>/dev/null | python3 -c '
import re, sys
own = set()
for line in open(sys.argv[1]):
    own.add(line.rsplit(" ", 1)[0].split(";")[-1].rsplit("_[", 1)[0])
rank = 0
for line in sys.stdin:
    found = re.match(r" +[0-9.]+ +[0-9.]+ +\+[0-9.]+ +[0-9.]+ +[0-9.]+ +[-+0-9.]+  (\S+) +(.*?)  +(\S.*)$", line)
    if not found:
        continue
    rank += 1
    if "/culprit" in found[3] or (found[1] == "kernel" and found[2] in own):
        print(rank)
        break
else:
    print("-")' "$tmp/culprit.folded"
}

start_service || exit 1
start "$workloads/fifty_ms"
start nice "$workloads/shares" 100000
sleep 60
kinds="hog convoy"
[ -z "$version1" ] || kinds="$kinds throttled squeeze"
noted=0 top=0 all=0
printf '%-10s %-16s %5s %6s\n' kind cause rank Hz
for ((round = 1; round <= rounds; round++)); do
	for kind in $kinds; do
		sleep "$between"
		begun=$(date +%s)
		inject "$kind" "$round"
		rate=$(metric pilotlight_sampling_rate_hertz)
		sleep 12
		read -r number cause < <(noted_since "$begun" "$kind") || number='' cause=-
		place=-
		[ -z "$number" ] || place=$(rank "$number")
		all=$((all + 1)) noted=$((noted + (${#number} > 0))) top=$((top + (${place/-/0} == 1)))
		printf '%-10s %-16s %5s %6s\n' "$kind" "$cause" "$place" "$rate"
	done
done
echo "$noted of $all noted, the culprit on top of $top; incidents in all: $("$pilotlight" incidents | grep -c .)"
metrics | grep -E '^pilotlight_cost_ratio'
stop_service
