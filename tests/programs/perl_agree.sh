#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/perl_agree.sh [PROGRAM...]
#
# Are the chains of real Perl programs those that Perl's caller() tells in the same instants? Prints a row for each
# program (perl_agree.py). Perl asks between two operations. Needs root, pictures below /usr/share, and Debian's packages
# libperl-critic-perl, libimage-exiftool-perl, perltidy and libmojolicious-perl. PERL is the interpreter. Not part of
# make check.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
perl=${PERL:-perl}
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

need_root
need_commands "$perl" perlcritic exiftool perltidy

find_modules() { "$perl" -e 'require "$ARGV[0].pm"; print $INC{"$ARGV[0].pm"} =~ s/\.pm$//r' "$1"; }

compare() {
	local command

	case $1 in
	critic) command=(-S perlcritic -1 -q --nocolor "$(find_modules Perl/Critic)/Utils") ;;
	exiftool)
		mapfile -t command < <(find /usr/share -name '*.png' | head -n 1000)
		command=(-S exiftool -q -a -u "${command[@]}")
		;;
	tidy) command=(-S perltidy -o /dev/null "$(find_modules Perl/Tidy)/Formatter.pm") ;;
	mojolicious) command=("$src/perl_mojolicious.pl" 400) ;;
	*) note "no program $1"; return 1 ;;
	esac
	# Makes the tables and symbols.
	"$pilotlight" record -F 499 -o "$tmp/first.folded" -- "$perl" "${command[@]}" >/dev/null 2>&1
	PERL_ORACLE=$tmp/$1.caller "$pilotlight" record -c 1 -e syscalls:sys_enter_getppid --lines -o "$tmp/$1.folded" \
		-- "$perl" -I "$src" -Mperl_oracle "${command[@]}" >/dev/null 2>"$tmp/err"
	grep "^ *syscalls:sys_enter_getppid.*lost" "$tmp/err" >&2
	[ -z "${KEEP:-}" ] || cp "$tmp/$1."{caller,folded} "$KEEP"
	"$root/tests/programs/perl_agree.py" "$1" "$tmp/$1.folded" "$tmp/$1.caller"
}

[ $# -gt 0 ] || set -- critic exiftool tidy mojolicious
for program; do
	compare "$program"
done
