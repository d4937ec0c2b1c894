/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of the history somebody asks for: a stretch of time, and of it the threads and the
 * code that are wanted. It is told by parameters, each a name and a value, as `pilotlight
 * flamegraph --last 10min --unit nginx.service` and "?last=10min&unit=nginx.service" have them:
 *
 *   last DURATION | from TIME, to TIME       as systemd.time(7) writes them; "to" counts from
 * "from" pid N, tid N                             of those, any comm TEXT, thread TEXT the
 * process's first thread's, the thread's own exe PATH, unit NAME, cgroup PATH,        a glob
 * (fnmatch(3)); a unit without a suffix is a container ID, pod UID, slice NAME        service; the
 * start of an id will do; a cgroup is selected with all below it build-id HEX stacks with code of
 * it; the start of it will do event NAME
 *
 * What is given more than once is any of them; different names are all of them.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selection;

enum { SELECTION_VALUES_MAX = 64 };

int selection_new(struct selection **ret_selection);
void selection_free(struct selection *selection);
DEFINE_CLEANUP(struct selection, selection_free);

/* Whether a parameter of this name is one of a selection. */
bool selection_has_parameter(const char *name);

/*
 * Adds a parameter; `value` is valid UTF-8. Returns 0; -EINVAL with `fault`, which names the
 * parameter, what is wrong and what would be right; -E2BIG, likewise; -ENOMEM.
 */
int selection_add(
	struct selection *selection, const char *name, const char *value, struct fault *fault);

/*
 * Settles the times as of `now_ns` (CLOCK_REALTIME): without any it is the last ten minutes.
 * Returns 0, or -EINVAL with `fault`: an end before the beginning, both "last" and "from".
 */
int selection_finish(struct selection *selection, uint64_t now_ns, struct fault *fault);

/* For store_reader_read(); `ret_selection` points into `selection`, which must outlive its use. */
void selection_store(struct selection *selection, struct store_selection *ret_selection);

/* In words, for titles and messages: "2026-11-20 03:10:00 to 03:15:00, unit nginx.service".
 * Borrowed. */
const char *selection_text(struct selection *selection);

/* "unit nginx.service" matched nothing, but the history has these: for a message. Borrowed lists of
 * what the last reading came by of the first parameter that matched nothing, up to 8 names. */
size_t selection_seen(const struct selection *selection, const char **ret_parameter,
	const char *const **ret_names);
