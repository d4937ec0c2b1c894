/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of the history somebody asks for: a stretch of time, and of it the threads and the
 * code that are wanted. It is told by parameters, each a name and a value, as `pilotlight
 * flamegraph --last 10min --unit nginx.service` and "?last=10min&unit=nginx.service" have them:
 *
 *   last DURATION       until "to", or until now; not together with "from"
 *   from TIME, to TIME  as base/time_text.h reads them; "to" may be a time of day alone, the next
 *                       after "from", or "+10min", which counts from "from". Without "to" until
 *                       now; without "from" from the beginning
 *   pid N, tid N        of the process, of the thread, in the host's name space
 *   comm TEXT           the thread's own name; history does not keep what the first thread of its
 *   thread TEXT         process is called, so that both are the same
 *   exe PATH            the executable; without a '/' the last part of its path
 *   unit NAME           of systemd, also of a user's own; without an ending it is a service
 *   slice NAME          with the slices in it; without an ending it is a slice
 *   cgroup PATH         with all below it
 *   container ID, pod UID  the start of it will do
 *   build-id HEX        stacks with code of such a binary; the start of it will do
 *   event NAME          else that of the first window
 *
 * TEXT, PATH, NAME, ID and UID may be globs of fnmatch(3), where '*' stands for slashes too and a
 * backslash for itself, as in units' names; "*" is also what has none. What is given more than once
 * is any of them; different names are all of them. Times and the event are given once.
 *
 * Where pid or tid is asked for, the threads stay apart in the profile; else those of one name,
 * executable and cgroup are one (store_selection's merges_threads). One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selection;

enum {
	SELECTION_VALUES_MAX = 64,
	SELECTION_VALUE_BYTES_MAX = 1000, /* a glob is matched in as many steps times the name's */
	SELECTION_SEEN_MAX = 8,
};

int selection_new(struct selection **ret_selection);
void selection_free(struct selection *selection);
DEFINE_CLEANUP(struct selection, selection_free);

/* Whether a parameter of this name is one of a selection; whether it tells of the time. */
bool selection_has_parameter(const char *name);
bool selection_is_time(const char *name);

/*
 * Adds a parameter; `value` is valid UTF-8 and copied. Returns 0; -EINVAL with `fault`, which names
 * the parameter, what is wrong and what would be right; -E2BIG, likewise; -ENOMEM.
 */
int selection_add(
	struct selection *selection, const char *name, const char *value, struct fault *fault);

/*
 * Settles the times as of `now_ns` (CLOCK_REALTIME): without any it is the last ten minutes.
 * Returns 0; -EINVAL with `fault`: an end before the beginning, both "last" and "from", what is no
 * time; -ENOMEM. Once, after which nothing is added.
 */
int selection_finish(struct selection *selection, uint64_t now_ns, struct fault *fault);

/* --- of one that is finished --- */

/* For store_reader_read(); `ret_selection` points into `selection`, which must outlive its use.
 * What was seen before is forgotten. */
void selection_store(struct selection *selection, struct store_selection *ret_selection);

bool selection_has_event(const struct selection *selection);

/* Does it ask for certain threads or code, and not for whatever there was? */
bool selection_has_filter(const struct selection *selection);

/* In words, for titles and messages: "2026-11-20 03:10:00 to 03:15:00, unit nginx.service", local
 * time. Valid UTF-8 without control characters. Borrowed. */
const char *selection_text(const struct selection *selection);

/*
 * "unit nginx.service" matched nothing, but the history has these: for a message. Lists what the
 * last reading came by of the first parameter that matched nothing, SELECTION_SEEN_MAX names at
 * most, those first that begin most like what was asked for. Returns how many; 0: each parameter
 * matched something (if not all of them the same), or the history has no names of the kind, which
 * `ret_parameter` tells apart: it is NULL in the first case. Borrowed until the next
 * selection_store().
 */
size_t selection_seen(const struct selection *selection, const char **ret_parameter,
	const char *const **ret_names);
