# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of interpreters' frames. Source lib.sh first. Scripts set `runtime`, as `pilotlight runtimes` calls it, and
# `idle`, a command that runs the interpreter and waits, and define first_recording ROUND, which records a run of it that
# is ROUND times as long as the shortest.

# is_runtime STATE SECONDS: whether `pilotlight runtimes` says so of a process that runs now, within SECONDS.
is_runtime() {
	local status

	start "${idle[@]}"
	is_listed() {
		"$pilotlight" runtimes --json >"$tmp/runtimes" 2>&1 &&
			grep -q "\"pid\":${started[-1]},.*\"runtime\":\"$runtime\".*\"state\":\"$1\"" "$tmp/runtimes"
	}
	wait_for "$2" is_listed "$1"
	status=$?
	[ $status = 0 ] || note "$(cat "$tmp/runtimes")"
	stop_started
	return $status
}

# A short recording may end before the worker has made the description, and a new one starts over: so each is longer than
# the one before. How long a slow or busy machine takes is not known.
is_read_after_recordings() {
	local round

	for round in {1..10}; do
		first_recording "$round" || return
		! is_runtime read 2 || return 0
		note "no description after recording $round"
	done
	return 1
}

# has_only_frames FILE NAME…: no other function of Python. What is no name is of memory that was overwritten.
has_only_frames() {
	! grep -o "[^;]*_\[p\]" "$1" | grep "^[A-Za-z_<][A-Za-z0-9_.<>]*_\[p\]$" | sed 's/_\[p\]$//' |
		grep -vxF "$(printf '%s\n' "${@:2}")"
}

# has_share FILE BELOW FRAMES PERCENT: of the samples that match BELOW, so many have these frames in a row, within seven
# standard errors.
has_share() {
	below=$2 frames=";$3" awk -v wanted="$4" '
	$0 !~ ENVIRON["below"] { next }
	{ all += $NF }
	index($0, ENVIRON["frames"]) { part += $NF }
	END {
		share = all ? 100 * part / all : 0
		tolerance = all ? 7 * sqrt(wanted * (100 - wanted) / all) : 0
		printf "# %s: %.1f of %d samples, %d +- %.1f are wanted\n", ENVIRON["frames"], share, all, wanted, tolerance
		exit !(all >= 100 && share >= wanted - tolerance && share <= wanted + tolerance)
	}' "$1"
}

# has_whole_chains FILE BELOW PERCENT CHAIN…: the samples that match BELOW match a CHAIN, but for PERCENT of them, in
# which the interpreter just links its frames. The first ones come before the table is loaded.
has_whole_chains() {
	below=$2 chains=$(IFS='|' && echo "${*:4}") awk -v others="$3" '
	/no unwind table/ || $0 !~ ENVIRON["below"] { next }
	{ all += $NF }
	$0 ~ ENVIRON["chains"] { whole += $NF; next }
	{ print "# " $0 }
	END {
		printf "# %d of %d samples\n", whole, all
		exit !(all >= 100 && all - whole <= 3 + all * others / 100)
	}' "$1"
}
