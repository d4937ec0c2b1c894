/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions on perf events that the sampler and the side-band share. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Opens an event on one CPU for all processes. Returns a descriptor that the caller owns, or
 * -errno.
 */
int perf_event_open_cpu(const struct perf_event_attr *attr, uint32_t cpu);

/*
 * Reads how long the event has been enabled; its read_format must be
 * PERF_FORMAT_TOTAL_TIME_ENABLED. Returns false if that time has not advanced since `*enabled_ns`:
 * the CPU went offline, and its events do not resume when it returns.
 */
bool perf_event_advance(int fd, uint64_t *enabled_ns);
