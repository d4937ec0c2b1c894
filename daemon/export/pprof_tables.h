/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a pprof message, or of one of OpenTelemetry (otlp.h): the items of a profile that
 * its samples use, and their numbers in the message. Locations, mappings and samples get their
 * numbers at the start, in the profile's order. Strings and functions get theirs when they are
 * written. Borrows the profile; bounded by its size (I4).
 */
#pragma once

#include "aggregate/profile.h"
#include "export/pprof.h"
#include "labels/process_claims.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Locations that the profile lacks: one for each reason of a loss, one for samples without a stack.
 */
enum { PPROF_NO_STACK = PILOTLIGHT_DROP_COUNT, PPROF_EXTRA_COUNT };

struct pprof_function {
	uint32_t name, file; /* strings of the message */
};

struct pprof_mapping {
	uint32_t id; /* 0: not used */
	/* True if all its locations have them; has_inlined: if any has an inlined frame. */
	bool has_functions, has_files, has_lines, has_inlined;
};

/* Labels from the path of a cgroup: strings of the message; 0: none. Below a user's own systemd
 * there is only the unit. */
struct pprof_cgroup {
	uint32_t unit, container, pod;
	uint32_t claims; /* string of the profile, if there are none of the others; 0: none */
};

/* The first error sticks; functions then return zeros. */
struct pprof_tables {
	const struct profile *profile;
	int error; /* 0 or -ENOMEM */
	enum pprof_labels labels;
	uint32_t *samples; /* those with a count, sorted so that equal ones are adjacent */
	size_t sample_count;
	uint32_t *location_ids; /* by the profile's location; 0: unused */
	uint32_t extra_location_ids[PPROF_EXTRA_COUNT];
	uint32_t *comm_location_ids;	  /* by the profile's string; NULL: comms are no frames */
	struct pprof_mapping *mappings;	  /* by the profile's binary */
	struct string_pool strings;	  /* its ids are the indexes of the string table */
	uint32_t *string_ids;		  /* by the profile's string; 0: not added yet */
	struct pprof_cgroup *cgroups;	  /* by the profile's string */
	struct pprof_function *functions; /* the function with id N is at N - 1 */
	size_t function_count, function_capacity;
	struct hash_index function_index;
};

/* `part` is borrowed during the call; NULL: all samples, and the losses. Returns 0 or -ENOMEM; the
 * tables are then empty. */
int pprof_tables_init(struct pprof_tables *tables, const struct profile *profile,
	enum pprof_labels labels, const struct pprof_part *part);
void pprof_tables_done(struct pprof_tables *tables);

/* Sorts the samples by service first: unit, container, pod, or claims. Those without any come
 * first. Equal ones stay adjacent. Returns 0 or -ENOMEM. */
int pprof_tables_sort_by_service(struct pprof_tables *tables);

/* Says whether two samples of the profile have the same stack and labels. */
bool pprof_tables_same_sample(const struct pprof_tables *tables, uint32_t first, uint32_t second);

/* Return the number of a string of the profile, or of other text; added if missing. */
uint32_t pprof_tables_string(struct pprof_tables *tables, uint32_t profile_string);
uint32_t pprof_tables_text(struct pprof_tables *tables, const char *text);

/* Returns the labels by which a thread's samples are of a service. */
struct pprof_cgroup pprof_tables_service(
	struct pprof_tables *tables, const struct profile_thread *thread);
bool pprof_service_equal(const struct pprof_cgroup *a, const struct pprof_cgroup *b);

/* Returns one of a thread's claims, as a string of the message; 0: it claims nothing. */
uint32_t pprof_tables_claim(
	struct pprof_tables *tables, const struct profile_thread *thread, enum process_claim claim);

/* Returns the labels of a cgroup's path, which is a string of the profile. */
struct pprof_cgroup pprof_tables_cgroup(struct pprof_tables *tables, uint32_t profile_string);

/* Returns the id of a function; added if missing. */
uint32_t pprof_tables_function(struct pprof_tables *tables, const struct pprof_function *function);
