/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of events, for `pilotlight events` and GET /api/v1/events. */
#pragma once

#include "api/service_status.h"
#include "base/json.h"
#include "base/output.h"

struct event_table_missing {
	/* What the machine lacks for each source; "": nothing, or it is not known. */
	char of[PILOTLIGHT_SOURCES][PILOTLIGHT_MISSING_BYTES];
};

/*
 * A table for people. `service` NULL: no service answers; then `missing` is what this process has
 * found, or NULL.
 */
void event_table_write_text(const struct service_status *service,
	const struct event_table_missing *missing, struct output *output);
/* An object for each event, a line each. */
void event_table_write_json(const struct service_status *service,
	const struct event_table_missing *missing, struct json *json);
