/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of folded stacks, as render/folded.h documents them: `comm;frame;…;frame COUNT`, root
 * first. It may come from anybody (I8). Nothing is copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folded_line {
	const char *rest; /* the frames that are not taken yet; borrowed */
	size_t rest_size;
	bool is_done;
	uint64_t count; /* 1 at least */
};

/* `line` without its newline. Returns 0, or -EINVAL where it is none. */
int folded_line_parse(const char *line, size_t size, struct folded_line *ret_line);

/* Takes the next frame, which may be empty, from the root on. False: there is none left. */
bool folded_line_next(struct folded_line *line, const char **ret_frame, size_t *ret_size);

enum folded_kind {
	FOLDED_PROGRAM,
	FOLDED_KERNEL,
	FOLDED_JIT,
	FOLDED_INLINED,
	FOLDED_NAMELESS, /* "[libc.so.6+0x1234]", "[unknown]", "[truncated: …]" */
};

/* What a frame is, by its suffix; `ret_size` is that of the frame without it. */
enum folded_kind folded_frame_kind(const char *frame, size_t size, size_t *ret_size);

/* Does it stand for samples that were lost: "[lost: ring full]", in place of a comm? */
bool folded_frame_is_loss(const char *frame, size_t size);
