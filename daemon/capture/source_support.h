/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine lacks to sample a source. For the doctor, for the list of events, and for the
 * service, which goes on without what is missing.
 */
#pragma once

#include "pilotlight/capture_message.h"
#include "pilotlight/counted_event.h"
#include "pilotlight/event.h"

#include <stdbool.h>

struct perf_event_opener;

/*
 * Says in words what is missing for the source, or for its surveys; "": nothing. `event` is NULL
 * but for a source of events that a user names. Returns 0, or -EACCES or -EPERM: this process may
 * not look, or not sample; `ret_missing` then says so. `opener` may be NULL.
 */
int source_support_read(enum pilotlight_source source, bool is_surveyed,
	const struct pilotlight_counted_event *event, struct perf_event_opener *opener,
	char ret_missing[PILOTLIGHT_MISSING_BYTES]);
