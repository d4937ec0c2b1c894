#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces kernel memory in the format of kmemtrace. A reader that knows only the format's document checks each byte,
# and perf counts the same allocations.
. "$(dirname "$0")/lib.sh"

need_root
need_programs
need_commands python3 perf

check_trace=$root/tests/harness/kmemtrace_check.py
folder=$tmp/trace
tracer=
churned=20000 kept=1500
site=do_signalfd
pipes=400 # each holds 16 pages

# trace OPTIONS...: starts a trace and waits until it runs.
trace() {
	"$pilotlight" kmem trace --root "$folder" "$@" 2>"$tmp/trace.log" &
	tracer=$!
	started+=($tracer)
	wait_for 30 grep -q '^tracing' "$tmp/trace.log"
}

end_trace() {
	kill -INT $tracer
	wait $tracer
}

# allocate [COMMAND...]: allocates signal descriptors in the kernel, which hardly another program does, and keeps some of them.
allocate() {
	"$@" python3 -c "
import ctypes, os, resource, sys
libc, mask = ctypes.CDLL(None), ctypes.create_string_buffer(128)
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
pipes = [os.pipe() for i in range($pipes)]
for pipe in pipes:
    os.write(pipe[1], bytes(65536))
for i in range($churned):
    os.close(libc.signalfd(-1, mask, 0))
kept = [libc.signalfd(-1, mask, 0) for i in range($kept)]
print('ready', flush=True)
sys.stdin.readline()
"
}

# Prints a filter of perf for allocations in $site. The kernel lists its own symbols by address.
site_filter() {
	awk -v site="^$site" '$2 !~ /[tT]/ { next }
		begin && $1 != begin { print "call_site > 0x" begin " && call_site <= 0x" $1; exit }
		$3 ~ site { begin = $1 }' /proc/kallsyms
}

# check_folder FOLDER: the strict reader accepts it. Its sums are in $tmp/checked.json.
check_folder() {
	python3 -B "$check_trace" "$1" >"$tmp/checked.json" || return
	note "$(cat "$tmp/checked.json")"
}

# member NAME: prints that number of the JSON on standard input.
member() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# of_site NAME [SITE]: prints that number of the call site, of $tmp/report.json.
of_site() {
	python3 -c '
import json, sys
sites = json.load(open(sys.argv[1]))["call_sites"]
print(sum(site[sys.argv[3]] for site in sites if site.get("function", "").startswith(sys.argv[2])))' \
		"$tmp/report.json" "${2:-$site}" "$1"
}

within_1_percent() {
	note "$1 and $2"
	[ $(($1 * 100)) -ge $(($2 * 99)) ] && [ $(($1 * 100)) -le $(($2 * 101)) ]
}

sums_agree() {
	local name

	for name in events missing allocations frees requested_bytes allocated_bytes; do
		[ "$(member $name <"$tmp/checked.json")" = "$(member $name <"$tmp/report.json")" ] || return
	done
}

# The table has a row with what stays of the call site.
table_has_row() {
	local line

	"$pilotlight" kmem read --sort live --kallsyms /proc/kallsyms -n 0 "$folder" >"$tmp/live"
	line=$(grep " $site" "$tmp/live" | head -n 1)
	note "$(head -n 1 "$tmp/live")"
	note "$line"
	note "$(tail -n 3 "$tmp/live")"
	# shellcheck disable=SC2086
	set -- $line
	within_1_percent "${1:-0}" $((churned + kept))
}

stacks_have_the_caller() {
	python3 - "$folder/stacks" <<-'END'
		import re, sys
		symbols = sorted((int(address, 16), name) for address, kind, name in
		    (line.split()[:3] for line in open("/proc/kallsyms")) if kind in "tT")
		start = next(address for address, name in symbols if name.startswith("do_signalfd"))
		end = next(address for address, _ in symbols if address > start)
		lines = [line.split() for line in open(sys.argv[1])]
		assert all(re.fullmatch("[0-9]+", line[0]) for line in lines)
		sys.exit(not any(start <= int(address, 16) < end for line in lines for address in line[1:]))
	END
}

plan 12
filter=$(site_filter)

# All events in files, and what perf counts meanwhile.
# The buffer holds the whole, however busy the machine is.
check "a trace starts" trace --files --stacks --pages --buffer 64M
mkfifo "$tmp/go"
exec 3<>"$tmp/go"
allocate perf stat -a -x, -o "$tmp/perf.csv" -e kmem:kmalloc --filter "$filter" <&3 >"$tmp/ready" &
worker=$!
wait_for 60 grep -q ready "$tmp/ready"
end_trace
status=$?
echo >&3
wait $worker
check "Ctrl-C ends it" [ $status = 0 ]
note "$(cat "$tmp/trace.log")"
check "a strict reader accepts each byte" check_folder "$folder"
"$pilotlight" kmem read --json --rows 0 --kallsyms /proc/kallsyms "$folder" >"$tmp/report.json"
check "our reader has the same sums" sums_agree
hits=$(awk -F, '/kmem:kmalloc/ { print $1 }' "$tmp/perf.csv")
check "as many allocations as perf counts" within_1_percent "$(of_site allocations)" "${hits:-0}"
check "what stays is live" within_1_percent "$(of_site live)" $kept
check "the table has it" table_has_row
# Until Linux 6.17 the function was pipe_write().
check "pages are live where they were allocated" within_1_percent \
	$(($(of_site live anon_pipe_write) + $(of_site live pipe_write))) $((pipes * 16))
check "stacks lead to the call site" stacks_have_the_caller

# A stream without a reader costs no other stream its events: all that happens on CPU 0 is in its stream.
rm -r "$folder"
trace --buffer 64M
nice -n -20 cat "$folder/cpu0" >"$tmp/cpu0.out" &
reader=$!
allocate taskset -c 0 </dev/null >/dev/null
end_trace
wait $reader
mkdir "$tmp/one"
mv "$tmp/cpu0.out" "$folder"/[ta]* "$tmp/one"
chmod 0400 "$tmp/one/cpu0.out"
check "a strict reader accepts the one stream that was read" check_folder "$tmp/one"
"$pilotlight" kmem read --json --rows 0 --kallsyms /proc/kallsyms "$tmp/one" >"$tmp/report.json"
check "it has all allocations of its CPU" within_1_percent "$(of_site allocations)" $((churned + kept))

# FIFOs are read while they are written, and end with the trace.
trace --buffer 64M
nice -n -20 "$pilotlight" kmem read --json --rows 0 "$folder" >"$tmp/report.json" &
reader=$!
allocate </dev/null >/dev/null
end_trace
wait $reader
check "a running trace is read until it ends" within_1_percent "$(of_site allocations)" $((churned + kept))
finish
