/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of `pilotlight symbols`, and what all of them share: --cache, --json and --help, the
 * cache, which symbol file an argument means, and how it is told that something failed.
 */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;

struct symbols_command {
	const char *name;
	const char *line; /* in the list of commands */
	const char *help; /* begins with "usage:" */
	/* The exit status. `argv[0]` is the command's name. */
	int (*run)(const struct symbols_command *command, int argc, char **argv);
};

extern const struct symbols_command symbols_add, symbols_list, symbols_show, symbols_lookup,
	symbols_prune, symbols_verify, symbols_fetch, symbols_export;

/* To be put first into a command's own array of long options; values from 512 on are taken. */
enum {
	SYMBOLS_OPTION_CACHE = 512,
	SYMBOLS_OPTION_JSON,
};
/* clang-format off */
#define SYMBOLS_OPTIONS \
	{ "cache", required_argument, NULL, SYMBOLS_OPTION_CACHE }, \
	{ "json", no_argument, NULL, SYMBOLS_OPTION_JSON }, \
	{ "help", no_argument, NULL, 'h' }
/* clang-format on */

struct symbols_options {
	const char *directory; /* of --cache; NULL: the default one */
	bool is_json;
};

enum symbols_parse {
	SYMBOLS_PARSE_RUN,
	SYMBOLS_PARSE_HELP,  /* it was asked for, and printed */
	SYMBOLS_PARSE_WRONG, /* used wrongly; standard error says how */
};

/* An option that a command does not know itself. */
enum symbols_parse symbols_take_option(
	const struct symbols_command *command, int option, struct symbols_options *options);

/* Prints "pilotlight: SENTENCE 'WHAT'" and where there is help. */
enum symbols_parse symbols_wrong(
	const struct symbols_command *command, const char *sentence, const char *what);

/*
 * For commands that have no options of their own: all of them, and that there are from `min` to
 * `max` arguments, which are those from argv[optind] on. `what` they are is for messages.
 */
enum symbols_parse symbols_parse_plainly(const struct symbols_command *command, int argc,
	char **argv, int min, int max, const char *what, struct symbols_options *ret_options);

/* Are there from `min` to `max` arguments left? */
enum symbols_parse symbols_check_arguments(const struct symbols_command *command, int argc,
	char **argv, int min, int max, const char *what);

/* The exit status of what ended before it began. */
int symbols_parse_status(enum symbols_parse parse);

/*
 * Opens the cache. Without `is_made` a folder that is not there stays so: -ENOENT without a text in
 * `fault`, as nothing is in it either. Else 0, or -errno with `fault`.
 */
int symbols_open_cache(const struct symbols_options *options, uint64_t bytes_max, bool is_made,
	struct symbol_cache **ret_cache, struct fault *fault);

/*
 * Opens the symbol file that `text` means (tools/symbols_argument.h). `cache` may be NULL: empty.
 * A negative entry is an error too. Returns 0 or -errno with `fault`.
 */
int symbols_open_file(struct symbol_cache *cache, const char *text, struct symbol_file **ret_file,
	struct fault *fault);

/* Both of the above, of a folder that need not be there. */
int symbols_open(const struct symbols_options *options, const char *text,
	struct symbol_cache **ret_cache, struct symbol_file **ret_file, struct fault *fault);

/* Tells the fault, or what `error` means in general. Returns EXIT_FAILURE. */
int symbols_fail(const struct fault *fault, int error);

/* Flushes what goes to standard output. Returns 0 or -errno with `fault`. */
int symbols_finish_output(struct output *output, struct fault *fault);

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
