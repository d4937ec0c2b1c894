/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of the sampler's own walk of user stacks: the files that the engine has described, the
 * sampler's requests for more, and the arrays of unwind tables, which are mapped here
 * (pilotlight/walk.h, pilotlight/unwind.h). The capture host makes them; using them needs only the
 * descriptors. One owner, one thread.
 */
#pragma once

#include "pilotlight/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Entries of the four arrays. The number of pages is even, because two share an entry of their map.
 */
struct walk_map_sizes {
	uint32_t pages, lines, rules, escapes;
};

/* Divides a budget in bytes, mostly for lines. At least one entry each. */
struct walk_map_sizes walk_map_sizes_compute(size_t budget_bytes);
size_t walk_map_sizes_bytes(const struct walk_map_sizes *sizes);

struct ring_buffer;

struct walk_maps {
	int files_fd, requests_fd; /* borrowed; -1: the sampler does not walk */
	int wakeup_fd;		   /* borrowed; readable when there are requests */
	struct ring_buffer *wakeup;
	struct walk_map_sizes sizes;
	uint32_t *pages; /* owned mappings; NULL: none */
	struct pilotlight_unwind_line *lines;
	struct pilotlight_unwind_rule *rules;
	struct pilotlight_unwind_escape *escapes;
};

struct walk_map_fds {
	int files, requests, wakeup, pages, lines, rules, escapes;
};

/* Maps the arrays. Returns 0 or -errno. */
int walk_maps_init(struct walk_maps *ret_maps, const struct walk_map_fds *fds,
	const struct walk_map_sizes *sizes);
void walk_maps_done(struct walk_maps *maps);

/* Gives the sampler a file's description, or replaces it. Returns 0 or -errno. */
int walk_maps_put_file(const struct walk_maps *maps, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_file *file);

/* Removes a file. Returns 0, also if the sampler does not know the file, or -errno. */
int walk_maps_drop_file(const struct walk_maps *maps, const struct pilotlight_file_key *key);

/*
 * Removes all files and requests that another engine has left. Programs may still use the files
 * until the window's number has changed and the programs that ran then have ended. Returns 0 or
 * -errno.
 */
int walk_maps_clear(const struct walk_maps *maps);

/* The last window in which a stack contained the file. Returns 0 or -errno. */
int walk_maps_used_window(
	const struct walk_maps *maps, const struct pilotlight_file_key *key, uint32_t *ret_window);

/*
 * Removes the waiting requests and calls `function` for each. Returns how many, or -errno. `key`
 * and `request` are borrowed for the call.
 */
typedef void (*walk_request_function)(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request);
int walk_maps_drain_requests(
	const struct walk_maps *maps, walk_request_function function, void *context);
