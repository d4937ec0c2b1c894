#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/ruby_agree.sh [PROGRAM...]
#
# Are the stacks of real Ruby programs those that rbspy sees in the same instants? Prints a row for each program
# (ruby_agree.py). With "+yjit" behind its name a program runs with --yjit. Needs root, Debian's packages puma,
# ruby-sinatra, ruby-railties, asciidoctor and rubocop, and cargo, which builds rbspy. RUBY is the interpreter, RBSPY
# the profiler, AGREE_SECONDS (20) is how long it looks, at RATE (100) stacks a second. Not part of make check: the
# crates come from the network.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
build=$root/build/programs/ruby
port=8918
ruby=${RUBY:-ruby}
rbspy=${RBSPY:-$build/bin/rbspy}
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

need_root
need_commands "$ruby" puma asciidoctor rubocop
if [ ! -x "$rbspy" ]; then
	cargo install -q --root "$build" rbspy || exit 1
fi

serve() {
	start "$ruby" "${options[@]}" -S puma -q -t 1:1 -e production -b "tcp://127.0.0.1:$port" "$src/$1"
	watched=${started[-1]}
	wait_for 120 grep -qi "^ *[0-9]*: 0100007F:$(printf %04X $port) 00000000:0000 0A" "/proc/$watched/net/tcp" || return
	start "$ruby" "$src/ruby_client.rb" $port
}

run_program() {
	options=()
	[[ $1 != *+yjit ]] || options=(--yjit)
	case ${1%+yjit} in
	sinatra | rails) serve "ruby_${1%+yjit}.ru"; return ;;
	esac
	start "$ruby" "${options[@]}" "$src/ruby_${1%+yjit}.rb"
	watched=${started[-1]}
}

compare() {
	run_program "$1" || return
	# Makes the tables and symbols.
	"$pilotlight" record -d 5 -p "$watched" -o "$tmp/first.folded" 2>/dev/null
	# -c: each switch; -F: so many that none stands for others.
	# The second wait is for a busy machine, which loads the programs in more than a minute.
	start_recording -F 4999 -c 1 -e sched:sched_switch --lines -p "$watched" -o "$tmp/$1.folded" ||
		wait_beside "$recorder" has_perf_events "$recorder" ||
		{ note "no recording: $(cat "$tmp/err")"; return 1; }
	# The first samples come late, on a busy machine by seconds.
	sleep 10
	"$rbspy" record --silent -p "$watched" -r "${RATE:-100}" -d "${AGREE_SECONDS:-20}" -o collapsed -f "$tmp/$1.spy" \
		--raw-file "$tmp/$1.gz" >"$tmp/spy.log" 2>&1 || note "$(cat "$tmp/spy.log")"
	# It has written what it could read.
	[ -s "$tmp/$1.spy" ] || return
	kill -INT "$recorder"
	wait "$recorder"
	grep "^ *sched:sched_switch.*lost" "$tmp/err" >&2
	[ -z "${KEEP:-}" ] || cp "$tmp/$1."{spy,folded} "$KEEP"
	"$root/tests/programs/ruby_agree.py" "$1" "$tmp/$1.folded" "$tmp/$1.spy"
}

[ $# -gt 0 ] || set -- sinatra sinatra+yjit rails rails+yjit asciidoctor asciidoctor+yjit rubocop rubocop+yjit
for program; do
	compare "$program"
	stop_started # the next server wants the same port
done
