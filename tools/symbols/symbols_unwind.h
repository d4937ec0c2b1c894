/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the cache knows of unwinding a binary's stacks, in words: its unwind table is a symbol file
 * in a cache of its own, below the one of symbols. The caller owns it.
 */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_file.h"
#include "tools/symbols/symbols_commands.h"
#include "unwind/unwind_table.h"

struct json;
struct output;

enum symbols_unwind_state {
	SYMBOLS_UNWIND_UNKNOWN, /* the cache says nothing */
	SYMBOLS_UNWIND_NONE,	/* there is none to be had; `file` tells why */
	SYMBOLS_UNWIND_DAMAGED, /* what is in the file is no table */
	SYMBOLS_UNWIND_TABLE,
};

/* Starts as zeros. */
struct symbols_unwind {
	enum symbols_unwind_state state;
	struct symbol_file *file;  /* owned; NULL where the state is UNKNOWN */
	struct unwind_table table; /* of the file; where the state is TABLE */
};

/*
 * Opens the folder `unwind` of the cache's. One that is not there is not made: -ENOENT. Else 0, or
 * -errno with `fault`.
 */
int symbols_unwind_open(
	const struct symbol_cache *symbols, struct symbol_cache **ret_cache, struct fault *fault);

/*
 * Removes a binary's table, so that it is made anew when the binary is next seen. Returns 1, 0
 * where there was none, or -errno with `fault`.
 */
int symbols_unwind_remove(const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault);

/* Is the file at `path` a sound table, or one that says that there is none? Returns 0, -EBADMSG,
 * -EPROTONOSUPPORT another version, or -errno of reading. */
int symbols_unwind_check(const char *path);

/*
 * Looks into the folder `unwind` of the cache's. One that is not there is not made. Returns 0, or
 * -errno with `fault`.
 */
int symbols_unwind_find(struct symbols_unwind *unwind, const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault);
void symbols_unwind_done(struct symbols_unwind *unwind);

/* Lines as those of `symbols show`. */
void symbols_unwind_write(const struct symbols_unwind *unwind, struct output *output);

/* A value: an object, or null where nothing is known. */
void symbols_unwind_json(const struct symbols_unwind *unwind, struct json *json);
