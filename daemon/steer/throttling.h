/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cgroup the kernel has throttled most since the last window, by the counters of its
 * cpu.stat. A cgroup with a quota has them, of itself alone, so those above a busy one count, too.
 * It knows THROTTLING_MAX cgroups; a new one takes the place of the one that had no sample for
 * longest (I4). One owner, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	THROTTLING_MAX = 64,
	THROTTLING_PATH_BYTES = 256,
	THROTTLING_LEAST = 5,	/* periods of a window; fewer are not worth a look */
	THROTTLING_WINDOWS = 3, /* for which a cgroup is asked after its last sample */
};

struct throttling_entry {
	char path[THROTTLING_PATH_BYTES];
	uint64_t periods, throttled;
	uint32_t sampled, asked; /* in which window a sample came of it at last; it was asked */
};

struct throttling {
	int folder_fd; /* where cgroups with cpu.stat are; -1: nowhere */
	struct throttling_entry entries[THROTTLING_MAX];
	size_t count;
	/* Of this window: its number, and the greatest share of throttled periods. */
	uint32_t window;
	uint64_t periods_max; /* most that it can have had */
	double percent;
	char worst[THROTTLING_PATH_BYTES];
};

/* Opens the folder of the hierarchy that has quotas. */
void throttling_open(struct throttling *throttling);
void throttling_close(struct throttling *throttling);

/* A cgroup that is new, and had no more periods than a window has, is measured from its start on.
 */
void throttling_begin(struct throttling *throttling, uint64_t window_ns);
/* Asks for a cgroup, "/system.slice/a.service", and for those above it. The busiest come first. */
void throttling_ask(struct throttling *throttling, const char *path);
/* Returns the greatest share of throttled periods, in percent, and whose; -1: there is no such
 * folder. */
double throttling_end(struct throttling *throttling, const char **ret_path);

/* Reads both counters of a cpu.stat. Returns false unless it has them. */
bool throttling_parse(const char *text, uint64_t *ret_periods, uint64_t *ret_throttled);
