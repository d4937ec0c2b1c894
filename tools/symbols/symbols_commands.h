/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of `pilotlight symbols`, and the parts that they share: --cache, opening the cache
 * and symbol files, and a progress line.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "tools/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct command symbols_add, symbols_list, symbols_show, symbols_lookup, symbols_prune,
	symbols_verify, symbols_fetch;

/* The first member of each command's struct. */
struct symbols_invocation {
	struct invocation base;
	const char *directory; /* of --cache; NULL: the default one */
};

extern const struct option_row symbols_cache_option[];

/*
 * Opens the cache. Without `is_made` a missing folder is not created: -ENOENT without a text in
 * `fault`, since the cache is then empty. Otherwise returns 0, or -errno with `fault`.
 */
int symbols_open_cache(const struct symbols_invocation *invocation, uint64_t bytes_max,
	bool is_made, struct symbol_cache **ret_cache, struct fault *fault);

/* The same for a given folder. */
int symbols_open_folder(const char *directory, uint64_t bytes_max, bool is_made,
	struct symbol_cache **ret_cache, struct fault *fault);

/*
 * Opens the cache, whose folder may be missing, and the symbol file in it that `text` means
 * (tools/symbols/symbols_argument.h). A negative entry is an error too. Returns 0 or -errno with
 * `fault`.
 */
int symbols_open(const struct symbols_invocation *invocation, const char *text,
	struct symbol_cache **ret_cache, struct symbol_file **ret_file, struct fault *fault);

/* A progress line on a terminal, for work that takes longer than a second. */
struct symbols_progress {
	uint64_t next_ns; /* CLOCK_MONOTONIC */
	bool is_shown;
};
void symbols_progress_init(struct symbols_progress *progress);

/* Is standard error a terminal, and is it time for a new line? */
bool symbols_progress_is_due(struct symbols_progress *progress);
void symbols_progress_show(struct symbols_progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Clears the line. Call it before other output. */
void symbols_progress_clear(struct symbols_progress *progress);
