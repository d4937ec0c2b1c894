/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_code.h"

#include "pilotlight/clickhouse_schema.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <string.h>

enum { TEXT_BYTES = 64 };

#define NAMES_BYTES_MAX (1UL << 30)

/* Goes through the rows, and numbers binaries as they come. */
struct walk {
	struct row_reader reader;
	struct row_text build_id; /* of the last row */
	uint64_t vaddr;
	uint16_t day;
	uint32_t binary; /* of the last row; UINT32_MAX: none yet */
};

void fleet_code_done(struct fleet_code *code)
{
	clickhouse_answer_done(&code->rows);
	profile_free(code->profile);
	code->profile = NULL;
}

static struct walk walk_of(const struct fleet_code *code)
{
	return (struct walk){ .reader = fleet_rows_reader(&code->rows), .binary = UINT32_MAX };
}

/* Returns whether there is another row. */
static bool next_row(struct walk *walk)
{
	struct row_text build_id;

	if (!row_reader_has_more(&walk->reader))
		return false;
	build_id = row_text(&walk->reader);
	walk->vaddr = row_u64(&walk->reader);
	walk->day = row_u16(&walk->reader);
	if (walk->binary == UINT32_MAX || build_id.size != walk->build_id.size ||
		memcmp(build_id.bytes, walk->build_id.bytes, build_id.size) != 0)
		walk->binary++;
	walk->build_id = build_id;
	return !walk->reader.is_broken;
}

static int add_binary(struct profile *profile, const struct row_text *build_id)
{
	struct profile_binary binary = { .kind = BINARY_LIBRARY };
	char text[TEXT_BYTES] = "";
	uint32_t id;

	if (build_id->size < sizeof(text))
		memcpy(text, build_id->bytes, build_id->size);
	/* Without an identity no file has its symbols. */
	(void)symbol_identity_parse(text, &binary.symbols);
	return profile_add_binary(profile, &binary, &id);
}

int fleet_code_fill(struct fleet_code *code, size_t limit_bytes)
{
	struct walk walk = walk_of(code);
	uint32_t location;
	int r = profile_new(limit_bytes, &code->profile);

	while (r == 0 && next_row(&walk)) {
		if (walk.binary == code->profile->binaries.count)
			r = add_binary(code->profile, &walk.build_id);
		if (r == 0)
			r = profile_add_location(code->profile, walk.binary, walk.vaddr, &location);
	}
	return r == 0 && walk.reader.is_broken ? -EBADMSG : r;
}

/* --- names --- */

static int put(struct clickhouse_answer *answer, const void *bytes, size_t size)
{
	return clickhouse_answer_append(answer, bytes, size, NAMES_BYTES_MAX);
}

static int put_length(struct clickhouse_answer *answer, size_t length)
{
	uint8_t bytes[10];
	size_t size = 0;

	for (; length >= 0x80; length >>= 7)
		bytes[size++] = (uint8_t)(length | 0x80);
	bytes[size++] = (uint8_t)length;
	return put(answer, bytes, size);
}

static int put_text(struct clickhouse_answer *answer, const char *text, size_t size)
{
	int r = put_length(answer, size);

	return r < 0 ? r : put(answer, text, size);
}

static int put_string(struct clickhouse_answer *answer, const struct profile *profile, uint32_t id)
{
	const char *text = string_pool_get(&profile->strings, id);

	return put_text(answer, text, strlen(text));
}

static int put_frames(struct clickhouse_answer *answer, const struct profile *profile,
	const struct profile_frame *frames, size_t count)
{
	int r = put_length(answer, count);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = put_string(answer, profile, frames[i].function);
	if (r == 0)
		r = put_length(answer, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = put_string(answer, profile, frames[i].file);
	if (r == 0)
		r = put_length(answer, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = put(answer, &frames[i].line, sizeof(frames[i].line));
	return r;
}

/* In the order of PILOTLIGHT_CLICKHOUSE_NAMES. */
static int put_names(struct clickhouse_answer *answer, const struct walk *walk, const char *host,
	const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frames = &profile->frames.items[location->first_frame];
	const uint8_t rank =
		frames->file && frames->line ? PILOTLIGHT_NAME_LINE : PILOTLIGHT_NAME_FUNCTION;
	int r = put(answer, &walk->day, sizeof(walk->day));

	if (r == 0)
		r = put_text(answer, host, strlen(host));
	if (r == 0)
		r = put_text(answer, walk->build_id.bytes, walk->build_id.size);
	if (r == 0)
		r = put(answer, &walk->vaddr, sizeof(walk->vaddr));
	if (r == 0)
		r = put(answer, &rank, sizeof(rank));
	return r == 0 ? put_frames(answer, profile, frames, location->frame_count) : r;
}

static bool has_name(const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frame = &profile->frames.items[location->first_frame];

	return location->frame_count > 0 && frame->function > 0 &&
	       !place_name_is(string_pool_get(&profile->strings, frame->function));
}

int fleet_code_write_names(struct fleet_code *code, const char *host,
	struct clickhouse_answer *ret_names, size_t *ret_count)
{
	struct walk walk = walk_of(code);
	struct clickhouse_answer names = { 0 };
	size_t count = 0;
	int r = 0;

	while (r == 0 && next_row(&walk)) {
		const struct profile_location *location;
		uint32_t id;

		/* It is there. */
		r = profile_add_location(code->profile, walk.binary, walk.vaddr, &id);
		location = r == 0 ? &code->profile->locations.items[id] : NULL;
		if (!location || !has_name(code->profile, location))
			continue;
		r = put_names(&names, &walk, host, code->profile, location);
		count++;
	}
	if (r < 0) {
		clickhouse_answer_done(&names);
		return r;
	}
	*ret_names = names;
	*ret_count = count;
	return 0;
}
