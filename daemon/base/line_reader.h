/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file line by line, once, through a buffer of fixed size (I4), for /proc files, whose size
 * is unknown. Lines longer than the buffer are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct line_reader {
	int fd; /* borrowed */
	char *buffer;
	size_t capacity;
	size_t start, end;	/* what is read and not yet returned */
	size_t remaining_bytes; /* that may still be read */
	bool is_skipping;	/* inside a line that is too long */
	bool is_at_end;
};

/* At most `limit_bytes` are read. Returns 0 or -ENOMEM. */
int line_reader_init(struct line_reader *reader, int fd, size_t line_bytes_max, size_t limit_bytes);
void line_reader_done(struct line_reader *reader);

/*
 * Returns 1 and a line without its newline, borrowed until the next call; 0 at the end; -E2BIG if
 * the file is longer than the limit; or -errno of read().
 */
int line_reader_next(struct line_reader *reader, const char **ret_line, size_t *ret_size);
