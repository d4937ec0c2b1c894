#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/ruby_agree.sh [PROGRAM...]
#
# Are the chains of real Ruby programs those that Ruby itself tells in the same instants? Prints a row for each program
# (ruby_agree.py). With "+yjit" behind its name a program runs with --yjit. Needs root, gcc, and the libraries that the
# programs require, such as Debian's packages ruby-sinatra, ruby-railties, asciidoctor and rubocop. RUBY is the
# interpreter, AGREE_SECONDS (20) is how long it is asked, KEEP a folder for what was compared. Not part of make check.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
ruby=${RUBY:-ruby}
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache RUBY_ORACLE_LIBRARY=$tmp/ruby_oracle.so RUBY_BEGIN=$tmp/begin
export RUBY_ORACLE=$tmp/oracle.folded RUBY_SECONDS=${AGREE_SECONDS:-20}

need_root
need_commands "$ruby" gcc
gcc -O2 -shared -fPIC -o "$RUBY_ORACLE_LIBRARY" "$src/ruby_oracle.c" || exit 1

compare() {
	local options=(-r "$src/ruby_oracle.rb") program=${1%+yjit} watched round

	[[ $1 != *+yjit ]] || options+=(--yjit)
	case $program in
	sinatra | rails) options+=("$src/ruby_requests.rb" "$src/ruby_$program.ru") ;;
	*) options+=("$src/ruby_$program.rb") ;;
	esac
	rm -f "$RUBY_BEGIN" "$RUBY_ORACLE"
	start "$ruby" "${options[@]}"
	watched=${started[-1]}
	# Makes the tables and symbols, which takes long on a busy machine.
	for round in {1..10}; do
		"$pilotlight" record -d 5 -p "$watched" -o "$tmp/first.folded" 2>/dev/null
		! grep -q '_\[r\]' "$tmp/first.folded" || break
	done
	start_recording -c 1 -e signal:signal_deliver --lines -p "$watched" -o "$tmp/$1.folded" ||
		wait_beside "$recorder" has_perf_events "$recorder" ||
		{ note "no recording: $(cat "$tmp/err")"; return 1; }
	# Until the recording has the tables.
	sleep 5
	touch "$RUBY_BEGIN"
	wait "$watched" && [ -s "$RUBY_ORACLE" ] || { note "$1 failed, or Ruby told nothing"; return 1; }
	ended_with 0 || return
	grep "^ *signal:signal_deliver.*lost" "$tmp/err" >&2
	[ -z "${KEEP:-}" ] || { cp "$tmp/$1.folded" "$KEEP" && cp "$RUBY_ORACLE" "$KEEP/$1.oracle"; }
	"$root/tests/programs/ruby_agree.py" "$1" "$tmp/$1.folded" "$RUBY_ORACLE"
}

[ $# -gt 0 ] || set -- sinatra sinatra+yjit rails rails+yjit asciidoctor asciidoctor+yjit rubocop rubocop+yjit
for program; do
	compare "$program"
	stop_started
done
