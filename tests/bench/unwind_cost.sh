# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by unwind.sh: the kernel's time per sample.

cost_tools=(none frame_pointers dwarf ours_fp ours)

tool_title() {
	case $1 in
	none) echo "perf, no stack" ;;
	frame_pointers) echo "perf -g" ;;
	dwarf) echo "perf --call-graph dwarf" ;;
	ours_fp) echo "pilotlight --unwind=fp" ;;
	ours) echo "pilotlight --unwind=auto" ;;
	esac
}

# The first two seconds are for loading. Repeats if another profiler sampled at the same rate.
measure_cost() {
	local tool=$1 pid=$2 recorder turn

	for turn in 1 2 3 4 5; do
		record "$tool" $((seconds + 3)) &
		recorder=$!
		sleep 2
		"$here/unwind_timer.py" "$pid" "$seconds" "$rate" >"$tmp/times"
		turn=$?
		wait $recorder
		[ $turn = 3 ] || break
	done
	[ $turn = 0 ] || needs "another profiler samples at $rate Hz; RATE is for another one"
	median <"$tmp/times" >>"$tmp/$tool.medians"
	awk '{ sum += $1 } END { print NR ? sum / NR : "-" }' "$tmp/times" >>"$tmp/$tool.means"
	wc -l <"$tmp/times" >>"$tmp/$tool.counts"
	stacks "$tool" "$comm" >>"$tmp/$tool.stacks"
}

print_cost() {
	local tool=$1 floor=$2

	awk '{ user += $2; frames += $4 } END { print user ? frames / user : 0 }' \
		"$tmp/$tool.stacks" >"$tmp/frames"
	awk -v title="$(tool_title "$tool")" -v middle="$(median <"$tmp/$tool.medians")" \
		-v mean="$(median <"$tmp/$tool.means")" -v frames="$(cat "$tmp/frames")" \
		-v floor="$floor" -v count="$(paste -sd+ "$tmp/$tool.counts" | bc)" 'BEGIN {
		printf "  %-26s %6.2f us %6.2f us %7.1f", title, middle / 1000, mean / 1000, frames
		if (frames >= 1) printf " %7.2f us", (middle - floor) / 1000 / frames
		else printf " %10s", ""
		printf " %7d\n", count
	}'
}

print_costs() {
	local load round tool

	has bc || needs "needs bc"
	[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing ||
		needs "cannot mount tracefs at /sys/kernel/tracing"
	for load in ${LOADS:-python six node}; do
		start_load "$load" || { echo "$load is not there: left out"; continue; }
		rm -f "$tmp"/*.medians "$tmp"/*.means "$tmp"/*.counts "$tmp"/*.stacks
		record ours 4
		for ((round = 1; round <= rounds; round++)); do
			for tool in "${cost_tools[@]}"; do
				measure_cost "$tool" "${load_sessions[0]}"
			done
		done
		stop_load
		printf '\n%-28s %9s %9s %7s %10s %7s\n' "$load" median mean frames "a frame" samples
		for tool in "${cost_tools[@]}"; do
			print_cost "$tool" "$(median <"$tmp/none.medians")"
		done
	done
}
