/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of events, for `pilotlight events` and GET /api/v1/events. */
#pragma once

#include "api/service_status.h"
#include "base/json.h"
#include "base/output.h"

/* A table for people. `service` NULL: no service answers, or none is asked. */
void event_table_write_text(const struct service_status *service, struct output *output);
/* An object for each event, a line each. */
void event_table_write_json(const struct service_status *service, struct json *json);
