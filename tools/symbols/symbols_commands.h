/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of `pilotlight symbols`, and what they share: --cache, the cache, which symbol file
 * an argument means, and how far something is.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "tools/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct command symbols_add, symbols_list, symbols_show, symbols_lookup, symbols_prune,
	symbols_verify, symbols_fetch;

/* Begins the struct of each of them. */
struct symbols_invocation {
	struct invocation base;
	const char *directory; /* of --cache; NULL: the default one */
};

extern const struct option_row symbols_cache_option[];

/*
 * Opens the cache. Without `is_made` a folder that is not there stays so: -ENOENT without a text in
 * `fault`, as nothing is in it either. Else 0, or -errno with `fault`.
 */
int symbols_open_cache(const struct symbols_invocation *invocation, uint64_t bytes_max,
	bool is_made, struct symbol_cache **ret_cache, struct fault *fault);

/* The same of a folder that is known. */
int symbols_open_folder(const char *directory, uint64_t bytes_max, bool is_made,
	struct symbol_cache **ret_cache, struct fault *fault);

/*
 * Opens the symbol file that `text` means (tools/symbols/symbols_argument.h). `cache` may be NULL:
 * empty. A negative entry is an error too. Returns 0 or -errno with `fault`.
 */
int symbols_open_file(struct symbol_cache *cache, const char *text, struct symbol_file **ret_file,
	struct fault *fault);

/* Both of the above, of a folder that need not be there. */
int symbols_open(const struct symbols_invocation *invocation, const char *text,
	struct symbol_cache **ret_cache, struct symbol_file **ret_file, struct fault *fault);

/* A line on a terminal that tells how far it is, of what takes longer than a second. */
struct symbols_progress {
	uint64_t next_ns; /* CLOCK_MONOTONIC */
	bool is_shown;
};
void symbols_progress_init(struct symbols_progress *progress);

/* Is it time for another one, on a terminal? */
bool symbols_progress_is_due(struct symbols_progress *progress);
void symbols_progress_show(struct symbols_progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Before anything else is written. */
void symbols_progress_clear(struct symbols_progress *progress);
