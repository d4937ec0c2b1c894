/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the unit whose CPU time has become an incident: over a threshold, or a multiple of what it
 * usually takes. Usual is a moving average over an hour, known after UNIT_USAGE_LEARNING windows.
 * A unit is an incident when it rises, not while it stays high. Each window finds it until the
 * owner tells it, or it falls. Until then it does not change what is usual.
 *
 * A share of few samples varies. Either way a unit must have more samples than its usual share has
 * by chance in a day of windows, so a steady load near a threshold is no incident.
 *
 * It knows UNIT_USAGE_MAX units; a new one takes the place of that which usually takes the least
 * (I4). Plain values, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UNIT_USAGE_MAX = 256,
	UNIT_USAGE_NAME_BYTES = 96,
	UNIT_USAGE_LEARNING = 30, /* windows */
	/* A multiple of next to nothing is no incident: less than this is not one, in percent of a
	 * CPU. */
	UNIT_USAGE_FLOOR = 20,
};

struct unit_usage_settings {
	uint32_t percent; /* of one CPU; 0: off */
	uint32_t times;	  /* its usual; 0: off */
};

struct unit_usage_entry {
	char name[UNIT_USAGE_NAME_BYTES];
	double current, usual; /* percent of one CPU */
	uint32_t windows;
	uint64_t risen_ns; /* CLOCK_REALTIME, as long as it waits to be told; 0: it does not */
	bool is_high;	   /* and has been told */
};

struct unit_usage {
	struct unit_usage_settings settings;
	uint32_t windows; /* that were judged; what is high in the first has risen earlier */
	struct unit_usage_entry entries[UNIT_USAGE_MAX];
	size_t count;
};

/* A window has ended; each unit in it is added, in parts or as a whole. Others took nothing. */
void unit_usage_begin(struct unit_usage *usage);
void unit_usage_add(struct unit_usage *usage, const char *name, double percent);

/* Judges the window of this length that ends at `now_ns`, with samples of this period. `ret_risen`
 * is the unit that has risen, as it was before that, the one that takes most of several; without a
 * name: none. */
void unit_usage_end(struct unit_usage *usage, uint64_t window_ns, uint64_t period_ns,
	uint64_t now_ns, struct unit_usage_entry *ret_risen);
/* The unit that has risen is noted. */
void unit_usage_tell(struct unit_usage *usage, const char *name);
/* All that have risen until this time wait no longer. */
void unit_usage_tell_until(struct unit_usage *usage, uint64_t time_ns);
