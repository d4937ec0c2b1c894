/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_profile.h"

#include "base/array.h"
#include "base/utf8.h"
#include "export/clickhouse_places.h"

#include <errno.h>
#include <string.h>

enum { FRAMES_MAX = 256, TEXT_BYTES = 64 };

#define COUNT_MAX (1ULL << 62)

/* A row that others refer to. */
struct row {
	uint64_t id;	    /* vaddr, of names */
	const uint8_t *at;  /* the rest of the row */
	uint32_t location;  /* of the profile; of locations */
	uint32_t lost_plus; /* of a location "[lost: REASON]": enum pilotlight_drop, plus 1 */
};

struct row_index {
	struct row *items; /* owned; by id */
	size_t count, capacity;
	const uint8_t *end; /* of the answer */
};

struct filling {
	const struct fleet_rows *rows;
	struct profile *profile;
	struct row_index stacks, locations, names;
	struct hash_index binaries;
	uint64_t shortest, longest; /* periods */
	double rest;		    /* of a sample that the last counts left out */
};

static void skip_texts(struct row_reader *reader)
{
	for (size_t i = row_array(reader, 1); i > 0 && !reader->is_broken; i--)
		(void)row_text(reader);
}

static void skip_stack(struct row_reader *reader)
{
	for (size_t i = row_array(reader, sizeof(uint64_t)); i > 0; i--)
		(void)row_u64(reader);
}

/* --- indexes --- */

static int compare_rows(const void *a, const void *b)
{
	const uint64_t first = ((const struct row *)a)->id, second = ((const struct row *)b)->id;

	return first < second ? -1 : first > second;
}

static int index_rows(const struct clickhouse_answer *answer,
	uint64_t (*read)(struct row_reader *reader, const uint8_t **ret_at),
	struct row_index *index)
{
	struct row_reader reader = fleet_rows_reader(answer);
	int r;

	index->end = reader.end;
	while (row_reader_has_more(&reader)) {
		struct row row = { 0 };

		row.id = read(&reader, &row.at);
		r = ARRAY_RESERVE(index->items, &index->capacity, index->count + 1, UINT32_MAX);
		if (r < 0)
			return r;
		index->items[index->count++] = row;
	}
	if (index->count > 1)
		qsort(index->items, index->count, sizeof(*index->items), compare_rows);
	return reader.is_broken ? -EBADMSG : 0;
}

static uint64_t read_stack_row(struct row_reader *reader, const uint8_t **ret_at)
{
	const uint64_t id = row_u64(reader);

	*ret_at = reader->at;
	skip_stack(reader);
	return id;
}

static uint64_t read_location_row(struct row_reader *reader, const uint8_t **ret_at)
{
	const uint64_t id = row_u64(reader);

	*ret_at = reader->at;
	(void)fleet_rows_read_location(reader);
	return id;
}

static uint64_t read_names_row(struct row_reader *reader, const uint8_t **ret_at)
{
	uint64_t vaddr;

	*ret_at = reader->at;
	(void)row_text(reader);
	vaddr = row_u64(reader);
	skip_texts(reader);
	skip_texts(reader);
	for (size_t i = row_array(reader, sizeof(uint32_t)); i > 0; i--)
		(void)row_u32(reader);
	return vaddr;
}

/* The first of the rows with this id; NULL: none. */
static struct row *find_row(const struct row_index *index, uint64_t id)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (index->items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < index->count && index->items[low].id == id ? &index->items[low] : NULL;
}

/* --- locations --- */

static int add_text(struct profile *profile, struct row_text text, uint32_t *ret_string)
{
	return string_pool_intern_within(
		&profile->strings, text.bytes, text.size, profile->strings.limit_bytes, ret_string);
}

static bool text_is(struct row_text text, const char *other)
{
	return text.size == strlen(other) && memcmp(text.bytes, other, text.size) == 0;
}

static enum binary_kind kind_of(struct row_text text)
{
	for (enum binary_kind i = 0; i < BINARY_KIND_COUNT; i++)
		if (text_is(text, clickhouse_kind_name(i)))
			return i;
	/* Of a later version. */
	return BINARY_LIBRARY;
}

/* Code without an identity has its kind in its place. */
static void set_identity(struct row_text build_id, struct profile_binary *binary)
{
	char text[TEXT_BYTES] = "";
	struct symbol_identity identity;

	if (build_id.size < sizeof(text))
		memcpy(text, build_id.bytes, build_id.size);
	if (symbol_identity_parse(text, &identity) < 0)
		return;
	if (identity.kind == PILOTLIGHT_SYMBOL_BUILD_ID)
		binary->build_id = identity.id;
	else
		binary->symbols = identity;
}

static bool binary_equal(const void *owner, uint32_t id, const void *key)
{
	return profile_binary_equal(&((const struct profile *)owner)->binaries.items[id], key);
}

static int add_binary(
	struct filling *filling, const struct fleet_location_row *row, uint32_t *ret_binary)
{
	struct profile *profile = filling->profile;
	struct profile_binary binary = { .kind = kind_of(row->kind) };
	uint64_t hash;
	int r = add_text(profile, row->path, &binary.path);

	if (r < 0)
		return r;
	set_identity(row->build_id, &binary);
	hash = profile_binary_hash(&binary);
	*ret_binary = hash_index_find(&filling->binaries, hash, binary_equal, profile, &binary);
	if (*ret_binary != HASH_INDEX_NONE)
		return 0;
	r = hash_index_reserve(&filling->binaries);
	if (r == 0)
		r = profile_add_binary(profile, &binary, ret_binary);
	if (r == 0)
		hash_index_insert(&filling->binaries, hash, *ret_binary);
	return r;
}

/* Finds the names of the code. Returns false, or a reader of its functions, files and lines. */
static bool find_names(const struct row_index *names, const struct fleet_location_row *row,
	struct row_reader *ret_reader)
{
	const struct row *found = find_row(names, row->vaddr);

	for (; found && found < names->items + names->count && found->id == row->vaddr; found++) {
		struct row_reader reader = { .at = found->at, .end = names->end };
		const struct row_text build_id = row_text(&reader);

		if (build_id.size != row->build_id.size ||
			memcmp(build_id.bytes, row->build_id.bytes, build_id.size) != 0)
			continue;
		(void)row_u64(&reader);
		*ret_reader = reader;
		return true;
	}
	return false;
}

/* Returns the number of frames, 0 of code without a name; or -errno. */
static int read_frames(struct filling *filling, const struct fleet_location_row *row,
	struct profile_frame frames[FRAMES_MAX])
{
	struct row_reader reader;
	size_t count;
	int r = 0;

	if (!find_names(&filling->names, row, &reader))
		return 0;
	count = row_array(&reader, 1);
	if (count > FRAMES_MAX)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_text(filling->profile, row_text(&reader), &frames[i].function);
	if (r == 0 && row_array(&reader, 1) != count)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_text(filling->profile, row_text(&reader), &frames[i].file);
	if (r == 0 && row_array(&reader, sizeof(uint32_t)) != count)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < count; i++)
		frames[i].line = row_u32(&reader);
	return r < 0 ? r : (int)count;
}

/* The reason of a loss, plus 1; 0: the text is no loss. */
static uint32_t loss_of(const char *text)
{
	char lost[TEXT_BYTES];

	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++) {
		(void)snprintf(lost, sizeof(lost), "[lost: %s]", accounts_drop_name(i));
		if (strcmp(text, lost) == 0)
			return i + 1;
	}
	return 0;
}

static int add_synthetic(struct profile *profile, const char *text, struct row *row)
{
	/* The text would move with the strings that it is added to. */
	char copy[UTF8_CLEAN_BYTES];

	(void)snprintf(copy, sizeof(copy), "%s", *text ? text : "[unknown]");
	row->lost_plus = loss_of(copy);
	return profile_add_synthetic(profile, copy, &row->location);
}

static int add_location(struct filling *filling, struct row *row)
{
	struct row_reader reader = { .at = row->at, .end = filling->locations.end };
	const struct fleet_location_row location = fleet_rows_read_location(&reader);
	struct profile_frame frames[FRAMES_MAX] = { 0 };
	struct profile *profile = filling->profile;
	int count = read_frames(filling, &location, frames), r;
	uint32_t binary;

	if (count < 0)
		return count;
	if (kind_of(location.kind) == BINARY_SYNTHETIC)
		return add_synthetic(profile,
			string_pool_get(&profile->strings, count > 0 ? frames[0].function : 0),
			row);
	r = add_binary(filling, &location, &binary);
	if (r == 0)
		r = profile_add_location(profile, binary, location.vaddr, &row->location);
	return r == 0 && count > 0
		       ? profile_name_location(profile, row->location, frames, (uint32_t)count)
		       : r;
}

static int add_locations(struct filling *filling)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < filling->locations.count; i++)
		r = add_location(filling, &filling->locations.items[i]);
	return r;
}

/* --- samples --- */

/* Adds the nodes of a stack, which is leaf first, from its root. */
static int add_nodes(struct filling *filling, const struct row *stack, uint32_t *ret_node,
	uint32_t *ret_lost_plus)
{
	struct row_reader reader = { .at = stack->at, .end = filling->stacks.end };
	const size_t count = row_array(&reader, sizeof(uint64_t));
	const uint8_t *ids = reader.at;
	int r = 0;

	*ret_node = PROFILE_ROOT;
	*ret_lost_plus = 0;
	for (size_t i = count; r == 0 && i-- > 0;) {
		const struct row *row;
		uint32_t location;

		reader.at = ids + i * sizeof(uint64_t);
		row = find_row(&filling->locations, row_u64(&reader));
		if (row)
			location = row->location;
		else
			r = profile_add_synthetic(
				filling->profile, "[location missing in ClickHouse]", &location);
		if (r == 0)
			r = profile_add_node(filling->profile, *ret_node, location, ret_node);
		if (row && count == 1)
			*ret_lost_plus = row->lost_plus;
	}
	return r;
}

static int add_missing_stack(struct profile *profile, uint32_t *ret_node)
{
	uint32_t location;
	int r = profile_add_synthetic(profile, "[stack missing in ClickHouse]", &location);

	return r < 0 ? r : profile_add_node(profile, PROFILE_ROOT, location, ret_node);
}

/* Samples of the shortest period. What is left of one goes to the next, so that sums are right. */
static int count_of(
	struct filling *filling, const struct fleet_sample_row *row, uint64_t *ret_count)
{
	double exact;

	if (row->weight <= 1 && row->period == filling->shortest) {
		*ret_count = row->value;
		return row->value < COUNT_MAX ? 0 : -EBADMSG;
	}
	exact = (double)row->value * row->weight *
			((double)row->period / (double)filling->shortest) +
		filling->rest;
	if (!(exact < (double)COUNT_MAX))
		return -EBADMSG;
	*ret_count = (uint64_t)exact;
	filling->rest = exact - (double)*ret_count;
	return 0;
}

static int add_sample(struct filling *filling, const struct fleet_sample_row *row)
{
	struct accounts *accounts = &filling->profile->accounts;
	const struct row *stack = find_row(&filling->stacks, row->stack);
	struct profile_sample sample = { 0 };
	struct profile_thread thread = { 0 };
	uint32_t lost_plus = 0;
	int r = count_of(filling, row, &sample.count);

	if (r == 0)
		r = stack ? add_nodes(filling, stack, &sample.node, &lost_plus)
			  : add_missing_stack(filling->profile, &sample.node);
	if (r < 0 || sample.count == 0)
		return r;
	accounts->fired += sample.count;
	if (accounts->fired > COUNT_MAX)
		return -EBADMSG;
	if (lost_plus > 0) {
		accounts->dropped[lost_plus - 1] += sample.count;
		return 0;
	}
	r = add_text(filling->profile, row->comm, &thread.comm);
	if (r == 0)
		r = profile_add_thread(filling->profile, &thread, &sample.thread);
	if (r == 0)
		r = profile_add_untimed(filling->profile, &sample);
	accounts->stored[PILOTLIGHT_PATH_MAP] += sample.count;
	return r;
}

static int find_periods(struct filling *filling)
{
	struct row_reader reader = fleet_rows_reader(&filling->rows->samples);

	filling->shortest = UINT64_MAX;
	while (row_reader_has_more(&reader)) {
		const struct fleet_sample_row row = fleet_rows_read_sample(&reader);

		if (row.period < filling->shortest)
			filling->shortest = row.period;
		if (row.period > filling->longest)
			filling->longest = row.period;
	}
	return reader.is_broken ? -EBADMSG : 0;
}

static int fill(struct filling *filling)
{
	struct row_reader reader = fleet_rows_reader(&filling->rows->samples);
	int r = index_rows(&filling->rows->names, read_names_row, &filling->names);

	if (r == 0)
		r = index_rows(&filling->rows->locations, read_location_row, &filling->locations);
	if (r == 0)
		r = index_rows(&filling->rows->stacks, read_stack_row, &filling->stacks);
	if (r == 0)
		r = add_locations(filling);
	if (r == 0)
		r = find_periods(filling);
	while (r == 0 && row_reader_has_more(&reader)) {
		const struct fleet_sample_row row = fleet_rows_read_sample(&reader);

		r = add_sample(filling, &row);
	}
	if (r < 0 || filling->longest == 0)
		return r;
	filling->profile->period_ns = filling->shortest;
	if (filling->longest > filling->shortest)
		filling->profile->longest_period_ns = filling->longest;
	return 0;
}

int fleet_profile_fill(const struct fleet_rows *rows, struct profile *profile)
{
	struct filling filling = { .rows = rows, .profile = profile };
	int r = fill(&filling);

	free(filling.stacks.items);
	free(filling.locations.items);
	free(filling.names.items);
	hash_index_done(&filling.binaries);
	return r;
}
