/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the cgroup whose throttling has become an incident: the kernel has throttled it in more of
 * its periods since the last window than a threshold, by the counters of its cpu.stat. A cgroup
 * with a quota has them, of itself alone, so those above a busy one count, too. What stays high was
 * an incident only as it rose, so a cgroup that always is throttled hides no other one. What has
 * risen is found in each window until it is told, or falls.
 *
 * It knows THROTTLING_MAX cgroups; a new one takes the place of the one that had no sample for
 * longest (I4). If the latter comes back, it does not rise by a share that it may have had before.
 * One owner, one thread.
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
	double percent;		 /* of its periods since it was asked before; -1: unknown */
	uint64_t risen_ns; /* CLOCK_REALTIME, as long as it waits to be told; 0: it does not */
	bool is_high;	   /* and has been told */
};

struct throttling {
	int folder_fd; /* where cgroups with cpu.stat are; -1: nowhere */
	struct throttling_entry entries[THROTTLING_MAX];
	size_t count;
	uint32_t threshold;   /* in percent, set by the owner */
	uint32_t window;      /* the number of this window, from 1 on */
	uint64_t periods_max; /* most that it can have had */
};

/* Opens the folder of the hierarchy that has quotas. */
void throttling_open(struct throttling *throttling);
void throttling_close(struct throttling *throttling);

/* A cgroup that is new, and had no more periods than two windows have, is measured from its start
 * on.
 */
void throttling_begin(struct throttling *throttling, uint64_t window_ns);
/* Asks for a cgroup, "/system.slice/a.service", and for those above it. The busiest come first. */
void throttling_ask(struct throttling *throttling, const char *path);
/* Returns the share of throttled periods, in percent, of the cgroup that has risen, the worst of
 * several, its path, and when it rose; 0 and "": none has; -1: there is no such folder. */
double throttling_end(struct throttling *throttling, uint64_t now_ns, const char **ret_path,
	uint64_t *ret_risen_ns);
/* The cgroup that has risen is noted. */
void throttling_tell(struct throttling *throttling, const char *path);
/* All that have risen until this time wait no longer. */
void throttling_tell_until(struct throttling *throttling, uint64_t time_ns);

/* Reads both counters of a cpu.stat. Returns false unless it has them. */
bool throttling_parse(const char *text, uint64_t *ret_periods, uint64_t *ret_throttled);
