/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history on the host (I7): windows, each a profile of some seconds, in SQLite databases, one a
 * day (UTC), "<folder>/2026-11-20.db". A day has a dictionary of what its windows are made of, and
 * per window a compressed column blob of (thread, stack, count), so that the size stays near the
 * information in it. A window and what it adds to the dictionary are one transaction: whatever was
 * appended is readable after kill -9, and of what was not there is nothing. A database that is
 * damaged is set aside under another name, and a new one begun.
 *
 * Beside the windows are folds: what many of them hold, with threads merged. They are made by
 * store_maintain(), and may be missing: then the windows are read.
 *
 * Not kept are the times of single samples within a window (those that are read have the times of
 * what they were summed up from), and the starts of processes below a millisecond.
 *
 * Names of binaries' functions are not in it (I2): they come late, from the symbol cache. Names of
 * kernel and JIT code are, since nobody could find them later.
 *
 * Bounds (I4): bytes and age. Windows become coarser with age (10 s, 1 min, 10 min; what is too
 * large to be merged is merged in parts), days go as a whole, the oldest first; age counts from the
 * last day but one, so that a clock that was set ahead for a day costs nothing. Reading does not
 * disturb writing: each reader has a connection of its own. A writer is one owner's, one thread's;
 * it takes 8 MiB at most, and a sixth of the profile that is appended.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_limits {
	uint64_t bytes;	    /* of all databases, on disk; 1 GiB */
	uint64_t age_s;	    /* 30 days */
	uint64_t minute_s;  /* older windows are of a minute: 2 h */
	uint64_t minutes_s; /* older ones of ten: 2 days */
};
extern const struct store_limits store_default_limits;

/* What is known of a window besides its profile. */
struct store_window {
	uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id */
	uint64_t
		monotonic_ns; /* CLOCK_MONOTONIC of its beginning, to tell when the clock was set */
	/*
	 * Of samples that came late, for the window with the same boot_id and monotonic_ns, which
	 * is there already: their accounts are in it.
	 */
	bool is_supplement;
};

/*
 * Opens the folder, which must be there, for writing, and finishes what a crash has left. One
 * writer at a time: -EBUSY. Returns 0 or -errno with `fault`.
 */
int store_open(const char *folder, const struct store_limits *limits, struct store **ret_store,
	struct fault *fault);
void store_close(struct store *store);
DEFINE_CLEANUP(struct store, store_close);

/*
 * Appends a window: profile->start_ns to end_ns, CLOCK_REALTIME, decide the day and may lie before
 * what was appended last, when the clock was set. Returns 0; or -errno with `fault`: -ENOSPC,
 * -EROFS, -EIO … nothing was appended, and the next call tries afresh.
 */
int store_append(struct store *store, const struct store_window *window,
	const struct profile *profile, struct fault *fault);

/*
 * Makes old windows coarser and keeps to the limits, in steps of some milliseconds until `until_ns`
 * (CLOCK_MONOTONIC). Returns 1 where there is more to do, 0, or -errno with `fault`.
 */
int store_maintain(
	struct store *store, uint64_t now_realtime_ns, uint64_t until_ns, struct fault *fault);

/* --- reading --- */

struct store_reader;

/* A folder that need not be there: it is empty then. Returns 0 or -errno with `fault`. */
int store_reader_open(const char *folder, struct store_reader **ret_reader, struct fault *fault);
void store_reader_close(struct store_reader *reader);
DEFINE_CLEANUP(struct store_reader, store_reader_close);

struct store_thread {
	uint64_t process_start_ns;
	uint32_t tgid, tid;
	const char *comm, *exe, *cgroup; /* borrowed; "" where it is not known */
};

struct store_selection {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME; windows that overlap it, whole */
	/*
	 * Threads are told apart by their command, executable and cgroup alone: their tgid, tid and
	 * process_start_ns are 0. A day of a busy host has more threads than a profile holds.
	 */
	bool merges_threads;
	/*
	 * wants_thread() asks for tgid, tid or process_start_ns. Else, where threads are merged,
	 * these are 0 there as well, and history is read that was merged before: many times faster.
	 */
	bool wants_processes;
	/*
	 * Asked once for each thread that has samples; again where a busy day has several
	 * dictionaries. NULL: all are wanted.
	 */
	bool (*wants_thread)(void *context, const struct store_thread *thread);
	/*
	 * Asked once for each binary, likewise: a sample is wanted if its stack has one that is.
	 * NULL: all are.
	 */
	bool (*wants_binary)(void *context, const struct profile_binary *binary, const char *path);
	const char *event; /* NULL: that of the first window */
	void *context;
};

struct store_found {
	uint64_t windows, supplements;
	uint64_t start_ns, end_ns; /* of the first and the last window; 0: none */
	uint64_t days_damaged;	   /* that could not be read */
	bool has_other_events;
	/* The accounts of all windows, whoever was selected, are in the profile. */
};

/*
 * Merges the selected windows into one profile, whose binaries lack names. Windows of different
 * periods are brought to the shortest, with their accounts, so that totals stay true. Returns 0,
 * -E2BIG where `profile_bytes` do not suffice, or -errno with `fault`.
 */
int store_reader_read(struct store_reader *reader, const struct store_selection *selection,
	size_t profile_bytes, struct profile **ret_profile, struct store_found *ret_found,
	struct fault *fault);

/* Calls `function` for each window that overlaps the time, in the order of their starts. */
struct store_window_line {
	uint8_t boot_id[16];
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;	   /* CLOCK_MONOTONIC of its beginning */
	uint64_t period_ns;
	uint64_t samples;
	uint64_t bytes; /* of its blobs */
	struct accounts accounts;
};
typedef int (*store_window_function)(void *context, const struct store_window_line *line);
int store_reader_each(struct store_reader *reader, uint64_t start_ns, uint64_t end_ns,
	store_window_function function, void *context, struct fault *fault);

struct store_summary {
	uint64_t days, windows, bytes;
	uint64_t first_ns, last_ns;
	uint64_t days_set_aside;
};
int store_reader_summary(
	struct store_reader *reader, struct store_summary *ret_summary, struct fault *fault);
