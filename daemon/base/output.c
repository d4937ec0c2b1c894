/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_fd(void *context, const void *bytes, size_t size)
{
	int fd = (int)(intptr_t)context;
	const char *next = bytes;

	while (size > 0) {
		ssize_t n = write(fd, next, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		next += n;
		size -= (size_t)n;
	}
	return 0;
}

int output_to_memory(void *output_memory, const void *bytes, size_t size)
{
	struct output_memory *memory = output_memory;
	int r;

	r = ARRAY_RESERVE(
		memory->bytes, &memory->capacity, memory->size + size, memory->limit_bytes);
	if (r < 0)
		return r;
	memcpy(memory->bytes + memory->size, bytes, size);
	memory->size += size;
	return 0;
}

void output_init(struct output *output, output_function write, void *context)
{
	output->write = write;
	output->context = context;
	output->written_bytes = 0;
	output->used = 0;
	output->error = 0;
}

void output_init_fd(struct output *output, int fd)
{
	output_init(output, write_fd, (void *)(intptr_t)fd);
}

static void flush(struct output *output)
{
	if (output->error == 0 && output->used > 0)
		output->error = output->write(output->context, output->buffer, output->used);
	output->used = 0;
}

void output_write(struct output *output, const void *bytes, size_t size)
{
	output->written_bytes += size;
	if (size > sizeof(output->buffer) - output->used)
		flush(output);
	if (size > sizeof(output->buffer)) {
		if (output->error == 0)
			output->error = output->write(output->context, bytes, size);
		return;
	}
	memcpy(output->buffer + output->used, bytes, size);
	output->used += size;
}

void output_string(struct output *output, const char *string)
{
	output_write(output, string, strlen(string));
}

void output_char(struct output *output, char c)
{
	output_write(output, &c, 1);
}

void output_u64(struct output *output, uint64_t value)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	output_write(output, digits + first, sizeof(digits) - first);
}

void output_printf(struct output *output, const char *format, ...)
{
	char text[4096];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= sizeof(text)) {
		if (output->error == 0)
			output->error = -EOVERFLOW;
		return;
	}
	output_write(output, text, (size_t)n);
}

int output_finish(struct output *output)
{
	flush(output);
	return output->error;
}
