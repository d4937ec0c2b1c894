#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How many stacks of blocked threads reach their root: of Debian's programs that wait in calls of libc. Run it as root:
#
#	make && tests/bench/blocked_stacks.sh
#
# Each program runs COPIES (5) times. First all are recorded while they wait all the time: their stacks are read through
# their page tables. Then each is stopped and continued once, so that it takes the sample itself. Prints, for both, how
# many stacks there are, for how long threads were blocked, which share of that has a stack that reaches the root, and at
# which frames the others end. This is a bench, not a test: no figure makes it fail.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
copies=${COPIES:-5}
tmp=$(mktemp -d) || exit 1
pids=()

clean_up() {
	local pid

	# Each program leads a process group.
	for pid in "${pids[@]}"; do
		kill -9 -- "-$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT

# Waits in: read, nanosleep, poll, select, epoll, a futex, a child's end, a lock, a socket, a signal, inotify.
programs=(
	'cat'
	'sleep 1000'
	'bash -c read'
	'dash -c "read line"'
	'bash -c "sleep 1000; :"'
	'python3 -c "import time; time.sleep(1000)"'
	'python3 -c "import threading; threading.Lock().acquire(); threading.Event().wait()"'
	'python3 -c "import select; select.epoll().poll()"'
	'perl -e "sleep 1000"'
	'perl -e "select undef, undef, undef, 1000"'
	'perl -MSocket -e "socket S, PF_INET, SOCK_DGRAM, 0; recv S, \$_, 1, 0"'
	'tail -f /dev/null'
	'flock /dev/null sleep 1000'
	'grep x'
	'sort'
	'sed p'
	'mawk 1'
	'od'
	'gzip -c'
	'xz -c'
	'tee /dev/null'
	'dd status=none'
	'make -f -'
	'sqlite3'
	'gdb -q -nx'
	'ssh-agent -D'
	'openssl'
	'bc'
	'git hash-object --stdin'
	'gcc -E -'
	'as -o /dev/null -'
	'timeout 1000 sleep 1000'
	'env -i sleep 1000'
	'strace -o /dev/null sleep 1000'
)

start_programs() {
	local command i

	mkfifo "$tmp/input"
	exec 9<>"$tmp/input"
	for command in "${programs[@]}"; do
		command -v "${command%% *}" >/dev/null || continue
		for ((i = 0; i < copies; i++)); do
			eval "exec setsid $command" <&9 >/dev/null 2>&1 &
			pids+=($!)
		done
	done
	sleep 3
}

# Prints a line for what is in a recording.
print_stacks() {
	awk -v what="$1" '
		{ stacks++; all += $NF; split($0, frame, ";") }
		frame[2] ~ /^\[truncated/ { ends[frame[2]] += $NF; next }
		{ whole += $NF }
		END {
			printf "%-14s %d stacks, %.1f s, %.2f %% of it to the root", what, stacks, all / 1e4, 100 * whole / all
			for (i in ends) printf "; %s %.2f %%", i, 100 * ends[i] / all
			print ""
		}' "$2"
}

# Records all programs while COMMAND runs.
record_beside() {
	local arguments=() pid

	# Some do not wait without a terminal.
	for pid in "${pids[@]}"; do
		! kill -0 "$pid" 2>/dev/null || arguments+=(-p "$pid")
	done
	"$pilotlight" record ${QUIET--q} -f folded -e offcpu/period=100000/ -d 6 "${arguments[@]}" -o "$tmp/$1" &
	sleep 4
	"${@:2}"
	wait $!
}

wake_all() {
	kill -STOP "${pids[@]}" 2>/dev/null
	sleep 0.5
	kill -CONT "${pids[@]}" 2>/dev/null
}

start_programs
record_beside still true
record_beside woken wake_all
print_stacks 'still blocked' "$tmp/still"
print_stacks 'woken' "$tmp/woken"
