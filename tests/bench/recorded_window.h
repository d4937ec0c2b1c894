/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded window: reads `pilotlight record -o FILE.pb.gz` by pprof's wire format, as far as
 * needed to repeat the window at another time and for other processes. The files are trusted, so
 * an invalid one ends the program.
 */
#pragma once

#include <err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { RECORDED_PLAIN_MAX = 64 << 20, RECORDED_DEPTH_MAX = 512 };

struct recorded_location {
	uint64_t address, mapping, function; /* function: 0 or the outermost one */
};

/* Strings, and the executable segment. */
struct recorded_mapping {
	uint64_t path, build_id, text_vaddr, text_bytes, text_offset;
};

struct recorded_sample {
	uint64_t count, pid, tid, comm; /* comm: index of a string */
	uint32_t first_location, depth; /* leaf first */
};

struct recorded_window {
	char **strings;
	uint64_t *function_names;	     /* by id: strings */
	struct recorded_mapping *mappings;   /* by id */
	struct recorded_location *locations; /* by id */
	struct recorded_sample *samples;
	uint64_t *stacks; /* ids of locations */
	size_t string_count, mapping_count, function_count, location_count, sample_count,
		stack_count;
};

struct wire {
	const uint8_t *next, *end;
};

static inline uint64_t wire_number(struct wire *wire)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && wire->next < wire->end; shift += 7) {
		uint8_t byte = *wire->next++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	errx(1, "a recorded window is cut short");
}

/* Reads the next field: a number, or bytes with a length. */
static inline bool wire_field(
	struct wire *wire, unsigned int *ret_field, uint64_t *ret_value, struct wire *ret_content)
{
	uint64_t tag;

	if (wire->next >= wire->end)
		return false;
	tag = wire_number(wire);
	*ret_field = (unsigned int)(tag >> 3);
	*ret_value = wire_number(wire);
	if ((tag & 7) == 2) {
		if (*ret_value > (uint64_t)(wire->end - wire->next))
			errx(1, "a recorded window is cut short");
		*ret_content = (struct wire){ wire->next, wire->next + *ret_value };
		wire->next += *ret_value;
	} else if ((tag & 7) != 0) {
		errx(1, "a recorded window has a field of another kind");
	}
	return true;
}

/* Reads the numbers of a message by field, and skips other fields. */
static inline void wire_numbers(struct wire wire, uint64_t values[8])
{
	struct wire content = { 0 };
	unsigned int field;
	uint64_t value;

	memset(values, 0, 8 * sizeof(*values));
	while (wire_field(&wire, &field, &value, &content))
		if (field < 8)
			values[field] = value;
}

/* Grows an array to hold `index`; new elements are zero. */
static inline void *recorded_room(void *array, size_t *count, size_t index, size_t bytes)
{
	if (index < *count)
		return array;
	/* Grows by powers of two; elements beyond the count are written before they are read. */
	if ((*count & (*count - 1)) == 0 || index > *count) {
		size_t capacity = 1;

		while (capacity <= index)
			capacity *= 2;
		array = reallocarray(array, capacity, bytes);
		if (!array)
			err(1, "a recorded window");
	}
	memset((char *)array + *count * bytes, 0, (index + 1 - *count) * bytes);
	*count = index + 1;
	return array;
}
#define RECORDED_ROOM(array, count, index) \
	((array) = recorded_room((array), &(count), (index), sizeof(*(array))))

static inline void recorded_read_sample(struct recorded_window *window, struct wire wire)
{
	struct recorded_sample *sample;
	size_t number = window->sample_count;
	struct wire content = { 0 };
	unsigned int field;
	uint64_t value, label[8];

	RECORDED_ROOM(window->samples, window->sample_count, number);
	sample = &window->samples[number];
	sample->first_location = (uint32_t)window->stack_count;
	while (wire_field(&wire, &field, &value, &content)) {
		if (field == 1) {
			while (content.next < content.end) {
				size_t at = window->stack_count;

				RECORDED_ROOM(window->stacks, window->stack_count, at);
				window->stacks[at] = wire_number(&content);
				sample->depth++;
			}
		} else if (field == 2) {
			sample->count = wire_number(&content);
		} else if (field == 3) {
			wire_numbers(content, label);
			if (strcmp(window->strings[label[1]], "pid") == 0)
				sample->pid = label[3];
			else if (strcmp(window->strings[label[1]], "tid") == 0)
				sample->tid = label[3];
			else if (strcmp(window->strings[label[1]], "comm") == 0)
				sample->comm = label[2];
		}
	}
}

static inline void recorded_read_location(struct recorded_window *window, struct wire wire)
{
	struct recorded_location location = { 0 };
	struct wire content = { 0 };
	unsigned int field;
	uint64_t value, line[8], id = 0;

	while (wire_field(&wire, &field, &value, &content)) {
		if (field == 1)
			id = value;
		else if (field == 2)
			location.mapping = value;
		else if (field == 3)
			location.address = value;
		else if (field == 4) {
			wire_numbers(content, line);
			location.function = line[1];
		}
	}
	RECORDED_ROOM(window->locations, window->location_count, id);
	window->locations[id] = location;
}

/* Strings and tables come first, then the fields that refer to them. */
static inline void recorded_read_field(
	struct recorded_window *window, unsigned int field, struct wire content, bool is_second)
{
	uint64_t values[8];
	size_t at;

	if (is_second) {
		if (field == 2)
			recorded_read_sample(window, content);
		return;
	}
	if (field == 6) {
		at = window->string_count;
		RECORDED_ROOM(window->strings, window->string_count, at);
		window->strings[at] =
			strndup((const char *)content.next, (size_t)(content.end - content.next));
		if (!window->strings[at])
			err(1, "a recorded window");
	} else if (field == 4) {
		recorded_read_location(window, content);
	} else if (field == 3) {
		wire_numbers(content, values);
		RECORDED_ROOM(window->mappings, window->mapping_count, values[1]);
		window->mappings[values[1]] = (struct recorded_mapping){
			.path = values[5],
			.build_id = values[6],
			.text_vaddr = values[2],
			.text_bytes = values[3] - values[2],
			.text_offset = values[4],
		};
	} else if (field == 5) {
		wire_numbers(content, values);
		RECORDED_ROOM(window->function_names, window->function_count, values[1]);
		window->function_names[values[1]] = values[2];
	}
}

static inline void recorded_read(struct recorded_window *window, const char *path)
{
	gzFile file = gzopen(path, "rb");
	uint8_t *plain = malloc(RECORDED_PLAIN_MAX);
	struct wire content = { 0 };
	unsigned int field;
	uint64_t value;
	int size;

	if (!file || !plain)
		err(1, "%s", path);
	size = gzread(file, plain, RECORDED_PLAIN_MAX);
	if (size <= 0)
		errx(1, "%s cannot be read", path);
	(void)gzclose(file);
	*window = (struct recorded_window){ 0 };
	for (int pass = 0; pass < 2; pass++) {
		struct wire wire = { plain, plain + size };

		while (wire_field(&wire, &field, &value, &content))
			if (field >= 2 && field <= 6)
				recorded_read_field(window, field, content, pass == 1);
	}
	free(plain);
}

static inline void recorded_done(struct recorded_window *window)
{
	for (size_t i = 0; i < window->string_count; i++)
		free(window->strings[i]);
	free(window->strings);
	free(window->mappings);
	free(window->function_names);
	free(window->locations);
	free(window->samples);
	free(window->stacks);
}
