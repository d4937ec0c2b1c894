/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/text_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* At the word that its id is the position of, so that finding one touches one place. */
struct text_record {
	uint32_t number;
	uint32_t length;
	char text[];
};

struct text_key {
	const char *text;
	size_t length;
};

int text_table_init(struct text_table *table, struct scratch *scratch)
{
	*table = (struct text_table){ 0 };
	return scratch_array_init(&table->words, scratch, sizeof(uint64_t), HASH_INDEX_NONE);
}

void text_table_done(struct text_table *table)
{
	hash_index_done(&table->index);
	scratch_array_done(&table->words);
}

static struct text_record *get_record(const struct text_table *table, size_t id)
{
	return (struct text_record *)((uint64_t *)table->words.items + id);
}

static bool text_equal(const void *owner, uint32_t id, const void *key)
{
	const struct text_record *record = get_record(owner, id);
	const struct text_key *wanted = key;

	return record->length == wanted->length &&
	       memcmp(record->text, wanted->text, wanted->length) == 0;
}

bool text_table_find(const struct text_table *table, uint64_t hash, const char *text, size_t length,
	uint32_t *ret_number)
{
	const struct text_key key = { .text = text, .length = length };
	uint32_t id = hash_index_find(&table->index, hash, text_equal, table, &key);

	if (id == HASH_INDEX_NONE)
		return false;
	*ret_number = get_record(table, id)->number;
	return true;
}

int text_table_add(
	struct text_table *table, uint64_t hash, const char *text, size_t length, uint32_t number)
{
	size_t bytes = sizeof(struct text_record) + length;
	size_t words = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	struct text_record *record;
	int r;

	assert(length <= UINT32_MAX);
	if (table->index.count >= TEXT_TABLE_MAX)
		return -E2BIG;
	r = hash_index_reserve(&table->index);
	if (r < 0)
		return r;
	r = scratch_array_reserve(&table->words, table->words.count + words);
	if (r < 0)
		return r;
	record = get_record(table, table->words.count);
	record->number = number;
	record->length = (uint32_t)length;
	memcpy(record->text, text, length);
	hash_index_insert(&table->index, hash, (uint32_t)table->words.count);
	table->words.count += words;
	return 0;
}
