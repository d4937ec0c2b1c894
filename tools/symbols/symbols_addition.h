/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file that `pilotlight symbols add` adds to the cache. Each addition has a symbolizer with one
 * worker, so that the symbolizer's result is the file's. The owner may run several side by side.
 * One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "symbolize/symbolizer.h"

#include <stdbool.h>
#include <stdint.h>

struct json;
struct output;

struct symbols_addition_settings {
	struct symbol_cache *cache; /* borrowed, as the next */
	struct broker *broker;
	const char *debug_path;		    /* the binary's debug file; NULL: look for it */
	struct worker_pool_options workers; /* for each file */
	bool is_forced;			    /* extract again what the cache has */
};

struct symbols_addition {
	char *path;	  /* owned; absolute if possible */
	const char *name; /* borrowed: as it was given */
	struct symbol_identity identity;
	struct symbolizer *symbolizer; /* owned; NULL: nothing left to do */
	uint64_t started_ns;	       /* CLOCK_MONOTONIC */
	bool was_refused;	       /* the cache has symbols of a higher rank */
	bool has_removed_table; /* the unwind table was removed; the next recording makes it again
				 */
};

enum symbols_addition_result {
	SYMBOLS_ADDITION_ADDED,
	SYMBOLS_ADDITION_KEPT, /* the cache already has symbols that are as good */
};

/* The cache's symbols after the addition. */
struct symbols_added {
	enum symbols_addition_result result;
	struct symbol_file *file; /* owned */
	uint64_t functions, inlined, lines;
	uint64_t elapsed_ns, worker_cpu_ns;
};

/* Starts to add the file `name` (borrowed). Returns 0, or -errno with `fault`. */
int symbols_addition_start(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, const char *name, struct fault *fault);
void symbols_addition_done(struct symbols_addition *addition);

/* Readable when symbols_addition_run() has something to do; borrowed. */
int symbols_addition_poll_fd(const struct symbols_addition *addition);

/* Continues the addition. Returns 1 at its end, 0, or -errno with `fault`. */
int symbols_addition_run(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct fault *fault);

/*
 * The result, after the end. Returns 0, or -errno if the cache has no symbols of the file: `fault`
 * then has the reason and what to do, `ret_failure` the reason for programs.
 */
int symbols_addition_finish(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct symbols_added *ret_added,
	enum pilotlight_symbol_failure *ret_failure, struct fault *fault);

/* Opens and counts the symbols of `identity`; times are 0. Returns 0 or -errno. */
int symbols_added_read(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbols_added *ret_added);
void symbols_added_done(struct symbols_added *added);

/* Identity, source and counts: the members of an object; and the same for people, without an end of
 * the line. */
void symbols_added_write_json(struct json *json, const struct symbols_added *added);
void symbols_added_write(struct output *output, const struct symbols_added *added);
