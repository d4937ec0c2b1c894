#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/python_agree.sh [PROGRAM...]
#
# Are the stacks of real Python programs those that py-spy sees in the same instants? Prints a row for each program
# (python_agree.py). Needs root, and Python with the packages below, or pip that can install them. PYTHON is the
# interpreter, AGREE_SECONDS (20) is how long py-spy looks, at RATE (100) stacks a second. Not part of make check: the
# packages come from the network.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
build=$root/build/programs/python
port=8917
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

need_root
if [ ! -x "$build/bin/py-spy" ]; then
	"${PYTHON:-python3}" -m venv "$build" && "$build/bin/pip" install -q django flask gunicorn hypothesis numpy py-spy pytest || exit 1
fi

# Serves until the test ends; its last worker is what is looked at.
serve() {
	start "$build/bin/gunicorn" --chdir "$src" -b 127.0.0.1:$port "$@"
	wait_for 30 pgrep -P "${started[-1]}" || return
	watched=$(pgrep -n -P "${started[-1]}")
	start "$build/bin/python" "$src/python_client.py" $port
}

run_program() {
	case $1 in
	numpy) start "$build/bin/python" "$src/python_numpy.py" ;;
	pytest) start "$build/bin/python" -m pytest -q -p no:cacheprovider --pyargs numpy.lib numpy.linalg ;;
	django) serve python_django:application; return ;;
	flask) serve python_flask:application; return ;;
	threads) serve --threads 4 python_flask:application; return ;;
	esac
	watched=${started[-1]}
}

compare() {
	run_program "$1" || return
	# Makes the tables and symbols.
	"$pilotlight" record -d 3 -p "$watched" -o "$tmp/first.folded" 2>/dev/null
	start_recording -F 4999 -e sched:sched_switch --lines -p "$watched" -o "$tmp/$1.folded" || return
	# Its first samples are not those of the first instants.
	sleep 1
	"$build/bin/py-spy" record -i -p "$watched" -r "${RATE:-100}" -d "${AGREE_SECONDS:-20}" -f raw -o "$tmp/$1.raw" \
		>"$tmp/spy.log" 2>&1 || { note "$(cat "$tmp/spy.log")"; return 1; }
	kill -INT "$recorder"
	wait "$recorder"
	grep "^ *sched:sched_switch.*lost" "$tmp/err" >&2
	stop_started
	[ -z "${KEEP:-}" ] || cp "$tmp/$1."{raw,folded} "$KEEP"
	"$root/tests/programs/python_agree.py" "$1" "$tmp/$1.folded" "$tmp/$1.raw"
}

[ $# -gt 0 ] || set -- django flask threads pytest numpy
for program; do
	compare "$program"
done
