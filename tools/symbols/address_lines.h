/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines as they arrive, of a pipe, a terminal or a file, in one buffer (I4): whoever answers them
 * can see when the next one would have to be waited for, and answer what there is before. A value
 * object; the descriptor is borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADDRESS_LINES_BUFFER_BYTES = 64 * 1024,
	ADDRESS_LINE_BYTES_MAX = 4096, /* of a longer one the rest is passed over */
};

struct address_lines {
	int fd;
	size_t start, end; /* what is read and not yet returned */
	uint64_t count;	   /* lines returned */
	bool is_skipping;  /* in the rest of a line that is too long */
	bool is_at_end;
	char buffer[ADDRESS_LINES_BUFFER_BYTES];
};

void address_lines_init(struct address_lines *lines, int fd);

/*
 * Returns 1 and a line without its newline, borrowed until a call that reads; 0 at the end; or what
 * read() failed with, as -errno. A last line needs no newline.
 */
int address_lines_next(struct address_lines *lines, const char **ret_line, size_t *ret_size);

/* Will address_lines_next() return one without reading? */
bool address_lines_has_next(const struct address_lines *lines);
