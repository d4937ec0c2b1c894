#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/vm/boot_systemd runs this script in its machine, as a unit, once after each boot. Waits are for events and
# end after PATIENCE seconds, because the machine is emulated.
set -u
export LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive

PATIENCE=${PATIENCE:-180}
# The main process's capabilities: dac_read_search, sys_ptrace, syslog, perfmon, bpf, checkpoint_restore.
CAPABILITIES=000001c400080004
socket=/run/pilotlight/api.sock
kept=/root/kept # survives the reboot
tests=$(cat $kept.tests 2>/dev/null || echo 0)

# check NAME COMMAND...
check() {
	local name=$1

	shift
	tests=$((tests + 1))
	echo $tests >$kept.tests
	if "$@" >/tmp/said 2>&1; then
		echo "ok $tests - $name"
	else
		echo "not ok $tests - $name"
		tail -n 60 /tmp/said | sed 's/^/# /'
		journalctl -q -b -u pilotlightd.service -n 12 -o cat | sed 's/^/# journal: /'
	fi
}

# until_true COMMAND...: repeats the command twice a second until it succeeds.
until_true() {
	local end=$((SECONDS + PATIENCE))

	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "not within $PATIENCE s: $*"; return 1; }
		sleep 0.5
	done
}

property() { systemctl show -P "$1" "${2:-pilotlightd.service}"; }
main_pid() { property MainPID; }
# The main process is the broker; one of its children is the engine.
engine_pid() { pgrep -o -P "$(main_pid)" -f engine; }
is_active() { [ "$(property ActiveState)" = active ]; }
is_inactive() { [ "$(property ActiveState)" = inactive ]; }
answers() { curl -sf --max-time 30 --unix-socket $socket http://localhost/api/v1/status >/tmp/status; }
# metric NAME
metric() {
	curl -sf --max-time 30 --unix-socket $socket http://localhost/metrics |
		awk -v name="pilotlight_$1" '$1 == name { print $2 }'
}
metric_is() { [ "$(metric "$1")" = "$2" ]; }
# has_errors SINCE: the journal has errors of the service or about it.
has_errors() { journalctl -q -b -p err --since "$1" | grep -i pilotlight; }
# folded FILE SELECT...
folded() {
	local file=$1

	shift
	pilotlight flamegraph -q --last 1h "$@" -f folded -o - >"$file" 2>/tmp/folded.err && return
	cat /tmp/folded.err
	return 1
}
# shows FUNCTION SELECT...
shows() {
	local function=$1

	shift
	folded /tmp/shown "$@" && grep -q "$function" /tmp/shown
}
# shows_only FUNCTION OTHER SELECT...
shows_only() { shows "$1" "${@:3}" && ! grep -q "$2" /tmp/shown; }

# --- the tests -----------------------------------------------------------------------------------

is_installed() { dpkg -i /root/pilotlight.deb && until_true is_active && until_true answers; }
socket_is_of_group() {
	stat -c '%U:%G %a %F' $socket /run/pilotlight
	[ "$(stat -c '%U:%G %a %F' $socket)" = 'root:pilotlight 660 socket' ] &&
		[ "$(stat -c '%U:%G %a' /run/pilotlight)" = 'root:root 755' ]
}
folders_are_its_own() {
	stat -c '%U:%G %a' /var/lib/pilotlight /var/cache/pilotlight
	[ "$(stat -c '%U:%G %a' /var/lib/pilotlight /var/cache/pilotlight | sort -u)" = 'pilotlight:pilotlight 750' ]
}
member_may() { useradd -d /home/member -G pilotlight member && runuser -u member -- pilotlight status; }
stranger_may_not() { ! setpriv --reuid=65534 --regid=65534 --clear-groups pilotlight status; }
# capabilities PID: prints the distinct values of its capability sets.
capabilities() { awk '/^Cap(Inh|Prm|Eff|Amb)/ { print $2 }' "/proc/$1/status" | sort -u; }
main_has_capabilities() {
	grep ^Cap "/proc/$(main_pid)/status"
	[ "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$(main_pid)/status" | sort -u)" = $CAPABILITIES ]
}
# NoNewPrivs keeps the engine from regaining the capabilities in CapBnd.
engine_has_none() {
	grep -E '^(Cap|NoNew)' "/proc/$(engine_pid)/status"
	[ "$(capabilities "$(engine_pid)")" = 0000000000000000 ] &&
		grep -q '^NoNewPrivs:.1$' "/proc/$(engine_pid)/status"
}
# Debian's kernel refuses perf events to the main process. The process that opened them has ended.
events_come_from_their_unit() {
	sysctl kernel.perf_event_paranoid
	stat -c '%U %a %F' /run/pilotlight/events.sock
	journalctl -q -b -o cat -u 'pilotlight-events@*' | tail -n 5
	[ "$(sysctl -n kernel.perf_event_paranoid)" = 3 ] &&
		[ "$(stat -c '%U %a %F' /run/pilotlight/events.sock)" = 'pilotlight 600 socket' ] &&
		! systemctl list-units --all --no-legend 'pilotlight-events@*' | grep .
}
names_kernel() { shows '\(do_syscall_64\|asm_[a-z_]*\|ret_from_fork\)_\[k\]'; }
# The service is confined, so it reads files in /home and /tmp, including those of runtimes, through the processes.
names_of_hidden_folders() {
	cp /usr/local/bin/alpha /tmp/beside
	systemd-run -q --unit=hidden-home /home/private/home
	systemd-run -q --unit=hidden-tmp -p PrivateTmp=yes \
		/bin/sh -c 'cp /usr/local/bin/beta /tmp/inside && exec /tmp/inside'
	systemd-run -q --unit=hidden-beside /tmp/beside
	until_true shows home_work --unit hidden-home.service &&
		until_true shows beta_work --unit hidden-tmp.service &&
		until_true shows alpha_work --unit hidden-beside.service && return
	head -n 5 /tmp/shown
	systemctl --no-pager --lines=2 status 'hidden-*'
	pilotlight status
	return 1
}
units_are_told_apart() {
	systemctl start alpha.service beta.service
	until_true shows alpha_work --unit alpha.service && until_true shows beta_work --unit beta.service &&
		shows_only alpha_work beta_work --unit alpha.service &&
		shows_only beta_work alpha_work --unit beta.service
}
reloads() {
	local pid=$(main_pid)

	printf '[Sampling]\nFrequencyHz=49\n' >/etc/pilotlight/pilotlight.conf.d/test.conf
	systemctl reload pilotlightd && until_true metric_is sampling_rate_wanted_hertz 49 &&
		is_active && [ "$(main_pid)" = "$pid" ]
}
refuses_mistakes() {
	local pid=$(main_pid)

	printf '[Sampling]\nFrequency=often\n' >/etc/pilotlight/pilotlight.conf.d/wrong.conf
	systemctl reload pilotlightd && return 1
	rm /etc/pilotlight/pilotlight.conf.d/*.conf
	is_active && [ "$(main_pid)" = "$pid" ] && answers && systemctl reload pilotlightd
}
engine_is_another() { [ -n "$(engine_pid)" ] && [ "$(engine_pid)" != "$1" ]; }
engine_comes_back() {
	local engine=$(engine_pid) main=$(main_pid)

	kill "-$1" "$engine" && until_true engine_is_another "$engine" && until_true answers &&
		[ "$(main_pid)" = "$main" ]
}
# The debug file of the program "fetched" has an inlined function; a server on loopback has it.
fetches_in_its_unit() {
	busybox httpd -p 127.0.0.1:7448 -h /srv/debug || return
	systemctl enable -q --now pilotlight-fetch.socket || return
	stat -c '%U %a %F' /run/pilotlight/fetch.sock
	[ "$(stat -c '%U %a %F' /run/pilotlight/fetch.sock)" = 'pilotlight 600 socket' ] || return
	printf '[Symbols]\nDebuginfodUrls=http://127.0.0.1:7448\n' >/etc/pilotlight/pilotlight.conf.d/fetch.conf
	systemctl restart pilotlightd && systemctl start fetched.service
	until_true shows 'inlined_work_\[i\]' --unit fetched.service && return
	tail -n 3 /tmp/shown
	pilotlight status
	journalctl -q -b -n 20 -o cat | grep -i fetch
	return 1
}
member_may_not_fetch() { ! runuser -u member -- test -w /run/pilotlight/fetch.sock; }
# The user owns nothing, and no unit stays behind.
fetcher_leaves_nothing() {
	none_is_left() { ! pgrep -u pilotlight-fetch && [ -z "$(find /var/cache/pilotlight -name 'fetch.*')" ]; }
	rm /etc/pilotlight/pilotlight.conf.d/fetch.conf
	systemctl disable -q --now pilotlight-fetch.socket && systemctl restart pilotlightd && until_true none_is_left &&
		[ ! -e /run/pilotlight/fetch.sock ] && [ -z "$(find / -xdev -user pilotlight-fetch)" ] &&
		! systemctl list-units --all --no-legend 'pilotlight-fetch@*' | grep .
}
has_sent() { [ "$(metric 'sink_sent_batches_total{sink="here"}')" -ge 1 ] 2>/dev/null && [ -s /tmp/batch ]; }
# A server on loopback takes the batches. The sender may not read the configuration that says where it is.
sends_in_its_unit() {
	local file=/etc/pilotlight/pilotlight.conf.d/sink.conf

	mkdir /srv/debug/cgi-bin
	printf '#!/bin/sh\ncat >/tmp/batch\nprintf "Content-Type: application/x-protobuf\\r\\n\\r\\n"\n' >/srv/debug/cgi-bin/take
	chmod +x /srv/debug/cgi-bin/take
	systemctl enable -q --now pilotlight-send.socket || return
	stat -c '%U %a %F' /run/pilotlight/send.sock
	[ "$(stat -c '%U %a %F' /run/pilotlight/send.sock)" = 'pilotlight 600 socket' ] || return
	install -m 640 -g pilotlight /dev/null $file
	printf '%s\n' '[History]' Window=10s '[sink here]' Type=otlp Url=http://127.0.0.1:7448/cgi-bin/take Interval=10s >$file
	systemctl restart pilotlightd && until_true has_sent && return
	pilotlight status
	journalctl -q -b -n 20 -o cat | grep -i send
	return 1
}
senders_leave_nothing() {
	rm /etc/pilotlight/pilotlight.conf.d/sink.conf
	systemctl disable -q --now pilotlight-send.socket && systemctl restart pilotlightd &&
		until_true eval '! pgrep -u pilotlight-send' && [ ! -e /run/pilotlight/send.sock ] &&
		[ -z "$(find / -xdev -user pilotlight-send)" ] &&
		! systemctl list-units --all --no-legend 'pilotlight-send@*' | grep .
}
is_noted() { pilotlight incidents | grep -q "$1"; }
# As pilotlight.conf(5) has it. A note by a member of the group alone, and none of the profiler itself.
failed_units_are_noted() {
	local dropin=/etc/systemd/system/service.d/pilotlight.conf

	mkdir -p ${dropin%/*} /etc/systemd/system/pilotlightd.service.d
	printf '[Unit]\nOnFailure=pilotlight-failed@%%n.service\n' >$dropin
	ln -s /dev/null /etc/systemd/system/pilotlightd.service.d/pilotlight.conf
	systemctl daemon-reload
	systemd-run -q --wait --unit=failing /bin/false
	until_true is_noted 'manual *failing.service has failed$' && [ -z "$(property OnFailure)" ] && return
	pilotlight incidents
	journalctl -q -b -n 20 -o cat -u 'pilotlight-failed@*'
	return 1
}
# systemd forgets a unit that has ended; its journal stays.
was_skipped() { journalctl -q -b -o cat -u "$1" | grep -q 'unmet condition'; }
# A failure while the profiler is stopped does not start it.
failed_units_start_nothing() {
	systemctl stop pilotlightd.service pilotlightd.socket
	systemd-run -q --wait --unit=failing2 /bin/false
	until_true was_skipped pilotlight-failed@failing2.service.service && is_inactive
	local r=$?

	rm -r /etc/systemd/system/service.d /etc/systemd/system/pilotlightd.service.d
	systemctl daemon-reload
	systemctl reset-failed
	systemctl start pilotlightd && answers && return $r
}
main_is_another() { [ "$(main_pid)" != 0 ] && [ "$(main_pid)" != "$1" ] && is_active; }
main_comes_back() {
	local main=$(main_pid)

	kill "-$1" "$main" && until_true main_is_another "$main" && until_true answers &&
		socket_is_of_group
}
stops_for_good() {
	systemctl stop pilotlightd && is_inactive && [ ! -e $socket ] && ! answers &&
		! pgrep -u pilotlight && [ "$(property ActiveState pilotlightd.socket)" = inactive ]
}
starts_again() {
	systemctl start pilotlightd && answers && systemctl restart pilotlightd &&
		until_true answers && socket_is_of_group
}
is_upgraded() {
	local main=$(main_pid)

	ls /var/lib/pilotlight/history >/tmp/before
	dpkg -i /root/pilotlight.deb && until_true main_is_another "$main" && until_true answers &&
		ls /var/lib/pilotlight/history | diff /tmp/before - && shows alpha_work --unit alpha.service
}
is_purged() {
	touch /var/lib/pilotlight/left
	dpkg --purge pilotlight || return 1
	find / /run /tmp -xdev -iname '*pilotlight*' -not -path '/root/*' >/tmp/left
	cat /tmp/left
	[ ! -s /tmp/left ] && ! pgrep -u pilotlight && id pilotlight &&
		[ "$(property LoadState)" = not-found ]
}
has_history() { shows alpha_work --unit alpha.service; }

# --- the first boot, and the second ----------------------------------------------------------------

if [ ! -e $kept.rebooted ]; then
	check "the package is installed, and the service ready" is_installed
	check "the socket belongs to root and the group" socket_is_of_group
	check "the folders belong to the service" folders_are_its_own
	check "a group member may query" member_may
	check "other users may not query" stranger_may_not
	check "the main process has exactly its capabilities" main_has_capabilities
	check "the engine has no capabilities" engine_has_none
	check "perf events come from a unit of their own, and the kernel's setting stays" until_true events_come_from_their_unit
	check "samples of two units are separate" units_are_told_apart
	check "the kernel's functions have names" until_true names_kernel
	check "programs in /home and /tmp have names" names_of_hidden_folders
	check "a reload applies a change" reloads
	check "no errors in the journal" eval '! has_errors -1h'
	check "a reload rejects mistakes, and the service continues" refuses_mistakes
	check "systemd-analyze security: 2.0 at most" \
		systemd-analyze security --no-pager --threshold=20 pilotlightd.service
	check "the units are valid" systemd-analyze verify --man=no pilotlightd.service
	check "a file is fetched in the unit for it, while the service has no network" fetches_in_its_unit
	check "a group member may not use the socket of fetches" member_may_not_fetch
	check "fetches leave nothing behind" fetcher_leaves_nothing
	check "a batch is sent in the unit for it, which may not read the configuration" sends_in_its_unit
	check "senders leave nothing behind" senders_leave_nothing
	check "systemd-analyze security: 1.3 at most for fetches" \
		systemd-analyze security --no-pager --offline=true --threshold=13 \
		/lib/systemd/system/pilotlight-fetch@.service
	check "... and for sending" systemd-analyze security --no-pager --offline=true --threshold=13 \
		/lib/systemd/system/pilotlight-send@.service
	check "... and 1.0 for perf events" systemd-analyze security --no-pager --offline=true --threshold=10 \
		/lib/systemd/system/pilotlight-events@.service
	check "a failed unit is noted as an incident" failed_units_are_noted
	check "... but does not start a profiler that is stopped" failed_units_start_nothing
	check "a killed engine is restarted" engine_comes_back KILL
	check "a stopped engine is noticed and restarted" engine_comes_back STOP
	check "a killed main process is restarted" main_comes_back KILL
	check "a stopped main process is noticed and restarted" main_comes_back STOP
	check "systemctl stop ends the service for good" stops_for_good
	check "systemctl start and restart work" starts_again
	check "an upgrade keeps the history" is_upgraded
	touch $kept.rebooted
	sync
	systemctl --no-block reboot
	exit
fi
check "the service runs after a boot" eval 'until_true is_active && until_true answers'
check "the history survives a boot" has_history
check "no errors in the journal of that boot" eval '! has_errors -1h'
check "a purge removes everything except the user" is_purged
echo "1..$tests"
echo "inside: done"
sync
systemctl --no-block poweroff
