# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers for the end-to-end tests: TAP output, waiting, background processes, recordings and folded
# files. Source it first. PILOTLIGHT and WORKLOADS select a build other than release.
set -u
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pilotlight=${PILOTLIGHT:-$root/build/release/pilotlight}
workloads=${WORKLOADS:-$root/build/release/workloads}
cpu_count=$(nproc --all)

planned=0 tests=0 failures=0
started=()
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pilotlight-test.XXXXXX")
chmod 755 "$tmp"

clean_up() {
	stop_started
	rm -rf "$tmp"
}

# at_exit COMMAND: runs COMMAND when the test exits, instead of any earlier at_exit command. A background
# job inherits the trap until it calls exec, so the PID check keeps a killed job from running it.
at_exit() {
	# shellcheck disable=SC2064
	trap "[ \$BASHPID != $$ ] || { $1; }" EXIT
}
at_exit clean_up
trap 'exit 130' INT TERM

# --- TAP ---------------------------------------------------------------------------------------

plan() {
	planned=$1
	echo "1..$planned"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

ok() {
	tests=$((tests + 1))
	echo "ok $tests - $*"
}

not_ok() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $*"
}

# Can a test create a mount namespace? The kernel refuses it in a chroot whose root is no mount point.
has_mount_namespaces() {
	unshare --mount true 2>/dev/null
}

# skip_without_mounts NAME...: without mount namespaces, skips these tests and succeeds.
skip_without_mounts() {
	local name

	! has_mount_namespaces || return
	for name; do
		skip "$name" "mount namespaces are refused here"
	done
}

# skip NAME WHY
skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

note() {
	sed 's/^/# /' <<<"$*"
}

# check NAME COMMAND...: passes if the command succeeds.
check() {
	local name=$1

	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}

# Ends the script: fails if a test failed or the number of tests differs from the plan.
finish() {
	if [ "$tests" != "$planned" ]; then
		note "$planned tests planned, but $tests ran"
		exit 1
	fi
	[ "$failures" = 0 ]
	exit
}

# --- requirements ------------------------------------------------------------------------------

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
}

need_programs() {
	[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }
	[ -x "$workloads/shares" ] || { echo "Bail out! no $workloads: make workloads"; exit 1; }
}

has() {
	command -v "$1" >/dev/null
}

# need_commands NAME...: skips the whole test if a command is missing.
need_commands() {
	local name

	for name; do
		has "$name" || skip_all "needs $name"
	done
}

# --- waiting -----------------------------------------------------------------------------------

# wait_for SECONDS COMMAND...: repeats the command until it succeeds; fails after SECONDS. The current,
# partly elapsed second of the clock does not count.
wait_for() {
	local end=$((SECONDS + $1 + 1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# wait_beside PID COMMAND...: repeats the command until it succeeds, the process has ended or a minute has
# passed. Callers may ignore the result, because the next check then fails.
wait_beside() {
	local pid=$1 end=$((SECONDS + 61))

	shift
	until "$@" >/dev/null 2>&1; do
		kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

has_perf_events() {
	ls -l "/proc/$1/fd" 2>/dev/null | grep -q perf_event
}

# --- processes in the background ---------------------------------------------------------------

start() {
	"$@" >/dev/null 2>&1 &
	started+=($!)
}

# Kills everything that start() started.
stop_started() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	started=()
}

# Something to sample until stop_started, which takes no CPU time from tests that run beside.
start_load() {
	start nice -n 19 "$workloads/shares" 600
}

# Keeps every CPU busy until stop_started.
start_busy_cpus() {
	local cpu

	for ((cpu = 0; cpu < cpu_count; cpu++)); do
		start "$workloads/shares" 600
	done
}

# --- commands ----------------------------------------------------------------------------------

# run STATUS ARGUMENTS...: runs pilotlight, or its $subcommand, with output in $tmp/out and $tmp/err.
run() {
	local expected=$1 status

	shift
	set -- ${subcommand:+"$subcommand"} "$@"
	"$pilotlight" "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status = "$expected" ] && return
	note "status $status instead of $expected: $*; $(cat "$tmp/err")"
	return 1
}

# The error is one sentence that begins with the program's name.
says_one_sentence() {
	[ "$(grep -c . "$tmp/err")" = 1 ] && grep -q '^pilotlight: .*[^ ]$' "$tmp/err" && return
	note "$(cat "$tmp/err")"
	return 1
}

fails() {
	run 1 "$@" && says_one_sentence
}

misused() {
	run 2 "$@" && [ -s "$tmp/err" ] && [ ! -s "$tmp/out" ]
}

prints() {
	grep -q -- "$1" "$tmp/out" && return
	note "no '$1' in: $(head -c 2000 "$tmp/out")"
	return 1
}

complains() {
	grep -q -- "$1" "$tmp/err" && return
	note "no '$1' in: $(cat "$tmp/err")"
	return 1
}

is_json_lines() {
	python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"): json.loads(line)' "$1"
}

is_svg() {
	grep -q '<svg' "$1" && tail -c 20 "$1" | grep -q '</svg>'
}

is_empty_folder() {
	[ -z "$(ls -A "$1")" ] && return
	note "left behind: $(ls -A "$1")"
	return 1
}

# --- recordings --------------------------------------------------------------------------------

# start_recording ARGUMENTS...: runs `record` in the background, with SIGINT at its default as in a
# foreground job. Returns once it has its perf events. Sets recorder; standard error is in $tmp/err.
start_recording() {
	env --default-signal=INT "$pilotlight" record "$@" 2>"$tmp/err" &
	recorder=$!
	started+=("$recorder")
	wait_beside "$recorder" has_perf_events "$recorder"
}

# until_there FILE: waits until the recorded command creates the file.
until_there() {
	wait_beside "$recorder" [ -e "$1" ]
}

# ended_with STATUS: waits for the recorder and compares its exit status.
ended_with() {
	local status

	wait "$recorder" 2>/dev/null
	status=$?
	[ $status = "$1" ] && return
	note "status $status instead of $1; $(cat "$tmp/err")"
	return 1
}

# Prints the idle, iowait and stolen time of all CPUs together, in milliseconds.
unsampled_ms() {
	awk -v hz="$(getconf CLK_TCK)" \
		'$1 == "cpu" { printf "%d\n", ($5 + $6 + $9) * 1000 / hz }' /proc/stat
}

# record OUTPUT OPTIONS...: records to OUTPUT, with standard error in OUTPUT.log, which is shown on failure.
# Returns the exit status. Sets recorded_unsampled_ms, the idle and stolen CPU time during the recording.
record() {
	local output=$1 before status

	shift
	before=$(unsampled_ms)
	"$pilotlight" record -o "$output" "$@" 2>"$output.log" >"$output.out"
	status=$?
	recorded_unsampled_ms=$(($(unsampled_ms) - before))
	[ $status = 0 ] || note "status $status: $(cat "$output.log")"
	return $status
}

# read_accounts LOG: sets fired, stored, idle, filtered, lost and expected (empty if unknown).
read_accounts() {
	local pattern='([0-9]+) fired = ([0-9]+) stored \+ ([0-9]+) idle \+ ([0-9]+) filtered \+ ([0-9]+) lost'
	local text

	fired='' stored='' idle='' filtered='' lost='' expected=''
	text=$(cat "$1")
	[[ $text =~ $pattern ]] || { note "no accounts in: $text"; return 1; }
	fired=${BASH_REMATCH[1]} stored=${BASH_REMATCH[2]} idle=${BASH_REMATCH[3]}
	filtered=${BASH_REMATCH[4]} lost=${BASH_REMATCH[5]}
	if [[ $text =~ ([0-9]+)\ expected ]]; then expected=${BASH_REMATCH[1]}; fi
}

# accounts_close LOG: every sample is accounted for exactly (I1).
accounts_close() {
	read_accounts "$1" || return
	note "$fired fired, $stored stored, $idle idle, $filtered filtered, $lost lost, ${expected:-no} expected"
	[ "$fired" -gt 0 ] && [ "$fired" = $((stored + idle + filtered + lost)) ]
}

# nothing_lost LOG: the accounts close without a lost sample.
nothing_lost() {
	accounts_close "$1" && [ "$lost" = 0 ]
}

# --- folded files ------------------------------------------------------------------------------

folded_total() {
	awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

# folded_count FILE COMM FRAME: counts the samples of COMM whose stack has FRAME; '' matches any.
folded_count() {
	awk -v comm="$2" -v frame="$3" '
	{
		stack = $0
		sub(/ [0-9]+$/, "", stack)
		count = split(stack, frames, ";")
		if (comm != "" && frames[1] != comm)
			next
		for (i = 2; i <= count && frame != "" && frames[i] != frame; i++)
			;
		if (frame == "" || i <= count)
			sum += $NF
	}
	END { print sum + 0 }' "$1"
}

# folded_share FILE COMM FRAME: prints the percentage of COMM's samples whose stack has FRAME.
folded_share() {
	awk -v part="$(folded_count "$1" "$2" "$3")" -v whole="$(folded_count "$1" "$2" '')" \
		'BEGIN { printf "%.2f\n", whole ? 100 * part / whole : 0 }'
}

# has_shares FILE COMM POINTS: hot_60, hot_30 and hot_10 of COMM have their shares within POINTS.
has_shares() {
	local share part

	for part in 60 30 10; do
		share=$(folded_share "$1" "$2" hot_$part)
		note "hot_$part of $2: $share %"
		within "$share" $part "$3" || return
	done
}

# within VALUE TARGET TOLERANCE: compares decimal numbers.
within() {
	awk -v value="$1" -v target="$2" -v tolerance="$3" 'BEGIN {
		difference = value - target
		exit !((difference < 0 ? -difference : difference) <= tolerance)
	}'
}

at_least() {
	awk -v value="$1" -v least="$2" 'BEGIN { exit !(value >= least) }'
}
