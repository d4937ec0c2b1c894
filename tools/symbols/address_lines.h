/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads lines from a pipe, a terminal or a file, in one buffer (I4). The caller can ask whether the
 * next line would have to be waited for, and answer the earlier lines before. A value object; the
 * descriptor is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADDRESS_LINES_BUFFER_BYTES = 64 * 1024,
	ADDRESS_LINE_BYTES_MAX = 4096, /* the rest of a longer line is skipped */
};

struct address_lines {
	int fd;
	size_t start, end; /* read but not returned yet */
	uint64_t count;	   /* lines returned */
	bool is_skipping;  /* skipping the rest of a long line */
	bool is_at_end;
	char buffer[ADDRESS_LINES_BUFFER_BYTES];
};

void address_lines_init(struct address_lines *lines, int fd);

/*
 * Returns 1 and a line without its newline, borrowed until the next call that reads; 0 at the end;
 * or -errno of read(). The last line needs no newline.
 */
int address_lines_next(struct address_lines *lines, const char **ret_line, size_t *ret_size);

/* Will address_lines_next() return a line without reading? */
bool address_lines_has_next(const struct address_lines *lines);
