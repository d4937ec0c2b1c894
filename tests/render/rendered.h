/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rendered text in memory, and the golden files that it is held against. With UPDATE_GOLDEN set in
 * the environment the files are written instead.
 */
#pragma once

#include "base/cleanup.h"
#include "base/output.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct rendering {
	struct output output;
	struct output_memory memory;
};

static inline struct output *rendering_begin(struct rendering *rendering)
{
	rendering->memory = (struct output_memory){ .limit_bytes = 256 << 20 };
	output_init(&rendering->output, output_to_memory, &rendering->memory);
	return &rendering->output;
}

/* The text with a NUL; free(). */
static inline char *rendering_end(struct rendering *rendering)
{
	output_char(&rendering->output, '\0');
	assert_int_equal(output_finish(&rendering->output), 0);
	return rendering->memory.bytes;
}

/* A sink without memory of its own, for tests in which allocations fail. */
static inline int discard(void *context, const void *bytes, size_t size)
{
	return 0;
}

static inline int no_space(void *context, const void *bytes, size_t size)
{
	return -ENOSPC;
}

static inline void assert_golden(const char *text, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, getenv("UPDATE_GOLDEN") ? "w" : "r");
	_cleanup_free_ char *golden = calloc(1, 1 << 20);
	size_t size;

	assert_non_null(file);
	assert_non_null(golden);
	if (getenv("UPDATE_GOLDEN")) {
		assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
		return;
	}
	size = fread(golden, 1, (1 << 20) - 1, file);
	golden[size] = '\0';
	assert_string_equal(text, golden);
}
