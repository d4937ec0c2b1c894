# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by unwind.sh: the share of whole stacks.

print_wholeness() {
	local load tool figures

	printf '\n%-10s %16s %16s %16s %16s\n' "" first ours "perf -g" "perf dwarf"
	for load in ${LOADS:-python sqlite openssl xz gxx node git java nginx redis postgres go rust}; do
		start_load "$load" || { printf '%-10s left out\n' "$load"; continue; }
		sleep 1
		printf '%-10s' "$load"
		rm -rf "$PILOTLIGHT_SYMBOL_CACHE"
		for tool in first ours frame_pointers dwarf; do
			record "$tool" "$seconds"
		done
		stop_load
		for tool in first ours frame_pointers dwarf; do
			stacks "$tool" "$comm" ${WHY:+reasons} >"$tmp/$tool.counted"
			awk 'NR == 1 { printf " %16s", $2 ? sprintf("%.2f %% of %d", 100 * $3 / $2, $2) : "none" }' \
				"$tmp/$tool.counted"
		done
		echo
		[ -z "${WHY:-}" ] || for tool in first ours frame_pointers dwarf; do
			sed -n "2,\$s/^/  $tool/p" "$tmp/$tool.counted"
		done
	done
}
