#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The interface of `pilotlight record`: exit statuses, output formats and messages. A failure leaves no file
# behind.
. "$(dirname "$0")/lib.sh"

# Where only the output is judged: the kernel takes a second at each start to verify walks by tables.
export quick=--unwind=fp

is_folded() {
	[ -s "$1" ] && ! grep -qvE '^.*[^ ] [0-9]+$' "$1"
}

is_pprof() {
	[ "$(head -c 2 "$1" | od -An -tx1)" = " 1f 8b" ] && gzip -t "$1"
}

# Symbols that are not ready in time would add a sentence to standard error.
fill_symbol_cache() {
	local times

	for times in 1 2 3; do
		"$pilotlight" record -a -d 1 -o "$tmp/filled.folded" 2>"$tmp/err"
		grep -q 'were not ready in time' "$tmp/err" || break
	done
	rm -f "$tmp/filled.folded"
}

formats() {
	mkdir "$tmp/formats"
	# An idle machine may have nothing to show.
	start "$workloads/shares" 600
	check "-o x.svg is a flame graph" run 0 record --runtime-frames=native -d 0.5 -o "$tmp/formats/x.svg"
	check "... with its beginning and its end" is_svg "$tmp/formats/x.svg"
	check "-o x.folded succeeds" run 0 record --runtime-frames=native -d 0.5 -o "$tmp/formats/x.folded"
	check "... and is folded stacks" is_folded "$tmp/formats/x.folded"
	check "-o x.pb.gz succeeds" run 0 record --runtime-frames=native -d 0.5 -o "$tmp/formats/x.pb.gz"
	check "... and is gzip from end to end" is_pprof "$tmp/formats/x.pb.gz"
	check "-o x.txt succeeds" run 0 record --runtime-frames=native -d 0.5 -o "$tmp/formats/x.txt"
	check "... and has text" [ -s "$tmp/formats/x.txt" ]
	check "-f overrides the file name's ending" run 0 record $quick -d 0.5 -f folded -o "$tmp/formats/y.svg"
	check "... and is folded stacks" is_folded "$tmp/formats/y.svg"
	check "-o - -f folded succeeds" run 0 record $quick -d 0.5 -f folded -o -
	check "... and standard output has nothing else" is_folded "$tmp/out"
	rm -f "$tmp"/formats/{x,y}.*
	stop_started
	check "no other files are beside the outputs" is_empty_folder "$tmp/formats"
	check "-q succeeds" run 0 record -d 0.5 -q -o "$tmp/quiet.svg"
	check "... and writes nothing to standard error" [ ! -s "$tmp/err" ]
}

usage() {
	check "no subcommand is a usage error" misused
	check "an unknown subcommand is a usage error" misused nonsense
	check "an unknown option is a usage error" misused record --nonsense
	check "-F abc is a usage error" misused record -F abc
	check "-F 0 is a usage error" misused record -F 0
	check "-F -5 is a usage error" misused record -F -5
	check "-F 99999999999999999999 is a usage error" misused record -F 99999999999999999999
	check "-d abc is a usage error" misused record -d abc
	check "-d without its argument is a usage error" misused record -d
	check "-p abc is a usage error" misused record -p abc
	check "-f nonsense is a usage error" misused record -d 1 -f nonsense -o "$tmp/x"
	check "an ending that names no format is a usage error" misused record -d 1 -o "$tmp/x.nonsense"
	check "-p with -a is a usage error" misused record -d 1 -a -p $$
	check "-p with a COMMAND is a usage error" misused record -p $$ -- true
}

commands() {
	local gone

	check "COMMAND's status 0 is passed on" run 0 record -o "$tmp/c.svg" -- true
	check "... and its cost is no share of so short a time" eval '! grep -q "of the machine" "$tmp/err"'
	check "COMMAND's status 7 is passed on" run 7 record -o "$tmp/c.svg" -- sh -c 'exit 7'
	check "... and the output is complete" is_svg "$tmp/c.svg"
	check "COMMAND killed by TERM is 143" run 143 record -o "$tmp/c.svg" -- \
		sh -c 'kill -TERM $$'
	check "COMMAND without -- works, and its options are its own" run 7 record -q \
		-o "$tmp/c.svg" sh -c 'exit 7' -q
	check "a COMMAND that -d ends is no failure" run 0 record -d 0.2 -o "$tmp/c.svg" -- sleep 600
	mkdir "$tmp/none"
	check "a COMMAND that does not exist fails" fails record -o "$tmp/none/c.svg" -- \
		/nonexistent/command
	check "... and leaves nothing behind" is_empty_folder "$tmp/none"
	true &
	gone=$!
	wait "$gone"
	check "recording a process that has ended fails" fails record -d 1 -p "$gone" -o "$tmp/none/p.svg"
	check "... and is named" grep -q "$gone" "$tmp/err"
	check "... and leaves nothing behind" is_empty_folder "$tmp/none"
}

one_process() {
	local pid other

	start "$workloads/shares" 600
	pid=${started[-1]}
	start "$workloads/deep" 600
	other=${started[-1]}
	check "-p records the process" run 0 record -d 2 -F 999 -p "$pid" -o "$tmp/p.folded"
	check "... with its samples" at_least "$(folded_count "$tmp/p.folded" shares hot_60)" 50
	check "... and no other's" [ "$(folded_count "$tmp/p.folded" deep '')" = 0 ]
	check "-p twice records both" run 0 record -d 2 -F 999 -p "$pid" -p "$other" \
		-o "$tmp/p.folded"
	check "... with the samples of the second" at_least \
		"$(folded_count "$tmp/p.folded" deep deep_work)" 50
	check "--no-kernel has no kernel frames" run 0 record -d 0.5 --no-kernel -o "$tmp/u.folded"
	check "... at all" [ "$(grep -c '_\[k\]' "$tmp/u.folded")" = 0 ]
	stop_started
}

# Waits until the recorder is set up and polls.
until_recording() {
	wait_beside "$recorder" grep -qs poll "/proc/$recorder/wchan"
}

# Ctrl-C once the recording runs.
interrupted() {
	start_recording -o "$tmp/int.svg"
	kill -INT "$recorder"
	check "interrupted: exit status 0" ended_with 0
	check "interrupted: the output is complete" is_svg "$tmp/int.svg"
	check "interrupted: the accounts are there" grep -q '^samples ' "$tmp/err"

	mkdir "$tmp/killed"
	start_recording -o "$tmp/killed/x.svg"
	kill -KILL "$recorder"
	check "killed: exit status 137" ended_with 137
	check "killed: nothing is left behind" is_empty_folder "$tmp/killed"
}

# With an engine that hangs, the first Ctrl-C waits for the engine, and the second ends the recording.
hanging_engine() {
	local engine

	mkdir "$tmp/hangs"
	start_recording -o "$tmp/hangs/x.svg"
	until_recording
	engine=$(pgrep -o -P "$recorder" -x pilotlight)
	kill -STOP "$engine"
	wait_beside "$recorder" is_stopped "$engine"
	kill -INT "$recorder"
	# Wait until the first SIGINT is consumed, because two pending ones would merge, as two do that come at once.
	wait_beside "$recorder" eval '! is_pending "$recorder"'
	sleep 0.5
	check "an engine that hangs: a second Ctrl-C" kill -INT "$recorder"
	check "... ends the recording" ended_with 130
	check "... and says so" grep -q '^pilotlight: interrupted while waiting' "$tmp/err"
	check "... and its engine" eval '! kill -0 "$engine" 2>/dev/null'
	check "... and nothing is left behind" is_empty_folder "$tmp/hangs"
}

is_stopped() {
	grep -q '^State:.T' "/proc/$1/status" 2>/dev/null
}

# SIGINT is blocked again. From then on Ctrl-C kills the command.
holds_signals() {
	local mask

	mask=$(sed -n 's/^SigBlk:\t//p' "/proc/$1/status" 2>/dev/null)
	[ $((0x${mask:-0} & 2)) != 0 ]
}

# Returns whether the last SIGINT is still pending.
is_pending() {
	local mask

	mask=$(sed -n 's/^ShdPnd:\t//p' "/proc/$1/status" 2>/dev/null)
	[ $((0x${mask:-0} & 2)) != 0 ]
}

has_written() {
	grep -q '^written to' "$tmp/err" && holds_signals "$recorder"
}

# Commands that do not end on SIGTERM.
stubborn_commands() {
	local ignores='trap "" TERM; : >"$1"; exec sleep 600'
	local name

	start_recording -o "$tmp/s.svg" -- sh -c "$ignores" sh "$tmp/ready.1"
	until_there "$tmp/ready.1"
	kill -INT "$recorder"
	check "a COMMAND that ignores TERM does not block the recorder" ended_with 0
	check "... the output is complete" is_svg "$tmp/s.svg"
	check "... the accounts are there" grep -q '^samples ' "$tmp/err"
	check "... and the message says that it was killed" grep -q 'within 5 s of SIGTERM and was killed' \
		"$tmp/err"

	start_recording -o "$tmp/s.svg" -- sh -c "$ignores" sh "$tmp/ready.2"
	until_there "$tmp/ready.2"
	kill -INT "$recorder"
	wait_beside "$recorder" has_written
	kill -INT "$recorder"
	check "a second Ctrl-C ends it at once" ended_with 0
	check "... and the message says so" grep -q 'was killed before it ended' "$tmp/err"

	start_recording -o "$tmp/s.svg" -- sh -c 'echo $$ >"$1.new"; mv "$1.new" "$1"; kill -STOP $$
		exec sleep 600' sh "$tmp/ready.3"
	until_there "$tmp/ready.3"
	wait_beside "$recorder" is_stopped "$(cat "$tmp/ready.3")"
	kill -INT "$recorder"
	check "a stopped COMMAND ends" ended_with 0
	check "... without being killed" eval '! grep -q killed "$tmp/err"'

	start_recording -f svg -o /dev/full -- sh -c "$ignores" sh "$tmp/ready.4"
	until_there "$tmp/ready.4"
	kill -INT "$recorder"
	check "a failure of the recorder is reported" ended_with 1
	name=$(sed -n "s/.*'sh' is still running as process //p" "$tmp/err")
	started+=("$name")
	check "... and the COMMAND continues" kill -0 "$name"
	stop_started
}

process_that_ends() {
	local pid

	start "$workloads/shares" 600
	pid=${started[-1]}
	start_recording -o "$tmp/e.folded" -p "$pid"
	until_recording
	kill -KILL "$pid"
	check "-p ends with its process" ended_with 0
	check "... and the output is there" [ -e "$tmp/e.folded" ]
	stop_started
}

# A fake file in a mount namespace sets the kernel's limit.
rate_limit() {
	skip_without_mounts "-F above the kernel's limit: status 1" "... one sentence" \
		"... which names both rates" "... and the remedies" && return
	echo 1000 >"$tmp/limit"
	unshare --mount bash -c 'mount --bind "$2/limit" \
		/proc/sys/kernel/perf_event_max_sample_rate &&
		exec "$1" record -d 1 -F 1500 -o "$2/rate.svg"' rate "$pilotlight" "$tmp" 2>"$tmp/err"
	check "-F above the kernel's limit: status 1" [ $? = 1 ]
	check "... one sentence" says_one_sentence
	check "... which names both rates" grep -qE '1500.* 1000' "$tmp/err"
	check "... and the remedies" grep -qE -- '-F 1000 .*max_sample_rate=1500' "$tmp/err"
}

# Outputs that are no plain file names.
places() {
	local inode

	mkdir "$tmp/places"
	echo old >"$tmp/places/real.svg"
	chmod 640 "$tmp/places/real.svg"
	chown 65534:65534 "$tmp/places/real.svg"
	ln -s places/real.svg "$tmp/link.svg"
	check "-o on a symbolic link succeeds" run 0 record $quick -d 0.1 -o "$tmp/link.svg"
	check "... and the link stays" [ -L "$tmp/link.svg" ]
	check "... and its target is written" is_svg "$tmp/places/real.svg"
	check "... with its owner and mode" \
		[ "$(stat -c '%a %u %g' "$tmp/places/real.svg")" = '640 65534 65534' ]
	rm "$tmp/places/real.svg"
	check "no other file is beside it" is_empty_folder "$tmp/places"

	: >"$tmp/stdout.svg"
	inode=$(stat -c %i "$tmp/stdout.svg")
	check "-o /dev/stdout succeeds" eval \
		'"$pilotlight" record $quick -q -d 0.1 -f svg -o /dev/stdout >>"$tmp/stdout.svg"'
	check "... and is a flame graph" is_svg "$tmp/stdout.svg"
	check "... in the same file" [ "$(stat -c %i "$tmp/stdout.svg")" = "$inode" ]
	check "... and /dev is as it was" eval '[ -L /dev/stdout ] && ! ls -A /dev | grep -q pilotlight'
	check "-o /dev/stdout into a pipe succeeds" eval \
		'"$pilotlight" record $quick -q -d 0.1 -f svg -o /dev/stdout | cat >"$tmp/piped.svg"'
	check "... and is a flame graph" is_svg "$tmp/piped.svg"

	mkfifo "$tmp/pipe"
	start cp "$tmp/pipe" "$tmp/from_pipe.svg"
	check "-o on a pipe succeeds" run 0 record $quick -d 0.1 -f svg -o "$tmp/pipe"
	wait "${started[-1]}"
	check "... and its reader has a flame graph" is_svg "$tmp/from_pipe.svg"

	mounted_place
	check "no other file is beside the pipe" is_empty_folder "$tmp/places"
}

mounted_place() {
	skip_without_mounts "-o on a file that is mounted succeeds" "... and is a flame graph" && return
	echo old >"$tmp/places/mounted.svg"
	check "-o on a file that is mounted succeeds" unshare --mount bash -c '
		mount --bind "$2/places/mounted.svg" "$2/places/mounted.svg" &&
		exec "$1" record $quick -q -d 0.1 -o "$2/places/mounted.svg"' mounted "$pilotlight" "$tmp"
	check "... and is a flame graph" is_svg "$tmp/places/mounted.svg"
	rm "$tmp/places/mounted.svg"
}

outputs_that_fail() {
	mkdir "$tmp/failing"
	check "a folder that does not exist fails" fails record $quick -d 0.1 -o /nonexistent/x.svg
	check "a folder in place of a file fails" fails record $quick -d 0.1 -f svg \
		-o "$tmp/failing"
	check "/proc fails" fails record $quick -d 0.1 -o /proc/x.svg
	check "standard output that is full fails" eval \
		"$pilotlight record $quick -d 0.1 -f svg -o - >/dev/full 2>$tmp/err; [ \$? = 1 ] && says_one_sentence"
	if mknod "$tmp/failing/full" c 1 7 2>/dev/null && ! echo x 2>/dev/null >"$tmp/failing/full"
	then
		check "a full device fails" fails record $quick -d 0.1 -f svg -o "$tmp/failing/full"
		check "... and stays a device" [ -c "$tmp/failing/full" ]
		rm -f "$tmp/failing/full"
	else
		skip "a full device fails" "devices are not allowed in $tmp"
		skip "... and stays a device" "devices are not allowed in $tmp"
	fi
	check "the folder has nothing else in it" is_empty_folder "$tmp/failing"
}

# In a mount namespace, on a file system of one page.
full_disk() {
	skip_without_mounts "a full disk fails" "... with status 1" "... and one sentence" \
		"... and nothing left behind" "... and the old file untouched" && return
	check "a full disk fails" unshare --mount bash -c '
		mount -t tmpfs -o size=8k tmpfs "$2/failing" && echo old >"$2/failing/x.svg" || exit 9
		"$1" record $quick -d 0.1 -o "$2/failing/x.svg" 2>"$2/err"
		echo $? >"$2/status"
		ls -A "$2/failing" >"$2/listing"
		cat "$2/failing/x.svg" >"$2/content"
	' full_disk "$pilotlight" "$tmp"
	check "... with status 1" [ "$(cat "$tmp/status")" = 1 ]
	check "... and one sentence" says_one_sentence
	check "... and nothing left behind" [ "$(cat "$tmp/listing")" = x.svg ]
	check "... and the old file untouched" [ "$(cat "$tmp/content")" = old ]
}

without_privilege() {
	mkdir -m 777 "$tmp/nobody"
	cp "$pilotlight" "$tmp/pilotlight"
	chmod 755 "$tmp/pilotlight"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/pilotlight" record -d 1 \
		-o "$tmp/nobody/x.svg" 2>"$tmp/err" >"$tmp/out"
	check "without privilege: status 1" [ $? = 1 ]
	check "without privilege: one sentence" says_one_sentence
	check "without privilege: it names a remedy" grep -qE 'root|sudo|CAP_' "$tmp/err"
	check "without privilege: nothing is left behind" is_empty_folder "$tmp/nobody"
	without_btf
}

without_btf() {
	skip_without_mounts "without BTF: status 1" "without BTF: one sentence" \
		"without BTF: it is named" "without BTF: nothing is left behind" && return
	unshare --mount bash -c 'mount -t tmpfs tmpfs /sys/kernel/btf &&
		exec "$1" record -d 1 -o "$2/nobody/x.svg"' no_btf "$pilotlight" "$tmp" 2>"$tmp/err"
	check "without BTF: status 1" [ $? = 1 ]
	check "without BTF: one sentence" says_one_sentence
	check "without BTF: it is named" grep -q 'BTF' "$tmp/err"
	check "without BTF: nothing is left behind" is_empty_folder "$tmp/nobody"
}

need_root
need_programs
plan 110
cd "$tmp" || exit 1

fill_symbol_cache
usage
formats
commands
one_process
interrupted
hanging_engine
stubborn_commands
process_that_ends
rate_limit
places
outputs_that_fail
full_disk
without_privilege
finish
