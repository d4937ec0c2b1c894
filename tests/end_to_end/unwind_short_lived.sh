#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole stacks of processes that live a few milliseconds, that execute another program, or that have many or
# changing mappings. The accounts close.
. "$(dirname "$0")/lib.sh"
. "$root/tests/workloads/chains/programs.sh"

# Uses a quarter of the CPU time at 1,000 processes a second; exec, the dynamic linker and exit use the rest.
MILLISECONDS=$(awk -v cpus="$cpu_count" 'BEGIN { ms = cpus * 0.4; print (ms > 5 ? 5 : ms) }')

# --- samples of a program in a folded file ------------------------------------------------------

# All samples in the program's function have its comm, except those of the two first processes.
has_own_comm() {
	local all own first

	all=$(folded_count "$1" '' "$2")
	own=$(folded_count "$1" "$2" "$2")
	first=$(folded_count "$1" first "$2")
	note "of $all samples in $2, $own have its comm and $first that of the first processes"
	[ "$own" -ge 200 ] && [ $((own + first)) = "$all" ]
}

# Every sample has the name of a process.
all_have_comms() {
	awk '
	/^(\[|;)/ { nameless += $NF }
	{ all += $NF }
	END {
		printf "# %d of %d samples have no comm\n", nameless, all
		exit nameless || !all
	}' "$1"
}

# stacks_are_whole FILE COMM FUNCTION: of the samples in main() or its callees, at least 99 % begin at _start. A
# truncated stack is recognized by FUNCTION, its caller or main().
stacks_are_whole() {
	awk -v comm="$2" -v function_name="$3" '
	{
		count = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frames, ";")
		if (frames[1] != comm)
			next
		is_in_main = 0
		for (i = 2; i <= n; i++)
			if (frames[i] == "main" || frames[i] == "work_for" || frames[i] == function_name)
				is_in_main = 1
		if (!is_in_main)
			next
		all += count
		if ($0 ~ "^[^;]*;_start;(__libc_start_[a-z_]*;|\\[libc[^;]*;)+main(;|$)")
			whole += count
		else if (shown++ < 4)
			print "# " count " " substr($0, 1, 200)
	}
	END {
		printf "# %d of %d samples of %s are whole\n", whole, all, comm
		exit !(all >= 200 && whole >= all * 0.99)
	}' "$1"
}

# --- the recordings ----------------------------------------------------------------------------

spawn() {
	"$programs/brief_spawner" 1000 "$1" "$MILLISECONDS" "$programs/brief_one" "$programs/brief_two"
}

# One process executes the program 500 times under one pid, after another one with the comm `first`.
exec_often() {
	(exec "$programs/brief_one" 300 first 1) && exec "$programs/brief_one" 4 - 500
}

compile_programs() {
	compile_places
	compile brief_spawner gcc "${flags[@]}" -O2 brief_spawner.c
	compile brief_one gcc "${flags[@]}" -O2 -DWORK=brief_one -DWORK_STEPS=20000 brief.c
	# Each is loaded at a fixed address, and their code does not overlap.
	compile turn_one gcc "${flags[@]}" -O2 -static -no-pie -DWORK=turn_one -DWORK_STEPS=2000 brief.c
	compile turn_two gcc "${flags[@]}" -O2 -static -no-pie -DWORK=turn_two -DWORK_STEPS=3000 \
		-Wl,-Ttext-segment=0x41d000 brief.c
	compile brief_two gcc "${flags[@]}" -O2 -DWORK=brief_two -DWORK_STEPS=30000 brief.c
	wait
}

# Both programs have enough samples that a single stack does not matter.
has_enough() {
	local program

	for program in brief_one brief_two; do
		[ "$(folded_count "$1" $program $program)" -ge 400 ] || return
	done
}

# record_storm OUTPUT: repeats the recording until there are enough samples, for a minute at most. Sets storm_is_whole:
# the accounts of all recordings close without a loss.
record_storm() {
	local end=$((SECONDS + 60)) part=$tmp/part.folded

	storm_is_whole=true
	: >"$1"
	until has_enough "$1" || [ $SECONDS -ge $end ]; do
		record "$part" -F 999 -a -- bash -c 'spawn 5' || return
		note "$(cat "$part.out") processes; $(grep '^stacks' "$part.log")"
		nothing_lost "$part.log" || storm_is_whole=false
		cat "$part" >>"$1"
	done
}

check_storm() {
	local output=$tmp/storm.folded storm_is_whole program

	# The first recording has no tables in the cache.
	check "storm: the first recording succeeds" record "$tmp/cold.folded" -F 999 -a -- \
		bash -c 'spawn 1'
	check "storm: record succeeds" record_storm "$output"
	check "storm: the accounts close, and nothing is lost" $storm_is_whole
	check "storm: every sample has the name of a process" all_have_comms "$output"
	for program in brief_one brief_two; do
		check "storm: $program has its comm" has_own_comm "$output" $program
		check "storm: $program has whole stacks" stacks_are_whole "$output" $program $program
	done
}

# The dynamic linker's first function has no call frame information, but a walk knows that it is a root.
dynamic_linker_is_root() {
	awk '
	/;(_dl_start|_dl_start_final|dl_main|_dl_init)[;_ ]|;\[ld-linux/ {
		all += $NF
		if (/\[truncated: no unwind rule\];(_start|_dl_start_user|\[ld-linux[^;]*)[; ]/) {
			cut += $NF
			if (shown++ < 4)
				print "# " $NF " " substr($0, 1, 200)
		}
	}
	END {
		printf "# %d of %d samples in the dynamic linker have no root\n", cut, all
		exit cut > 0 || all < 50
	}' "$1"
}

check_exec() {
	local output=$tmp/exec.folded

	check "exec: record succeeds" record "$output" -F 999 -- bash -c exec_often
	note "$(grep '^stacks' "$output.log")"
	check "exec: the accounts close, and nothing is lost" nothing_lost "$output.log"
	check "exec: stacks are whole" stacks_are_whole "$output" brief_one brief_one
	check "exec: the dynamic linker starts at a root" dynamic_linker_is_root "$output"
}

take_turns() {
	exec "$programs/turn_one" 0.1 - 3000 "$programs/turn_two"
}

# A sample in execve() has a stack from the old program, from the new one, or none. While the kernel switches
# programs, it has the registers of one and the memory of the other. The sampler detects that by the stack's
# address, which may be equal by chance, in at most 2 % of the samples.
are_in_execve() {
	awk '
	function is_right(stack) {
		return stack ~ /;((__)?execve|_start)$/ || stack !~ /;/
	}
	/;(__x64_sys_execve|do_execveat_common[^;]*)_\[k\]/ {
		count = $NF
		sub(/;entry_SYSCALL.*/, "")
		all += count
		if (is_right($0))
			next
		wrong += count
		if (shown++ < 4)
			print "# " count " " substr($0, 1, 200)
	}
	END {
		printf "# %d of %d samples in execve() are called from elsewhere\n", wrong, all
		exit wrong * 50 > all || all < 100
	}' "$1"
}

check_turns() {
	local output=$tmp/turns.folded

	check "turns: record succeeds" record "$output" -F 999 -- bash -c take_turns
	check "turns: the accounts close, and nothing is lost" nothing_lost "$output.log"
	check "turns: no stack is of two programs" are_in_execve "$output"
}

need_root
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
need_commands gcc python3
[ "$(uname -m)" = x86_64 ] || skip_all "unwind tables exist only for x86-64"

compile_programs
export MILLISECONDS
export -f spawn exec_often take_turns
plan $(($(python3 "$chains" count mappings "$programs") + 17))
check_storm
check_exec
check_turns
output=$tmp/mappings.folded
check "mappings: record succeeds" record_cases mappings "$output"
check "mappings: the accounts close, and nothing is lost" nothing_lost "$output.log"
check_cases mappings "$output"
finish
