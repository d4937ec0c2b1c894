/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int jitdump_window_init(struct jitdump_window *window, int fd, size_t capacity)
{
	uint8_t *bytes = malloc(capacity);

	if (!bytes)
		return -ENOMEM;
	*window = (struct jitdump_window){ .fd = fd, .bytes = bytes, .capacity = capacity };
	return 0;
}

void jitdump_window_done(struct jitdump_window *window)
{
	free(window->bytes);
	*window = (struct jitdump_window){ .fd = -1 };
}

const uint8_t *jitdump_window_at(
	const struct jitdump_window *window, uint64_t offset, size_t *ret_size)
{
	if (offset < window->start || offset - window->start >= window->size) {
		*ret_size = 0;
		return window->bytes;
	}
	*ret_size = window->size - (size_t)(offset - window->start);
	return window->bytes + (offset - window->start);
}

ssize_t jitdump_window_pread(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;
	ssize_t r;

	while (done < size) {
		r = pread(fd, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));
		if (r == 0)
			break;
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

int jitdump_window_fill(struct jitdump_window *window, uint64_t offset, size_t size)
{
	size_t kept;
	ssize_t r;

	if (size > window->capacity)
		size = window->capacity;
	(void)jitdump_window_at(window, offset, &kept);
	if (kept > 0)
		memmove(window->bytes, window->bytes + (offset - window->start), kept);
	window->start = offset;
	window->size = kept;
	if (kept >= size)
		return 0;
	r = jitdump_window_pread(window->fd, window->bytes + kept, size - kept, offset + kept);
	if (r < 0) {
		window->size = 0;
		return (int)r;
	}
	window->size += (size_t)r;
	return 0;
}
