/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections STRINGS and FILES of a symbol file in the making, and by which bytes of the binary
 * each text is known. Functions' names are demangled here, once each; whatever comes in is made
 * valid UTF-8 and elided beyond 1 KiB (I8). All but the hash indexes, of at most 96 MiB when all
 * are full, is in scratch; beyond a bound names become 0, and are counted. One owner, one thread.
 */
#pragma once

#include "extract/text_table.h"

#include <stddef.h>
#include <stdint.h>

struct name_table {
	struct scratch_array strings; /* of char: the contents of STRINGS */
	struct scratch_array files;   /* of uint32_t: those of FILES */
	struct hash_index index;      /* of strings, by their offsets */
	struct text_table functions;  /* by name in the binary: the offset in strings */
	struct text_table paths;      /* by path in the binary: the position in files */
	uint32_t failed;	      /* names and paths that had no room */
};

/* Returns 0 or the scratch's errors. */
int name_table_init(struct name_table *table, struct scratch *scratch);
void name_table_done(struct name_table *table);

/* A function's name; `ret_name` is where its text is in `strings`. The empty one is 0. Returns 0,
 * -ENOMEM or the scratch's errors. */
int name_table_add_function(
	struct name_table *table, const char *name, size_t length, uint32_t *ret_name);

/* A file's path; `ret_file` is its position in `files`. The empty one is 0. Errors as above. */
int name_table_add_file(
	struct name_table *table, const char *path, size_t length, uint32_t *ret_file);

/* Gives up all that adding takes; `strings` and `files` stay. */
void name_table_finish(struct name_table *table);
