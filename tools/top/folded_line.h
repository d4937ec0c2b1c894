/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser for lines of folded stacks (render/folded.h): `comm;frame;…;frame COUNT`, root first.
 * The text is hostile (I8). Nothing is copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folded_line {
	const char *rest; /* the frames that folded_line_next() has not returned yet; borrowed */
	size_t rest_size;
	bool is_done;
	uint64_t count; /* at least 1 */
};

/* Parses a line without its newline. Returns 0 or -EINVAL. */
int folded_line_parse(const char *line, size_t size, struct folded_line *ret_line);

/* Returns the next frame, which may be empty, from the root on. False: there are no more. */
bool folded_line_next(struct folded_line *line, const char **ret_frame, size_t *ret_size);

enum folded_kind {
	FOLDED_PROGRAM,
	FOLDED_KERNEL,
	FOLDED_JIT,
	FOLDED_INLINED,
	FOLDED_PYTHON,
	FOLDED_JAVASCRIPT,
	FOLDED_RUBY,
	FOLDED_PHP,
	FOLDED_PERL,
	FOLDED_NAMELESS, /* "[libc.so.6+0x1234]", "[unknown]", "[truncated: …]" */
};

/* The kind of a frame, by its suffix, and the size of the frame without the suffix. */
enum folded_kind folded_frame_kind(const char *frame, size_t size, size_t *ret_size);

/* Is a comm really a reason for lost samples, such as "[lost: ring full]"? */
bool folded_frame_is_loss(const char *frame, size_t size);
