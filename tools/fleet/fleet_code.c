/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_code.h"

#include "export/row_writer.h"
#include "pilotlight/clickhouse_schema.h"
#include "symbol/place_name.h"

#include <errno.h>
#include <string.h>

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

/* One that is too long is none. */
static void copy_build_id(const struct row_text *build_id, char ret_text[FLEET_CODE_BUILD_ID_BYTES])
{
	const size_t size = build_id->size < FLEET_CODE_BUILD_ID_BYTES ? build_id->size : 0;

	if (size > 0)
		memcpy(ret_text, build_id->bytes, size);
	ret_text[size] = '\0';
}

static int add_binary(struct profile *profile, const struct row_text *build_id)
{
	struct profile_binary binary = { .kind = BINARY_LIBRARY };
	char text[FLEET_CODE_BUILD_ID_BYTES];
	uint32_t id;

	copy_build_id(build_id, text);
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

void fleet_code_last(const struct fleet_code *code, char ret_build_id[FLEET_CODE_BUILD_ID_BYTES],
	uint64_t *ret_vaddr)
{
	struct walk walk = walk_of(code);

	while (next_row(&walk))
		;
	copy_build_id(&walk.build_id, ret_build_id);
	*ret_vaddr = walk.vaddr;
}

/* --- names --- */

static void put_string(struct output *output, const struct profile *profile, uint32_t id)
{
	row_put_text(output, string_pool_get(&profile->strings, id));
}

static void put_frames(struct output *output, const struct profile *profile,
	const struct profile_frame *frames, size_t count)
{
	row_put_length(output, count);
	for (size_t i = 0; i < count; i++)
		put_string(output, profile, frames[i].function);
	row_put_length(output, count);
	for (size_t i = 0; i < count; i++)
		put_string(output, profile, frames[i].file);
	row_put_length(output, count);
	for (size_t i = 0; i < count; i++)
		row_put_u32(output, frames[i].line);
}

/* In the order of PILOTLIGHT_CLICKHOUSE_NAMES. */
static void put_names(struct output *output, const struct walk *walk, const char *host,
	const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frames = &profile->frames.items[location->first_frame];

	row_put_u16(output, walk->day);
	row_put_text(output, host);
	row_put_length(output, walk->build_id.size);
	output_write(output, walk->build_id.bytes, walk->build_id.size);
	row_put_u64(output, walk->vaddr);
	row_put_u8(output,
		frames->file && frames->line ? PILOTLIGHT_NAME_LINE : PILOTLIGHT_NAME_FUNCTION);
	put_frames(output, profile, frames, location->frame_count);
}

static bool has_name(const struct profile *profile, const struct profile_location *location)
{
	const struct profile_frame *frame = &profile->frames.items[location->first_frame];

	return location->frame_count > 0 && frame->function > 0 &&
	       !place_name_is(string_pool_get(&profile->strings, frame->function));
}

size_t fleet_code_write_names(struct fleet_code *code, const char *host, struct output *output)
{
	struct walk walk = walk_of(code);
	size_t count = 0;
	uint32_t id;

	/* Each location is there, so none is added. */
	while (next_row(&walk) &&
		profile_add_location(code->profile, walk.binary, walk.vaddr, &id) == 0) {
		const struct profile_location *location = &code->profile->locations.items[id];

		if (!has_name(code->profile, location))
			continue;
		put_names(output, &walk, host, code->profile, location);
		count++;
	}
	return count;
}
