#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sink of the service: files of pprof. They cover each window once, also over a kill of the engine, a reload and a
# folder that cannot be written; they name code; other programs may remove them.
# Runs beside others: it judges files and messages, not times or shares.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl python3

files=$STATE_DIRECTORY/push/files
printf '[History]\nWindow=1s\n[sink files]\nInterval=2s\nNameWait=5s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"

batches_are_more_than() {
	[ "$(find "$files" -name '*_cpu.pb.gz' | wc -l)" -gt "$1" ]
}

# has_batches COUNT: waits until that many are there.
has_batches() {
	wait_for 120 batches_are_more_than $(($1 - 1)) || { note "$(ls -l "$files")"; return 1; }
}

# Each begins where the one before it ends, and its profile is of that time. Prints how many there are.
follow_each_other() {
	PYTHONPATH=$root/tests/harness python3 -B - "$files" <<'END'
import calendar, glob, gzip, os, re, sys, time
from protobuf import fields

names = sorted(glob.glob(sys.argv[1] + "/*_cpu.pb.gz"))
last = None
for name in names:
    parts = re.fullmatch(r"(\d{8}T\d{6})\.(\d{9})Z_(\d+)ns_cpu\.pb\.gz", os.path.basename(name))
    start = calendar.timegm(time.strptime(parts[1], "%Y%m%dT%H%M%S")) * 10**9 + int(parts[2])
    if last is not None and start != last:
        sys.exit(f"# {name} begins {start - last} ns after the one before it")
    last = start + int(parts[3])
    profile = gzip.open(name).read()
    time_ns = dict(fields(profile)).get(9)
    # A window may begin some microseconds before the one before it ends.
    if not start - 10**6 <= time_ns < last:
        sys.exit(f"# {name} has time_nanos {time_ns}")
print(f"# {len(names)} files without a gap or an overlap")
END
}

# names_work: a function of the workload is named in one of the files.
names_work() {
	for file in "$files"/*_cpu.pb.gz; do
		gzip -dc "$file" | grep -aq hot_60 && return
	done
	return 1
}

plan 12

start_load
check "the service starts" start_service
check "files appear" has_batches 2
check "they name functions" wait_for 120 names_work
check "they follow each other" follow_each_other
group_may_read() {
	! find "$files" -name '*.pb.gz' ! -perm 0640 | grep -q .
}
check "others may not read them" group_may_read

says() {
	"$pilotlight" status | tr -s ' \n' ' ' | grep -q "$1"
}
check "status shows the sink" says "Sinks files (pprof): [0-9]* files of"

count=$(find "$files" -name '*_cpu.pb.gz' | wc -l)
kill -KILL "$(role_pids engine)"
check "a killed engine's successor goes on" has_batches $((count + 2))
check "without a gap or an overlap" follow_each_other

# A folder in the place of the unfinished file cannot be removed as a file, whoever the service is.
mkdir "$files/.unfinished"
fails() {
	[ "$(metric 'pilotlight_sink_failing{sink="files"}')" = "$1" ]
}
check "a folder that cannot be written is reported" wait_for 120 fails 1
rmdir "$files/.unfinished"
count=$(find "$files" -name '*_cpu.pb.gz' | wc -l)
check "and written again afterwards" has_batches $((count + 1))
check "again without a gap or an overlap" follow_each_other

rm -f "$files"/*.pb.gz
kill -HUP "$service_pid"
check "after a reload the files go on, though others were removed" has_batches 2
stop_service
finish
