/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/folded_line.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

int folded_line_parse(const char *line, size_t size, struct folded_line *ret_line)
{
	const char *space = memrchr(line, ' ', size);
	uint64_t count = 0;

	if (!space || space == line || space + 1 == line + size)
		return -EINVAL;
	for (const char *digit = space + 1; digit < line + size; digit++) {
		if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(count, 10, &count) ||
			__builtin_add_overflow(count, (uint64_t)(*digit - '0'), &count))
			return -EINVAL;
	}
	if (count == 0)
		return -EINVAL;
	*ret_line = (struct folded_line){
		.rest = line,
		.rest_size = (size_t)(space - line),
		.count = count,
	};
	return 0;
}

bool folded_line_next(struct folded_line *line, const char **ret_frame, size_t *ret_size)
{
	const char *end;

	if (line->is_done)
		return false;
	end = memchr(line->rest, ';', line->rest_size);
	*ret_frame = line->rest;
	if (!end) {
		*ret_size = line->rest_size;
		line->is_done = true;
		return true;
	}
	*ret_size = (size_t)(end - line->rest);
	line->rest += *ret_size + 1;
	line->rest_size -= *ret_size + 1;
	return true;
}

enum folded_kind folded_frame_kind(const char *frame, size_t size, size_t *ret_size)
{
	static const struct {
		char text[5];
		enum folded_kind kind;
	} suffixes[] = {
		{ "_[k]", FOLDED_KERNEL },
		{ "_[j]", FOLDED_JIT },
		{ "_[i]", FOLDED_INLINED },
		{ "_[p]", FOLDED_PYTHON },
		{ "_[v]", FOLDED_JAVASCRIPT },
		{ "_[r]", FOLDED_RUBY },
		{ "_[h]", FOLDED_PHP },
		{ "_[e]", FOLDED_PERL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && size > 4; i++)
		if (memcmp(frame + size - 4, suffixes[i].text, 4) == 0) {
			*ret_size = size - 4;
			return suffixes[i].kind;
		}
	*ret_size = size;
	return size == 0 || frame[0] == '[' ? FOLDED_NAMELESS : FOLDED_PROGRAM;
}

bool folded_frame_is_loss(const char *frame, size_t size)
{
	static const char beginning[] = "[lost: ";

	return size > sizeof(beginning) - 1 && memcmp(frame, beginning, sizeof(beginning) - 1) == 0;
}
