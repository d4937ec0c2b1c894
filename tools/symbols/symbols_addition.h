/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of `pilotlight symbols add` on its way into the cache. It has a symbolizer of its own,
 * with one worker, so that what came of it is told by that alone; as many run side by side as the
 * owner drives. One thread.
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
	bool is_forced;			    /* makes anew what is there */
};

struct symbols_addition {
	char *path;	  /* owned; absolute if possible */
	const char *name; /* borrowed: as it was given */
	struct symbol_identity identity;
	struct symbolizer *symbolizer; /* owned; NULL: nothing left to be done */
	uint64_t started_ns;	       /* CLOCK_MONOTONIC */
	bool was_refused;	       /* the cache has some of a higher rank */
	bool has_removed_table;	       /* the unwind table: it is made anew when it is needed */
};

enum symbols_addition_result {
	SYMBOLS_ADDITION_ADDED,
	SYMBOLS_ADDITION_KEPT, /* the cache has as good ones already */
};

/* What there is in the cache now. */
struct symbols_added {
	enum symbols_addition_result result;
	struct symbol_file *file; /* owned */
	uint64_t functions, inlined, lines;
	uint64_t elapsed_ns, worker_cpu_ns;
};

/* Begins with the file `name` (borrowed). Returns 0, or -errno with `fault`. */
int symbols_addition_start(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, const char *name, struct fault *fault);
void symbols_addition_done(struct symbols_addition *addition);

/* Readable when symbols_addition_run() has something to do; borrowed. */
int symbols_addition_poll_fd(const struct symbols_addition *addition);

/* Goes on. Returns 1 when it has ended, 0, or -errno with `fault`. */
int symbols_addition_run(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct fault *fault);

/*
 * After its end. Returns 0, or -errno where the cache has no symbols of it, with the reason and
 * what to do in `fault`; `ret_failure` is then the reason for programs.
 */
int symbols_addition_finish(struct symbols_addition *addition,
	const struct symbols_addition_settings *settings, struct symbols_added *ret_added,
	enum pilotlight_symbol_failure *ret_failure, struct fault *fault);

/* Opens and counts the symbols of `identity`, with the times as 0. 0 or -errno. */
int symbols_added_read(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbols_added *ret_added);
void symbols_added_done(struct symbols_added *added);

/* Identity, source and counts: the members of an object; and the same for people, without an end of
 * the line. */
void symbols_added_write_json(struct json *json, const struct symbols_added *added);
void symbols_added_write(struct output *output, const struct symbols_added *added);
