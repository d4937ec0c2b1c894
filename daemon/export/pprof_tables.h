/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a pprof message: what of a profile its samples use, and the number that it has in
 * the message. Locations, mappings and samples are found at the start, in the profile's order;
 * strings and functions as they are written. Borrows the profile; bounded by its size (I4).
 */
#pragma once

#include "aggregate/profile.h"
#include "export/pprof.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands in no table of the profile: losses, by reason, and a sample without a stack. */
enum { PPROF_NO_STACK = PILOTLIGHT_DROP_COUNT, PPROF_EXTRA_COUNT };

struct pprof_function {
	uint32_t name, file; /* strings of the message */
};

struct pprof_mapping {
	uint32_t id; /* 0: not used */
	/* Of all its locations, but for inlined frames, which any may have. */
	bool has_functions, has_files, has_lines, has_inlined;
};

/* What the path of a cgroup says; strings of the message, 0: nothing. */
struct pprof_cgroup {
	uint32_t unit, container, pod;
};

struct pprof_tables {
	const struct profile *profile;
	enum pprof_labels labels;
	uint32_t *samples; /* those with a count, sorted so that equal ones stand side by side */
	size_t sample_count;
	uint32_t *location_ids; /* by the profile's location; 0: not used */
	uint32_t extra_location_ids[PPROF_EXTRA_COUNT];
	struct pprof_mapping *mappings;	  /* by the profile's binary */
	struct string_pool strings;	  /* whose ids are the indexes of the string table */
	uint32_t *string_ids;		  /* by the profile's string; 0: not there yet */
	struct pprof_cgroup *cgroups;	  /* likewise */
	struct pprof_function *functions; /* the function with id N stands at N - 1 */
	size_t function_count, function_capacity;
	struct hash_index function_index;
};

/* Returns 0 or -ENOMEM; the tables are empty then. */
int pprof_tables_init(
	struct pprof_tables *tables, const struct profile *profile, enum pprof_labels labels);
void pprof_tables_done(struct pprof_tables *tables);

/* Do two samples of the profile have the same stack and labels? */
bool pprof_tables_same_sample(const struct pprof_tables *tables, uint32_t first, uint32_t second);

/* The number of a string of the profile, and of another text. 0 or -ENOMEM. */
int pprof_tables_string(struct pprof_tables *tables, uint32_t profile_string, uint32_t *ret_string);
int pprof_tables_text(struct pprof_tables *tables, const char *text, uint32_t *ret_string);

/* Of a cgroup's path, which is a string of the profile. 0 or -ENOMEM. */
int pprof_tables_cgroup(
	struct pprof_tables *tables, uint32_t profile_string, struct pprof_cgroup *ret_cgroup);

/* The id of a function, which is added if need be. 0 or -ENOMEM. */
int pprof_tables_function(
	struct pprof_tables *tables, const struct pprof_function *function, uint32_t *ret_id);
