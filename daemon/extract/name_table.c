/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/name_table.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "extract/demangle.h"

#include <errno.h>
#include <string.h>

enum { TEXT_BYTES_MAX = DEMANGLE_INPUT_BYTES_MAX };

/* By the kind and the bytes of a text. The hash is seeded (base/hash_index.h): no file can be made
 * to collide, and 64 bits make chance collisions of three million texts one in four million. */
struct known_text {
	uint64_t hash;
	uint32_t number;
};

enum text_kind { TEXT_FUNCTION, TEXT_FILE };

struct string_key {
	const char *text;
	size_t length;
};

static bool string_equal(const void *owner, uint32_t id, const void *key)
{
	const struct name_table *table = owner;
	const char *kept = (const char *)table->strings.items + id;
	const struct string_key *searched = key;

	/* A clean text contains no NUL. */
	return searched->length < table->strings.count - id &&
	       memcmp(kept, searched->text, searched->length) == 0 &&
	       kept[searched->length] == '\0';
}

/* `text` is clean. -E2BIG: the format or the index has no room for it. */
static int add_string(
	struct name_table *table, const char *text, size_t length, uint32_t *ret_string)
{
	const struct string_key key = { .text = text, .length = length };
	uint64_t hash = hash_bytes(text, length);
	uint32_t id = hash_index_find(&table->string_index, hash, string_equal, table, &key);
	int r;

	if (id != HASH_INDEX_NONE) {
		*ret_string = id;
		return 0;
	}
	if (table->string_index.count >= NAME_TABLE_MAX ||
		length >= HASH_INDEX_NONE - table->strings.count)
		return -E2BIG;
	r = hash_index_reserve(&table->string_index);
	if (r < 0)
		return r;
	r = scratch_array_reserve(&table->strings, table->strings.count + length + 1);
	if (r < 0)
		return r;
	id = (uint32_t)table->strings.count;
	memcpy((char *)table->strings.items + id, text, length);
	((char *)table->strings.items)[id + length] = '\0';
	table->strings.count += length + 1;
	hash_index_insert(&table->string_index, hash, id);
	*ret_string = id;
	return 0;
}

static int init_arrays(struct name_table *table, struct scratch *scratch)
{
	int r = scratch_array_init(&table->strings, scratch, 1, HASH_INDEX_NONE);

	if (r == 0)
		r = scratch_array_init(&table->files, scratch, sizeof(uint32_t), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(
			&table->known, scratch, sizeof(struct known_text), NAME_TABLE_MAX);
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
	hash_index_done(&table->string_index);
	hash_index_done(&table->known_index);
	scratch_array_done(&table->known);
}

static bool known_equal(const void *owner, uint32_t id, const void *key)
{
	const struct name_table *table = owner;

	return ((const struct known_text *)table->known.items)[id].hash == *(const uint64_t *)key;
}

/* NULL: the name is not mangled. The caller frees it. */
static char *demangle_bytes(const char *name, size_t length)
{
	char terminated[TEXT_BYTES_MAX + 1];

	if (length > TEXT_BYTES_MAX || name[0] != '_' || memchr(name, '\0', length))
		return NULL;
	memcpy(terminated, name, length);
	terminated[length] = '\0';
	return demangle(terminated);
}

static int add_function_string(
	struct name_table *table, const char *name, size_t length, uint32_t *ret_string)
{
	_cleanup_free_ char *demangled = demangle_bytes(name, length);
	char clean[UTF8_CLEAN_BYTES];

	length = utf8_clean(
		clean, demangled ? demangled : name, demangled ? strlen(demangled) : length);
	return add_string(table, clean, length, ret_string);
}

static int add_file_string(
	struct name_table *table, const char *path, size_t length, uint32_t *ret_file)
{
	uint32_t file = (uint32_t)table->files.count;
	char clean[UTF8_CLEAN_BYTES];
	int r;

	r = scratch_array_grow(&table->files);
	if (r == 0)
		r = add_string(table, clean, utf8_clean(clean, path, length),
			&((uint32_t *)table->files.items)[file]);
	if (r < 0)
		return r;
	table->files.count++;
	*ret_file = file;
	return 0;
}

static int add_unknown(struct name_table *table, enum text_kind kind, uint64_t hash,
	const char *text, size_t length, uint32_t *ret_number)
{
	struct known_text known = { .hash = hash };
	int r;

	if (table->known.count == NAME_TABLE_MAX)
		return -E2BIG;
	r = hash_index_reserve(&table->known_index);
	if (r == 0)
		r = kind == TEXT_FUNCTION ? add_function_string(table, text, length, &known.number)
					  : add_file_string(table, text, length, &known.number);
	if (r == 0)
		r = scratch_array_append(&table->known, &known, sizeof(known));
	if (r < 0)
		return r;
	hash_index_insert(&table->known_index, hash, (uint32_t)table->known.count - 1);
	*ret_number = known.number;
	return 0;
}

static int add(struct name_table *table, enum text_kind kind, const char *text, size_t length,
	uint32_t *ret_number)
{
	char clean[UTF8_CLEAN_BYTES];
	uint64_t hash;
	uint32_t id;
	int r;

	if (length == 0) {
		*ret_number = 0;
		return 0;
	}
	/* Cleaning removes the end of such a text anyway. */
	if (length > TEXT_BYTES_MAX) {
		length = utf8_clean(clean, text, length);
		text = clean;
	}
	hash = hash_pair(hash_bytes(text, length), kind);
	id = hash_index_find(&table->known_index, hash, known_equal, table, &hash);
	if (id != HASH_INDEX_NONE) {
		*ret_number = ((const struct known_text *)table->known.items)[id].number;
		return 0;
	}
	r = add_unknown(table, kind, hash, text, length, ret_number);
	if (r != -E2BIG)
		return r;
	table->failed += table->failed < UINT32_MAX;
	*ret_number = 0;
	return 0;
}

int name_table_add_function(
	struct name_table *table, const char *name, size_t length, uint32_t *ret_name)
{
	return add(table, TEXT_FUNCTION, name, length, ret_name);
}

int name_table_add_file(
	struct name_table *table, const char *path, size_t length, uint32_t *ret_file)
{
	return add(table, TEXT_FILE, path, length, ret_file);
}
