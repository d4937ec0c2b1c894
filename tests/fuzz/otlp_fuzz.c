/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile made of the input, written in OpenTelemetry's format and read back by the wire format
 * alone: each index is within its table, and no sample is lost or changed.
 */
#include "export/otlp.h"
#include "tests/fuzz/made_profile.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { OUTPUT_MAX = 4 << 20, TABLES = 8 };
enum { MAPPING = 1, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK };

/* --- what was written --- */

static uint64_t varint(struct bytes *at)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		assert(at->next < at->end);
		value |= (uint64_t)(*at->next & 0x7f) << shift;
		if (*at->next++ < 0x80)
			break;
	}
	return value;
}

struct field {
	uint64_t number, value;
	struct bytes content;
};

static int next_field(struct bytes *at, struct field *field)
{
	uint64_t tag;

	if (at->next == at->end)
		return 0;
	tag = varint(at);
	*field = (struct field){ .number = tag >> 3 };
	if ((tag & 7) == 0) {
		field->value = varint(at);
		return 1;
	}
	if ((tag & 7) == 1)
		field->value = 8;
	else
		field->value = varint(at);
	assert((tag & 7) <= 2 && field->value <= (uint64_t)(at->end - at->next));
	field->content = (struct bytes){ at->next, at->next + field->value };
	at->next += field->value;
	return 1;
}

struct tables {
	uint64_t counts[TABLES];
};

static void check_packed(struct bytes list, uint64_t count)
{
	while (list.next < list.end) {
		uint64_t index = varint(&list);

		assert(index > 0 && index < count);
	}
}

/* Which table a field of an element of the dictionary refers to; 0: none. */
static int table_of(int table, uint64_t number)
{
	static const int tables[TABLES][TABLES] = {
		[MAPPING] = { [4] = STRING, [5] = ATTRIBUTE },
		[LOCATION] = { [1] = MAPPING, [4] = ATTRIBUTE },
		[FUNCTION] = { [1] = STRING, [2] = STRING, [3] = STRING },
		[ATTRIBUTE] = { [1] = STRING },
		[STACK] = { [1] = LOCATION },
	};

	assert(number < TABLES);
	return tables[table][number];
}

static void check_element(int table, struct bytes element, const struct tables *tables)
{
	struct field field, line;

	while (next_field(&element, &field)) {
		int other = table_of(table, field.number);

		if (table == LOCATION && field.number == 3) {
			int has = next_field(&field.content, &line);

			assert(has && line.number == 1 && line.value < tables->counts[FUNCTION]);
			(void)has;
		} else if (other && field.content.next) {
			check_packed(field.content, tables->counts[other]);
		} else if (other) {
			assert(field.value < tables->counts[other]);
		}
	}
}

static void check_dictionary(struct bytes dictionary, struct tables *tables)
{
	struct bytes at = dictionary;
	struct field field;

	while (next_field(&at, &field)) {
		assert(field.number >= MAPPING && field.number <= STACK);
		/* Element 0 of each table is empty. */
		assert(tables->counts[field.number] > 0 || field.value == 0);
		tables->counts[field.number]++;
	}
	for (int i = MAPPING; i < TABLES; i++)
		assert(tables->counts[i] > 0);
	while (next_field(&dictionary, &field))
		if (field.number != STRING)
			check_element((int)field.number, field.content, tables);
}

/* Returns its value. */
static uint64_t check_sample(struct bytes sample, const struct tables *tables)
{
	uint64_t value = 0, stack = 0;
	struct field field;

	while (next_field(&sample, &field))
		if (field.number == 1) {
			stack = field.value;
		} else if (field.number == 2) {
			check_packed(field.content, tables->counts[ATTRIBUTE]);
		} else {
			assert(field.number == 4);
			value = varint(&field.content);
			assert(value > 0 && field.content.next == field.content.end);
		}
	assert(stack > 0 && stack < tables->counts[STACK]);
	return value;
}

/* Descends through resources and scopes to the profile. Returns the sum of the samples. */
static uint64_t check_resource(struct bytes at, int depth, const struct tables *tables)
{
	uint64_t sum = 0;
	struct field field;

	while (next_field(&at, &field))
		if (field.number == 2)
			sum += depth == 2 ? check_sample(field.content, tables)
					  : check_resource(field.content, depth + 1, tables);
	return sum;
}

static void check(const struct profile *profile, struct bytes message)
{
	uint64_t expected = profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL], sum = 0;
	struct tables tables = { 0 };
	struct bytes at = message;
	struct field field;

	for (size_t i = 0; i < profile->samples.count; i++)
		expected += profile->samples.items[i].count;
	while (next_field(&at, &field))
		if (field.number == 2)
			check_dictionary(field.content, &tables);
	while (next_field(&message, &field))
		if (field.number == 1)
			sum += check_resource(field.content, 0, &tables);
	assert(sum == expected);
	(void)expected;
}

static void write_and_check(const struct profile *profile, enum pprof_labels labels)
{
	struct output_memory memory = { .limit_bytes = OUTPUT_MAX };
	static uint8_t plain[OUTPUT_MAX];
	static struct output output;
	z_stream stream = { .next_out = plain, .avail_out = sizeof(plain) };
	int r;

	output_init(&output, output_to_memory, &memory);
	r = otlp_write(profile, labels, "host", NULL, &output);
	if (r == 0)
		r = output_finish(&output);
	assert(r == 0);
	stream.next_in = (unsigned char *)memory.bytes;
	stream.avail_in = (unsigned int)memory.size;
	r = inflateInit2(&stream, 16 + 15);
	assert(r == Z_OK);
	r = inflate(&stream, Z_FINISH);
	assert(r == Z_STREAM_END);
	check(profile, (struct bytes){ plain, plain + stream.total_out });
	(void)inflateEnd(&stream);
	free(memory.bytes);
	(void)r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes input = { bytes, bytes + size };
	enum pprof_labels labels = take(&input) % 2 ? PPROF_LABELS_ALL : PPROF_LABELS_SERVICE;
	struct profile *profile = make_profile(&input);

	write_and_check(profile, labels);
	profile_free(profile);
	return 0;
}
