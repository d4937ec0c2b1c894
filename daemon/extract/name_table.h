/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections STRINGS and FILES of a symbol file. Each name or path of the binary is cleaned and
 * stored once, and a mangled name is demangled once: a 64-bit hash of the bytes in the binary finds
 * the earlier result. Names become valid UTF-8 of at most 1 KiB (I8). The arrays are scratch; the
 * hash indexes take at most 64 MiB. A name beyond a bound becomes 0 and is counted.
 */
#pragma once

#include "base/hash_index.h"
#include "base/scratch.h"

#include <stddef.h>
#include <stdint.h>

/* Distinct names and paths; one full index takes 32 MiB. The largest binaries have a third. */
enum { NAME_TABLE_MAX = 3 * 1024 * 1024 };

struct name_table {
	struct scratch_array strings;	/* of char: the contents of STRINGS */
	struct scratch_array files;	/* of uint32_t: the contents of FILES */
	struct scratch_array known;	/* what each name of the binary became */
	struct hash_index string_index; /* of strings, by their offsets */
	struct hash_index known_index;
	uint32_t failed; /* names and paths beyond a bound */
};

/* Returns 0 or the scratch's errors. */
int name_table_init(struct name_table *table, struct scratch *scratch);
void name_table_done(struct name_table *table);

/* Adds a function's name; `ret_name` is the offset of its text in `strings`, 0 for the empty name.
 * Returns 0, -ENOMEM or the scratch's errors. */
int name_table_add_function(
	struct name_table *table, const char *name, size_t length, uint32_t *ret_name);

/* Adds a file's path; `ret_file` is its position in `files`, 0 for the empty path. Errors as above.
 */
int name_table_add_file(
	struct name_table *table, const char *path, size_t length, uint32_t *ret_file);

/* Frees all that only adding needs; `strings` and `files` stay. */
void name_table_finish(struct name_table *table);
