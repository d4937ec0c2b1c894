/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two things about perf events that the sampler and the side-band both need. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* An event on one CPU and all processes. Returns a descriptor that the caller owns, or -errno. */
int perf_event_open_cpu(const struct perf_event_attr *attr, uint32_t cpu);

/*
 * Reads how long the event has been enabled; its read_format is PERF_FORMAT_TOTAL_TIME_ENABLED.
 * False where that stands still since `*enabled_ns`: the CPU went away, and its events do not come
 * back with it.
 */
bool perf_event_advance(int fd, uint64_t *enabled_ns);
