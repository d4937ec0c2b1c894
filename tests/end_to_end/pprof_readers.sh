#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Readers of other projects open our pprof and folded files: Go's pprof (built from Debian's source packages),
# pprof-format and speedscope (from npm). First a profile of known contents (tests/bench/pprof_fixture.c), then a
# recording.
# Runs beside others: it judges what files say, of samples however few.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
fixture=$(dirname "$pilotlight")/bench/pprof_fixture
readers=$(dirname "${BASH_SOURCE[0]}")/pprof_readers.mjs

# --- the readers -------------------------------------------------------------------------------

# Sets $pprof, or $no_pprof to the reason of a skip. Prefers Debian's Go, which has a compiled standard library
# and fits the age of Debian's sources.
build_go_pprof() {
	local go

	no_pprof='no Go compiler (golang-go)'
	for go in /usr/bin/go $(type -ap go); do
		[ -x "$go" ] || continue
		no_pprof='no pprof that it can build (golang-github-google-pprof-dev)'
		env -u GOROOT GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS= GOTOOLCHAIN=local \
			GOCACHE="$tmp/go-cache" "$go" build -o "$tmp/go-pprof" \
			github.com/google/pprof 2>"$tmp/go.log" || continue
		pprof=$tmp/go-pprof
		return
	done
}

# Sets $modules, or $no_npm to the reason of a skip.
install_npm_readers() {
	modules=$tmp/modules
	mkdir -p "$modules"
	if ! has node || ! has npm; then
		no_npm='no node or npm'
	elif ! (cd "$modules" && echo '{}' >package.json && timeout 120 npm install --no-fund \
		--no-audit --ignore-scripts pprof-format@2.3.2 speedscope@1.25.0 >"$tmp/npm.log" 2>&1); then
		no_npm='npm cannot have pprof-format@2.3.2 and speedscope@1.25.0'
	fi
}

# go_check NAME COMMAND...: a check that needs Go's pprof. npm_check is for checks that need the npm readers.
go_check() {
	if [ -n "$pprof" ]; then check "$@"; else skip "$1" "$no_pprof"; fi
}

npm_check() {
	if [ -z "$no_npm" ]; then check "$@"; else skip "$1" "$no_npm"; fi
}

# Runs pprof without this machine's binaries, which differ from the fixture's.
go_pprof() {
	HOME=$tmp PPROF_TMPDIR=$tmp TZ=UTC "$pprof" -symbolize=none "$@" 2>"$tmp/pprof.log" ||
		{ note "$(cat "$tmp/pprof.log")"; return 1; }
}

# prints COMMAND...: the command's output has every line of standard input; spaces are ignored.
prints() {
	local output line status=0

	output=$("$@" | tr -s ' \t' ' ' | sed 's/^ //; s/ $//') || return 1
	while IFS= read -r line; do
		grep -qxF -- "$line" <<<"$output" || { note "missing: $line"; status=1; }
	done
	[ $status = 0 ] || note "$output"
	return $status
}

read_with() {
	local reader=$1

	node "$readers" "$reader" "$modules" "$2" 2>"$tmp/node.log" ||
		{ note "$(cat "$tmp/node.log")"; return 1; }
}

# --- the known profile -------------------------------------------------------------------------

write_known_profile() {
	"$fixture" "$tmp/known.pb.gz" && "$fixture" "$tmp/known.folded"
}

top_is_right() {
	prints go_pprof -top "$tmp/known.pb.gz" <<-'END'
		Type: cpu
		Duration: 1s, Total samples = 1000ms ( 100%)
		600ms 60.00% 60.00% 600ms 60.00% find_match (inline)
		250ms 25.00% 85.00% 250ms 25.00% ksys_write
		100ms 10.00% 95.00% 100ms 10.00% js:render élément
		50ms 5.00% 100% 50ms 5.00% [lost: ring full]
		0 0% 100% 600ms 60.00% lzma_encode
		0 0% 100% 850ms 85.00% main
	END
}

counts_are_right() {
	prints go_pprof -top -sample_index=samples "$tmp/known.pb.gz" <<-'END'
		60 60.00% 60.00% 60 60.00% find_match (inline)
		25 25.00% 85.00% 25 25.00% ksys_write
		10 10.00% 95.00% 10 10.00% js:render élément
	END
}

lines_are_right() {
	prints go_pprof -lines -top "$tmp/known.pb.gz" <<-'END'
		600ms 60.00% 60.00% 600ms 60.00% find_match match.h:12 (inline)
		100ms 10.00% 95.00% 100ms 10.00% js:render élément app.js:7
		0 0% 100% 600ms 60.00% lzma_encode encoder.c:200
		0 0% 100% 850ms 85.00% main xz.c:30
	END
}

# Writes source files with numbered lines.
listing_is_right() {
	mkdir -p "$tmp/source"
	seq -f 'source line %g' 300 | tee "$tmp/source/match.h" >"$tmp/source/encoder.c"
	prints go_pprof -source_path="$tmp/source" -list 'find_match|lzma_encode' \
		"$tmp/known.pb.gz" <<-'END'
			ROUTINE ======================== find_match in match.h
			600ms 600ms (flat, cum) 60.00% of Total
			600ms 600ms 12:source line 12
			ROUTINE ======================== lzma_encode in encoder.c
			0 600ms (flat, cum) 60.00% of Total
			. 600ms 200:source line 200
		END
}

# The stack of the system call, leaf first, with its labels.
traces_are_right() {
	local trace

	trace=$(go_pprof -traces "$tmp/known.pb.gz" | tr -s ' ' | sed -n '/tid: 4242/,/^---/p') || return 1
	[ "$trace" = "$(printf ' tid: 4242\n 250ms ksys_write\n entry_SYSCALL_64\n [libc.so.6]\n main\n%s' \
		'-----------+-------------------------------------------------------')" ] ||
		{ note "$trace"; return 1; }
}

tags_are_right() {
	prints go_pprof -tags "$tmp/known.pb.gz" <<-'END'
		comm: Total 950.0ms
		850.0ms (89.47%): xz
		100.0ms (10.53%): node
		pid: Total 950.0ms
		850.0ms (89.47%): 4242
		600.0ms (63.16%): 4243
	END
}

raw_is_right() {
	prints go_pprof -raw "$tmp/known.pb.gz" <<-'END'
		PeriodType: cpu nanoseconds
		Period: 10000000
		samples/count cpu/nanoseconds[dflt]
		60 600000000: 1 2
		1: 0x402020 M=2 find_match match.h:12 s=0
		lzma_encode encoder.c:200 s=0
		5: 0x403030 M=3
		7: 0x0 [truncated: depth] :0 s=0
		1: 0x0/0x0/0x0 [kernel.kallsyms] [FN]
		2: 0x401000/0x411000/0x1000 /usr/bin/xz abababababababababababababababababababab [FN][FL][LN][IN]
		3: 0x401000/0x411000/0x1000 /usr/lib/libc.so.6 cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
		4: 0x0/0x0/0x0 [jit] [FN][FL][LN]
	END
}

comments_are_right() {
	prints go_pprof -comments "$tmp/known.pb.gz" <<-'END'
		event=cpu-clock
		rate_hz=100
		fired=200
		stored=95
		dropped idle=100
		dropped ring full=5
	END
}

pprof_format_agrees() {
	prints read_with pprof "$tmp/known.pb.gz" <<-'END'
		samples 100 cpu 1000000000 distinct 4
	END
}

# speedscope shows only the outermost of inlined frames.
speedscope_opens_pprof() {
	prints read_with speedscope "$tmp/known.pb.gz" <<-'END'
		total 1000000000 nanoseconds
		600000000 600000000 lzma_encode
		250000000 250000000 ksys_write
		0 850000000 main
		50000000 50000000 [lost: ring full]
	END
}

speedscope_opens_folded() {
	prints read_with speedscope "$tmp/known.folded" <<-'END'
		total 100 none
		60 60 find_match_[i]
		25 25 ksys_write_[k]
		10 10 js:render élément_[j]
		0 85 main
		0 85 xz
		5 5 [lost: ring full]
	END
}

# --- a recording -------------------------------------------------------------------------------

# Prints the number of samples. Lost ones are in the output and count too.
recorded() {
	read_accounts "$tmp/recording.pb.gz.log" && echo $((stored + lost))
}

recording_adds_up() {
	local sum

	sum=$(go_pprof -raw "$tmp/recording.pb.gz" |
		awk '/^Samples:/ { on = 1 } /^Locations/ { on = 0 } on && $2 ~ /:$/ { sum += $1 } END { print sum }')
	note "$sum samples, $(recorded) recorded"
	[ -n "$sum" ] && [ "$sum" = "$(recorded)" ]
}

recording_has_identity() {
	local raw

	raw=$(go_pprof -raw "$tmp/recording.pb.gz") || return 1
	grep -qE 'comm:\[shares\]' <<<"$raw" && grep -qE 'pid:\[[0-9]+\] tid:\[[0-9]+\]' <<<"$raw" &&
		grep -qE '/shares [0-9a-f]{40}' <<<"$raw"
}

recording_has_names() {
	go_pprof -top -nodecount=0 -nodefraction=0 "$tmp/recording.pb.gz" >"$tmp/top" &&
		grep -q ' hot_60$' "$tmp/top" && grep -q ' hot_10$' "$tmp/top"
}

pprof_format_agrees_on_the_recording() {
	local text

	text=$(read_with pprof "$tmp/recording.pb.gz") || return 1
	note "$text, $(recorded) recorded"
	[[ $text == "samples $(recorded) "* ]]
}

speedscope_opens_the_recording() {
	read_with speedscope "$tmp/recording.pb.gz" | grep -q 'hot_60'
}

check_recording() {
	local missing=

	[ "$(id -u)" = 0 ] || missing='needs root'
	[ -x "$pilotlight" ] || missing="no $pilotlight"
	if [ -n "$missing" ]; then
		for name in 'a recording is written' "a recording's samples add up to its accounts" \
			'a recording has comm, pid, tid and build-ids' 'a recording has names' \
			'pprof-format agrees on a recording' 'speedscope opens a recording'; do
			skip "$name" "$missing"
		done
		return
	fi
	start_busy_cpus
	check 'a recording is written' record "$tmp/recording.pb.gz" -F 499 -d 3
	stop_started
	go_check "a recording's samples add up to its accounts" recording_adds_up
	go_check 'a recording has comm, pid, tid and build-ids' recording_has_identity
	go_check 'a recording has names' recording_has_names
	npm_check 'pprof-format agrees on a recording' pprof_format_agrees_on_the_recording
	npm_check 'speedscope opens a recording' speedscope_opens_the_recording
}

# --- the types of all events ----------------------------------------------------------------------

# As the field names them, where it does.
types='cpu cpu nanoseconds
offcpu off_cpu nanoseconds
runqueue run_queue nanoseconds
lock lock nanoseconds
block block nanoseconds
block:bytes block_bytes bytes
faults page_faults count
kmem:alloc kmem_alloc bytes
kmem:live kmem_live bytes
kmem:waste kmem_waste bytes
heap:alloc alloc_space bytes
heap:live inuse_space bytes
context-switches context_switches count
sched:sched_process_exec sched_sched_process_exec count'

# has_types TYPE UNIT FILE: of its samples, and of its period.
has_types() {
	local raw

	raw=$(go_pprof -raw "$3") || return
	grep -qx "PeriodType: $1 $2" <<<"$raw" && grep -qx "samples/count $1/$2\[dflt\]" <<<"$raw" && return
	note "$3: $(grep -A 2 -x 'PeriodType.*\|Samples:' <<<"$raw")"
	return 1
}

events_have_their_types() {
	local event type unit status=0

	while read -r event type unit; do
		has_types "$type" "$unit" "$tmp/types.$event.pb.gz" || status=1
	done <<<"$types"
	return $status
}

check_types() {
	local events

	events=$(awk '{ print $1 }' <<<"$types" | paste -sd,)
	if [ "$(id -u)" != 0 ] || ! [ -x "$pilotlight" ]; then
		skip 'each event has its type and unit' "needs root, and $pilotlight"
	# No stacks are judged, and the kernel takes a second to verify walks by tables in each of the many programs.
	elif ! "$pilotlight" record -q --unwind=fp -e "$events" -o "$tmp/types.pb.gz" -- "$workloads/counted" faults 1000 \
		>"$tmp/types.out" 2>"$tmp/types.log"; then
		skip 'each event has its type and unit' "$(tail -n 1 "$tmp/types.log")"
	else
		go_check 'each event has its type and unit' events_have_their_types
	fi
}

pprof='' no_npm=''
plan 19
build_go_pprof
install_npm_readers
check 'the known profile is written' write_known_profile
go_check 'pprof -top has names and times' top_is_right
go_check 'pprof -top has counts' counts_are_right
go_check 'pprof -lines separates lines, also of inlined calls' lines_are_right
go_check 'pprof -list finds the source lines' listing_is_right
go_check 'pprof -traces has stacks, leaf first' traces_are_right
go_check 'pprof -tags has comm, pid and tid' tags_are_right
go_check 'pprof -raw has addresses, lines and build-ids' raw_is_right
go_check 'pprof -comments has the accounts' comments_are_right
npm_check 'pprof-format agrees' pprof_format_agrees
npm_check 'speedscope opens pprof' speedscope_opens_pprof
npm_check 'speedscope opens folded' speedscope_opens_folded
check_recording
check_types
finish
