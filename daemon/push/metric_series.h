/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The series of a metric: CPU time by unit, container or thread. Their number is bounded (I4). When
 * there are too many, a new one takes the place of the one that has not grown for longest, unless
 * all have grown at the same time; what has no place is counted as "[other]", which has a place of
 * its own. A series that comes back begins at zero, which Prometheus takes for a restart.
 */
#pragma once

#include "api/service_status.h"

#include <stdint.h>

/*
 * `label` fits a series' and may be shown. `measurement` numbers measurements, from 1 on; no clock
 * does, since it may be set back.
 */
void metric_series_add(
	struct service_status_metric *metric, const char *label, uint64_t ns, uint64_t measurement);
