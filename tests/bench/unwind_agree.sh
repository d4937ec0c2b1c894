# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by unwind.sh: how far stacks are those of `perf record --call-graph dwarf`.

# Prints a process and all that come of it, one a line.
print_descendants() {
	local child

	echo "$1"
	for child in $(pgrep -P "$1"); do
		print_descendants "$child"
	done
}

# Both at once, of nothing but the load, perf forty times as often: nearly all chains that we
# see should be among perf's. Fails where a process ended before both had begun.
record_both() {
	local perf ours processes seconds=${AGREE_SECONDS:-20}

	mapfile -t processes < <(for process in "${load_sessions[@]}"; do
		print_descendants "$process"
	done)
	perf record -q -p "$(IFS=,; echo "${processes[*]}")" -m 32M -F "${PERF_RATE:-3997}" \
		-e cpu-clock --call-graph dwarf,65528 -o "$tmp/agree.data" -- sleep "$seconds" \
		>"$tmp/perf.out" 2>&1 &
	perf=$!
	"$pilotlight" record -q "${processes[@]/#/-p}" --no-kernel -F "$rate" -d "$seconds" \
		-o "$tmp/agree.pb.gz" >"$tmp/ours.out" 2>&1 &
	ours=$!
	wait -n "$perf" "$ours" && wait "$perf" && wait "$ours" && return
	kill "$perf" "$ours"
	wait "$perf" "$ours"
	return 1
} 2>/dev/null

# In the place of that of unwind_loads.sh. A process that runs a program keeps in perf 6.1 the
# mappings that it had before, and unwinds libc by the lower of both: right only for every other
# one. Where addresses are not random the new one mostly is, since it has more libraries.
not_randomized() {
	in_background() {
		setsid setarch -R "$@" >/dev/null 2>&1 </dev/null &
		load_sessions+=($!)
	}
}

print_agreement() {
	local load

	not_randomized
	printf '\n%-9s %12s %14s %6s %6s %15s %15s %15s %11s\n' "" "ours whole" "perf whole" chains "" \
		"ours in perf" "by calls" "perf in ours" impossible
	printf '%-9s %12s %14s %6s %6s %15s %15s %15s %11s\n' "" "of stacks" "of stacks" ours perf \
		"% (perf's own)" "% (perf's own)" "% (perf's own)" "ours, perf"
	for load in ${LOADS:-python sqlite openssl xz gxx git nginx redis postgres rust go node java}; do
		start_load "$load" || { printf '%-9s left out\n' "$load"; continue; }
		sleep 1
		# What is found in the cache is there from the start.
		record first 2
		until_it_does record_both || needs "cannot record: $(cat "$tmp"/{perf,ours}.out)"
		stop_load
		perf script --no-inline -i "$tmp/agree.data" -F comm,ip,dso 2>/dev/null |
			"$here/unwind_agree.py" "$tmp/agree.pb.gz" "$comm" >"$tmp/agree" ||
			needs "cannot compare stacks of $load"
		awk -v load="$load" 'NR == 1 {
				printf "%-9s %12s %14s %6s %6s %15s %15s %15s %11s\n", load, $1, $2,
					$3, $4, $5 " (" $6 ")", $7 " (" $8 ")", $9 " (" $10 ")",
					$11 ", " $12
				next
			}
			{ print }' "$tmp/agree"
		[ -z "${KEEP:-}" ] || mv "$tmp/agree.data" "$tmp/agree.pb.gz" "$KEEP"
		rm -f "$tmp/agree.data"
	done
}
