/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/runtime_names.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "base/user_share.h"
#include "pilotlight/runtime_v8.h"
#include "pilotlight/walk.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 1 << 20 };

struct key {
	uint64_t hash; /* as in frames */
	uint64_t user;
	uint64_t cgroup; /* 0: the user is known */
};

/* One block: the struct, the table of lines, the name and the file. */
struct code {
	struct key key;
	uint64_t came_ns; /* lately */
	bool is_disputed; /* other code of the user has the hash, too */
	int32_t first_line;
	enum pilotlight_runtime_lines lines;
	uint32_t table_bytes, name_at, file_at, bytes;
	uint8_t data[];
};

struct runtime_names {
	size_t limit_bytes;
	struct user_share share; /* bytes */
	struct code **codes;
	size_t count, capacity;
	struct hash_index index;
	uint64_t now_ns;
	bool has_swept; /* in this window */
	uint64_t added, malformed, refused, disputed;
};

int runtime_names_new(size_t limit_bytes, struct runtime_names **ret_names)
{
	struct runtime_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->limit_bytes = limit_bytes;
	names->share.capacity = limit_bytes;
	*ret_names = names;
	return 0;
}

void runtime_names_free(struct runtime_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->count; i++)
		free(names->codes[i]);
	free(names->codes);
	hash_index_done(&names->index);
	free(names);
}

void runtime_names_begin_window(struct runtime_names *names, uint64_t now_ns)
{
	names->now_ns = now_ns;
	names->has_swept = false;
}

static uint64_t hash_key(const struct key *key)
{
	return hash_pair(hash_pair(key->hash, key->cgroup), key->user);
}

static bool is_code(const void *owner, uint32_t id, const void *key)
{
	const struct runtime_names *names = owner;
	const struct key *wanted = key;

	return !memcmp(&names->codes[id]->key, wanted, sizeof(*wanted));
}

static struct code *find(const struct runtime_names *names, const struct key *key)
{
	uint32_t id = hash_index_find(&names->index, hash_key(key), is_code, names, key);

	return id == HASH_INDEX_NONE ? NULL : names->codes[id];
}

/* Forgets what has not come for two epochs. The index had room for more than stays. */
static void sweep(struct runtime_names *names)
{
	size_t kept = 0;

	if (names->has_swept)
		return;
	names->has_swept = true;
	hash_index_clear(&names->index);
	for (size_t i = 0; i < names->count; i++) {
		struct code *code = names->codes[i];

		if ((names->now_ns - code->came_ns) >> RUNTIME_NAMES_EPOCH_SHIFT >= 2) {
			user_share_remove(&names->share, code->key.user, code->bytes);
			free(code);
			continue;
		}
		hash_index_insert(&names->index, hash_key(&code->key), (uint32_t)kept);
		names->codes[kept++] = code;
	}
	names->count = kept;
}

static int reserve(struct runtime_names *names, uint64_t user, size_t bytes)
{
	int r;

	if (names->share.used + bytes > names->limit_bytes ||
		!user_share_has_room(&names->share, user, bytes))
		sweep(names);
	if (names->share.used + bytes > names->limit_bytes ||
		!user_share_has_room(&names->share, user, bytes))
		return -E2BIG;
	r = ARRAY_RESERVE(names->codes, &names->capacity, names->count + 1, CODES_MAX);
	return r < 0 ? r : hash_index_reserve(&names->index);
}

static int add(
	struct runtime_names *names, const struct key *key, const struct runtime_code *parsed)
{
	size_t name_bytes = strlen(parsed->name) + 1, file_bytes = strlen(parsed->file) + 1;
	size_t bytes = sizeof(struct code) + parsed->table_bytes + name_bytes + file_bytes;
	struct code *code;
	int r = reserve(names, key->user, bytes);

	if (r < 0)
		return r;
	code = malloc(bytes);
	if (!code)
		return -ENOMEM;
	*code = (struct code){
		.key = *key,
		.came_ns = names->now_ns,
		.first_line = parsed->first_line,
		.lines = parsed->lines,
		.table_bytes = (uint32_t)parsed->table_bytes,
		.name_at = (uint32_t)parsed->table_bytes,
		.file_at = (uint32_t)(parsed->table_bytes + name_bytes),
		.bytes = (uint32_t)bytes,
	};
	if (parsed->table_bytes > 0)
		memcpy(code->data, parsed->table, parsed->table_bytes);
	memcpy(code->data + code->name_at, parsed->name, name_bytes);
	memcpy(code->data + code->file_at, parsed->file, file_bytes);
	hash_index_insert(&names->index, hash_key(key), (uint32_t)names->count);
	names->codes[names->count++] = code;
	user_share_add(&names->share, key->user, bytes);
	return 0;
}

/* The first line of a function may be unknown, which is 0. */
static bool has_line_of(const struct code *code, const struct runtime_code *parsed)
{
	return code->first_line == parsed->first_line ||
	       (code->lines == PILOTLIGHT_RUNTIME_LINE_ENDS &&
		       (code->first_line == 0 || parsed->first_line == 0));
}

/* The ends of lines behind a function's place cannot always be read. */
static bool has_table_of(const struct code *code, const struct runtime_code *parsed)
{
	size_t bytes = code->table_bytes;

	if (code->lines == PILOTLIGHT_RUNTIME_LINE_ENDS) {
		bytes = offsetof(struct pilotlight_v8_lines, marks);
		if (code->table_bytes < bytes || parsed->table_bytes < bytes)
			return false;
	} else if (parsed->table_bytes != bytes) {
		return false;
	}
	return bytes == 0 || memcmp(code->data, parsed->table, bytes) == 0;
}

static bool says(const struct code *code, const struct runtime_code *parsed)
{
	return has_line_of(code, parsed) && code->lines == parsed->lines &&
	       has_table_of(code, parsed) &&
	       strcmp((const char *)code->data + code->name_at, parsed->name) == 0 &&
	       strcmp((const char *)code->data + code->file_at, parsed->file) == 0;
}

/* Only an attacker makes code that has the hash of other code. */
static void see_again(
	struct runtime_names *names, struct code *code, const struct runtime_code *parsed)
{
	code->came_ns = names->now_ns;
	if (!says(code, parsed)) {
		code->is_disputed = true;
		names->disputed++;
	} else if (code->first_line == 0) {
		code->first_line = parsed->first_line;
	}
}

void runtime_names_add(
	struct runtime_names *names, uint64_t user, uint64_t cgroup, const struct raw_code *code)
{
	struct key key = { .user = user, .cgroup = cgroup };
	struct runtime_code parsed;
	struct code *known;

	if (runtime_code_parse(code->contents, code->size, &parsed) < 0) {
		names->malformed++;
		return;
	}
	key.hash = parsed.hash & PILOTLIGHT_RUNTIME_CODE_MASK;
	known = find(names, &key);
	if (known)
		see_again(names, known, &parsed);
	else if (add(names, &key, &parsed) < 0)
		names->refused++;
	else
		names->added++;
}

bool runtime_names_find(const struct runtime_names *names, uint64_t user, uint64_t cgroup,
	uint64_t hash, int32_t unit, struct runtime_name *ret_name)
{
	const struct key key = { .hash = hash, .user = user, .cgroup = cgroup };
	const struct code *code = find(names, &key);

	if (!code || code->is_disputed || code->lines == PILOTLIGHT_RUNTIME_INLINED)
		return false;
	*ret_name = (struct runtime_name){
		.name = (const char *)code->data + code->name_at,
		.file = (const char *)code->data + code->file_at,
		.line = runtime_lines_find(
			code->lines, code->data, code->table_bytes, code->first_line, unit),
	};
	return true;
}

size_t runtime_names_find_inlined(const struct runtime_names *names, uint64_t user, uint64_t cgroup,
	uint64_t hash, int32_t unit, struct runtime_inlined_frame ret_frames[RUNTIME_INLINED_MAX])
{
	const struct key key = { .hash = hash, .user = user, .cgroup = cgroup };
	const struct code *code = find(names, &key);

	if (!code || code->is_disputed || code->lines != PILOTLIGHT_RUNTIME_INLINED)
		return 0;
	return runtime_inlined_find(code->data, code->table_bytes, unit, ret_frames);
}

void runtime_names_counters(
	const struct runtime_names *names, struct runtime_names_counters *ret_counters)
{
	*ret_counters = (struct runtime_names_counters){
		.added = names->added,
		.malformed = names->malformed,
		.refused = names->refused,
		.disputed = names->disputed,
		.codes = names->count,
		.bytes = names->share.used,
	};
}
