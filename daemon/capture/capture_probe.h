/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breakpoints in programs that the user has asked for. This comes from the user's own process,
 * never from an engine: a breakpoint at a wrong offset damages the programs that get it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CAPTURE_PROBE_PLACES_MAX = 64 };

/* Offsets in the file. */
struct capture_probe_place {
	uint64_t offset;	   /* of the instruction */
	uint64_t semaphore_offset; /* 0: it has none */
};

struct capture_probe {
	int fd;	      /* the file */
	size_t count; /* 0: there is no probe */
	struct capture_probe_place places[CAPTURE_PROBE_PLACES_MAX];
};

/*
 * What an engine may have breakpoints for. All is borrowed; all 0: it may have none. The engine
 * finds the allocators' functions itself, so it could break the processes whose heaps it may
 * sample.
 */
struct capture_grant {
	const struct capture_probe *probes; /* PILOTLIGHT_COUNTED_EVENTS; NULL: none */
	uint32_t sources;  /* of heaps, and any others: bit mask of 1 << enum pilotlight_source */
	const pid_t *pids; /* whose heaps, and those of the children that they fork meanwhile */
	size_t pid_count;
	pid_t command; /* as one of the pids; 0: none */
};
