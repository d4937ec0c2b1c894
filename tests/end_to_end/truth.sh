#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles are correct: compared with programs whose profile follows from their source, and with perf for a mix of
# real programs.
. "$(dirname "$0")/lib.sh"

SECONDS_OF_MIX=12

# --- a mix of real programs --------------------------------------------------------------------

mix_compile() {
	gcc -O2 -std=gnu17 -D_GNU_SOURCE -iquote "$root/daemon" -iquote "$root/include" -x c -c \
		-o /dev/null "$root/daemon/base/output.c"
	gcc -O2 -x c -c -o /dev/null - <<<'#include <stdio.h>
		#include <stdlib.h>
		int main(void) { return printf("%d", rand()) < 0; }'
}

mix_compress() {
	xz -6 -c /bin/bash | xz -d -c | gzip -6 -c
}

mix_script() {
	if has python3; then
		python3 -c 'print(sum(hash(str(i)) & 7 for i in range(400000)))'
	fi
	if has sqlite3; then
		sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n
			where i < 300000) select sum(length(hex(i * 7919))) from n'
	fi
}

mix_pipeline() {
	find /usr/include -type f | sort -r | xargs grep -c define | awk -F: '{ n += $2 } END { print n }'
}

run_mix() {
	while :; do "$1" >/dev/null 2>&1; done
}

# sleep_on_the_clock SECONDS FILE: writes the start and end of the sleep to FILE, in perf script's time format.
sleep_on_the_clock() {
	exec python3 -c 'import sys, time
begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
time.sleep(float(sys.argv[1]))
end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
text = ",".join(f"{ns // 10**9}.{ns % 10**9:09}" for ns in (begin, end))
open(sys.argv[2], "w").write(text)' "$@"
}

start_mix() {
	local part

	for part in mix_compile mix_compress mix_script mix_pipeline; do
		start run_mix "$part"
	done
}

# Other processes on the machine are not part of the mix, and may have another root folder.
MIX='cc1|as|gcc|xz|gzip|sqlite3|python3|perl|sh|bash|sort|grep|awk|mawk|gawk|sed|tr|cat|cut|wc|uniq|head'

# --- leaf symbols, in percent of all samples except idle ---------------------------------

# Removes arguments from names. A frame without a name is [unknown] for both tools.
normalise_and_sum() {
	awk -F '\t' '
	{
		name = $1
		sub(/_\[[kji]\]$/, "", name)
		if (name ~ /^\[/ || name == "")
			name = "[unknown]"
		sub(/@plt$/, "", name)
		sub(/\(.*/, "", name)
		sub(/\.(isra|constprop|part|cold)\..*$/, "", name)
		sums[name] += $2
		total += $2
	}
	END {
		for (name in sums)
			printf "%.3f\t%s\n", 100 * sums[name] / total, name
	}' | sort -t $'\t' -k 1,1nr -k 2
}

pilotlight_leaves() {
	awk -v mix="^($MIX)\$" '{
		count = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frames, ";")
		if (n > 1 && frames[1] ~ mix)
			printf "%s\t%d\n", frames[n], count
	}' "$1" | normalise_and_sum
}

# perf_leaves FILE TIMES: prints the leaf of each sample between the two times. perf script prints a line that begins
# with the comm and then the stack, leaf first.
perf_leaves() {
	perf script --no-inline -i "$1" --time "$2" -F comm,ip,sym 2>/dev/null | awk -v mix="^($MIX) *\$" '
	/^[^ \t]/ { skipped = $0 !~ mix; wants = 1; next }
	NF && wants && !skipped {
		sub(/^[ \t]*[0-9a-f]+ /, "")
		sub(/\+0x[0-9a-f]+$/, "")
		printf "%s\t1\n", $0
	}
	NF { wants = 0 }'
}

# With this number of samples of each tool, 3 points are five standard deviations of the difference of two shares of
# 30 %.
MIX_SAMPLES=12000

# The 20 hottest leaf symbols of each tool are within 3 points of each other. Frames that one tool cannot name do
# not count, because the tools search in different places.
leaves_agree() {
	awk -F '\t' '
	{ share[FILENAME == ARGV[1] ? "a" : "b", $2] = $1 }
	$2 != "[unknown]" && ++seen[FILENAME] <= 20 { hot[$2] }
	END {
		for (name in hot) {
			a = share["a", name] + 0
			b = share["b", name] + 0
			difference = a > b ? a - b : b - a
			if (difference > worst)
				worst = difference
			printf "# %6.2f %6.2f  %s%s\n", a, b, name, (difference > 3 ? "  <--" : "")
		}
		printf "# the greatest difference is %.2f points\n", worst
		exit !(worst <= 3 && length(hot) >= 20)
	}' "$1" "$2" | sort -k 2,2nr
	return "${PIPESTATUS[0]}"
}

# On every CPU at once, which is quicker.
run_shares() {
	local cpu

	for ((cpu = 0; cpu < cpu_count; cpu++)); do
		"$workloads/shares" 7 &
	done
	wait
}

# For this number of samples, 1.5 points are five standard deviations of a share of 60 %. With fewer samples,
# chance could exceed 1.5 points.
SHARES_SAMPLES=27000

# record_shares OUTPUT: records until there are enough samples.
record_shares() {
	local part=$tmp/part.folded i

	: >"$1"
	for i in {1..6}; do
		record "$part" -F 1999 -- bash -c run_shares || return
		cat "$part" >>"$1"
		[ "$(folded_count "$1" shares '')" -lt $SHARES_SAMPLES ] || return 0
	done
	return 1
}

# The window that contains the change, a fraction of a second, may name either function.
replaced_code_is_told_apart() {
	local output=$tmp/replaced.folded

	# The symbols of the program are in the cache already.
	record "$output" -F 999 -- "$workloads/replaced_code" 500 || return
	record "$output" -F 999 -- "$workloads/replaced_code" 9000 || return
	note "alpha has $(folded_share "$output" replaced_code alpha) %"
	within "$(folded_share "$output" replaced_code alpha)" 25 6 &&
		within "$(folded_share "$output" replaced_code bravo)" 75 6
}

# --- programs of every kind ---------------------------------------------------------------------

# has_most FILE COMM FRAME: at least 30 samples, 90 % of them with the frame.
has_most() {
	local all with_frame

	all=$(folded_count "$1" "$2" '')
	with_frame=$(folded_count "$1" "$2" "$3")
	note "$with_frame of $all samples of $2 have $3"
	[ "$all" -ge 30 ] && [ $((with_frame * 10)) -ge $((all * 9)) ]
}

# The stack has its leaf and the maximum number of frames, of 200.
deep_is_cut_at_the_root() {
	has_most "$1" deep deep_work &&
		awk '/^deep;\[truncated[^;]*\];descend;.*;deep_work;/ {
			sub(/ [0-9]+$/, "")
			frames = split($0, unused, ";")
			if (frames >= 120 && frames <= 140)
				found = 1
		}
		END { exit !found }' "$1"
}

threads_have_their_names() {
	local number

	for number in 0 1 2 3; do
		has_most "$1" "worker-$number" worker_work || return
	done
}

both_images_are_there() {
	has_most "$1" execer before_exec && has_most "$1" short_lived short_lived_work &&
		[ "$(folded_count "$1" short_lived before_exec)" = 0 ]
}

# Code without a file has no invented name, and its caller has its own.
raw_code_has_its_caller() {
	has_most "$1" raw_code call_raw_code && grep -qE ';call_raw_code;\[[^;]*\](_\[j\])? ' "$1"
}

# check_kind NAME CHECK OPTION... -- COMMAND...
check_kind() {
	local name=$1 kind_check=$2 output=$tmp/$2.folded

	shift 2
	check "$name: record succeeds" record "$output" -F 499 "$@"
	if "$kind_check" "$output"; then
		ok "$name"
	else
		not_ok "$name"
		note "$(cat "$output.log"; cut -c 1-200 "$output" | head -n 20)"
	fi
}

check_kinds() {
	check_kind "a stack of 200 frames that the kernel walks is cut at its root" deep_is_cut_at_the_root \
		--unwind=fp -- "$workloads/deep" 1
	check_kind "threads have their names" threads_have_their_names -- "$workloads/threads" 0.5 4
	check_kind "a process that execs is two programs" both_images_are_there \
		-- "$workloads/execer" 1 "$workloads/short_lived" 2000
	if "$workloads/raw_code" 0 2>/dev/null; then
		check_kind "anonymous code has its caller" raw_code_has_its_caller \
			-- "$workloads/raw_code" 1
	else
		skip "anonymous code: record succeeds" "the workload does not support this machine"
		skip "anonymous code has its caller" "the workload does not support this machine"
	fi
	if has gcc; then
		gcc -std=gnu17 -O1 -D_GNU_SOURCE -fno-omit-frame-pointer \
			-fno-optimize-sibling-calls -Wl,--build-id=none \
			-o "$tmp/no_build_id" "$root/tests/workloads/fifty_ms.c"
		check_kind "a binary without build-id has symbols" no_build_id_has_symbols \
			-- "$tmp/no_build_id"
	else
		skip "a binary without build-id: record succeeds" "needs gcc"
		skip "a binary without build-id has symbols" "needs gcc"
	fi
}

no_build_id_has_symbols() {
	[ -z "$(readelf -n "$tmp/no_build_id" | grep 'Build ID')" ] &&
		[ "$(folded_count "$1" no_build_id fifty_ms_work)" -ge 15 ]
}

need_root
need_programs
plan 15

export workloads cpu_count
export -f run_shares
check "shares: record succeeds" record_shares "$tmp/shares.folded"
check "shares: 60, 30 and 10 % within 1.5 points" has_shares "$tmp/shares.folded" shares 1.5

# Both take one CPU.
replaced_code_is_told_apart >"$tmp/replaced.notes" &
replaced=$! started=($!)
check_kinds
check "replaced code keeps its name" wait $replaced
started=()
cat "$tmp/replaced.notes"

if has perf && has gcc && has xz && has python3; then
	start_mix
	# perf starts earlier and ends later, so the time of the recording's command is in both.
	export -f sleep_on_the_clock
	start perf record -q -a -g -k CLOCK_MONOTONIC --no-buildid-cache -F 999 -o "$tmp/perf.data" -- \
		"$pilotlight" record -q -a -F 999 --runtime-frames native -o "$tmp/mix.folded" -- \
		bash -c "sleep_on_the_clock $SECONDS_OF_MIX '$tmp/times'"
	if wait "${started[-1]}"; then ok "mix: both record"; else not_ok "mix: both record"; fi
	stop_started
	pilotlight_leaves "$tmp/mix.folded" >"$tmp/ours"
	perf_leaves "$tmp/perf.data" "$(cat "$tmp/times")" >"$tmp/perf.leaves"
	normalise_and_sum <"$tmp/perf.leaves" >"$tmp/theirs"
	samples=$(grep -E "^($MIX);" "$tmp/mix.folded" | folded_total /dev/stdin)
	perf_samples=$(wc -l <"$tmp/perf.leaves")
	if [ "$samples" -ge $MIX_SAMPLES ] && [ "$perf_samples" -ge $MIX_SAMPLES ]; then
		note "pilotlight and perf, in percent:"
		check "mix: the 20 hottest leaves are within 3 points of perf's" leaves_agree "$tmp/ours" "$tmp/theirs"
	else
		skip "mix: the 20 hottest leaves are within 3 points of perf's" \
			"too few samples beside other work: $samples, and $perf_samples that perf script could read, of $MIX_SAMPLES"
	fi
else
	skip "mix: both record" "needs perf, gcc, xz and python3"
	skip "mix: the 20 hottest leaves are within 3 points of perf's" "needs perf, gcc, xz and python3"
fi
finish
