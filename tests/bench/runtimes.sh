#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the BPF time of a sample with and without the functions of Python, JavaScript, Ruby, Java, PHP or Perl. Three
# recordings run at the same time. The third one is of a process that sleeps: it tells what a sample of other processes
# costs. Prints the medians of ROUNDS, in which the other two start by turns: the first one may find what the second one
# reads not in the caches. Needs root, and an earlier recording of the interpreter. DEPTH is how many functions of
# Python, Ruby, PHP or Perl call each other: with few, the stack is mostly native; with many it is mostly the
# interpreter's. The program of Java is compiled by the javac beside JAVA, or, with LAUNCHER=1, by the launcher, whose
# methods are interpreted and call the program's.
#
#	[ROUNDS=N] [DEPTH=N] [LAUNCHER=1] tests/bench/runtimes.sh [PYTHON|NODE|RUBY|JAVA|PHP|PERL...]
set -u
cd "$(dirname "$0")/../.." || exit 1
pilotlight=${PILOTLIGHT:-build/release/pilotlight}
RATE=${RATE:-199} SECONDS_EACH=${SECONDS_EACH:-15} ROUNDS=${ROUNDS:-4}
tmp=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT

record() {
	"$pilotlight" record -F "$RATE" -d "$SECONDS_EACH" -p "$2" --runtime-frames "$3" -o "$tmp/$1.folded" 2>"$tmp/$1"
}

# numbers NAME: the milliseconds of all samples, those that were stored, and those of others.
numbers() {
	sed -n 's/^cost .* a sample, \([0-9.]*\) ms in all.*/\1/p; s/.* = \([0-9]*\) stored .* \([0-9]*\) filtered.*/\1 \2/p' \
		"$tmp/$1" | tr '\n' ' '
}

# run_round LOAD NAME OTHER: the microseconds of a native walk, the same with functions, and the quotient.
run_round() {
	local name runtime_frames recordings=()

	for name in "$2" "$3"; do
		runtime_frames=native
		[[ $name = functions ]] && runtime_frames=spliced
		record "$name" "$1" $runtime_frames &
		recordings+=($!)
	done
	record others $sleeper native &
	recordings+=($!)
	wait "${recordings[@]}"
	echo "$(numbers native)$(numbers functions)$(numbers others)" | awk '{
		other = 1000 * $9 / $8
		native = (1000 * $3 - other * $2) / $1
		both = (1000 * $6 - other * $5) / $4
		print native, both, both / native }'
}

# median COLUMN: of the rounds.
median() {
	cut -d " " -f "$1" "$tmp/rounds" | sort -g | awk '{ values[NR] = $1 }
		END { printf "%.2f", (values[int((NR + 1) / 2)] + values[int(NR / 2) + 1]) / 2 }'
}

sleep 10000 &
sleeper=$!
for runtime in "${@:-python3}"; do
	options=()
	case $(basename "$runtime") in
	node*) file=node_load.js ;;
	ruby*) file=ruby_load.rb ;;
	php*) file=php_load.php ;;
	perl*) file=perl_load.pl ;;
	java*)
		file=JavaLoad.java
		# So that the native walk finds the same frames.
		options=(-XX:+PreserveFramePointer)
		;;
	*) file=python_load.py ;;
	esac
	program=("tests/bench/$file")
	if [[ $file = *.java && -z ${LAUNCHER:-} ]]; then
		"$(dirname "$(command -v "$runtime")")/javac" -d "$tmp" "tests/bench/$file" || exit 1
		program=(-cp "$tmp" JavaLoad)
	fi
	"$runtime" "${options[@]}" "${program[@]}" 100000 ${DEPTH:+"$DEPTH"} &
	load=$!
	SECONDS_EACH=2 record warm_up $load both
	for ((round = 0; round < ROUNDS; round++)); do
		order=(native functions)
		((round % 2)) && order=(functions native)
		run_round $load "${order[@]}"
	done >"$tmp/rounds"
	kill $load
	[ "$(wc -l <"$tmp/rounds")" = "$ROUNDS" ] || { echo "$runtime: a recording failed" >&2 && exit 1; }
	echo "$runtime: $(median 1) us without its functions, $(median 2) us with them ($(median 3))"
done
