/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history on the host (I7): windows, each a profile of some seconds, in one SQLite database a
 * day (UTC), "<folder>/2026-11-20.db". Each day has a dictionary of strings, stacks and threads.
 * Each window is a compressed column blob of (thread, stack, count) that refers to the dictionary,
 * so the size stays near the information content. A window and its additions to the dictionary are
 * one transaction: after kill -9 every appended window is readable and no partial one remains. A
 * damaged database is renamed (set aside) and a new one begun.
 *
 * store_maintain() also makes folds: the sum of many windows, with threads merged. Folds are
 * optional; without one, the reader reads the windows.
 *
 * For some hours the store also keeps when each sample was taken, to a slice of 10 or 20 ms
 * (times_blob.h): a selection can then cut windows, and store_reader_times() tells the times. The
 * times of a day take an eighth of the byte limit at most; then the oldest are dropped. Samples
 * that are read have the times of the windows they were summed from. Process starts are kept to the
 * millisecond.
 *
 * A day's dictionary grows by a sixteenth of the byte limit at most (4 MiB if that is less), and
 * each user has a share of that (base/user_share.h), except root of the host. So no user's names or
 * stacks can push out the history of others. What exceeds the share is stored as "[names over
 * quota]". The shares begin anew when the writer opens the history.
 *
 * Function names of binaries are not stored (I2): they come later, from the symbol cache. Names of
 * kernel and JIT code are stored, since they cannot be found later.
 *
 * A window is of one event. Windows of several events cover the same time, share the dictionary,
 * and are merged, folded and read apart.
 *
 * Bounds (I4): bytes and age. Windows become coarser with age (10 s, 1 min, 10 min), but for those
 * that an incident keeps (store/incident_log.h); windows too large to merge are merged in parts.
 * Whole days are removed, the oldest first. Age counts from the last day but one, so a clock that
 * was set ahead for a day deletes no history. Each read opens connections of its own and does not
 * block the writer. A writer belongs to one owner and one thread. It takes at most 8 MiB, plus a
 * sixth of the profile being appended.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/event_source.h"
#include "base/fault.h"
#include "base/user_share.h"
#include "store/incident_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_limits {
	uint64_t bytes;	    /* of all databases, on disk; default 1 GiB */
	uint64_t age_s;	    /* default 30 days */
	uint64_t minute_s;  /* windows older than this are merged to 1 min; default 2 h */
	uint64_t minutes_s; /* windows older than this are merged to 10 min; default 2 days */
	uint64_t fine_s;    /* times of samples older than this are dropped; default 1 day */
};
extern const struct store_limits store_default_limits;

/* Facts about a window that its profile lacks. */
struct store_window {
	uint8_t boot_id[16];   /* /proc/sys/kernel/random/boot_id */
	uint64_t monotonic_ns; /* CLOCK_MONOTONIC at its start; shows when the clock was set */
	/* The samples that exceed their user's share of the day are added here; may be NULL. */
	struct user_excess *excess;
};

/*
 * Opens an existing folder for writing and completes what a crash left unfinished. Returns 0 or
 * -errno with `fault`; -EBUSY if another writer has it open.
 */
int store_open(const char *folder, const struct store_limits *limits, struct store **ret_store,
	struct fault *fault);
void store_close(struct store *store);
DEFINE_CLEANUP(struct store, store_close);

/*
 * Appends a window. profile->start_ns to end_ns (CLOCK_REALTIME) select the day. They may lie
 * before the last appended window if the clock was set. Returns 0 or -errno with `fault`. On
 * -ENOSPC, -EROFS, -EIO and so on nothing was appended, and the next call starts afresh.
 */
int store_append(struct store *store, const struct store_window *window,
	const struct profile *profile, struct fault *fault);

/*
 * Appends windows of one time and of different events in one transaction: all or none. They begin
 * on the same day, and there is at least one.
 */
int store_append_all(struct store *store, const struct store_window *window,
	const struct profile *const *profiles, size_t count, struct fault *fault);

/* Notes an incident, which gets its number. Returns 0 or -errno with `fault`. */
int store_add_incident(struct store *store, struct incident *incident, struct fault *fault);

/*
 * What users hold of a day. A caller that closes a store after a failure, and opens it again, hands
 * them on. Otherwise they would begin anew.
 */
struct store_shares {
	uint32_t day;			 /* 0: none */
	int64_t generation;		 /* the sum of the current generations */
	struct user_share of_day;	 /* of what the day's dictionary may grow by */
	struct user_share of_generation; /* added to the current generations */
};
/* Borrowed. After a failed append they may have too much. */
const struct store_shares *store_shares(const struct store *store);
void store_set_shares(struct store *store, const struct store_shares *shares);

/* Why the history has no times of samples that it should keep the times of. */
enum store_untimed {
	STORE_UNTIMED_NO_ROOM,	 /* in the memory of the open window */
	STORE_UNTIMED_TOO_LARGE, /* their window, or that of their minute */
	STORE_UNTIMED_DAMAGED,
	STORE_UNTIMED_REASONS,
};
/* Adds how many were lost since the last call. */
void store_take_untimed(struct store *store, uint64_t sums[STORE_UNTIMED_REASONS]);

/*
 * Makes old windows coarser and enforces the limits, in steps of some milliseconds, until
 * `until_ns` (CLOCK_MONOTONIC). Returns 1 if work remains, 0 if not, or -errno with `fault`.
 */
int store_maintain(
	struct store *store, uint64_t now_realtime_ns, uint64_t until_ns, struct fault *fault);

/* --- reading --- */

/* A missing folder reads as empty. */

struct store_thread {
	uint64_t process_start_ns;
	uint32_t tgid, tid;
	uint32_t owner;			 /* as profile_thread.owner; 0 in days of version 1 */
	const char *comm, *exe, *cgroup; /* borrowed; "" if unknown */
	const char *claims;		 /* labels/process_claims.h */
};

struct store_selection {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME; windows that overlap it are read whole */
	bool by_end; /* reads those windows that end after start_ns and not after end_ns, so that
			adjacent selections share none */
	/*
	 * Cuts windows at start_ns and end_ns by the times of their samples: selects the slices
	 * (PROFILE_SLICE_NS) that overlap the time.
	 */
	bool is_exact;
	/*
	 * Merges threads of equal command, executable, cgroup, claims and owner: their tgid, tid
	 * and process_start_ns are 0. A day of a busy host has more threads than a profile holds.
	 */
	bool merges_threads;
	/*
	 * wants_thread() uses tgid, tid or process_start_ns. If false and merges_threads is set,
	 * these are 0 in its argument, too, and the reader uses folds: many times faster.
	 */
	bool wants_processes;
	/*
	 * Called once for each thread that has samples, or once per dictionary if a busy day has
	 * several. NULL selects all threads.
	 */
	bool (*wants_thread)(void *context, const struct store_thread *thread);
	/*
	 * Called once for each binary, or once per dictionary. A sample is selected if its stack
	 * has a selected binary. NULL selects all.
	 */
	bool (*wants_binary)(void *context, const struct profile_binary *binary, const char *path);
	/*
	 * Selects the counts of samples that are of these spans, where windows keep times. Not
	 * together with is_exact, or for times. NULL selects all. Borrowed.
	 */
	const struct span_choice *spans;
	bool takes_spans; /* the profile gets those that it has room for; no folds are read */
	/*
	 * The profile gets the times of samples, as stamps, those that it has room for; no folds
	 * are read. Not together with spans or takes_spans.
	 */
	bool takes_times;
	/*
	 * What to read (base/event_source.h): a source; an event of the history; or "wall", which
	 * sums the windows of all sources. NULL is "cpu". A source that has several events is read
	 * by that of its first window, since their samples count different things.
	 */
	const char *event;
	void *context;
};

/*
 * What was read. The profile has the accounts of all windows, whatever threads were selected; of a
 * window that was cut, those of its selected samples.
 */
struct store_found {
	uint64_t windows;
	uint64_t supplements;	   /* further rows of windows too large for one */
	uint64_t start_ns, end_ns; /* of the first and the last window; 0 if there is none */
	uint64_t days_damaged;	   /* days that could not be read */
	bool has_other_events;	   /* there are windows that the selection's event leaves out */
	/* Among them are windows of a selected source: "cycles" beside "cpu-clock". */
	bool is_partial;
	/* The time that the windows of each source cover; 0: there is none. */
	uint64_t source_ns[PILOTLIGHT_SOURCES];
	/*
	 * Of an exact selection, and of store_reader_times(): the amounts of selected samples, in
	 * counts times their period, that have a time, and of those of cut windows, or of all, that
	 * have none. These were left out.
	 */
	uint64_t timed_ns, untimed_ns;
	/*
	 * Windows with selected samples whose times were needed and are not kept, and the time of
	 * the first one. An exact selection left them out.
	 */
	uint64_t coarse_windows, coarse_start_ns, coarse_end_ns;
	/* Spans were selected, and there are windows that keep none, as they keep no times. */
	bool lacks_spans;
};

/*
 * Merges the selected windows into one profile, whose binaries lack names. Windows of longer
 * periods are rescaled to the shortest period, with their accounts, so totals stay true. The times
 * of "wall" are those of the windows of CPU time. Returns 0,
 * -E2BIG if `profile_bytes` do not suffice, or another -errno with `fault`.
 */
int store_reader_read(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, struct profile **ret_profile, struct store_found *ret_found,
	struct fault *fault);

/*
 * Calls `function` with the time of each selected sample that has one: the start of its slice and
 * its width, CLOCK_REALTIME, and its count times its period. The order is arbitrary. The profile
 * has no samples: it has the periods, the event, the time and the accounts of the windows. Returns
 * as store_reader_read().
 */
typedef void (*store_time_function)(
	void *context, uint64_t start_ns, uint64_t slice_ns, uint64_t value_ns);
int store_reader_times(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, store_time_function function, void *context,
	struct profile **ret_profile, struct store_found *ret_found, struct fault *fault);

/*
 * Calls `function` with the selected samples of each window, also of what lives, a thread's and a
 * stack's at a time: the thread is one of `profile`, and `is_kernel` says where the stack ends. The
 * profile, which has the threads and no samples, is the caller's. Returns 0, -E2BIG if
 * `profile_bytes` do not suffice for its names, what `function` returned, or another -errno with
 * `fault`.
 */
struct store_row {
	uint64_t start_ns; /* CLOCK_REALTIME, of the window */
	uint64_t value_ns; /* the count times its period */
	uint32_t thread;
	bool is_kernel;
};
typedef int (*store_row_function)(void *context, const struct store_row *row);
int store_reader_rows(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, store_row_function function, void *context,
	struct profile **ret_profile, struct fault *fault);

/*
 * The start of the first window from `start_ns` on that has times of samples; UINT64_MAX: none has.
 * Returns 0 or -errno with `fault`.
 */
int store_reader_first_times(
	const char *folder, uint64_t start_ns, uint64_t *ret_start_ns, struct fault *fault);

/* Calls `function` for each window that overlaps the time, in the order of their starts. */
struct store_window_line {
	uint8_t boot_id[16];
	const char *event;	   /* borrowed for the call */
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;	   /* CLOCK_MONOTONIC at its start */
	uint64_t period_ns;
	uint64_t samples;
	uint64_t bytes; /* of its blobs */
	struct accounts accounts;
};
typedef int (*store_window_function)(void *context, const struct store_window_line *line);
int store_reader_each(const char *folder, uint64_t start_ns, uint64_t end_ns,
	store_window_function function, void *context, struct fault *fault);

struct store_summary {
	uint64_t days, windows, bytes;
	uint64_t first_ns, last_ns;
	uint64_t days_set_aside;
};
int store_reader_summary(
	const char *folder, struct store_summary *ret_summary, struct fault *fault);
