/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of a probe in a program's code. They come from the user's own process, never from an
 * engine: a breakpoint at a wrong offset damages the programs that get it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
