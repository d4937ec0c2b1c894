#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The shares are the true ones: against a program whose shares follow from its source, and against
# perf on a mix of real programs.
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

start_mix() {
	local part

	for part in mix_compile mix_compress mix_script mix_pipeline; do
		start run_mix "$part"
	done
}

# --- leaf symbols, in percent of all samples but the idle ones ----------------------------------

# Names without their arguments; a frame without a name is [unknown] in either tool.
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
	awk '{
		count = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frames, ";")
		if (n > 1)
			printf "%s\t%d\n", frames[n], count
	}' "$1" | normalise_and_sum
}

# perf script prints a stack leaf first, below a line that begins with the comm.
perf_leaves() {
	perf script --no-inline -i "$1" -F comm,ip,sym 2>/dev/null | awk '
	/^[^ \t]/ { skipped = $0 ~ /^(swapper|perf) /; wants = 1; next }
	NF && wants && !skipped {
		sub(/^[ \t]*[0-9a-f]+ /, "")
		sub(/\+0x[0-9a-f]+$/, "")
		printf "%s\t1\n", $0
	}
	NF { wants = 0 }' | normalise_and_sum
}

# The 20 hottest leaves of either tool lie within 3 points of each other.
leaves_agree() {
	awk -F '\t' '
	{ share[FILENAME == ARGV[1] ? "a" : "b", $2] = $1 }
	FNR <= 20 { hot[$2] }
	END {
		for (name in hot) {
			a = share["a", name] + 0
			b = share["b", name] + 0
			difference = a > b ? a - b : b - a
			if (difference > worst)
				worst = difference
			printf "# %6.2f %6.2f  %s%s\n", a, b, name, difference > 3 ? "  <--" : ""
		}
		printf "# the greatest difference is %.2f points\n", worst
		exit !(worst <= 3 && length(hot) >= 20)
	}' "$1" "$2" | sort -k 2,2nr
	return "${PIPESTATUS[0]}"
}

# On every CPU, so that there are samples enough where the machine has other work too.
run_shares() {
	local cpu

	for ((cpu = 0; cpu < cpu_count; cpu++)); do
		"$workloads/shares" 10 &
	done
	wait
}

shares_are_true() {
	local output=$1 frame

	for frame in hot_60 hot_30 hot_10; do
		note "$frame has $(folded_share "$output" shares "$frame") %"
		within "$(folded_share "$output" shares "$frame")" "${frame#hot_}" 1.5 || return
	done
}

need_root
need_programs
plan 5

export workloads cpu_count
export -f run_shares
check "shares: record succeeds" record "$tmp/shares.folded" -F 999 -- bash -c run_shares
check "shares: enough samples" at_least "$(folded_count "$tmp/shares.folded" shares '')" 8000
check "shares: 60, 30 and 10 % within 1.5 points" shares_are_true "$tmp/shares.folded"

if has perf && has gcc && has xz; then
	start_mix
	# Without build-ids: collecting them at the end is where some releases of perf fall over.
	start perf record -q -a -g --no-buildid --no-buildid-cache -F 999 -o "$tmp/perf.data" -- "$pilotlight" record -q -F 999 \
		-d $SECONDS_OF_MIX -o "$tmp/mix.folded"
	if wait "${started[-1]}"; then ok "mix: both record"; else not_ok "mix: both record"; fi
	stop_started
	pilotlight_leaves "$tmp/mix.folded" >"$tmp/ours"
	perf_leaves "$tmp/perf.data" >"$tmp/theirs"
	note "pilotlight and perf, in percent:"
	check "mix: the 20 hottest leaves are within 3 points of perf's" \
		leaves_agree "$tmp/ours" "$tmp/theirs"
else
	skip "mix: both record" "needs perf, gcc and xz"
	skip "mix: the 20 hottest leaves are within 3 points of perf's" "needs perf, gcc and xz"
fi
finish
