# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by unwind.sh: agreement of stacks with `perf record --call-graph dwarf`.

# Prints a process and its descendants, one a line.
print_descendants() {
	local child

	echo "$1"
	for child in $(pgrep -P "$1"); do
		print_descendants "$child"
	done
}

# Records only the load with both tools at once, perf at forty times the rate, so nearly all of our chains should
# be among perf's. Fails if a process ended before both tools had started.
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

# Replaces in_background() of unwind_loads.sh. After an exec, perf 6.1 keeps the old mappings of the process and
# unwinds libc by the lower of both, which is correct only half of the time. Without address randomization the new
# mapping is usually the lower one, because the new program has more libraries.
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
		# Fills the cache, so that tables exist from the start.
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
