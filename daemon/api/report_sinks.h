/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the part of a report that is about sinks (report.h). */
#pragma once

#include "api/service_status.h"

struct json;
struct output;

enum { REPORT_SINK_BYTES = 768 };

/* A line of `pilotlight status`; returns `text`. */
const char *report_sink_text(const struct service_status_sink *sink, char text[REPORT_SINK_BYTES]);

/* Writes a member "sinks" into the object that is open: an array. */
void report_sinks_write_json(const struct service_status *service, struct json *json);
/* Writes nothing without sinks. */
void report_sinks_write_metrics(const struct service_status *service, struct output *output);
