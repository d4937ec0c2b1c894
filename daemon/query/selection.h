/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects part of the history: a time range, and filters for threads and code. A selection consists
 * of parameters, each a name and a value, as in `pilotlight flamegraph --last 10min --unit
 * nginx.service` and "?last=10min&unit=nginx.service":
 *
 *   last DURATION    until "to"; not together with "from"
 *   from TIME        as in base/time_text.h; the default is the beginning of the history
 *   to TIME          the default is now; a time of day is the next one after "from"; "+10min"
 *                    counts from "from"
 *   pid N, tid N     of the process, of the thread, in the host's namespace
 *   user UID         who answers for the process, by number; containers have no user
 *   comm TEXT        the thread's name
 *   thread TEXT      the same: the history does not keep the name of the first thread
 *   exe PATH         the executable; without a '/', its last part
 *   unit NAME        of systemd, also a user's; without a suffix, a service
 *   slice NAME       with the slices in it; the suffix may be omitted
 *   cgroup PATH      with its descendants
 *   container ID, pod UID
 *                    a prefix is enough
 *   build-id HEX     stacks with code of this binary; a prefix is enough
 *   event NAME       a source: cpu (the default), offcpu, runqueue, faults; wall, the sum of
 *                    the first three; or the event of a window, such as cycles
 *   trace ID, span ID
 *                    samples of this trace or this span, of 32 and 16 hexadecimal digits, where
 *                    windows are not merged yet; not together with exact times
 *   windows WHICH    overlapping the time, the default; or ended after "from" and until "to",
 *                    inclusive: then adjacent times have no window in common; or exact: what
 *                    is of the time, to a slice, where the history keeps times of samples. A
 *                    fraction of a second in a calendar time means exact, too
 *
 * TEXT, PATH, NAME, ID and UID may be globs of fnmatch(3). '*' matches slashes too, and a backslash
 * stands for itself, as in unit names. "*" also matches threads without a value. Values of one
 * parameter are alternatives; different parameters must all match. Times, the event and
 * windows are given once.
 *
 * With pid or tid, threads stay separate in the profile. Otherwise threads with the same name,
 * executable and cgroup are merged (store_selection's merges_threads). One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/time_text.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selection;

enum {
	SELECTION_VALUES_MAX = 64,
	SELECTION_VALUE_BYTES_MAX = 1000, /* bounds the steps of a glob match */
	SELECTION_SEEN_MAX = 8,
	SELECTION_TIME_BYTES = 2 * TIME_TEXT_BYTES + sizeof(" to "),
};

int selection_new(struct selection **ret_selection);
void selection_free(struct selection *selection);
DEFINE_CLEANUP(struct selection, selection_free);

/* Is this the name of a parameter; of one that sets the time? */
bool selection_has_parameter(const char *name);
bool selection_is_time(const char *name);

/*
 * Adds a parameter; `value` is valid UTF-8 and copied. Returns 0, -ENOMEM, or -EINVAL or -E2BIG
 * with `fault`, which names the parameter, what is wrong and how to write it.
 */
int selection_add(
	struct selection *selection, const char *name, const char *value, struct fault *fault);
/* The same of a whole name, which is neither a glob nor a prefix. */
int selection_add_exact(
	struct selection *selection, const char *name, const char *value, struct fault *fault);

/*
 * Selects only what `owner` (profile_thread.owner, not 0) may see, whatever parameters are added.
 * Nothing else then appears in selection_seen(), or decides what it says. Call it before
 * selection_finish().
 */
void selection_restrict(struct selection *selection, uint32_t owner);

/*
 * Computes the time range at `now_ns` (CLOCK_REALTIME); the default is the last ten minutes. Call
 * it once, after the last selection_add(). Returns 0, -ENOMEM, or -EINVAL with `fault`: an end
 * before the beginning, both "last" and "from", or an invalid time.
 */
int selection_finish(struct selection *selection, uint64_t now_ns, struct fault *fault);

/* --- after selection_finish() --- */

/* For store_reader_read(); `ret_selection` points into `selection`, which must outlive its use.
 * Clears the names of selection_seen(). */
void selection_store(struct selection *selection, struct store_selection *ret_selection);

/* Does "from" or "to" ask for a part of a second: "03:12:07.250", but not "@1763608320.25"? NULL
 * does not. */
bool selection_has_fraction(const char *from_or_to);

/* Does it select by the ids of a trace or a span? */
bool selection_has_spans(const struct selection *selection);

/* Does the selection filter threads or code? */
bool selection_has_filter(const struct selection *selection);

/* In words, for titles and messages: "2026-11-20 03:10:00 to 03:15:00, unit nginx.service", local
 * time. Valid UTF-8 without control characters. Borrowed. */
const char *selection_text(const struct selection *selection);

/* Its parts: a time in the same words, with milliseconds if times are exact; and what follows it.
 */
const char *selection_time_text(const struct selection *selection, uint64_t start_ns,
	uint64_t end_ns, char text[SELECTION_TIME_BYTES]);
const char *selection_filter_text(const struct selection *selection);

/*
 * Suggestions for a message: "unit nginx.service" matched nothing, but the history has these. Lists
 * names that the last read saw for the first parameter that matched nothing. There are
 * SELECTION_SEEN_MAX names at most, those with the longest common prefix first. Returns their
 * number; 0 with `ret_parameter` NULL: each parameter matched something, if not the same thing; 0
 * otherwise: the history has no such names. Borrowed until the next selection_store().
 */
size_t selection_seen(const struct selection *selection, const char **ret_parameter,
	const char *const **ret_names);
