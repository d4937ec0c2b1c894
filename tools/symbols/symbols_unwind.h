/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind table of a binary, as `pilotlight symbols` shows it. Tables are files in a cache of
 * their own, in the folder `unwind` of the symbol cache. The caller owns the struct.
 */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_file.h"
#include "tools/symbols/symbols_commands.h"
#include "unwind/unwind_table.h"

struct json;
struct output;

enum symbols_unwind_state {
	SYMBOLS_UNWIND_UNKNOWN, /* no file in the cache */
	SYMBOLS_UNWIND_NONE,	/* the binary has no unwind information; `file` has the reason */
	SYMBOLS_UNWIND_DAMAGED, /* the file's content is not a table */
	SYMBOLS_UNWIND_TABLE,
};

/* Starts as zeros. */
struct symbols_unwind {
	enum symbols_unwind_state state;
	struct symbol_file *file;  /* owned; NULL if the state is UNKNOWN */
	struct unwind_table table; /* in the file; only if the state is TABLE */
};

/* Opens the folder `unwind` of a cache. A missing one is not created: -ENOENT. Otherwise returns 0,
 * or -errno with `fault`. */
int symbols_unwind_open(
	const struct symbol_cache *symbols, struct symbol_cache **ret_cache, struct fault *fault);

/*
 * Removes a binary's table; the next recording of the binary makes it again. Returns 1, 0 if there
 * was none, or -errno with `fault`.
 */
int symbols_unwind_remove(const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault);

/* Checks that a file is a sound table, or a sound record that the binary has none. Returns 0,
 * -EBADMSG, -EPROTONOSUPPORT for another version, or -errno of reading. */
int symbols_unwind_check(const char *path);

/* Reads a binary's table from the folder `unwind` of a cache, which may be missing. Returns 0, or
 * -errno with `fault`. */
int symbols_unwind_find(struct symbols_unwind *unwind, const struct symbol_cache *symbols,
	const struct symbol_identity *identity, struct fault *fault);
void symbols_unwind_done(struct symbols_unwind *unwind);

/* Why an interpreter is not understood: of a table whose contents have LACKS_RUNTIME. */
const char *symbols_unwind_refusal(uint32_t contents);

/* Writes lines for `symbols show`. */
void symbols_unwind_write(const struct symbols_unwind *unwind, struct output *output);

/* Writes an object, or null if nothing is known. */
void symbols_unwind_json(const struct symbols_unwind *unwind, struct json *json);
