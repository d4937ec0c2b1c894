/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a pprof back by the wire format alone, sharing nothing with the encoder, and holds it to
 * the rules that its readers rely on. Whatever is wrong fails the test that asked.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/utf8.h"

struct wire {
	const uint8_t *next, *end;
};

struct wire_field {
	uint64_t number, value; /* value: of a varint */
	struct wire content;	/* of what has a length */
	bool is_varint, is_fixed64;
};

static inline uint64_t wire_varint(struct wire *wire)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		assert_true(wire->next < wire->end);
		byte = *wire->next++;
		value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 0);
		if (byte < 0x80) {
			assert_true(byte != 0 || shift == 0); /* the shortest form */
			return value;
		}
	}
	fail_msg("a varint without an end");
	return 0;
}

static inline bool wire_next(struct wire *wire, struct wire_field *ret_field)
{
	uint64_t tag, length;

	if (wire->next == wire->end)
		return false;
	tag = wire_varint(wire);
	ret_field->number = tag >> 3;
	ret_field->is_varint = (tag & 7) == 0;
	ret_field->is_fixed64 = (tag & 7) == 1;
	if (ret_field->is_varint) {
		ret_field->value = wire_varint(wire);
		return true;
	}
	if (ret_field->is_fixed64) {
		assert_true(wire->end - wire->next >= 8);
		ret_field->value = 0;
		for (unsigned int i = 0; i < 8; i++)
			ret_field->value |= (uint64_t)wire->next[i] << 8 * i;
		wire->next += 8;
		return true;
	}
	assert_int_equal(tag & 7, 2);
	length = wire_varint(wire);
	assert_true(length <= (uint64_t)(wire->end - wire->next));
	ret_field->content = (struct wire){ wire->next, wire->next + length };
	wire->next += length;
	return true;
}

/* Messages whose fields all are numbers, by field number. */
enum { NUMBERS_MAX = 16 };
typedef uint64_t wire_numbers[NUMBERS_MAX];

static inline void wire_read_numbers(struct wire wire, wire_numbers ret_numbers)
{
	struct wire_field field;

	memset(ret_numbers, 0, sizeof(wire_numbers));
	while (wire_next(&wire, &field)) {
		assert_true(field.is_varint && field.number < NUMBERS_MAX);
		assert_true(field.value != 0 && ret_numbers[field.number] == 0);
		ret_numbers[field.number] = field.value;
	}
}

static inline size_t wire_read_packed(struct wire wire, uint64_t *values, size_t room)
{
	size_t count = 0;

	while (wire.next < wire.end) {
		assert_true(count < room);
		values[count++] = wire_varint(&wire);
	}
	return count;
}

enum { STACK_MAX = 512, LINES_MAX = 8, LABELS_MAX = 8 };

struct decoded_sample {
	uint64_t locations[STACK_MAX], values[2];
	size_t location_count, label_count;
	wire_numbers labels[LABELS_MAX]; /* 1 key, 2 text, 3 number, 4 unit */
};

struct decoded_location {
	uint64_t id, mapping, address;
	wire_numbers lines[LINES_MAX]; /* 1 function, 2 line, 3 column */
	size_t line_count;
};

struct decoded {
	uint8_t *bytes;
	size_t size;
	wire_numbers own; /* the numbers of the outermost message */
	wire_numbers sample_types[2], period_type;
	size_t sample_type_count;
	struct decoded_sample *samples;
	struct decoded_location *locations;
	wire_numbers *mappings, *functions;
	struct wire *strings;
	uint64_t comments[64];
	size_t sample_count, location_count, mapping_count, function_count, string_count,
		comment_count;
};

static inline void gunzip(const void *bytes, size_t size, uint8_t **ret_bytes, size_t *ret_size)
{
	z_stream stream = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned int)size };
	size_t capacity = 64 << 20;
	uint8_t *plain = malloc(capacity);

	assert_non_null(plain);
	stream.next_out = plain;
	stream.avail_out = (unsigned int)capacity;
	assert_int_equal(inflateInit2(&stream, 16 + 15), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*ret_size = stream.total_out;
	assert_int_equal(inflateEnd(&stream), Z_OK);
	*ret_bytes = realloc(plain, *ret_size + 1);
	assert_non_null(*ret_bytes);
}

/* A new zeroed element at the end of an array. */
static inline void *decoded_append(void *pointer_to_array, size_t *count, size_t element_bytes)
{
	char *array;

	memcpy(&array, pointer_to_array, sizeof(array));
	/* Grows by powers of two. */
	if ((*count & (*count - 1)) == 0) {
		array = realloc(array, (*count ? *count * 2 : 1) * element_bytes);
		assert_non_null(array);
		memcpy(pointer_to_array, &array, sizeof(array));
	}
	memset(array + *count * element_bytes, 0, element_bytes);
	return array + (*count)++ * element_bytes;
}
#define DECODED_APPEND(decoded, what) \
	decoded_append(&(decoded)->what##s, &(decoded)->what##_count, sizeof(*(decoded)->what##s))

static inline void decode_sample(struct wire wire, struct decoded_sample *sample)
{
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		assert_false(field.is_varint);
		if (field.number == 1) {
			sample->location_count =
				wire_read_packed(field.content, sample->locations, STACK_MAX);
		} else if (field.number == 2) {
			assert_int_equal(wire_read_packed(field.content, sample->values, 2), 2);
		} else {
			assert_int_equal(field.number, 3);
			assert_true(sample->label_count < LABELS_MAX);
			wire_read_numbers(field.content, sample->labels[sample->label_count++]);
		}
	}
}

static inline void decode_location(struct wire wire, struct decoded_location *location)
{
	struct wire_field field;

	while (wire_next(&wire, &field)) {
		if (field.number == 4) {
			assert_true(location->line_count < LINES_MAX);
			wire_read_numbers(field.content, location->lines[location->line_count++]);
			continue;
		}
		assert_true(field.is_varint && field.number <= 3);
		(&location->id)[field.number - 1] = field.value;
	}
}

static inline void decode_field(struct decoded *decoded, const struct wire_field *field)
{
	switch (field->number) {
	case 1:
		assert_true(decoded->sample_type_count < 2);
		wire_read_numbers(
			field->content, decoded->sample_types[decoded->sample_type_count++]);
		break;
	case 2:
		decode_sample(field->content, DECODED_APPEND(decoded, sample));
		break;
	case 3:
		wire_read_numbers(
			field->content, *(wire_numbers *)DECODED_APPEND(decoded, mapping));
		break;
	case 4:
		decode_location(field->content, DECODED_APPEND(decoded, location));
		break;
	case 5:
		wire_read_numbers(
			field->content, *(wire_numbers *)DECODED_APPEND(decoded, function));
		break;
	case 6:
		*(struct wire *)DECODED_APPEND(decoded, string) = field->content;
		break;
	case 11:
		wire_read_numbers(field->content, decoded->period_type);
		break;
	case 13:
		decoded->comment_count = wire_read_packed(field->content, decoded->comments, 64);
		break;
	default:
		assert_true(field->is_varint && field->number < NUMBERS_MAX);
		assert_int_equal(decoded->own[field->number], 0);
		decoded->own[field->number] = field->value;
	}
}

static inline void decoded_done(struct decoded *decoded)
{
	free(decoded->bytes);
	free(decoded->samples);
	free(decoded->locations);
	free(decoded->mappings);
	free(decoded->functions);
	free(decoded->strings);
}

static inline bool decoded_string_is(
	const struct decoded *decoded, uint64_t string, const char *text)
{
	const struct wire *found = &decoded->strings[string];

	assert_true(string < decoded->string_count);
	return (size_t)(found->end - found->next) == strlen(text) &&
	       memcmp(found->next, text, strlen(text)) == 0;
}

static inline void check_strings(const struct decoded *decoded)
{
	assert_true(decoded->string_count > 0);
	assert_ptr_equal(decoded->strings[0].next, decoded->strings[0].end);
	for (size_t i = 0; i < decoded->string_count; i++) {
		const char *next = (const char *)decoded->strings[i].next;
		const char *end = (const char *)decoded->strings[i].end;

		for (size_t n; next < end; next += n) {
			n = utf8_sequence(next, (size_t)(end - next));
			assert_true(n > 0 && *next != '\0');
		}
	}
}

static inline void check_samples(const struct decoded *decoded, bool *is_used)
{
	for (size_t i = 0; i < decoded->sample_count; i++) {
		const struct decoded_sample *sample = &decoded->samples[i];

		assert_true(sample->location_count > 0);
		assert_true((int64_t)sample->values[0] > 0 && (int64_t)sample->values[1] >= 0);
		for (size_t j = 0; j < sample->location_count; j++) {
			assert_in_range(sample->locations[j], 1, decoded->location_count);
			is_used[sample->locations[j] - 1] = true;
		}
		for (size_t j = 0; j < sample->label_count; j++) {
			const uint64_t *label = sample->labels[j];

			assert_in_range(label[1], 1, decoded->string_count - 1);
			assert_true(label[2] < decoded->string_count);
			assert_true(label[4] < decoded->string_count);
			if (decoded_string_is(decoded, label[1], "timestamp_ns")) {
				assert_int_equal(label[2], 0);
				continue;
			}
			assert_int_equal(label[4], 0);
			if (decoded_string_is(decoded, label[1], "pid") ||
				decoded_string_is(decoded, label[1], "tid") ||
				decoded_string_is(decoded, label[1], "user"))
				assert_int_equal(label[2], 0);
			else
				assert_true(label[2] > 0 && label[3] == 0);
		}
	}
}

static inline void check_locations(
	const struct decoded *decoded, bool *mapping_used, bool *function_used)
{
	for (size_t i = 0; i < decoded->location_count; i++) {
		const struct decoded_location *location = &decoded->locations[i];

		assert_int_equal(location->id, i + 1);
		assert_true(location->mapping <= decoded->mapping_count);
		assert_true(location->mapping > 0 || location->line_count == 1);
		if (location->mapping > 0)
			mapping_used[location->mapping - 1] = true;
		for (size_t j = 0; j < location->line_count; j++) {
			assert_in_range(location->lines[j][1], 1, decoded->function_count);
			function_used[location->lines[j][1] - 1] = true;
		}
	}
}

static inline void check_all_used(const bool *is_used, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_true(is_used[i]);
}

/* What the mapping says of its locations holds for each of them. */
static inline void check_claims(const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->location_count; i++) {
		const struct decoded_location *location = &decoded->locations[i];
		const uint64_t *mapping;

		if (location->mapping == 0)
			continue;
		mapping = decoded->mappings[location->mapping - 1];
		assert_true(!mapping[7] || location->line_count > 0);
		assert_true(mapping[10] || location->line_count <= 1);
		for (size_t j = 0; j < location->line_count; j++) {
			const uint64_t *function = decoded->functions[location->lines[j][1] - 1];

			assert_true(!mapping[7] || function[2] > 0);
			assert_true(!mapping[8] || function[4] > 0);
			assert_true(!mapping[9] || location->lines[j][2] > 0);
		}
	}
}

static inline void check_decoded(const struct decoded *decoded)
{
	size_t most = decoded->location_count + decoded->mapping_count + decoded->function_count;
	bool *used = calloc(3 * (most + 1), sizeof(*used));
	bool *mapping_used = used + most, *function_used = used + 2 * most;

	assert_non_null(used);
	assert_int_equal(decoded->sample_type_count, 2);
	check_strings(decoded);
	check_samples(decoded, used);
	check_locations(decoded, mapping_used, function_used);
	for (size_t i = 0; i < decoded->mapping_count; i++) {
		assert_int_equal(decoded->mappings[i][1], i + 1);
		assert_true(decoded->mappings[i][5] > 0);
		assert_true(decoded->mappings[i][5] < decoded->string_count);
		assert_true(decoded->mappings[i][6] < decoded->string_count);
	}
	for (size_t i = 0; i < decoded->function_count; i++) {
		assert_int_equal(decoded->functions[i][1], i + 1);
		for (size_t j = 2; j <= 4; j++)
			assert_true(decoded->functions[i][j] < decoded->string_count);
	}
	check_all_used(used, decoded->location_count);
	check_all_used(mapping_used, decoded->mapping_count);
	check_all_used(function_used, decoded->function_count);
	check_claims(decoded);
	free(used);
}

/* Decodes and checks a gzipped pprof. */
static inline void decode(struct decoded *decoded, const void *bytes, size_t size)
{
	struct wire_field field;
	struct wire wire;

	*decoded = (struct decoded){ 0 };
	gunzip(bytes, size, &decoded->bytes, &decoded->size);
	wire = (struct wire){ decoded->bytes, decoded->bytes + decoded->size };
	while (wire_next(&wire, &field))
		decode_field(decoded, &field);
	check_decoded(decoded);
}
