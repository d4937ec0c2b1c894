#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples of kernel memory: of a program that makes the kernel allocate a known number of objects, and keep some, in
# recordings and in the service's history.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3

churned=20000 kept=2000 filled=600
site=do_signalfd

plan 10

# Each signal descriptor is an open file, and 8 bytes of kmalloc() in $site, which hardly another program calls. A full
# pipe holds 64 KiB in pages; they are filled slowly, so that samples need not get rarer. Does a step for each line of its standard input, and says so.
cat >"$tmp/leaker.py" <<'END'
import ctypes, os, resource, sys, time
libc, mask = ctypes.CDLL(None), ctypes.create_string_buffer(128)
libc.prctl(15, b"leaker", 0, 0, 0)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
kept = []
def do(step):
    if step == "churn":
        os.close(libc.signalfd(-1, mask, 0))
    elif step == "keep":
        kept.append(libc.signalfd(-1, mask, 0))
    elif step == "fill":
        kept.extend(os.pipe())
        os.write(kept[-1], bytes(65536))
        time.sleep(0.01)
    elif kept:
        os.close(kept.pop())
for line in sys.stdin:
    step, count = line.split()
    for i in range(int(count)):
        do(step)
    open(sys.argv[1], "a").write("did %s\n" % step)
END

mkfifo "$tmp/steps"
exec 8<>"$tmp/steps"
leaker=(python3 "$tmp/leaker.py" "$tmp/done")

# leak STEP COUNT: churn, keep, fill or release.
leak() {
	rm -f "$tmp/done"
	echo "$1 $2" >&8
	wait_for 60 grep -qs "^did $1" "$tmp/done"
}

# --- recordings --------------------------------------------------------------------------------

# The command starts once all is sampled.
if ! start_recording -f sites -e kmem:alloc/period=1/,kmem:live/period=1/,kmem:waste/period=1/ -o "$tmp/m.sites" -- \
	sh -c "exec ${leaker[*]} <'$tmp/steps'"; then
	skip_all "no samples of kernel memory here: $(tail -n 1 "$tmp/err")"
fi
leak churn "$churned" && leak keep "$kept"
kill -INT "$recorder"
ended_with 0
# bytes_at EVENT MEMORY SITE
bytes_at() {
	awk -F'\t' -v memory="$2" -v site="$3" '$2 == memory && $3 ~ site { sum += $1 } END { print sum + 0 }' "$tmp/m.$1.sites"
}

# What lives is judged in the history, and exactly in drain/kmem_kernel_test: the command of a recording ends with it, and
# the kernel frees what it kept in the same moments. Thousands of samples come at once, so they get rarer, to one of 256 bytes: of 32 of these objects.
allocates() {
	note "allocated: $(bytes_at kmem:alloc '[kmalloc-8]' "^$site")"
	within "$(bytes_at kmem:alloc '[kmalloc-8]' "^$site")" $((8 * (churned + kept))) $((8 * (churned + kept) / 5))
}

reports_files() {
	"$pilotlight" kmem report --sort live -n 0 "$tmp"/m.*.sites >"$tmp/report" &&
		note "$(head -n 5 "$tmp/report")" &&
		grep -q "  \[kmalloc-8\]  *$site" "$tmp/report" &&
		"$pilotlight" kmem report --json -n 0 "$tmp"/m.kmem:alloc.sites |
		grep '"memory":"\[kmalloc-8\]"' | grep -q "\"call_site\":\"$site"
}

check "what is allocated is counted" allocates
check "the report lists call sites" reports_files

# --- the service -------------------------------------------------------------------------------

# Only the leaker is recorded: what other programs allocate does not make its samples rarer. Its own 100 a second do by
# a factor of 4 at most, so what lives has an error of 8 %.
if ! has_cgroup2; then
	for name in "a leak is found in the history" "it is on top of what lives" "it is in the table, too" \
		"status tells the sources" "pprof has the type of the event" "it leaves when it is released" \
		"the service ends well" "the leaker ends"; do
		skip "$name" "cgroup2 is not writable here"
	done
	finish
	exit
fi
cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<END
[Sampling]
MaxCostPercent=100
Include=unit:leaker$$
KernelMemory=yes
KernelMemoryPeriod=64K
[History]
Window=2s
END
start_service || exit 1
in_cgroup "/leaker$$.service" sh -c "exec ${leaker[*]} <'$tmp/steps'"
leaker_pid=${started[-1]}
leak fill "$filled"

# report SORT: of the leaker, from the last windows.
report() {
	"$pilotlight" kmem report --last 5s --comm leaker --sort "$1" "${@:2}" 2>/dev/null
}

live_bytes() {
	report live --json -n 0 | sed -n 's/.*"memory":"\[pages order 0\]".*"live_bytes":\([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}

lives() {
	note "live: $(live_bytes) of $((65536 * filled))"
	within "$(live_bytes)" $((65536 * filled)) $((65536 * filled / 2))
}

is_on_top() {
	note "$(report live -n 3)"
	report oldest -n 1 | grep -q '> 1 s' &&
		report live -n 1 | grep -q '\[pages order 0\]  *anon_pipe_write\|\[pages order 0\]  *pipe_write'
}

is_gone() {
	[ "$(live_bytes)" -le $((65536 * filled / 10)) ]
}

draws() {
	"$pilotlight" report -e kmem:live --last 5s --comm leaker 2>/dev/null | grep -q '\[pages order 0\]'
}

tells_sources() {
	"$pilotlight" status | grep -q '^  kmem:alloc  *[0-9].* samples of 64' && "$pilotlight" status | grep -q '^  kmem:live  *[0-9]'
}

pprof_has_type() {
	"$pilotlight" export -q -e kmem:alloc --last 8s -o "$tmp/alloc.pb.gz" && gzip -dc "$tmp/alloc.pb.gz" | grep -aq kmem_alloc
}

check "a leak is found in the history" wait_for 30 lives
check "it is on top of what lives" is_on_top
check "it is in the table, too" draws
check "status tells the sources" tells_sources
check "pprof has the type of the event" pprof_has_type
leak release $((2 * filled))
check "it leaves when it is released" wait_for 30 is_gone
check "the service ends well" stop_service
kill "$leaker_pid"
exec 8>&-
check "the leaker ends" wait_for 10 eval "! kill -0 $leaker_pid 2>/dev/null"

finish
