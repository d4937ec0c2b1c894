# SPDX-License-Identifier: GPL-2.0-or-later
# What the end-to-end tests share: the lines of TAP, recordings and what they say about themselves,
# folded files. Sourced. PILOTLIGHT and WORKLOADS name other builds than the release one.
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

# at_exit COMMAND: of the test itself, and in place of what was to be done before. A job that is killed
# before it is another program has this shell's traps still, which are none of its business.
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

# May a test mount in a namespace of its own? Not in a chroot whose root is no mount point.
has_mount_namespaces() {
	unshare --mount true 2>/dev/null
}

# skip_without_mounts NAME...: skips all of them and succeeds where it may not.
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

# check NAME COMMAND...: does the command succeed?
check() {
	local name=$1

	shift
	if "$@"; then ok "$name"; else not_ok "$name"; fi
}

# The last line of a script.
finish() {
	if [ "$tests" != "$planned" ]; then
		note "$planned tests were planned, $tests have run"
		exit 1
	fi
	[ "$failures" = 0 ]
	exit
}

# --- what is needed ----------------------------------------------------------------------------

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

# --- waiting -----------------------------------------------------------------------------------

# wait_for SECONDS COMMAND...: until it succeeds. The clock's second that has begun does not count.
wait_for() {
	local end=$((SECONDS + $1 + 1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# wait_beside PID COMMAND...: until it succeeds, the process is gone or a minute has passed, which is
# for the next check to see.
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

# Everything that start() has started, whole process groups where they are their own.
stop_started() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	started=()
}

# Keeps every CPU busy until stop_started.
start_busy_cpus() {
	local cpu

	for ((cpu = 0; cpu < cpu_count; cpu++)); do
		start "$workloads/shares" 600
	done
}

# --- recordings --------------------------------------------------------------------------------

# Time that all CPUs together have had nothing to do, or that their host has taken from them, in
# milliseconds.
unsampled_ms() {
	awk -v hz="$(getconf CLK_TCK)" \
		'$1 == "cpu" { printf "%d\n", ($5 + $6 + $9) * 1000 / hz }' /proc/stat
}

# record OUTPUT OPTIONS...: standard error goes to OUTPUT.log. Returns the exit status; on a failure
# the log is shown. recorded_unsampled_ms is how long CPUs were idle or taken away meanwhile.
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

# read_accounts LOG sets fired, stored, idle, filtered, lost and expected (empty where not known).
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

# accounts_close LOG: I1, to the sample.
accounts_close() {
	read_accounts "$1" || return
	note "$fired fired, $stored stored, $idle idle, $filtered filtered, $lost lost, ${expected:-no} expected"
	[ "$fired" -gt 0 ] && [ "$fired" = $((stored + idle + filtered + lost)) ]
}

# --- folded files ------------------------------------------------------------------------------

folded_total() {
	awk '{ sum += $NF } END { print sum + 0 }' "$1"
}

# folded_count FILE COMM FRAME: samples of COMM ('' for any) whose stack has FRAME ('' for any).
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

# folded_share FILE COMM FRAME: of the samples of COMM, in percent.
folded_share() {
	awk -v part="$(folded_count "$1" "$2" "$3")" -v whole="$(folded_count "$1" "$2" '')" \
		'BEGIN { printf "%.2f\n", whole ? 100 * part / whole : 0 }'
}

# within VALUE TARGET TOLERANCE, all decimal.
within() {
	awk -v value="$1" -v target="$2" -v tolerance="$3" 'BEGIN {
		difference = value - target
		exit !((difference < 0 ? -difference : difference) <= tolerance)
	}'
}

at_least() {
	awk -v value="$1" -v least="$2" 'BEGIN { exit !(value >= least) }'
}
