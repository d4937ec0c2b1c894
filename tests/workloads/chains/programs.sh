# SPDX-License-Identifier: GPL-2.0-or-later
# Compiles the programs of this folder, and runs and checks their cases. Sourced after lib.sh.

sources=$root/tests/workloads/chains
chains=$root/tests/end_to_end/unwind_chains.py
export programs=$tmp/programs
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache PYTHONDONTWRITEBYTECODE=1
# Functions are bound at program start, except in cases about lazy binding.
flags=(-std=gnu17 -D_GNU_SOURCE -fomit-frame-pointer -pthread -Wl,--build-id=sha1 -Wl,-z,now)
mkdir "$programs"

# compile NAME COMMAND...: compiles to $programs/NAME in the background. On failure the program is missing.
compile() {
	local name=$1

	shift
	(cd "$sources" && "$@" -o "$programs/$name" 2>"$tmp/$name.log") ||
		note "no $name: $(head -n 3 "$tmp/$name.log")" &
	[ "$(jobs -rp | wc -l)" -lt "$cpu_count" ] || wait -n
}

# The libraries must exist before programs link with them.
compile_places() {
	compile library_a.so gcc "${flags[@]}" -O2 -fPIC -shared -DFUNCTION=library_a \
		-DFRAME_BYTES=100 library.c
	compile library_b.so gcc "${flags[@]}" -O2 -fPIC -shared -DFUNCTION=library_b \
		-DFRAME_BYTES=1000 library.c
	compile lazy.so gcc "${flags[@]}" -O2 -fPIC -shared -Wl,-z,lazy lazy.c
	wait
	compile places gcc "${flags[@]}" -O2 -Wl,-z,lazy main.c places.c "$programs/library_a.so" \
		-Wl,-rpath,'$ORIGIN'
}

# run_cases WARM_UP_SECONDS SECONDS <LIST: runs one case on each CPU at a time; the cases differ in their comms.
run_cases() {
	xargs -P "$cpu_count" -L 1 bash -c \
		'"$programs/$2" "$3" "$4" "$0" "$1" || echo "$2 $3 fails"' "$1" "$2"
}

# So many samples a second that a case has enough of them in a short time.
RATE=1499

# record_cases SET OUTPUT: records each program for a moment, to make the tables, then a case that needs the table of
# the vdso, where most cases rarely are, and then all cases.
record_cases() {
	{
		echo places vdso warm_up
		python3 "$chains" list "$1" "$programs"
	} >"$programs/all"
	sort -u -k 1,1 "$programs/all" >"$programs/each"
	export cpu_count
	export -f run_cases
	record "$tmp/warm_up.folded" -F $RATE -- bash -c 'run_cases 0.05 0.05 <"$programs/each"' &&
		record "$2" -F $RATE -- bash -c 'run_cases 0.1 0.3 <"$programs/all"' || return
	[ ! -s "$2.out" ] || { note "$(cat "$2.out")"; return 1; }
}

# 99.9 % of 450 samples are all of them, but a single one may be wrong by chance. So failed cases are recorded again,
# ten times as long, and that recording decides. More failed cases than this are no chance.
AGAIN_MAX=10

# record_wrong SET OUTPUT AGAIN: records the failed cases to AGAIN. Fails without failed cases or without a recording.
record_wrong() {
	local count

	python3 "$chains" wrong "$1" "$programs" "$2" >"$programs/wrong" || return
	count=$(wc -l <"$programs/wrong")
	[ "$count" -gt 0 ] && [ "$count" -le $AGAIN_MAX ] || return
	record "$3" -F $RATE -- bash -c 'run_cases 0.1 3 <"$programs/wrong"' || return
	[ ! -s "$3.out" ] || { note "$(cat "$3.out")"; return 1; }
	nothing_lost "$3.log"
}

# check_cases SET OUTPUT: runs a test for each line of `count`.
check_cases() {
	local fields files=("$2") again=${2%.folded}.again.folded

	! record_wrong "$1" "$2" "$again" || files+=("$again")
	while IFS=$'\t' read -r -a fields; do
		case ${fields[0]} in
		ok) ok "${fields[1]}" ;;
		skip) skip "${fields[1]}" "${fields[2]}" ;;
		*) not_ok "${fields[1]}" ;;
		esac
		note "$(printf '%s\n' "${fields[@]:2}")"
	done < <(python3 "$chains" check "$1" "$programs" "${files[@]}")
}
