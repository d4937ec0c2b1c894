#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each sample of generated code gets the name of its time. The programs (tests/workloads/jit) log what they ran.
# They replace code, move it, report it late or incompletely, or fork.
. "$(dirname "$0")/lib.sh"
. "$root/tests/end_to_end/jit_programs/trials.sh"

# The address at which two programs have their code.
ADDRESS=7e0000000000

# runs_here MEMORY: this kernel supports the kind of memory.
runs_here() {
	(cd "$dumps" && "$writer" steady --seconds 0 --memory "$1" --output none 2>/dev/null)
}

check_memory() {
	local kind trials=() comms=() names=(shared memfd sysv named huge)

	for kind in "${names[@]}"; do
		if runs_here "$kind"; then
			comms+=("jit_$kind")
			trials+=("steady --memory $kind --comm jit_$kind --seconds 2")
		else
			skip "memory: jit_$kind has its true shares" "not on this kernel"
		fi
	done
	check_trials memory "${comms[@]}" -- "${trials[@]}"
}

# Reserves a huge page, if the machine has a free one, until the test ends.
with_huge_page() {
	local before status

	before=$(cat /proc/sys/vm/nr_hugepages 2>/dev/null)
	[ "$before" != 0 ] || echo 1 2>/dev/null >/proc/sys/vm/nr_hugepages
	"$@"
	status=$?
	[ "$before" != 0 ] || echo 0 2>/dev/null >/proc/sys/vm/nr_hugepages
	return $status
}

# CPU time stamps can be converted to clock time only if the counter's rate is constant.
check_cpu_clock() {
	if grep -qw constant_tsc /proc/cpuinfo && grep -qw nonstop_tsc /proc/cpuinfo; then
		check_trials "CPU time stamps" jit_counter -- \
			"reuse --comm jit_counter --clock cpu --seconds 2"
	else
		skip "CPU time stamps: record succeeds" "the counter's rate is not constant"
		skip "CPU time stamps: the accounts close" "the counter's rate is not constant"
		skip "CPU time stamps: jit_counter has its true shares" \
			"the counter's rate is not constant"
	fi
}

# A map with old lines, of an earlier process with the same PID.
appended_map() {
	bash -c 'map=/tmp/perf-$$.map
		echo "$2 200000 stale_line" >"$map"
		exec "$0" steady --comm jit_appended --output map --append yes --address "$2" \
			--truth "$1" --seconds 2' "$writer" "$truth" "$ADDRESS" &
	echo $! >>"$truth.pids"
}

run_with_appended_map() {
	local status

	appended_map
	run_trials "$@"
	status=$?
	wait
	return $status
}

record_maps() {
	rm -f "$truth" "$truth.pids"
	record "$tmp/maps.folded" -F 999 -- bash -c 'run_with_appended_map "$@"' trials \
		"stale --comm jit_plain --output map --form plain --seconds 2" \
		"steady --comm jit_both --output map --form both --seconds 2 --flush 100" \
		"steady --comm jit_start --output map --form start --code leaf --seconds 2" \
		"stale --comm jit_padded --output map --form padded --seconds 2"
}

check_maps() {
	local comm

	check "maps: record succeeds" record_maps
	sed -i 's/;\$/;/g' "$tmp/maps.folded"
	for comm in jit_plain jit_both jit_start jit_padded jit_appended; do
		check "maps: $comm has its true shares" \
			shares_are_true "$tmp/maps.folded" $comm
	done
	remove_maps
}

inner_is_called_by_outer() {
	local all nested

	all=$(grep -E '^jit_nested;.*;inner_\[j\]' "$tmp/trials.folded" | folded_total /dev/stdin)
	nested=$(grep -E '^jit_nested;.*;outer_\[j\];inner_\[j\]' "$tmp/trials.folded" |
		folded_total /dev/stdin)
	note "$nested of $all samples of inner are below outer"
	# A sample in the two instructions before the frame exists is negligible.
	[ "$all" -gt 0 ] && [ $((nested * 100)) -ge $((all * 99)) ]
}

# has_process COMM: a process with that comm exists.
has_process() {
	grep -qsx "$1" /proc/[0-9]*/comm
}

# The processes start before the recording, which sees none of their forks, and end after it.
record_forks_from_before() {
	(cd "$dumps" && exec "$writer" fork-private --comm jit_before --seconds 600) &
	started+=($!)
	wait_for 60 has_process jit_grandchild || { note "there is no jit_grandchild"; return 1; }
	record "$tmp/before.folded" -a -F 999 -d 3
}

# has_only COMM NAME...: all samples of COMM in generated code have one of the names, and each name has samples.
has_only() {
	local comm=$1 name others

	shift
	for name; do
		[ "$(folded_count "$tmp/before.folded" "$comm" "${name}_[j]")" -ge 10 ] ||
			{ note "$comm is not in $name"; return 1; }
	done
	others=$(grep "^$comm;" "$tmp/before.folded" | grep -oE ';[^;]*_\[j\]' |
		grep -vE ";($(IFS='|'; echo "$*"))_" | sort | uniq -c)
	[ -z "$others" ] || { note "$comm is in others too: $others"; return 1; }
}

check_forks_from_before() {
	check "forks from before: record succeeds" record_forks_from_before
	check "forks from before: jit_before has its names" \
		has_only jit_before common parent_later parent_own
	check "forks from before: jit_child has its names" \
		has_only jit_child common before child_own
	check "forks from before: jit_grandchild has its names" \
		has_only jit_grandchild common before grandchild_own
	stop_started
}

# The code has a line for every eight bytes, and each function's loop is in the 25th eight bytes.
record_lines() {
	rm -f "$truth" "$truth.pids"
	record "$tmp/lines.pb.gz" -F 999 -- bash -c 'run_trials "$@"' trials \
		"reuse --lines yes --version 2 --seconds 1" &&
		go tool pprof -raw "$tmp/lines.pb.gz" >"$tmp/lines" 2>/dev/null
}

lines_are_right() {
	local number

	for number in 1 2 3 4; do
		if ! grep -qE " reuse_$number /srv/generated\.code:124[: ]" "$tmp/lines"; then
			note "$(grep reuse_ "$tmp/lines")"
			return 1
		fi
	done
}

check_lines() {
	if has go; then
		check "source lines: record succeeds" record_lines
		check "source lines: samples are at the lines of the loops" lines_are_right
	else
		skip "source lines: record succeeds" "needs go"
		skip "source lines: samples are at the lines of the loops" "needs go"
	fi
}

# Names contain no newline, no frame separator and no terminal escape.
record_hostile_names() {
	record "$tmp/names.folded" -F 999 -- "$writer" steady --seconds 1 --directory "$dumps" \
		--prefix $'a;b\n\x80\x1b[31m c_'
}

lines_are_whole() {
	local names

	names=$(grep -oE ';[^;]*c_steady_[0-9]_\[j\]' "$tmp/names.folded" | sort -u)
	[ "$(wc -l <<<"$names")" = 4 ] && ! grep -qvE '^[^;]+(;[^;]+)* [0-9]+$' "$tmp/names.folded" &&
		! grep -q $'\x1b' "$tmp/names.folded" && iconv -f utf8 -t utf8 "$tmp/names.folded" >/dev/null
}

check_hostile_names() {
	check "odd names: record succeeds" record_hostile_names
	check "odd names: lines are whole" lines_are_whole
}

need_writer
export ADDRESS
export -f appended_map run_with_appended_map
plan 58

check_trials "reused addresses" jit_fast jit_slow -- \
	"reuse --comm jit_fast --run 2 --prefix fast_ --address $ADDRESS --seconds 3" \
	"reuse --comm jit_slow --run 60 --prefix slow_ --address $ADDRESS --seconds 3 --code leaf"
check_trials "code that moves" jit_move jit_nested -- \
	"move --comm jit_move --seconds 3" "nested --comm jit_nested --seconds 3"
check "code that moves: the caller of a call at the end of its function" inner_is_called_by_outer
check_trials "late reports" jit_late jit_at_exit -- \
	"reuse --comm jit_late --flush 1000 --seconds 3" \
	"reuse --comm jit_at_exit --flush exit --seconds 3"
check_trials "short lives" jit_torn jit_brief -- \
	"torn --comm jit_torn --seconds 1" "reuse --comm jit_brief --seconds 0.5"
check_trials "forks" jit_parent jit_child jit_grandchild -- \
	"fork-private --comm jit_parent --seconds 3"
check_trials "forks that share their code" jit_sharer jit_child -- \
	"fork-shared --comm jit_sharer --memory shared --seconds 2"
check_trials "exec" jit_exec -- "reuse --comm jit_exec --prefix first_ --seconds 1.5
	--address $ADDRESS -- $writer reuse --comm jit_exec --prefix second_ --seconds 1.5
	--address $ADDRESS --truth $truth"
check_trials "versions" jit_lines jit_swapped jit_pieces -- \
	"reuse --comm jit_lines --version 2 --lines yes --seconds 2" \
	"reuse --comm jit_swapped --order swapped --lines yes --seconds 2" \
	"reuse --comm jit_pieces --pieces yes --seconds 2"
with_huge_page check_memory
check_cpu_clock
check_maps
check_lines
check_forks_from_before
check_hostile_names
finish
