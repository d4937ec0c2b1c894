#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bursts of ten times the usual rate of all events that the service counts: samples that come too fast stand for more, so
# that few are taken; the sums stay right; what is lost is counted.
# Runs beside others: it judges what a program of its own does, and bounds that grow with the time it takes.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl

plan 12
hz=997 events=5

cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<END
[Sampling]
FrequencyHz=$hz
MaxCostPercent=100
Events=faults/period=1/ syscalls:sys_enter_getppid kmem:alloc/period=4096/ lock/period=100000/ block:bytes/period=4096/
[History]
Window=5s
END
begun=$EPOCHREALTIME
check "the service starts" start_service

have() {
	"$workloads/burst" "$1" "$2" "$tmp/written" >"$tmp/$1.count" &
}
have faults 20000
have calls 100000
have sockets 2000
have waits 4000
have writes 200
for job in $(jobs -p); do
	[ "$job" = "$service_pid" ] || wait "$job"
done

# Those of the program, by the history.
amount_of() {
	"$pilotlight" export -q -e "$1" --from "@${begun%.*}" --comm burst -f folded -o - 2>"$tmp/export.log" |
		awk '{ sum += $NF } END { print sum + 0 }'
}

# about EVENT WHAT: the history has as many as there were, within what chance may do.
about() {
	local had recorded

	had=$(cat "$tmp/$2.count")
	recorded=$(amount_of "$1")
	note "$had $2, $recorded by the history"
	within "$recorded" "$had" $((had * 3 / 10))
}

at_least_of() {
	local recorded

	recorded=$(amount_of "$1")
	note "$recorded periods of $1"
	at_least "$recorded" "$2"
}

check "page faults add up" about faults faults
check "so do hits of a tracepoint" about syscalls:sys_enter_getppid calls
# A pair has two sockets, inodes and dentries, of a kilobyte and more each.
check "kernel memory is at least what sockets need" at_least_of kmem:alloc $(($(cat "$tmp/sockets.count") * 2048 / 4096 / 2))
check "waits for a futex are there" at_least_of lock 1
if [ "$(cat "$tmp/writes.count")" = 0 ] || [ ! -e "/sys/dev/block/$(stat -c %Hd:%Ld "$tmp")" ]; then
	skip "writes are there" "${tmp%/*} is on no block device"
else
	check "writes are there" at_least_of block:bytes 1
fi

# Samples of a slot of 0.1 s, for each event; then each stands for twice as many, up to 256. A large machine takes more,
# so that it may take all of a burst: then none need be thinned out.
few_are_taken() {
	local slots rate_bound bound thinned stored least=0

	slots=$(awk -v begun="$begun" -v now="$EPOCHREALTIME" 'BEGIN { print int((now - begun) * 10) + 20 }')
	stored=$(metric "pilotlight_source_samples_total{source=\"$1\",outcome=\"stored\"}")
	thinned=$(metric "pilotlight_source_thinned_total{source=\"$1\"}")
	rate_bound=$((hz * cpu_count / 10 / events * slots))
	bound=$((rate_bound + stored / 256))
	[ "$stored" -le "$rate_bound" ] || least=$2
	note "$1: $stored periods stored, $thinned samples thinned out, $least to $bound"
	at_least "$bound" "$thinned" && at_least "$thinned" "$least"
}
check "few samples of page faults are taken" few_are_taken faults 1
check "few of the tracepoint" few_are_taken syscalls:sys_enter_getppid 1
check "few of kernel memory" few_are_taken kmem:alloc 1
check "few of locks, and of block I/O" eval 'few_are_taken lock 0 && few_are_taken block:bytes 0'

counts_losses() {
	[ "$(metric pilotlight_engine_starts_total)" = 1 ] && accounts_of_metrics
}
check "the engine has not failed, and the accounts close" counts_losses
check "the service ends well" stop_service
finish
