/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads profiles of OpenTelemetry by the wire format alone, and holds them to the rules of the
 * protocol and of its receivers: each index is within its table, element 0 of each table is empty,
 * keys are unique, each sample has one value, or one for each of its times, all text is valid
 * UTF-8.
 */
#pragma once

#include "base/array.h"
#include "export/otlp.h"
#include "tests/export/pprof_profile.h"

#include <stdio.h>

enum { MAPPING = 1, LOCATION, FUNCTION, LINK, STRING, ATTRIBUTE, STACK, TABLES, ITEMS_MAX = 64 };

struct items {
	struct wire items[ITEMS_MAX];
	size_t count;
};

struct read {
	uint8_t *bytes;
	struct items tables[TABLES], resources;
};

static inline void add(struct items *items, struct wire wire)
{
	assert_true(items->count < ITEMS_MAX);
	items->items[items->count++] = wire;
}

/* All submessages with this number. */
static inline struct items all_of(struct wire wire, uint64_t number)
{
	struct items items = { 0 };
	struct wire_field field;

	while (wire_next(&wire, &field))
		if (field.number == number) {
			assert_false(field.is_varint || field.is_fixed64);
			add(&items, field.content);
		}
	return items;
}

static inline struct wire only(struct wire wire, uint64_t number)
{
	struct items items = all_of(wire, number);

	assert_int_equal(items.count, 1);
	return items.items[0];
}

/* 0 if it is absent, as in proto3. */
static inline uint64_t number_of(struct wire wire, uint64_t number)
{
	struct wire_field field;
	uint64_t value = 0;

	while (wire_next(&wire, &field))
		if (field.number == number) {
			assert_true(field.is_varint || field.is_fixed64);
			value = field.value;
		}
	return value;
}

/* The numbers of a packed field; there is one field, or none. */
static inline size_t packed_of(struct wire wire, uint64_t number, uint64_t values[ITEMS_MAX])
{
	struct items items = all_of(wire, number);

	assert_true(items.count <= 1);
	return items.count == 0 ? 0 : wire_read_packed(items.items[0], values, ITEMS_MAX);
}

static const char *text_of(struct wire wire)
{
	static char texts[8][256];
	static unsigned next;
	char *text = texts[next++ % 8];

	assert_true(wire.end - wire.next < 256);
	memcpy(text, wire.next, (size_t)(wire.end - wire.next));
	text[wire.end - wire.next] = '\0';
	return text;
}

static const char *string_at(const struct read *read, uint64_t i)
{
	assert_true(i < read->tables[STRING].count);
	return text_of(read->tables[STRING].items[i]);
}

static inline struct wire element(const struct read *read, int table, uint64_t i)
{
	assert_true(i < read->tables[table].count);
	return read->tables[table].items[i];
}

/* --- rules --- */

static inline void check_attributes(const struct read *read, struct wire wire, uint64_t number)
{
	uint64_t attributes[ITEMS_MAX];
	size_t count = packed_of(wire, number, attributes);

	for (size_t i = 0; i < count; i++) {
		uint64_t key = number_of(element(read, ATTRIBUTE, attributes[i]), 1);

		assert_true(attributes[i] > 0 && key > 0);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(
				number_of(element(read, ATTRIBUTE, attributes[j]), 1), key);
	}
}

static inline void check_places(const struct read *read)
{
	for (size_t i = 1; i < read->tables[MAPPING].count; i++) {
		assert_true(*string_at(read, number_of(element(read, MAPPING, i), 4)));
		check_attributes(read, element(read, MAPPING, i), 5);
	}
	for (size_t i = 1; i < read->tables[LOCATION].count; i++) {
		struct wire location = element(read, LOCATION, i);
		struct items lines = all_of(location, 3);

		(void)element(read, MAPPING, number_of(location, 1));
		check_attributes(read, location, 4);
		for (size_t j = 0; j < lines.count; j++) {
			assert_true(number_of(lines.items[j], 1) > 0);
			(void)element(read, FUNCTION, number_of(lines.items[j], 1));
		}
	}
	for (size_t i = 1; i < read->tables[FUNCTION].count; i++) {
		struct wire function = element(read, FUNCTION, i);

		assert_true(*string_at(read, number_of(function, 1)));
		(void)string_at(read, number_of(function, 2));
		(void)string_at(read, number_of(function, 3));
	}
	for (size_t i = 1; i < read->tables[STACK].count; i++) {
		uint64_t locations[ITEMS_MAX];
		size_t count = packed_of(element(read, STACK, i), 1, locations);

		assert_true(count > 0);
		for (size_t j = 0; j < count; j++) {
			assert_true(locations[j] > 0);
			(void)element(read, LOCATION, locations[j]);
		}
	}
}

static inline void check_utf8(const struct read *read)
{
	for (size_t i = 0; i < read->tables[STRING].count; i++) {
		const char *next = (const char *)read->tables[STRING].items[i].next;
		const char *end = (const char *)read->tables[STRING].items[i].end;

		for (size_t n; next < end; next += n) {
			n = utf8_sequence(next, (size_t)(end - next));
			assert_true(n > 0 && *next != '\0');
		}
	}
}

static inline struct items profiles_of(const struct read *read, size_t resource)
{
	return all_of(only(read->resources.items[resource], 2), 2);
}

static inline struct wire profile_of(const struct read *read, size_t resource)
{
	return only(only(read->resources.items[resource], 2), 2);
}

/* The times of a sample: a packed field of fixed64. */
static inline size_t times_of(struct wire sample, uint64_t times[ITEMS_MAX])
{
	struct items items = all_of(sample, 5);
	size_t count = 0;

	assert_true(items.count <= 1);
	if (items.count == 0)
		return 0;
	for (const uint8_t *at = items.items[0].next; at < items.items[0].end; at += 8) {
		assert_true(items.items[0].end - at >= 8 && count < ITEMS_MAX);
		times[count] = 0;
		for (unsigned i = 0; i < 8; i++)
			times[count] |= (uint64_t)at[i] << 8 * i;
		count++;
	}
	return count;
}

/* All samples of a profile have the same shape: one value, or one for each time. */
static inline void check_values(const struct read *read, struct wire profile)
{
	struct items samples = all_of(profile, 2);
	const uint64_t start = number_of(profile, 3), duration = number_of(profile, 4);
	uint64_t times[ITEMS_MAX];
	const bool is_timed = samples.count > 0 && times_of(samples.items[0], times) > 0;

	assert_true(samples.count > 0);
	for (size_t i = 0; i < samples.count; i++) {
		uint64_t values[ITEMS_MAX];

		assert_true(number_of(samples.items[i], 1) > 0);
		(void)element(read, STACK, number_of(samples.items[i], 1));
		check_attributes(read, samples.items[i], 2);
		(void)element(read, LINK, number_of(samples.items[i], 3));
		const size_t count = packed_of(samples.items[i], 4, values);

		assert_int_equal(times_of(samples.items[i], times), is_timed ? count : 0);
		assert_true(is_timed ? count > 0 : count == 1);
		for (size_t j = 0; j < count; j++) {
			assert_true((int64_t)values[j] > 0);
			assert_true(
				!is_timed || (times[j] >= start && times[j] - start < duration));
		}
	}
}

static inline void check_rules(const struct read *read)
{
	for (int i = MAPPING; i < TABLES; i++) {
		assert_true(read->tables[i].count > 0);
		assert_ptr_equal(read->tables[i].items[0].next, read->tables[i].items[0].end);
	}
	for (size_t i = 1; i < read->tables[LINK].count; i++) {
		const struct wire trace = only(element(read, LINK, i), 1);
		const struct wire span = only(element(read, LINK, i), 2);

		assert_int_equal(trace.end - trace.next, 16);
		assert_int_equal(span.end - span.next, 8);
	}
	check_places(read);
	check_utf8(read);
	for (size_t i = 0; i < read->resources.count; i++) {
		struct items profiles = profiles_of(read, i);

		assert_true(profiles.count > 0);
		for (size_t j = 0; j < profiles.count; j++) {
			struct wire id = only(profiles.items[j], 7);

			assert_int_equal(id.end - id.next, 16);
			/* Receivers crash without these. */
			(void)only(profiles.items[j], 1);
			(void)only(profiles.items[j], 5);
			check_values(read, profiles.items[j]);
		}
		(void)only(read->resources.items[i], 1);
		assert_string_equal(
			text_of(only(only(only(read->resources.items[i], 2), 1), 1)), "pilotlight");
	}
}

/* Frees the profile. */
/* Without a value it is none. */
#define ATTRIBUTES "host.id=0123,nothing,zone=a=b"

static inline void write_and_read(
	struct profile *profile, enum pprof_labels labels, const char *host, struct read *ret_read)
{
	struct output_memory memory = { .limit_bytes = OUTPUT_LIMIT };
	struct output output;
	struct wire wire;
	size_t size;

	*ret_read = (struct read){ 0 };
	output_init(&output, output_to_memory, &memory);
	assert_int_equal(otlp_write(profile, labels, host, ATTRIBUTES, &output), 0);
	assert_int_equal(output_finish(&output), 0);
	profile_free(profile);
	gunzip(memory.bytes, memory.size, &ret_read->bytes, &size);
	free(memory.bytes);
	wire = (struct wire){ ret_read->bytes, ret_read->bytes + size };
	ret_read->resources = all_of(wire, 1);
	for (int i = MAPPING; i < TABLES; i++)
		ret_read->tables[i] = all_of(only(wire, 2), (uint64_t)i);
	check_rules(ret_read);
}

/* --- what is in it --- */

/* The attribute of a resource; NULL: none. */
static const char *resource_attribute(const struct read *read, size_t resource, const char *key)
{
	struct items items = all_of(only(read->resources.items[resource], 1), 1);

	for (size_t i = 0; i < items.count; i++)
		if (strcmp(text_of(only(items.items[i], 1)), key) == 0)
			return text_of(only(only(items.items[i], 2), 1));
	return NULL;
}

static inline size_t resource_of(const struct read *read, const char *service)
{
	for (size_t i = 0; i < read->resources.count; i++)
		if (strcmp(resource_attribute(read, i, "service.name"), service) == 0)
			return i;
	fail_msg("no service %s", service);
	return 0;
}

/* "leaf;caller 3", with frames innermost first; addresses of code without names. */
static const char *sample_text(const struct read *read, size_t resource, size_t i)
{
	static char text[1024];
	struct items samples = all_of(profile_of(read, resource), 2);
	uint64_t locations[ITEMS_MAX], values[ITEMS_MAX];
	size_t count, used = 0;

	assert_true(i < samples.count);
	count = packed_of(element(read, STACK, number_of(samples.items[i], 1)), 1, locations);
	for (size_t j = 0; j < count; j++) {
		struct wire location = element(read, LOCATION, locations[j]);
		struct items lines = all_of(location, 3);

		for (size_t n = 0; n < lines.count; n++)
			used += (size_t)sprintf(text + used, "%s;",
				string_at(read, number_of(element(read, FUNCTION,
								  number_of(lines.items[n], 1)),
							1)));
		if (lines.count == 0)
			used += (size_t)sprintf(
				text + used, "%#llx;", (unsigned long long)number_of(location, 2));
	}
	(void)packed_of(samples.items[i], 4, values);
	(void)sprintf(text + used, " %llu", (unsigned long long)values[0]);
	return text;
}

static inline bool has_sample(const struct read *read, size_t resource, const char *text)
{
	size_t count = all_of(profile_of(read, resource), 2).count;

	for (size_t i = 0; i < count; i++)
		if (strcmp(sample_text(read, resource, i), text) == 0)
			return true;
	return false;
}

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
