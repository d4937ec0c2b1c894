#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Are incidents noted, kept, and is the culprit on top of their comparison with the hour before? Run it as root:
#
#	make && make workloads && tests/bench/incidents.sh [INCIDENTS]
#
# Beside a steady load, INCIDENTS (8) of 2 to 30 s, in turn: a CPU hog, a lock convoy, a cgroup that is throttled, and one
# that is short of memory (version 1 of cgroups for the last two). Each is a unit of its own, which begins once the last
# one has ended and was noted, or ten seconds later. 100 take about 15 minutes, and their comparisons some more. Prints
# for each its seconds, the cause, the rank of the culprit's program among the functions whose own time has grown (1: on
# top), and the sampling rate and the cost of the last minute at its end, as the status has them. Then it prints
# the mean of these costs (MaxCostPercent=2 allows 2 %), and what else was noted. On a machine that does other work,
# CULPRIT_SHARES=20480 lets a culprit get most of a CPU (version 1). `make check` tries one of them
# (end_to_end/service_incidents.sh). No figure makes it fail.
. "$(dirname "$0")/../end_to_end/lib.sh"
. "$root/tests/harness/service.sh"

[ "$(id -u)" = 0 ] && need_service && has_cgroup2 || { echo "incidents: needs root, and a cgroup2 to write" >&2; exit 1; }
culprit=$tmp/culprit
cp "$workloads/incident" "$culprit"
head -c 67108864 /dev/zero >"$tmp/file"
version1=
[ ! -e /sys/fs/cgroup/cpu/tasks ] || version1=/sys/fs/cgroup
# A window much longer than an incident would have it on average only.
printf '%s\n' '[Sampling]' MaxCostPercent=2 '[History]' Window=2s '[Incidents]' CoolDown=1s PerDay=200 UnitCpuTimes=4 \
	UnitCpuPercent="${UNIT_CPU_PERCENT:-30}" MemoryPressurePercent=5 ThrottledPercent=30 RaisedHz=499 RaiseFor=20s \
	>"$CONFIGURATION_DIRECTORY/pilotlight.conf"

# inject KIND SECONDS UNIT: runs one in cgroups of its own, and waits for its end.
inject() {
	local kind=$1 arguments=("$1" "$2") unit=/$3 controller folder groups=()

	[ "$kind" != throttled ] || arguments[0]=hog
	[ "$kind" != squeeze ] || arguments+=("$tmp/file")
	for controller in ${version1:+cpu memory}; do
		folder=$version1/$controller$unit
		mkdir "$folder" && cgroups+=("$folder") && groups+=("$folder")
	done
	case ${version1:+$kind} in
	throttled) echo 20000 >"$version1/cpu$unit/cpu.cfs_quota_us" ;;
	squeeze) echo 8388608 >"$version1/memory$unit/memory.limit_in_bytes" ;;
	esac
	[ -z "$version1" ] || echo "${CULPRIT_SHARES:-1024}" >"$version1/cpu$unit/cpu.shares"
	in_cgroup "$unit" bash -c 'for group in $0; do echo $$ >"$group/cgroup.procs" || exit; done; exec "$@"' \
		"${groups[*]}" "$culprit" "${arguments[@]}"
	wait "${started[-1]}"
}

# find_noted LINE UNIT: sets number and cause of an incident that was logged behind that line: the first that names the
# unit, or else that is of the host.
find_noted() {
	local found

	found=$(tail -n "+$(($1 + 1))" "$tmp/service.log" |
		sed -n 's/^.*incident \([0-9]*\), \([a-z-]*\): \(.*\);.*/\1 \2 \3/p' |
		awk -v unit="$2" 'index($0, unit) { own = own ? own : $1 " " $2 }
			$2 !~ /^(unit-cpu|throttled)$/ { host = host ? host : $1 " " $2 }
			END { print own ? own : host }')
	read -r number cause <<<"$found"
	[ -n "$number" ]
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
start nice "$workloads/shares" 100000
sleep 60
before=$(grep -c ': .*incident [0-9]*, ' "$tmp/service.log")
kinds=(hog convoy)
[ -z "$version1" ] || kinds+=(throttled squeeze)
# Their number is odd, so that each kind gets each of them.
lengths=(2 3 4 5 6 8 2 12 30)
found=()
for ((i = 0; i < ${1:-8}; i++)); do
	kind=${kinds[i % ${#kinds[@]}]} seconds=${lengths[i % ${#lengths[@]}]}
	unit=incident-$kind-$i-$$.service line=$(grep -c '' "$tmp/service.log")
	inject "$kind" "$seconds" "$unit"
	rate=$(metric pilotlight_sampling_rate_hertz) cost=$(metric pilotlight_cost_ratio)
	number='' cause=-
	wait_for 10 find_noted "$line" "$unit"
	found+=("$kind $seconds ${cause:--} ${number:--} ${rate:--} ${cost:--}")
done
sleep 35 # what was compared with the last one
noted=0 top=0
printf '%-10s %4s %-16s %6s %5s %6s %8s\n' kind s cause number rank Hz cost
for one in "${found[@]}"; do
	read -r kind seconds cause number rate cost <<<"$one"
	place=-
	[ "$number" = - ] || place=$(rank "$number")
	noted=$((noted + (${#cause} > 1))) top=$((top + (${place/-/0} == 1)))
	printf '%-10s %4s %-16s %6s %5s %6s %8s\n' "$kind" "$seconds" "$cause" "$number" "$place" "$rate" "$cost"
done
echo "$noted of ${#found[@]} noted, the culprit on top of $top; before them $before, and others meanwhile:"
grep ': .*incident [0-9]*, ' "$tmp/service.log" | grep -v 'incident-[a-z]*-[0-9]*-'$$ || echo none
printf '%s\n' "${found[@]}" | awk '{ sum += $6; over += $6 > 0.02 }
	END { printf "cost: %.2f %% of the machine on average, above 2 %% at the end of %d\n", 100 * sum / NR, over }'
stop_service
