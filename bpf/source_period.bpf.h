/* SPDX-License-Identifier: GPL-2.0-only */
/* The period of each source, and how many of its periods a sample stands for. */
#pragma once

#include "pace.bpf.h"
#include "pilotlight/event.h"
#include "shared.bpf.h"

/* Constant, set before loading. */
const volatile __u64 source_periods[PILOTLIGHT_SOURCES]; /* in units of the source; 0: it is off */

/* By source. */
static struct pace paces[PILOTLIGHT_SOURCES] SHARED;

static __always_inline __u32 interval_of(enum pilotlight_source source)
{
	return pace_interval(&paces[source]);
}
