#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Generated code in a container gets its names from the files of the container's processes. No process can make
# the recorder read names from a file that the process could not write.
. "$(dirname "$0")/lib.sh"
. "$root/tests/end_to_end/jit_programs/trials.sh"

NOBODY=65534
SOMEBODY=65533
ADDRESS=7d0000000000
CLOCK_SHIFT_S=86400

# --- a container -------------------------------------------------------------------------------

# The container has its own pids, mounts, /tmp and, if the kernel supports it, clocks. It cannot see this folder,
# so it gets the program and the truth file as descriptors.
run_container() {
	local clocks=()

	unshare --time --monotonic $CLOCK_SHIFT_S true 2>/dev/null &&
		clocks=(--time --monotonic "$CLOCK_SHIFT_S")
	unshare --fork --pid --mount "${clocks[@]}" --mount-proc bash -c '
		mount -t tmpfs tmpfs /tmp && cp /proc/self/fd/8 /tmp/writer && chmod 755 /tmp/writer || exit
		cd /tmp || exit
		/tmp/writer reuse --comm jit_inside --truth /proc/self/fd/9 --seconds 3 &
		reuse=$!
		/tmp/writer stale --comm jit_map_inside --output map --truth /proc/self/fd/9 --seconds 3 &
		wait $reuse && wait $!
	' container 8<"$writer" 9>>"$truth"
}

record_container() {
	rm -f "$truth"
	record "$tmp/container.folded" -F 999 -- bash -c run_container
}

# --- files of other owners ------------------------------------------------------

# Root creates each file in a private /tmp, just before the process drops root. The current folder has the
# secrets; only links contain their path, which is valid for the recorder.
lay_symlink() {
	ln -s "$secrets/secret.map" "$1"
}

lay_hard_link() {
	cp -p secret.map /tmp/secret.map && ln /tmp/secret.map "$1"
}

lay_fifo() {
	mkfifo -m 666 "$1"
}

lay_device() {
	mknod -m 666 "$1" c 1 5
}

lay_folder() {
	mkdir -m 777 "$1"
}

lay_others() {
	cp secret.map "$1" && chown $SOMEBODY "$1" && chmod 644 "$1"
}

lay_sparse() {
	truncate -s 1T "$1" && chown $NOBODY "$1"
}

# A line with the address of the code and a name that never ends.
lay_endless_line() {
	{ printf '%s 200000 ' "$ADDRESS" && head -c 20000000 /dev/zero | tr '\0' x; } >"$1" &&
		chown $NOBODY "$1"
}

lay_swapped() {
	cp own.map "$1" && chown $NOBODY "$1" || return
	swap "$1" &
}

# Alternates between the process's own file and a link to a secret one.
swap() {
	local end=$((SECONDS + 4))

	ln -s "$secrets/secret.map" "$1.link"
	cp -p "$1" "$1.own"
	while [ $SECONDS -lt $end ]; do
		ln -f "$1.link" "$1.next" && mv -f "$1.next" "$1"
		cp -p "$1.own" "$1.next" && mv -f "$1.next" "$1"
	done
}

# Markers: files that the process maps in place of its jitdump.
lay_marker_device() {
	mknod -m 666 "$1" c 1 5
}

lay_marker_sparse() {
	head -c 40 secret.dump >"$1" && truncate -s 1T "$1" && chown $NOBODY "$1"
}

# write_as USER: starts a process of USER that writes a dump about the same addresses. Sets `marker`.
write_as() {
	setpriv --reuid "$1" --regid "$1" --clear-groups /tmp/writer reuse --comm another \
		--prefix stolen_ --address $ADDRESS --memory shared --directory /tmp --seconds 3 &
	marker=/tmp/jit-$!.dump
	for ((i = 0; i < 1000 && $(stat -c %s "$marker" 2>/dev/null || echo 0) < 40; i++)); do
		sleep 0.01
	done
}

lay_marker_others() {
	write_as $SOMEBODY
}

# Files of the process itself, which must be read. Otherwise the other cases would prove nothing.
lay_own() {
	cp own.map "$1" && chown $NOBODY "$1"
}

lay_marker_own() {
	write_as $NOBODY
}

# lay_and_run KIND: execs the process, which keeps the shell's PID.
lay_and_run() {
	local marker=/tmp/jit-$$.dump kind=$1

	cd "$secrets" && mount -t tmpfs -o mode=1777 tmpfs /tmp && cp /proc/self/fd/8 /tmp/writer &&
		chmod 755 /tmp/writer || return
	case $kind in
	marker_*)
		"lay_$kind" "$marker" || return
		set -- --marker "$marker" --memory shared
		;;
	*)
		"lay_$kind" /tmp/perf-$$.map || return
		set --
		;;
	esac
	exec setpriv --reuid $NOBODY --regid $NOBODY --clear-groups --bounding-set=-all /tmp/writer \
		steady --comm "h_$kind" --address $ADDRESS --output none --seconds 3 "$@"
}

run_hostile_kind() {
	export -f lay_and_run swap write_as "lay_$1"
	unshare --mount bash -c 'lay_and_run "$@"' lay "$1" 8<"$writer"
}

run_hostile_kinds() {
	local kind status=0

	for kind in $kinds $own; do
		run_hostile_kind "$kind" || status=1 &
	done
	run_trials "steady --comm jit_honest --seconds 3" || status=1
	wait
	return $status
}

# Makes files that only root may read, with names for the memory of the hostile processes.
make_secrets() {
	local file

	mkdir -m 755 "$secrets"
	echo "$ADDRESS 200000 stolen_name" >"$secrets/secret.map"
	echo "$ADDRESS 200000 own_name" >"$secrets/own.map"
	(cd "$secrets" && "$writer" stale --seconds 0.01 --prefix stolen_ --address $ADDRESS) || return
	file=$(echo "$secrets"/jit-*.dump)
	mv "$file" "$secrets/secret.dump"
	chmod 600 "$secrets"/secret.*
}

record_hostile() {
	rm -f "$truth"
	record "$tmp/hostile.folded" -F 999 -- bash -c run_hostile_kinds
}

is_not_fooled() {
	local all stolen

	all=$(folded_count "$tmp/hostile.folded" "h_$1" '')
	stolen=$(grep "^h_$1;" "$tmp/hostile.folded" | grep -c stolen_)
	note "$1: $all samples, $stolen stacks with a stolen name"
	[ "$all" -ge 20 ] && [ "$stolen" = 0 ]
}

is_read() {
	local named

	named=$(grep "^h_$1;" "$tmp/hostile.folded" | grep -c "$2")
	note "$1: $named stacks with the name"
	[ "$named" -gt 0 ]
}

need_writer
has_mount_namespaces || skip_all "mount namespaces are refused here"
unshare --fork --pid --mount --mount-proc true 2>/dev/null || skip_all "unshare is refused"
need_commands setpriv

kinds='symlink hard_link fifo device folder others sparse endless_line swapped
	marker_others marker_device marker_sparse'
own='own marker_own'
secrets=$tmp/secrets
export kinds own secrets tmp NOBODY SOMEBODY ADDRESS CLOCK_SHIFT_S
export -f run_container run_hostile_kinds run_hostile_kind lay_and_run swap write_as
for kind in $kinds $own; do export -f "lay_$kind"; done
# shellcheck disable=SC2086
set -- $kinds
plan $(($# + 10))

check "a container: record succeeds" record_container
check "a container: the accounts close" accounts_close "$tmp/container.folded.log"
check "a container: jit_inside has its true shares" \
	shares_are_true "$tmp/container.folded" jit_inside
check "a container: jit_map_inside has its true shares" \
	shares_are_true "$tmp/container.folded" jit_map_inside

check "hostile files: the secrets are made" make_secrets
check "hostile files: record succeeds" record_hostile
check "hostile files: the accounts close" accounts_close "$tmp/hostile.folded.log"
check "hostile files: an honest process is named" is_named "$tmp/hostile.folded" jit_honest
for kind; do
	check "hostile files: no stolen name: $kind" is_not_fooled "$kind"
done
check "hostile files: the process's own map is read" is_read own own_name
check "hostile files: a dump of the same user is read" is_read marker_own stolen_
finish
