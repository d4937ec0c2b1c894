/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/clickhouse_places.h"

#include "symbol/place_name.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char *const kind_names[BINARY_KIND_COUNT] = {
	[BINARY_KERNEL] = "kernel",
	[BINARY_EXECUTABLE] = "executable",
	[BINARY_LIBRARY] = "library",
	[BINARY_JIT] = "jit",
	[BINARY_SYNTHETIC] = "synthetic",
	[BINARY_PYTHON] = "python",
	[BINARY_JAVASCRIPT] = "javascript",
	[BINARY_RUBY] = "ruby",
	[BINARY_JAVA] = "java",
	[BINARY_PHP] = "php",
	[BINARY_PERL] = "perl",
};

const char *clickhouse_kind_name(enum binary_kind kind)
{
	return kind_names[kind];
}

/* --- what is hashed --- */

static int add_text(struct output_memory *scratch, const char *text)
{
	return output_to_memory(scratch, text, strlen(text) + 1);
}

static int add_u32(struct output_memory *scratch, uint32_t number)
{
	const uint32_t bytes = htole32(number);

	return output_to_memory(scratch, &bytes, sizeof(bytes));
}

static int add_u64(struct output_memory *scratch, uint64_t number)
{
	const uint64_t bytes = htole64(number);

	return output_to_memory(scratch, &bytes, sizeof(bytes));
}

/* Also empties the scratch. Not by hash_bytes(), which differs between processes. */
static uint64_t hash(struct output_memory *scratch)
{
	const uint64_t hashed = XXH3_64bits(scratch->bytes, scratch->size);

	scratch->size = 0;
	return hashed;
}

/* --- places --- */

static void set_build_id(const struct profile_binary *binary, struct clickhouse_place *place)
{
	char hex[BUILD_ID_HEX_BYTES], text[SYMBOL_IDENTITY_TEXT_BYTES];
	const char *id = kind_names[binary->kind];

	switch (binary->kind) {
	case BINARY_KERNEL:
	case BINARY_EXECUTABLE:
	case BINARY_LIBRARY:
		if (binary->symbols.id.size > 0)
			id = symbol_identity_format(&binary->symbols, text);
		else if (binary->build_id.size > 0)
			id = build_id_format(&binary->build_id, hex);
		break;
	default:
		break;
	}
	(void)snprintf(place->build_id, sizeof(place->build_id), "%s", id);
}

/* The address of code that is generated, or of a file without an identity, tells other hosts
 * nothing. */
static int hash_names(const struct profile *profile, const struct profile_location *location,
	const char *path, struct output_memory *scratch, uint64_t *ret_hash)
{
	const struct profile_frame *frames = profile->frames.items + location->first_frame;
	int r = add_text(scratch, path);

	for (uint32_t i = 0; r == 0 && i < location->frame_count; i++) {
		r = add_text(scratch, string_pool_get(&profile->strings, frames[i].function));
		if (r == 0)
			r = add_text(scratch, string_pool_get(&profile->strings, frames[i].file));
		if (r == 0)
			r = add_u32(scratch, frames[i].line);
	}
	if (r == 0)
		*ret_hash = hash(scratch);
	return r;
}

/* `path` is a part of the identity unless it is NULL. */
static int set_id(struct clickhouse_place *place, const char *path, struct output_memory *scratch)
{
	int r = add_text(scratch, place->build_id);

	if (r == 0)
		r = add_u64(scratch, place->vaddr);
	if (r == 0 && path)
		r = add_text(scratch, path);
	if (r == 0)
		place->id = hash(scratch);
	return r;
}

int clickhouse_place(const struct profile *profile, const struct profile_location *location,
	struct output_memory *scratch, struct clickhouse_place *ret_place)
{
	const struct profile_binary *binary = &profile->binaries.items[location->binary];
	const char *path = string_pool_get(&profile->strings, binary->path);
	struct clickhouse_place place = { .vaddr = location->address };
	bool is_code;
	int r = 0;

	scratch->size = 0;
	set_build_id(binary, &place);
	is_code = strcmp(place.build_id, kind_names[binary->kind]) != 0;
	if (!is_code && location->frame_count > 0)
		r = hash_names(profile, location, path, scratch, &place.vaddr);
	if (r == 0)
		r = set_id(&place, is_code || location->frame_count > 0 ? NULL : path, scratch);
	if (r == 0)
		*ret_place = place;
	return r;
}

int clickhouse_text_place(
	const char *text, struct output_memory *scratch, struct clickhouse_place *ret_place)
{
	struct clickhouse_place place = { 0 };
	int r;

	scratch->size = 0;
	(void)snprintf(place.build_id, sizeof(place.build_id), "%s", kind_names[BINARY_SYNTHETIC]);
	r = add_text(scratch, "");
	if (r == 0)
		r = add_text(scratch, text);
	if (r == 0)
		r = add_text(scratch, "");
	if (r == 0)
		r = add_u32(scratch, 0);
	if (r < 0)
		return r;
	place.vaddr = hash(scratch);
	r = set_id(&place, NULL, scratch);
	if (r == 0)
		*ret_place = place;
	return r;
}

uint64_t clickhouse_stack(uint64_t below, uint64_t location)
{
	const uint64_t pair[] = { htole64(below), htole64(location) };

	return XXH3_64bits(pair, sizeof(pair));
}

enum pilotlight_name_rank clickhouse_rank(
	const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frames = profile->frames.items + location->first_frame;

	for (uint32_t i = 0; i < location->frame_count; i++)
		if (frames[i].function == 0 ||
			place_name_is(string_pool_get(&profile->strings, frames[i].function)))
			return PILOTLIGHT_NAME_PLACE;
	return frames[0].file != 0 && frames[0].line != 0 ? PILOTLIGHT_NAME_LINE
							  : PILOTLIGHT_NAME_FUNCTION;
}
