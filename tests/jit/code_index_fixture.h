/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts and questions in one line, for the tests of a code index. */
#pragma once

#include "jit/code_index.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT_BYTES = 4 << 20 };

static inline struct code_index *new_index(size_t limit_bytes)
{
	struct code_index *index = NULL;

	assert_int_equal(code_index_new(limit_bytes, &index), 0);
	return index;
}

static inline int load_by(struct code_index *index, uint32_t writer, uint64_t time_ns,
	uint64_t address, uint64_t size, const char *name)
{
	const struct code_load load = {
		.time_ns = time_ns,
		.address = address,
		.size = size,
		.writer = writer,
		.name = name,
		.name_size = strlen(name),
	};

	return code_index_load(index, &load);
}

static inline void load(struct code_index *index, uint64_t time_ns, uint64_t address, uint64_t size,
	const char *name)
{
	assert_int_equal(load_by(index, 0, time_ns, address, size, name), 0);
}

static inline int move(
	struct code_index *index, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size)
{
	const struct code_move move = {
		.time_ns = time_ns,
		.from = from,
		.to = to,
		.size = size,
	};

	return code_index_move(index, &move);
}

/* The name of the code there; "": none. */
static inline const char *seen(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view)
{
	struct code_found found;

	return code_index_find(index, address, time_ns, view, &found) ? found.name : "";
}

static inline const char *at(const struct code_index *index, uint64_t address, uint64_t time_ns)
{
	return seen(index, address, time_ns, NULL);
}

static inline struct code_index_counters counters_of(const struct code_index *index)
{
	struct code_index_counters counters;

	code_index_counters(index, &counters);
	return counters;
}

static inline int load_with_lines(
	struct code_index *index, uint64_t time_ns, uint64_t address, size_t lines, uint32_t file)
{
	static struct line_entry entries[20000];
	static uint8_t packed[20000 * LINE_ENTRY_BYTES_MAX];
	char name[32];
	struct code_load load = {
		.time_ns = time_ns,
		.address = address,
		.size = 20000,
		.name = name,
		.lines = packed,
	};

	load.name_size = (size_t)snprintf(name, sizeof(name), "code %u", (unsigned)time_ns);
	for (size_t i = 0; i < lines; i++)
		entries[i] = (struct line_entry){ (uint32_t)i, 100 + (uint32_t)i, 7, file };
	load.lines_size = line_list_pack(entries, lines, packed);
	return code_index_load(index, &load);
}
