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

enum {
	CODES_MAX = 1 << 20,
	NAMES_PART = 4, /* of the room, which tables leave to names */
};

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
	bool is_cut;	  /* there was no room for its table */
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
	uint64_t added, malformed, refused, cut, disputed;
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

static struct code **find_slot(const struct runtime_names *names, const struct key *key)
{
	uint32_t id = hash_index_find(&names->index, hash_key(key), is_code, names, key);

	return id == HASH_INDEX_NONE ? NULL : &names->codes[id];
}

static struct code *find(const struct runtime_names *names, const struct key *key)
{
	struct code **slot = find_slot(names, key);

	return slot ? *slot : NULL;
}

static bool has_room(const struct runtime_names *names, uint64_t user, size_t bytes)
{
	return names->share.used + bytes <= names->limit_bytes &&
	       user_share_has_room(&names->share, user, bytes);
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

static bool make_room(struct runtime_names *names, uint64_t user, size_t bytes)
{
	if (!has_room(names, user, bytes))
		sweep(names);
	return has_room(names, user, bytes);
}

static int reserve(struct runtime_names *names, uint64_t user, size_t bytes)
{
	int r;

	if (!make_room(names, user, bytes))
		return -E2BIG;
	r = ARRAY_RESERVE(names->codes, &names->capacity, names->count + 1, CODES_MAX);
	return r < 0 ? r : hash_index_reserve(&names->index);
}

static size_t bytes_of(const struct runtime_code *parsed)
{
	return sizeof(struct code) + parsed->table_bytes + strlen(parsed->name) + 1 +
	       strlen(parsed->file) + 1;
}

/* What a table says without lines: the place of a function, or the outermost one of native code. */
struct cut_table {
	struct pilotlight_v8_inlined head;
	uint64_t function;
};

/* Leaves this of the table. */
static void cut_table(struct runtime_code *parsed, struct cut_table *cut)
{
	size_t bytes = 0;

	if (parsed->lines == PILOTLIGHT_RUNTIME_LINE_ENDS)
		bytes = offsetof(struct pilotlight_v8_lines, marks);
	else if (parsed->lines == PILOTLIGHT_RUNTIME_INLINED)
		bytes = sizeof(*cut);
	if (bytes > parsed->table_bytes)
		bytes = 0;
	if (bytes == sizeof(*cut)) {
		memcpy(cut, parsed->table, sizeof(*cut));
		cut->head = (struct pilotlight_v8_inlined){ .functions = 1 };
		parsed->table = (const uint8_t *)cut;
	}
	parsed->table_bytes = bytes;
}

static bool make_room_for_table(
	struct runtime_names *names, uint64_t user, const struct runtime_code *parsed)
{
	return make_room(names, user, bytes_of(parsed) + names->limit_bytes / NAMES_PART);
}

/* Returns NULL without memory. */
static struct code *make_code(
	struct runtime_names *names, const struct key *key, const struct runtime_code *parsed)
{
	size_t name_bytes = strlen(parsed->name) + 1, bytes = bytes_of(parsed);
	struct code *code = malloc(bytes);

	if (!code)
		return NULL;
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
	(void)strcpy((char *)code->data + code->name_at, parsed->name);
	(void)strcpy((char *)code->data + code->file_at, parsed->file);
	user_share_add(&names->share, key->user, bytes);
	return code;
}

static int add(struct runtime_names *names, const struct key *key, struct runtime_code *parsed)
{
	bool is_cut = !make_room_for_table(names, key->user, parsed);
	struct cut_table cut;
	struct code *code;
	int r;

	if (is_cut)
		cut_table(parsed, &cut);
	r = reserve(names, key->user, bytes_of(parsed));
	if (r < 0)
		return r;
	code = make_code(names, key, parsed);
	if (!code)
		return -ENOMEM;
	code->is_cut = is_cut;
	names->cut += is_cut;
	hash_index_insert(&names->index, hash_key(key), (uint32_t)names->count);
	names->codes[names->count++] = code;
	return 0;
}

/* Now there may be room for the table of code that was cut. */
static void complete(
	struct runtime_names *names, struct code *cut, const struct runtime_code *parsed)
{
	struct code *code;

	if (!make_room_for_table(names, cut->key.user, parsed))
		return;
	code = make_code(names, &cut->key, parsed);
	if (!code)
		return;
	code->first_line = cut->first_line;
	*find_slot(names, &cut->key) = code;
	user_share_remove(&names->share, cut->key.user, cut->bytes);
	free(cut);
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
	struct runtime_code seen = *parsed;
	struct cut_table cut;

	code->came_ns = names->now_ns;
	if (code->is_cut)
		cut_table(&seen, &cut);
	if (!says(code, &seen)) {
		code->is_disputed = true;
		names->disputed++;
		return;
	}
	if (code->first_line == 0)
		code->first_line = parsed->first_line;
	if (code->is_cut && !code->is_disputed)
		complete(names, code, parsed);
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
		.cut = names->cut,
		.disputed = names->disputed,
		.codes = names->count,
		.bytes = names->share.used,
	};
}
