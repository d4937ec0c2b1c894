# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of interpreters' frames. Source lib.sh first. Scripts set `runtime`, as `pilotlight runtimes` calls it, and
# `idle`, a command that runs the interpreter and waits, and define first_recording(), which records a short run of it.

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

# A short recording may end on a busy machine before the worker has made the description, so it is repeated.
is_read_after_recordings() {
	local round

	for round in {1..10}; do
		first_recording || return
		! is_runtime read 2 || return 0
		note "no description after recording $round"
	done
	return 1
}
