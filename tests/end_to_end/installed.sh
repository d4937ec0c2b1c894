#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` puts every file in its place. Its manuals are valid and complete.
# Runs beside others: it only reads and installs files.
. "$(dirname "$0")/lib.sh"

# install_to DESTDIR VARIABLE...: installs, independent of the caller's environment.
install_to() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" install DESTDIR="$1" "${@:2}" \
		>"$tmp/log" 2>&1 && return
	note "$(tail -n 12 "$tmp/log")"
	return 1
}

# Prints all files with their modes, without folders.
files_of() {
	(cd "$1" && find . ! -type d -printf '%m %P\n') | sort -k 2
}

everything_is_there() {
	local m

	{
		echo 644 etc/pilotlight/pilotlight.conf
		echo 755 usr/bin/pilotlight
		echo 755 usr/sbin/pilotlightd
		echo 644 usr/lib/systemd/system/pilotlight-events.socket
		echo 644 usr/lib/systemd/system/pilotlight-events@.service
		echo 644 usr/lib/systemd/system/pilotlight-failed@.service
		echo 644 usr/lib/systemd/system/pilotlight-fetch.socket
		echo 644 usr/lib/systemd/system/pilotlight-fetch@.service
		echo 644 usr/lib/systemd/system/pilotlight-send.socket
		echo 644 usr/lib/systemd/system/pilotlight-send@.service
		echo 644 usr/lib/systemd/system/pilotlightd.service
		echo 644 usr/lib/systemd/system/pilotlightd.socket
		echo 644 usr/lib/sysusers.d/pilotlight.conf
		echo 644 usr/lib/tmpfiles.d/pilotlight.conf
		for m in README.md LICENSE GPL-2.0.txt Linux-syscall-note.txt; do
			echo "644 usr/share/doc/pilotlight/$m"
		done
		for m in "$root"/docs/*; do
			echo "644 usr/share/doc/pilotlight/docs/${m##*/}"
		done
		for m in "$root"/tools/*.1 "$root"/daemon/*.[58]; do
			echo "644 usr/share/man/man${m##*.}/${m##*/}"
		done
	} | sort -k 2 >"$tmp/expected"
	files_of "$tmp/usr" | diff "$tmp/expected" - >"$tmp/log" && return
	note "$(cat "$tmp/log")"
	return 1
}

# Each folder is in the requested place, and the unit names it.
elsewhere() {
	local unit=$tmp/other/units/pilotlightd.service file

	install_to "$tmp/other" prefix=/opt/p bindir=/b sbindir=/s sysconfdir=/c unitdir=/units \
		sysusersdir=/u tmpfilesdir=/t mandir=/m docdir=/d || return
	for file in b/pilotlight s/pilotlightd c/pilotlight/pilotlight.conf units/pilotlightd.socket \
		u/pilotlight.conf t/pilotlight.conf m/man8/pilotlightd.8 d/LICENSE; do
		[ -f "$tmp/other/$file" ] || { note "no $file"; return 1; }
	done
	[ ! -e "$tmp/other/opt" ] || { note "$(files_of "$tmp/other/opt")"; return 1; }
	grep -qx 'ExecStart=/s/pilotlightd fetch-service' "$tmp/other/units/pilotlight-fetch@.service" &&
		grep -qx 'ExecStart=/s/pilotlightd send-service' "$tmp/other/units/pilotlight-send@.service" &&
		grep -qx 'ExecStart=/s/pilotlightd event-service' "$tmp/other/units/pilotlight-events@.service" &&
		grep -q '^ExecStart=-/b/pilotlight incident ' "$tmp/other/units/pilotlight-failed@.service" &&
		grep -qx 'ExecStart=/s/pilotlightd' "$unit" &&
		grep -qx 'ExecReload=/s/pilotlightd --check' "$unit" &&
		grep -qx 'Environment=CONFIGURATION_DIRECTORY=/c/pilotlight' "$unit"
}

# Installs without DESTDIR, as on a real machine, but with a prefix below $tmp. A fake id(1) reports a user
# other than root. An existing configuration is never overwritten.
configuration_is_kept() {
	mkdir -p "$tmp/bin" "$tmp/machine/etc/pilotlight"
	printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id"
	chmod 755 "$tmp/bin/id"
	echo '# mine' >"$tmp/machine/etc/pilotlight/pilotlight.conf"
	PATH=$tmp/bin:$PATH install_to '' prefix="$tmp/machine" sysconfdir="$tmp/machine/etc" || return
	[ -x "$tmp/machine/sbin/pilotlightd" ] && grep -q 'user and a group' "$tmp/log" &&
		[ "$(cat "$tmp/machine/etc/pilotlight/pilotlight.conf")" = '# mine' ]
}

uninstalls() {
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$root" uninstall DESTDIR="$tmp/usr" prefix=/usr \
		>"$tmp/log" 2>&1 || { note "$(cat "$tmp/log")"; return 1; }
	[ "$(files_of "$tmp/usr")" = '644 etc/pilotlight/pilotlight.conf' ] && return
	note "$(files_of "$tmp/usr")"
	return 1
}

manuals_are_sound() {
	local m

	for m in "$root"/tools/*.1 "$root"/daemon/*.[58]; do
		"$@" "$m" >"$tmp/log" 2>&1
		[ -s "$tmp/log" ] || continue
		note "$(head -n 5 "$tmp/log")"
		return 1
	done
}

formatted_by_man() {
	LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null
}

# The installed configuration has every setting, as a comment with its default (config_print_test).
knobs_are_told() {
	local section line missing=0

	while read -r line; do
		case $line in
		'['*']') section=$line ;;
		'#[sink '*']') section='[sink NAME]' ;;
		'#[metric '*']') section='[metric NAME]' ;;
		'#'[A-Z]*=*)
			line=${line#\#}
			awk -v section=".Ss $section" -v knob=".It Cm ${line%%=*} Ns Li =${line#*=}" '
			/^\.S[sh] / { here = $0 == section }
			here && $0 == knob { found = 1 }
			END { exit !found }' "$root/daemon/pilotlight.conf.5" && continue
			note "$section $line is not in pilotlight.conf(5)"
			missing=1
			;;
		esac
	done < <(grep -E '^(#?\[|#[A-Z][A-Za-z]*=)' "$root/systemd/pilotlight.conf")
	[ $missing = 0 ] && [ -n "${section-}" ]
}

# told WHAT NAME...: pilotlightd(8) has all of them.
told() {
	local name

	[ $# -gt 1 ] || { note "no $1"; return 1; }
	for name in "${@:2}"; do
		grep -qE "(Cm|Li|Fl|,) -?$name( |\$)" "$root/daemon/pilotlightd.8" && continue
		note "the $1 $name is not in pilotlightd(8)"
		return 1
	done
}

parameters_are_told() {
	mapfile -t names < <(sed -n 's/^\t\[SELECTION_[A-Z_]*\] = { "\([a-z-]*\)".*/\1/p' \
		"$root/daemon/query/selection_parameters.c")
	told parameter "${names[@]}"
}

# Conversely, every metric of the manual exists.
metrics_are_there() {
	local name names

	mapfile -t names < <(awk '/^\.Sh / { here = $2 == "METRICS" } here' "$root/daemon/pilotlightd.8" |
		sed -n 's/^\.\(It \)\{0,1\}Li //p' | tr ' ,' '\n' | grep -x '[a-z_]*[a-z]')
	[ ${#names[@]} -gt 5 ] || return
	for name in "${names[@]}"; do
		grep -q "\"$name\"" "$root"/daemon/api/report_*.c && continue
		note "there is no metric $name"
		return 1
	done
}

options_are_told() {
	local names

	mapfile -t names < <("$tmp/other/s/pilotlightd" --help | grep -oE -- '--[a-z-]+' | sort -u | cut -c 2-)
	told option "${names[@]}"
}

user_is_made() {
	systemd-sysusers --dry-run "$root/systemd/sysusers.conf" >"$tmp/log" 2>&1 ||
		{ note "$(cat "$tmp/log")"; return 1; }
}

folder_is_made() {
	mkdir -p "$tmp/machine/etc"
	echo root:x:0:0:root:/root:/bin/sh >"$tmp/machine/etc/passwd"
	echo root:x:0: >"$tmp/machine/etc/group"
	systemd-tmpfiles --create --root="$tmp/machine" "$root/systemd/tmpfiles.conf" >"$tmp/log" 2>&1 &&
		[ "$(stat -c %a "$tmp/machine/run/pilotlight")" = 755 ] && return
	note "$(cat "$tmp/log")"
	return 1
}

# need NAME PROGRAM FUNCTION...
need() {
	if has "$2"; then
		check "$1" "${@:3}"
	else
		skip "$1" "needs $2"
	fi
}

need_root
need_programs
# The libraries that the programs load at run time, from their ELF notes, and the packages that have them.
loaded_is_asked_for() {
	local field line soname notes package

	readelf -p .note.dlopen "$tmp/other/s/pilotlightd" "$tmp/other/b/pilotlight" >"$tmp/notes" 2>"$tmp/log" || return
	mapfile -t notes < <(grep -oE '\[\{.*\}\]' "$tmp/notes")
	for soname in libmicrohttpd.so.12 libsystemd.so.0 libcurl-gnutls.so.4 libZydis.so.4.0; do
		grep -qF "\"$soname\"" "$tmp/notes" || { note "no note of $soname"; return 1; }
	done
	for line in "${notes[@]}"; do
		soname=$(sed -E 's/.*"soname":\["([^"]*)".*/\1/' <<<"$line")
		field=Depends
		[[ $line != *'"priority":"suggested"'* ]] || field=Suggests
		package=${soname/.so./}
		[ "$soname" != libcurl-gnutls.so.4 ] || package=libcurl3-gnutls
		[ "$soname" != libZydis.so.4.0 ] || package=libzydis4.0
		grep -qE "^$field:(.*[ ,])?$package( \(.*\))?(,|\$)" "$root/systemd/debian/control" && continue
		note "$field of the package lacks $soname"
		return 1
	done
}

plan 15
check "make install DESTDIR succeeds" install_to "$tmp/usr" prefix=/usr
check "every file is installed with its mode" everything_is_there
check "every folder can be changed" elsewhere
check "an existing configuration is kept" configuration_is_kept
check "uninstall removes everything except the configuration" uninstalls
need "manuals: mandoc has no warnings" mandoc manuals_are_sound mandoc -T lint -W warning
need "manuals: man has no warnings" man manuals_are_sound formatted_by_man
check "manuals: every setting with its default" knobs_are_told
check "manuals: every selection parameter" parameters_are_told
check "manuals: every option of the service" options_are_told
check "manuals: every metric exists" metrics_are_there
check "the unit starts the installed program" test -x "$tmp/other/s/pilotlightd"
need "sysusers: is understood" systemd-sysusers user_is_made
need "tmpfiles: is understood" systemd-tmpfiles folder_is_made
need "package: what the program loads by name is a dependency" readelf loaded_is_asked_for
finish
