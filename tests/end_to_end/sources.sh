#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Time off CPU, time waiting for a CPU, and their sum with CPU time: of programs whose time is known, in recordings and
# in the service's history.
. "$(dirname "$0")/lib.sh"
. "$root/tests/harness/service.sh"

need_root
need_programs
need_service
need_commands curl flock taskset

# A name of its own: others sleep and work here, too.
cp "$(command -v sleep)" "$tmp/dozer"
cp "$(command -v sleep)" "$tmp/sleeper"
cp "$BASH" "$tmp/worker"
cp "$(command -v cat)" "$tmp/reader"
cp "$(command -v flock)" "$tmp/locker"

plan 29

# --- recordings --------------------------------------------------------------------------------

# Without functions of interpreters the kernel verifies the sampler faster: each source has a program that walks stacks.
record() {
	"$pilotlight" record --runtime-frames=native -f folded -e cpu,offcpu,runqueue,wall -o "$tmp/$1" "${@:2}" >"$tmp/$1.log" 2>&1 && return
	note "$(cat "$tmp/$1.log")"
	return 1
}

# ms_of NAME COMM FRAME: the time of COMM with that frame, in ms. A sample is 1 ms, as no other period is shorter.
ms_of() {
	folded_count "$tmp/$1" "$2" "$3"
}

if record doze -- "$tmp/dozer" 2; then
	ok "all four events are recorded"
else
	skip_all "no time off CPU here: $(tail -n 1 "$tmp/doze.log")"
fi

# The service collects its history during the other recordings.
cat >"$CONFIGURATION_DIRECTORY/pilotlight.conf" <<END
[Sampling]
OffCpu=yes
OffCpuPeriod=5ms
RunQueue=yes
Faults=yes
FaultsPeriod=7
[History]
Window=2s
END
start "$tmp/sleeper" 1000
# Each of its children copies what it writes to.
start "$tmp/worker" -c 'while :; do (:); sleep 0.01; done'
start_service || exit 1

has_four_files() {
	[ "$(find "$tmp" -name 'doze.*' ! -name '*.log' -printf '%f\n' | sort | paste -sd' ')" = \
		"doze.cpu doze.offcpu doze.runqueue doze.wall" ]
}

dozes_for() {
	note "blocked: $(ms_of doze.offcpu dozer '') ms, in a sleep: $(ms_of doze.offcpu dozer '[blocked: sleep]') ms"
	within "$(ms_of doze.offcpu dozer '[blocked: sleep]')" 2000 60 &&
		[ "$(ms_of doze.cpu dozer '')" -le 5 ]
}

dozes_in_nanosleep() {
	grep '^dozer;' "$tmp/doze.offcpu" | grep -q 'hrtimer_nanosleep_\[k\]'
}

# Those of CPU time are of 1/99 s.
adds_up() {
	local cpu off queue wall

	cpu=$(folded_count "$tmp/$1.cpu" "$2" '') off=$(ms_of "$1.offcpu" "$2" '')
	queue=$(ms_of "$1.runqueue" "$2" '') wall=$(ms_of "$1.wall" "$2" '')
	note "$2: $cpu samples on CPU, $off ms off CPU, $queue ms waiting, $wall ms in all"
	within "$wall" "$(awk -v cpu="$cpu" -v other=$((off + queue)) 'BEGIN { print cpu * 1000 / 99 + other }')" 3
}

check "each event has a file" has_four_files
check "a sleep is blocked for its time" dozes_for
check "its stack says where" dozes_in_nanosleep
check "wall-clock time is the sum" adds_up doze dozer

# Each waits for the dozer's end, in another way.
cat >"$tmp/waits" <<'END'
cd "$1" || exit 1
mkfifo pipe && exec 3<>pipe 4<pipe
./reader <&4 3>&- &
exec 4<&-
exec 5>lock && flock 5
./locker lock true 3>&- 5>&- &
./worker -c './dozer 2; :' 5>&- 3>&-
exec 3>&- 5>&-
wait
END

# A pipe's writer is seen above the wait of its reader, from the place where it wrote.
shows_the_waker() {
	record wakers --wakers -- "$tmp/worker" -c 'mkfifo "$0/waited" && exec 3<>"$0/waited"
		"$0/reader" <&3 >/dev/null 3>&- &
		for i in {1..20}; do "$0/dozer" 0.05; echo x >&3; done; kill $!' "$tmp" || return
	grep -c '^reader;.*;\[blocked: pipe\];--;.*pipe_write_\[k\];.*;echo_builtin;.*;\[woken by worker\] ' \
		"$tmp/wakers.offcpu" >"$tmp/wakers.count"
	note "$(<"$tmp/wakers.count") stacks"
	at_least "$(<"$tmp/wakers.count")" 1
}

says_why() {
	local pipe lock child

	record reasons -- bash "$tmp/waits" "$tmp" || return
	pipe=$(ms_of reasons.offcpu reader '[blocked: pipe]')
	lock=$(ms_of reasons.offcpu locker '[blocked: file lock]')
	child=$(ms_of reasons.offcpu worker '[blocked: child]')
	note "blocked in a pipe: $pipe ms, by a lock: $lock ms, for a child: $child ms"
	at_least "$pipe" 1500 && at_least "$lock" 1500 && at_least "$child" 1900
}
check "a stack ends in what was waited for" says_why
check "or in who ended the wait" shows_the_waker

# Two threads that want one CPU.
start taskset -c 0 "$tmp/worker" -c 'while :; do :; done'
start taskset -c 0 "$tmp/worker" -c 'while :; do :; done'
sleep 0.5
fighters=("${started[@]: -2}")
record fight -d 3 -p "${fighters[0]}" -p "${fighters[1]}"
kill -KILL "${fighters[@]}"
wait "${fighters[@]}" 2>/dev/null
started=("${started[@]:0:${#started[@]}-2}")

# However much others want the CPU, the time of both is 3 s, and one of them waits at any time.
waits_or_runs() {
	within "$(ms_of fight.wall worker '')" 6000 300
}

one_of_them_waits() {
	at_least "$(ms_of fight.runqueue worker '')" 2800 &&
		at_least "$(grep '^worker;' "$tmp/fight.runqueue" | grep -c 'waiting for a CPU: preempted')" 1
}

check "wall-clock time of two that fight is the sum" adds_up fight worker
check "it is all the time there was" waits_or_runs
check "one of them always waits" one_of_them_waits

says_in_time() {
	grep -q '^offcpu  *[0-9.,]* m\?s stored, ' "$tmp/doze.log" &&
		grep -q '^runqueue  *[0-9.,]* m\?s stored, ' "$tmp/doze.log"
}
check "the summary gives times" says_in_time

# --- the service -------------------------------------------------------------------------------

# report EVENT COMM: of the last windows.
report() {
	"$pilotlight" report -e "$1" --last 8s --comm "$2" 2>/dev/null
}

# seconds_of EVENT COMM: the amount, and the time of the windows.
seconds_of() {
	report "$1" "$2" | awk '/^# time/ { time = $6 } /^# amount/ { amount = $4 == "s" ? $3 : $3 / 1000 }
		END { print amount + 0, time + 0 }'
}

# One who is blocked all the time has a sample in each window.
is_always_blocked() {
	local amount time

	read -r amount time < <(seconds_of offcpu sleeper)
	note "$amount s of $time s blocked"
	at_least "$time" 6 && within "$amount" "$time" "$(awk -v time="$time" 'BEGIN { print 0.1 + 0.03 * time }')"
}

# Its stack is read from outside, at each window's end.
is_known_to_its_root() {
	"$pilotlight" flamegraph -q -e offcpu --last 4s --comm sleeper -f folded -o "$tmp/sleeper.folded" &&
		grep -q '__libc_start_main.*nanosleep.*blocked: sleep' "$tmp/sleeper.folded" &&
		! grep -q 'truncated' "$tmp/sleeper.folded"
}

has_event() {
	report "$1" '*' | grep -q "^# event    $2"
}

draws_a_difference() {
	"$pilotlight" diff -e offcpu --last 4s --comm sleeper --against --to -4s --last 4s -f txt -o - |
		grep -q '^#   amount '
}

pprof_has_type() {
	"$pilotlight" export -q -e offcpu --last 8s -o "$tmp/off.pb.gz" && gzip -dc "$tmp/off.pb.gz" | grep -aq off_cpu
}

tells_sources() {
	"$pilotlight" status | grep -q '^  Off CPU  *[0-9].* samples of 5ms$' &&
		"$pilotlight" status | grep -q '^  Run queue  *' &&
		at_least "$(metric 'pilotlight_source_samples_total{source="offcpu",outcome="stored"}')" 1000 &&
		[ "$(metric 'pilotlight_source_period_seconds{source="offcpu"}')" = 0.005000000 ]
}

loses_nothing_to_speak_of() {
	metrics | awk -F'[{}", =]+' '/^pilotlight_source_samples_total/ {
			if ($5 == "stored") stored[$3] = $6
			else if ($5 != "idle" && $5 != "filtered") lost[$3] += $6
		}
		END { for (i in stored) print "# " i ": " stored[i] " stored, " lost[i] + 0 " lost"
			for (i in stored) if (lost[i] > stored[i] / 100) exit 1 }'
}

check "a thread that stays blocked is in each window" wait_for 60 is_always_blocked
check "its stack is known to its root" wait_for 60 is_known_to_its_root
check "CPU time is the default" has_event cpu 'c[a-z-]* at [0-9]* Hz'
check "time off CPU is asked for by name" has_event offcpu 'offcpu (time off CPU) in samples of 5 ms'
check "so is time waiting for a CPU" has_event runqueue 'runqueue '
check "so is the sum" has_event wall 'wall '
check "differences are of one event" draws_a_difference
check "pprof has the type of the event" pprof_has_type
check "status and metrics tell each source" tells_sources
check "hardly a sample is lost" loses_nothing_to_speak_of

counts_faults() {
	report faults worker | grep -q '^# event    faults (page faults) in samples of 7 faults' &&
		report faults worker | grep -q '^# amount   [0-9,]\{4,\} faults stored$'
}

compares_faults() {
	"$pilotlight" diff -e faults --normalise time --last 4s --comm worker --against --to -4s --last 4s -f txt -o - |
		grep -q '^# shares are of all of the base, in the same time;'
}

tops_faults() {
	"$pilotlight" top -b -e faults --last 8s | grep -q '^page faults: [0-9]* a second, '
}

tells_faults() {
	"$pilotlight" status | grep -q '^  Faults  *[0-9,]* faults since the start, .* samples of 7 faults$' &&
		[ "$(metric 'pilotlight_source_period_events{source="faults"}')" = 7 ]
}

check "page faults are counted" counts_faults
check "differences of them are by time, too" compares_faults
check "top shows how many there are" tops_faults
check "status and metrics tell them" tells_faults

# A reload that switches a source off keeps its history.
printf '[Sampling]\nOffCpu=no\nRunQueue=yes\n[History]\nWindow=2s\n' >"$CONFIGURATION_DIRECTORY/pilotlight.conf"
kill -HUP "$service_pid"
is_off() {
	"$pilotlight" status | grep -q '^  Run queue ' && ! "$pilotlight" status | grep -q '^  Off CPU '
}
has_old_windows() {
	"$pilotlight" report -e offcpu --last 60s --comm sleeper 2>/dev/null | grep -q '^# amount '
}
sum_says_what_it_lacks() {
	"$pilotlight" report -e wall --last 2s 2>/dev/null | grep -q '^# .*time off CPU not sampled for '
}
check "a reload switches a source off" wait_for 60 is_off
check "its history is still there" wait_for 30 has_old_windows
check "a sum without it says so" wait_for 30 sum_says_what_it_lacks
check "the service ends well" stop_service

finish
