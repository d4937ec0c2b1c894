#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service with a disk that is full, read-only, small or damaged, at the start and while it runs, and with a
# full symbol cache. The service keeps sampling, reports the problem and recovers without help.
# Runs beside others: it judges files and messages, not times.
if [ "${1-}" != in-namespace ]; then
	unshare --mount --propagation private true 2>/dev/null || {
		echo "1..0 # SKIP mount namespaces are refused here"
		exit 0
	}
	exec unshare --mount --propagation private "$0" in-namespace
fi
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl sqlite3

# The time zone of the history's days.
export TZ=UTC
window_s=1
disk=$STATE_DIRECTORY

clean_up_mounts() {
	[ -z "$service_pid" ] || kill -KILL "$service_pid" 2>/dev/null
	stop_started
	umount -l "$disk" "$CACHE_DIRECTORY" 2>/dev/null
	clean_up_service
}
at_exit clean_up_mounts

mount_small() {
	mount -t tmpfs -o "size=$1" pilotlight-test "$2"
}

remount() {
	umount "$disk" && mount_small "$1" "$disk"
}

# --- reports -----------------------------------------------------------------------------

# count_of METRIC: prints its value, and waits for it, because an answer may be late.
count_of() {
	local value

	has_value() {
		value=$(metric "$1")
		[ -n "$value" ]
	}
	wait_for 60 has_value "$1" && echo "$value"
}

is_failing() {
	[ "$(metric pilotlight_history_failing)" = "$1" ]
}

has_dropped() {
	[ "$(metric pilotlight_windows_dropped_total)" -ge "$1" ]
}

# Waits until another window is sealed. Sets since, the time of the call.
seals() {
	local before

	since=$(date +%s)
	before=$(count_of pilotlight_windows_sealed_total)
	seals_more() { [ "$(metric pilotlight_windows_sealed_total)" -gt "$before" ]; }
	wait_for 60 seals_more
}

status_says() {
	"$pilotlight" status >"$tmp/status" 2>&1 || return
	# status wraps its lines.
	tr -s ' \n' ' ' <"$tmp/status" | grep -qiE "$1" || { note "$(cat "$tmp/status")"; return 1; }
}

logged() {
	grep -qE "$1" "$tmp/service.log" || { note "$(tail -n 5 "$tmp/service.log")"; return 1; }
}

samples_on() {
	local before

	before=$(count_of pilotlight_samples_fired_total)
	fires_more() { [ "$(metric pilotlight_samples_fired_total)" -gt "$before" ]; }
	wait_for 60 fires_more
}

same_engine() {
	[ "$(role_pids engine)" = "$engine" ]
}

# has_history_of FROM TO: windows sealed in that time can be read.
has_history_of() {
	"$pilotlight" export --from "@$1" --to "@$2" -f folded -o "$tmp/part.folded" 2>"$tmp/part.log" &&
		[ "$(folded_total "$tmp/part.folded")" -gt 0 ] || { note "$(cat "$tmp/part.log")"; return 1; }
}

set_aside() {
	[ "$(find "$disk/history" -maxdepth 1 -name '*.db.damaged-*[0-9]' | wc -l)" -ge "$1" ] ||
		{ note "$(ls -la "$disk/history")"; return 1; }
}

# --- past days -----------------------------------------------------------------------

days() {
	find "$disk/history" -maxdepth 1 -name '????-??-??.db' -printf '%f\n' | sort
}

day_before() {
	date -u -d "${1%.db} - $2 days" +%F.db
}

# make_days COUNT: makes that many earlier days with today's windows, each of the size of a short day.
make_days() {
	local today path i

	today=$(days)
	for ((i = 1; i <= $1; i++)); do
		path=$disk/history/$(day_before "$today" "$i")
		cp "$disk/history/$today" "$path" || return
		sqlite3 "$path" "UPDATE windows SET start_ns = start_ns - $i * 86400000000000,
			end_ns = end_ns - $i * 86400000000000;
			INSERT INTO bodies(window, body) VALUES(1 << 40, zeroblob(150000))" || return
	done
}

# Another file takes all free space.
fill() {
	days >"$tmp/days"
	dd if=/dev/zero of="$disk/filler" bs=4k oflag=append conv=notrunc 2>"$tmp/dd"
}

# Some of the days before fill() are evicted, and no evicted day is later than a kept one.
old_ones_went() {
	days >"$tmp/days.left"
	comm -23 "$tmp/days" "$tmp/days.left" >"$tmp/days.gone"
	[ -s "$tmp/days.gone" ] && [[ $(tail -n 1 "$tmp/days.gone") < $(head -n 1 "$tmp/days.left") ]]
}

status_has_days() {
	local count

	count=$(days | wc -l)
	status_says "windows in $count days? .*" && status_says "from $(days | head -n 1 | cut -c -10) "
}

# --- damage ------------------------------------------------------------------------

database() {
	ls "$disk"/history/????-??-??.db | tail -n 1
}

scribble() {
	local path size

	path=$(database)
	size=$(stat -c %s "$path")
	dd if=/dev/urandom of="$path" bs=512 seek=$((size / 512 / 4)) count=$((size / 512 / 2)) conv=notrunc 2>"$tmp/dd"
}

halve() {
	local path

	path=$(database)
	truncate -s $(($(stat -c %s "$path") / 2)) "$path"
}

zero() {
	local path size

	path=$(database)
	size=$(stat -c %s "$path")
	truncate -s 0 "$path" && truncate -s "$size" "$path"
}

folder() {
	local path

	path=$(database)
	rm -f "$path" && mkdir "$path" && touch "$path/somebodys"
}

forbid() {
	chmod 000 "$(database)"
}

remove() {
	rm "$(database)"
}

damages=("random bytes over its middle:scribble" "half of it:halve" "zeros:zero"
	"a folder in its place:folder" "a file that nobody may read:forbid")

fill_cache() {
	rm -rf "${CACHE_DIRECTORY:?}"/* && mount_small 256k "$CACHE_DIRECTORY" || return
	dd if=/dev/zero of="$CACHE_DIRECTORY/filler" bs=4k 2>"$tmp/dd"
	# Leaves room for the folder that the service makes.
	truncate -s -8192 "$CACHE_DIRECTORY/filler"
}

# At most one window is lost before writes succeed again.
recovers() {
	sleep "$window_s"
	seals && wait_for 60 is_failing 0
}

# The windows that ended after the call of seals().
is_readable() {
	"$pilotlight" export --from "@$since" -f folded -o "$tmp/part.folded" 2>"$tmp/part.log" &&
		[ "$(folded_total "$tmp/part.folded")" -gt 0 ]
}

# start_with DAMAGE: starts the service with a database of some windows, after the damage.
start_with() {
	rm -rf "$disk/history"
	mkdir "$disk/history"
	cp "$tmp/good.db" "$disk/history/$(date -u +%F).db"
	"$1"
	start_service
}

end() {
	[ -z "$service_pid" ] || stop_service
}

plan 99
same_day 600
printf '[Sampling]\nFrequencyHz=199\nMaxCostPercent=100\n[History]\nWindow=%ss\n' $window_s >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
start_load
check "a disk of 2 MiB is mounted" mount_small 2m "$disk"
check "the service starts" start_service
begun=$(date +%s)
engine=$(role_pids engine)
check "windows are written" seals
seals
until=$(date +%s)

dd if=/dev/zero of="$disk/filler" bs=4k 2>"$tmp/dd"
check "full: the metrics report failing writes" wait_for 60 is_failing 1
check "full: status names the reason" wait_for 60 status_says 'history cannot be written.*(full|no space)'
check "full: dropped windows are counted" wait_for 60 has_dropped 2
check "sampling continues" samples_on
check "earlier windows are readable" wait_for 60 has_history_of "$begun" "$until"
rm "$disk/filler"
check "room again: writes recover" wait_for 60 is_failing 0
check "windows are written again" seals
check "room again: the log says so" wait_for 60 logged 'the history: it is written again'
check "room again: status reports the missing windows" wait_for 60 status_says 'windows? could not be written'
check "the engine was not restarted" same_engine

# A file system can become read-only only without files open for writing, so it is filled first.
dd if=/dev/zero of="$disk/filler" bs=4k 2>"$tmp/dd"
wait_for 60 is_failing 1
becomes_read_only() { mount -o remount,ro "$disk"; }
check "the disk becomes read-only" wait_for 60 becomes_read_only
check "read-only: status reports it" wait_for 60 status_says 'history cannot be written.*read-only'
check "sampling continues" samples_on
check "earlier windows are readable" wait_for 60 has_history_of "$begun" "$until"
mount -o remount,rw "$disk"
rm "$disk/filler"
check "writable again: writes recover" wait_for 60 is_failing 0
check "windows are written again" seals
check "the engine was not restarted" same_engine
check "the service ends on SIGTERM" end
cp "$(database)" "$tmp/good.db"

check "an empty disk of 16 MiB is mounted" remount 16m
check "the service starts" start_service
begun=$(date +%s)
check "windows are written" seals
seals
until=$(date +%s)
check "the service ends on SIGTERM" end
check "25 past days are made" make_days 25
check "the service starts with past days" start_service
engine=$(role_pids engine)
check "status lists the days" wait_for 60 status_has_days
yesterday=$(days | tail -n 2 | head -n 1)
fill
check "full: the oldest days are evicted" wait_for 60 old_ones_went
check "windows are written" seals
check "status lists the remaining days" wait_for 60 status_has_days
check "yesterday remains" [ -e "$disk/history/$yesterday" ]
check "yesterday is readable" wait_for 60 has_history_of $((begun - 86400)) $((until - 86400))
check "the engine was not restarted" same_engine
check "the service ends on SIGTERM" end
fill
check "full at the start: the service starts" start_service
engine=$(role_pids engine)
check "full at the start: the oldest days are evicted" wait_for 60 old_ones_went
check "windows are written" seals
went=true
while $went && [ "$(days | wc -l)" -gt 1 ]; do
	fill
	wait_for 60 old_ones_went || went=false
done
check "full repeatedly: at last only the current day remains" [ "$(days | wc -l)" = 1 ]
dropped=$(count_of pilotlight_windows_dropped_total)
fill
check "the current day is kept and windows are dropped" wait_for 60 has_dropped $((dropped + 1))
check "status reports the dropped windows" wait_for 60 status_says 'windows? could not be written'
check "the current day's windows are readable" wait_for 60 has_history_of "$begun" "$until"
rm "$disk/filler"
check "room again: writes recover" wait_for 60 is_failing 0
check "windows are written again" seals
check "the engine was not restarted" same_engine
check "the service ends on SIGTERM" end

check "a disk with room is mounted" remount 64m
for damage in "${damages[@]}"; do
	name=${damage%:*} how=${damage##*:}
	check "$name: the service starts" start_with "$how"
	check "$name: windows are written" seals
	check "$name: the database is set aside" wait_for 60 set_aside 1
	check "$name: status reports it" wait_for 60 status_says 'set aside'
	engine=$(role_pids engine)
	"$how"
	check "$name while it runs: windows are written" recovers
	check "$name while it runs: windows are readable" wait_for 60 is_readable
	check "$name while it runs: the engine was not restarted" same_engine
	check "$name: the service ends on SIGTERM" end
done

check "no database: the service starts" start_with remove
check "no database: windows are written" seals
engine=$(role_pids engine)
remove
check "database removed: windows are written" recovers
check "database removed: windows are readable" wait_for 60 is_readable
check "database removed: the engine was not restarted" same_engine
check "no database: the service ends on SIGTERM" end

check "the symbol cache is filled" fill_cache
check "the service starts with a full symbol cache" start_service
check "windows are written" seals
check "sampling continues" samples_on
check "windows are readable" wait_for 60 is_readable
check "the service ends on SIGTERM" end
note "$(tail -n 4 "$tmp/service.log")"
finish
