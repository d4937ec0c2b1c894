/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffered output to a file descriptor, memory or another function. The first error is kept and
 * returned by output_finish(), and later writes are ignored, so that renderers need no error checks
 * in between.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OUTPUT_BUFFER_BYTES = 64 * 1024 };

/* Writes all `size` bytes and returns 0, or returns -errno. */
typedef int (*output_function)(void *context, const void *bytes, size_t size);

struct output {
	output_function write;
	void *context;
	uint64_t written_bytes;
	size_t used;
	int error;
	char buffer[OUTPUT_BUFFER_BYTES];
};

void output_init(struct output *output, output_function write, void *context);

/* Borrows `fd`, which output_finish() neither syncs nor closes. */
void output_init_fd(struct output *output, int fd);

void output_write(struct output *output, const void *bytes, size_t size);
void output_string(struct output *output, const char *string);
void output_char(struct output *output, char c);
void output_u64(struct output *output, uint64_t value);
void output_printf(struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Flushes. Returns 0 or the first error, as -errno. */
int output_finish(struct output *output);

/* Memory that grows up to `limit_bytes` (-E2BIG): the context of output_to_memory. */
struct output_memory {
	char *bytes; /* owned by the declaring function; free() */
	size_t size, capacity, limit_bytes;
};
int output_to_memory(void *output_memory, const void *bytes, size_t size);
