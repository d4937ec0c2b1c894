/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a batch for Parca by its definition: the files in it, and the JSON of its request. */
#pragma once

#include "pilotlight/parca_batch.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct parca_read {
	struct pilotlight_parca_binary binaries[PILOTLIGHT_PARCA_BINARIES_MAX];
	uint32_t count;
	const char *files; /* one after another */
	char *request;	   /* with a NUL; owned */
};

static inline void parca_read(struct parca_read *read, const char *bytes, size_t size)
{
	struct pilotlight_parca_batch header;
	size_t at = sizeof(header);

	assert(size >= sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	assert(header.magic == PILOTLIGHT_PARCA_BATCH_MAGIC && header.version == 1);
	assert(header.binaries <= PILOTLIGHT_PARCA_BINARIES_MAX);
	assert((size - at) / sizeof(*read->binaries) >= header.binaries);
	read->count = header.binaries;
	memcpy(read->binaries, bytes + at, read->count * sizeof(*read->binaries));
	at += read->count * sizeof(*read->binaries);
	read->files = bytes + at;
	for (uint32_t i = 0; i < read->count; i++) {
		assert(read->binaries[i].elf_bytes <= size - at);
		at += read->binaries[i].elf_bytes;
	}
	read->request = strndup(bytes + at, size - at);
	assert(read->request && strlen(read->request) == size - at);
}

/* --- JSON --- */

struct json_at {
	const char *next;
	unsigned profiles;
	/* Of each text that is the value of "rawProfile". */
	void (*take_profile)(void *context, const char *base64, size_t size);
	void *context;
};

static inline bool json_takes(struct json_at *at, char c)
{
	if (*at->next != c)
		return false;
	at->next++;
	return true;
}

static inline size_t json_read_string(struct json_at *at, const char **ret_begin)
{
	bool has_begun = json_takes(at, '"');

	assert(has_begun);
	*ret_begin = at->next;
	while (*at->next != '"') {
		assert((unsigned char)*at->next >= ' ');
		at->next += *at->next == '\\' ? 2 : 1;
	}
	at->next++;
	(void)has_begun;
	return (size_t)(at->next - 1 - *ret_begin);
}

/* What Parca's protobuf takes: objects, arrays, texts, true and false. */
static inline void json_read_value(struct json_at *at)
{
	const char *begin;
	bool ends = false;

	if (*at->next == '"') {
		(void)json_read_string(at, &begin);
	} else if (json_takes(at, '[')) {
		while (!json_takes(at, ']')) {
			assert(!ends);
			json_read_value(at);
			ends = !json_takes(at, ',');
		}
	} else if (json_takes(at, '{')) {
		while (!json_takes(at, '}')) {
			size_t size = json_read_string(at, &begin);
			bool is_profile = size == strlen("rawProfile") &&
					  memcmp(begin, "rawProfile", size) == 0;
			bool has_value = json_takes(at, ':');

			assert(!ends && has_value);
			(void)has_value;
			if (is_profile) {
				size = json_read_string(at, &begin);
				at->take_profile(at->context, begin, size);
				at->profiles++;
			} else {
				json_read_value(at);
			}
			ends = !json_takes(at, ',');
		}
	} else {
		const bool is_true = strncmp(at->next, "true", 4) == 0;

		assert(is_true || strncmp(at->next, "false", 5) == 0);
		at->next += is_true ? 4 : 5;
	}
}

static inline size_t base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	assert(c && at);
	return (size_t)(at - digits);
}

/* Returns the bytes, to be freed. */
static inline uint8_t *base64_read(const char *text, size_t size, size_t *ret_size)
{
	uint8_t *bytes = malloc(size + 1);
	size_t used = 0;

	assert(bytes && size % 4 == 0);
	for (size_t i = 0; i < size; i += 4) {
		const size_t count = text[i + 2] == '=' ? 1 : text[i + 3] == '=' ? 2 : 3;
		size_t group = base64_digit(text[i]) << 18 | base64_digit(text[i + 1]) << 12;

		assert(count == 3 || i + 4 == size);
		if (count > 1)
			group |= base64_digit(text[i + 2]) << 6;
		if (count > 2)
			group |= base64_digit(text[i + 3]);
		for (size_t k = 0; k < count; k++)
			bytes[used++] = (uint8_t)(group >> (16 - 8 * k));
	}
	*ret_size = used;
	return bytes;
}

/* Reads the whole request. Returns how many profiles it has. */
static inline unsigned parca_read_request(const char *request,
	void (*take_profile)(void *context, const char *base64, size_t size), void *context)
{
	struct json_at at = {
		.next = request,
		.take_profile = take_profile,
		.context = context,
	};

	json_read_value(&at);
	assert(*at.next == '\0');
	return at.profiles;
}
