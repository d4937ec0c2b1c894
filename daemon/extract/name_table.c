/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/name_table.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "extract/demangle.h"

#include <errno.h>
#include <string.h>

enum { TEXT_BYTES_MAX = DEMANGLE_INPUT_BYTES_MAX };

struct string_key {
	const char *text;
	size_t length;
};

static bool string_equal(const void *owner, uint32_t id, const void *key)
{
	const struct name_table *table = owner;
	const char *kept = (const char *)table->strings.items + id;
	const struct string_key *wanted = key;

	/* A clean text has no NUL of its own. */
	return wanted->length < table->strings.count - id &&
	       memcmp(kept, wanted->text, wanted->length) == 0 && kept[wanted->length] == '\0';
}

/* `text` is clean. -E2BIG: there is no room by the format's or the index's bounds. */
static int add_string(
	struct name_table *table, const char *text, size_t length, uint32_t *ret_string)
{
	const struct string_key key = { .text = text, .length = length };
	uint64_t hash = hash_bytes(text, length);
	uint32_t id = hash_index_find(&table->index, hash, string_equal, table, &key);
	int r;

	if (id != HASH_INDEX_NONE) {
		*ret_string = id;
		return 0;
	}
	if (table->index.count >= TEXT_TABLE_MAX ||
		length >= HASH_INDEX_NONE - table->strings.count)
		return -E2BIG;
	r = hash_index_reserve(&table->index);
	if (r < 0)
		return r;
	r = scratch_array_reserve(&table->strings, table->strings.count + length + 1);
	if (r < 0)
		return r;
	id = (uint32_t)table->strings.count;
	memcpy((char *)table->strings.items + id, text, length);
	((char *)table->strings.items)[id + length] = '\0';
	table->strings.count += length + 1;
	hash_index_insert(&table->index, hash, id);
	*ret_string = id;
	return 0;
}

static int init_arrays(struct name_table *table, struct scratch *scratch)
{
	int r = scratch_array_init(&table->strings, scratch, 1, HASH_INDEX_NONE);

	if (r == 0)
		r = scratch_array_init(&table->files, scratch, sizeof(uint32_t), UINT32_MAX);
	if (r == 0)
		r = text_table_init(&table->functions, scratch);
	if (r == 0)
		r = text_table_init(&table->paths, scratch);
	if (r == 0)
		r = scratch_array_grow(&table->strings);
	if (r == 0)
		r = scratch_array_grow(&table->files);
	return r;
}

int name_table_init(struct name_table *table, struct scratch *scratch)
{
	int r;

	*table = (struct name_table){ 0 };
	r = init_arrays(table, scratch);
	if (r < 0) {
		name_table_done(table);
		return r;
	}
	table->strings.count = 1;
	table->files.count = 1;
	return 0;
}

void name_table_done(struct name_table *table)
{
	name_table_finish(table);
	scratch_array_done(&table->strings);
	scratch_array_done(&table->files);
}

void name_table_finish(struct name_table *table)
{
	hash_index_done(&table->index);
	text_table_done(&table->functions);
	text_table_done(&table->paths);
}

/* NULL where the name is not mangled. To be freed. */
static char *demangle_bytes(const char *name, size_t length)
{
	char terminated[TEXT_BYTES_MAX + 1];

	if (length > TEXT_BYTES_MAX || name[0] != '_' || memchr(name, '\0', length))
		return NULL;
	memcpy(terminated, name, length);
	terminated[length] = '\0';
	return demangle(terminated);
}

static int add_new_function(struct name_table *table, uint64_t hash, const char *name,
	size_t length, uint32_t *ret_name)
{
	_cleanup_free_ char *demangled = demangle_bytes(name, length);
	char clean[UTF8_CLEAN_BYTES];
	uint32_t string;
	int r;

	r = add_string(table, clean,
		utf8_clean(clean, demangled ? demangled : name,
			demangled ? strlen(demangled) : length),
		&string);
	if (r == 0)
		r = text_table_add(&table->functions, hash, name, length, string);
	if (r == 0)
		*ret_name = string;
	return r;
}

static int add_new_file(struct name_table *table, uint64_t hash, const char *path, size_t length,
	uint32_t *ret_file)
{
	uint32_t file = (uint32_t)table->files.count;
	char clean[UTF8_CLEAN_BYTES];
	uint32_t string;
	int r;

	r = add_string(table, clean, utf8_clean(clean, path, length), &string);
	if (r == 0)
		r = scratch_array_grow(&table->files);
	if (r == 0)
		r = text_table_add(&table->paths, hash, path, length, file);
	if (r < 0)
		return r;
	((uint32_t *)table->files.items)[table->files.count++] = string;
	*ret_file = file;
	return 0;
}

typedef int (*add_new)(struct name_table *table, uint64_t hash, const char *text, size_t length,
	uint32_t *ret_number);

static int add(struct name_table *table, struct text_table *known, add_new add_new_text,
	const char *text, size_t length, uint32_t *ret_number)
{
	char clean[UTF8_CLEAN_BYTES];
	uint64_t hash;
	int r;

	/* No one can tell what is cut off such a text, so that it may as well be gone at once. */
	if (length > TEXT_BYTES_MAX) {
		length = utf8_clean(clean, text, length);
		text = clean;
	}
	hash = hash_bytes(text, length);
	if (text_table_find(known, hash, text, length, ret_number))
		return 0;
	r = add_new_text(table, hash, text, length, ret_number);
	if (r != -E2BIG)
		return r;
	table->failed += table->failed < UINT32_MAX;
	*ret_number = 0;
	return 0;
}

int name_table_add_function(
	struct name_table *table, const char *name, size_t length, uint32_t *ret_name)
{
	if (length == 0) {
		*ret_name = 0;
		return 0;
	}
	return add(table, &table->functions, add_new_function, name, length, ret_name);
}

int name_table_add_file(
	struct name_table *table, const char *path, size_t length, uint32_t *ret_file)
{
	if (length == 0) {
		*ret_file = 0;
		return 0;
	}
	return add(table, &table->paths, add_new_file, path, length, ret_file);
}
