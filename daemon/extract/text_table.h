/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts as they are found in a binary, each with a number that its owner gave it, so that what is
 * made of a text is made once. The texts are in scratch; of ordinary memory it takes 8 bytes a slot
 * of its index, for at most TEXT_TABLE_MAX texts. One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What fills an index of 32 MiB; the largest of binaries have a third of it. */
enum { TEXT_TABLE_MAX = 3 * 1024 * 1024 };

struct text_table {
	struct scratch_array words;
	struct hash_index index;
};

/* Returns 0 or -ENOMEM. */
int text_table_init(struct text_table *table, struct scratch *scratch);
void text_table_done(struct text_table *table);

/* `hash` is the hash_bytes() of the text. */
bool text_table_find(const struct text_table *table, uint64_t hash, const char *text, size_t length,
	uint32_t *ret_number);

/* A text that find() has missed, of less than 4 GiB. Returns 0; -E2BIG there are TEXT_TABLE_MAX;
 * -ENOMEM; the scratch's errors. */
int text_table_add(
	struct text_table *table, uint64_t hash, const char *text, size_t length, uint32_t number);
