/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the CPU time in functions, of the sections [metric NAME], for Prometheus (report.h). */
#pragma once

#include "api/service_status.h"

struct output;

/* Writes nothing without such sections. */
void report_meter_write_metrics(const struct service_status *service, struct output *output);
