# SPDX-License-Identifier: GPL-2.0-or-later
# Records processes that generate code, and compares their profiles with their logs of what they ran. Sourced after
# lib.sh.

writer=$workloads/jit_writer
truth=$tmp/truth
dumps=$tmp/dumps
LEAST_SAMPLES=50
# Or five standard deviations, if the samples are few. With more than a hundred shares, one is off by three every few
# runs. A wrong name changes a share by that of a whole function.
POINTS=2
mkdir "$dumps"

need_writer() {
	need_root
	need_programs
	[ -x "$writer" ] || { echo "Bail out! no $writer: make workloads"; exit 1; }
	"$writer" steady --seconds 0 --output none 2>/dev/null ||
		skip_all "jit_writer has no code for this machine"
	export writer truth dumps
	export -f run_trials
}

# run_trials TRIAL...: runs all trials in parallel, at the priority $trials_nice. A trial is one word with the
# arguments of jit_writer, which follow the common options. A trial that is killed is no failure.
run_trials() {
	local trial status=0 pids=() pid

	cd "$dumps" || exit 1
	[ -z "${trials_nice:-}" ] || renice -n "$trials_nice" -p $BASHPID >/dev/null || exit 1
	for trial; do
		# shellcheck disable=SC2086
		set -- $trial
		"$writer" "$1" --truth "$truth" "${@:2}" &
		pids+=($!)
		echo $! >>"$truth.pids"
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || [ $? = 137 ] || status=1
	done 2>/dev/null
	return $status
}

# Perf maps are in /tmp, which other tests share.
remove_maps() {
	local pid

	[ -e "$truth.pids" ] || return
	while read -r pid; do rm -f "/tmp/perf-$pid.map"; done <"$truth.pids"
}

# record_trials OUTPUT TRIAL...
record_trials() {
	local output=$1 status

	shift
	rm -f "$truth" "$truth.pids"
	record "$output" -F 999 -- bash -c 'run_trials "$@"' trials "$@"
	status=$?
	remove_maps
	return $status
}

# shares_are_true FOLDED COMM: of the samples of COMM in generated code, each function has the share in COMM's log,
# at most 1 % have no function, and functions that never ran have none.
shares_are_true() {
	awk -F '\t' -v comm="$2" -v least=$LEAST_SAMPLES -v points=$POINTS '
	FILENAME == ARGV[1] {
		if ($1 == comm) {
			expected[$2] += $3
			expected_total += $3
		}
		next
	}
	{
		count = $0
		sub(/.* /, "", count)
		stack = substr($0, 1, length($0) - length(count) - 1)
		frames_count = split(stack, frames, ";")
		if (frames[1] != comm)
			next
		for (i = frames_count; i > 1 && frames[i] !~ /_\[j\]$/; i--)
			;
		if (i > 1) {
			name = substr(frames[i], 1, length(frames[i]) - 4)
			seen[name] += count
			stacks[name] = stack
			total += count
		}
	}
	END {
		failed = total < least || expected_total == 0
		printf "# %s: %d samples in generated code\n", comm, total
		for (name in expected) {
			share = total ? 100 * seen[name] / total : 0
			due = expected_total ? 100 * expected[name] / expected_total : 0
			off = share > due ? share - due : due - share
			chance = total ? 5 * sqrt(due * (100 - due) / total) : 0
			wrong = expected[name] ? off > points && off > chance : seen[name] > 0
			failed = failed || wrong
			printf "# %6.2f of %6.2f %% %s%s\n", share, due, name, wrong ? " <--" : ""
			if (wrong && !expected[name])
				printf "#   in %s\n", stacks[name]
		}
		for (name in seen)
			if (!(name in expected)) {
				others += seen[name]
				printf "# %6d samples: %s, which it does not have\n", seen[name], name
			}
		exit failed || others * 100 > total
	}' "$truth" "$1"
}

# is_named FOLDED COMM: 99 % of the samples in generated code have a name.
is_named() {
	awk -v comm="$2" -v least=$LEAST_SAMPLES '
	$0 ~ "^" comm ";.*_\\[j\\]" {
		all += $NF
		if (/\[jit: unknown\]/)
			unknown += $NF
	}
	END {
		printf "# %d of %d samples of %s without a name\n", unknown, all, comm
		exit !(all >= least && unknown * 100 <= all)
	}' "$1"
}

# check_trials NAME COMM... -- TRIAL...: checks the recording, its accounts and the shares of each COMM.
check_trials() {
	local name=$1 output=$tmp/trials.folded comms=()

	shift
	while [ "$1" != -- ]; do
		comms+=("$1")
		shift
	done
	shift
	check "$name: record succeeds" record_trials "$output" "$@"
	check "$name: the accounts close" accounts_close "$output.log"
	for comm in "${comms[@]}"; do
		check "$name: $comm has the shares that it says" shares_are_true "$output" "$comm"
	done
}
