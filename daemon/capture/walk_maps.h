/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps that the sampler's own walk of user stacks reads: what the engine says of files, what
 * it is asked for, and the arrays that unwind tables are put into, which are memory here
 * (pilotlight/walk.h, pilotlight/unwind.h). Made by capture; used without privilege beyond the
 * descriptors. One owner, one thread.
 */
#pragma once

#include "pilotlight/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the four arrays; of pages an even number, as two share an entry of their map. */
struct walk_map_sizes {
	uint32_t pages, lines, rules, escapes;
};

/* Shares a budget in bytes among them, mostly to lines. At least one entry each. */
struct walk_map_sizes walk_map_sizes_compute(size_t budget_bytes);
size_t walk_map_sizes_bytes(const struct walk_map_sizes *sizes);

struct ring_buffer;

struct walk_maps {
	int files_fd, requests_fd; /* borrowed; -1: the sampler does not walk */
	int wakeup_fd;		   /* borrowed; readable when there are requests */
	struct ring_buffer *wakeup;
	struct walk_map_sizes sizes;
	uint32_t *pages; /* owned mappings; NULL where there is none */
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

/* Tells the sampler of a file, or changes what it knows of one. Returns 0 or -errno. */
int walk_maps_put_file(const struct walk_maps *maps, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_file *file);

/* Returns 0, also where the sampler does not know the file, or -errno. */
int walk_maps_drop_file(const struct walk_maps *maps, const struct pilotlight_file_key *key);

/*
 * Takes back every file and every request that another engine has left. Programs may know of files
 * until the window's number has changed and those that ran then have ended. Returns 0 or -errno.
 */
int walk_maps_clear(const struct walk_maps *maps);

/* The window in which a stack last went through the file. Returns 0 or -errno. */
int walk_maps_used_window(
	const struct walk_maps *maps, const struct pilotlight_file_key *key, uint32_t *ret_window);

/*
 * Takes the requests there are, and calls `function` for each. Returns how many, or -errno. `key`
 * and `request` are borrowed for the call.
 */
typedef void (*walk_request_function)(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request);
int walk_maps_take_requests(
	const struct walk_maps *maps, walk_request_function function, void *context);
