/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a fleet, as ClickHouse answers them in RowBinary. */
#pragma once

#include "base/array.h"
#include "tools/fleet/fleet_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline void put(struct clickhouse_answer *answer, const void *bytes, size_t size)
{
	assert_int_equal(
		ARRAY_RESERVE(answer->bytes, &answer->capacity, answer->size + size, 1 << 25), 0);
	memcpy(answer->bytes + answer->size, bytes, size);
	answer->size += size;
}

static inline void put_u64(struct clickhouse_answer *answer, uint64_t value)
{
	put(answer, &value, sizeof(value));
}

static inline void put_f64(struct clickhouse_answer *answer, double value)
{
	put(answer, &value, sizeof(value));
}

/* Lengths of tests are below 128. */
static inline void put_length(struct clickhouse_answer *answer, size_t length)
{
	const uint8_t byte = (uint8_t)length;

	assert_true(length < 128);
	put(answer, &byte, 1);
}

static inline void put_text(struct clickhouse_answer *answer, const char *text)
{
	put_length(answer, strlen(text));
	put(answer, text, strlen(text));
}

static inline void put_sample(struct fleet_rows *rows, uint64_t stack, const char *comm,
	uint64_t period, double weight, uint64_t value)
{
	put_u64(&rows->samples, stack);
	put_text(&rows->samples, comm);
	put_u64(&rows->samples, period);
	put_f64(&rows->samples, weight);
	put_u64(&rows->samples, value);
}

/* `locations` are leaf first and end with 0. */
static inline void put_stack(struct fleet_rows *rows, uint64_t id, const uint64_t *locations)
{
	size_t count = 0;

	while (locations[count])
		count++;
	put_u64(&rows->stacks, id);
	put_length(&rows->stacks, count);
	put(&rows->stacks, locations, count * sizeof(*locations));
}

#define PUT_STACK(rows, id, ...) put_stack((rows), (id), (const uint64_t[]){ __VA_ARGS__, 0 })

static inline void put_location(struct fleet_rows *rows, uint64_t id, const char *build_id,
	uint64_t vaddr, const char *kind, const char *path)
{
	put_u64(&rows->locations, id);
	put_text(&rows->locations, build_id);
	put_u64(&rows->locations, vaddr);
	put_text(&rows->locations, kind);
	put_text(&rows->locations, path);
}

/* `functions` are innermost first and end with NULL. */
static inline void put_names(
	struct fleet_rows *rows, const char *build_id, uint64_t vaddr, const char *const *functions)
{
	size_t count = 0;

	while (functions[count])
		count++;
	put_text(&rows->names, build_id);
	put_u64(&rows->names, vaddr);
	put_length(&rows->names, count);
	for (size_t i = 0; i < count; i++)
		put_text(&rows->names, functions[i]);
	put_length(&rows->names, count);
	for (size_t i = 0; i < count; i++)
		put_text(&rows->names, "main.c");
	put_length(&rows->names, count);
	for (uint32_t i = 0; i < count; i++)
		put(&rows->names, &i, sizeof(i));
}

#define PUT_NAMES(rows, build_id, vaddr, ...) \
	put_names((rows), (build_id), (vaddr), (const char *const[]){ __VA_ARGS__, NULL })

#define FLEET_BUILD_ID "00112233445566778899aabbccddeeff00112233"

/* Two services, code with and without a name, generated code of a hostile name, a loss. */
static inline void fleet_put_all(struct fleet_rows *rows)
{
	put_sample(rows, 71, "web", 10000000, 1, 40);
	put_sample(rows, 72, "web", 10000000, 1, 2);
	put_sample(rows, 72, "job", 10000000, 1, 5);
	put_sample(rows, 73, "", 10000000, 1, 3);
	PUT_STACK(rows, 71, 12, 11);
	PUT_STACK(rows, 72, 13, 12, 11);
	PUT_STACK(rows, 73, 14);
	put_location(rows, 11, FLEET_BUILD_ID, 0x1000, "executable", "/usr/bin/web");
	put_location(rows, 12, FLEET_BUILD_ID, 0x2000, "executable", "/usr/bin/web");
	put_location(rows, 13, "jit", 77, "jit", "");
	put_location(rows, 14, "synthetic", 99, "synthetic", "");
	PUT_NAMES(rows, FLEET_BUILD_ID, 0x1000, "inner", "main");
	PUT_NAMES(rows, "jit", 77, "\x1b[31mlambda");
	PUT_NAMES(rows, "synthetic", 99, "[lost: ring full]");
	/* Other code at the same address. */
	PUT_NAMES(rows, "kernel", 0x2000, "wrong");
}
