/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/perf_map_reader.h"

#include "base/hex.h"

#include <errno.h>
#include <string.h>

struct text {
	const char *at, *end;
};

/* Returns whether there were any. */
static bool skip_blanks(struct text *text)
{
	const char *start = text->at;

	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
	return text->at > start;
}

static int parse_hex(struct text *text, uint64_t *ret_number, bool *ret_has_prefix)
{
	bool has_prefix = text->end - text->at >= 2 && text->at[0] == '0' &&
			  (text->at[1] == 'x' || text->at[1] == 'X');
	uint64_t number = 0;
	const char *first;
	int digit;

	text->at += has_prefix ? 2 : 0;
	first = text->at;
	for (; text->at < text->end && (digit = hex_digit_of_any_case(*text->at)) >= 0;
		text->at++) {
		if (number >> 60)
			return -EBADMSG;
		number = number << 4 | (unsigned)digit;
	}
	if (text->at == first)
		return -EBADMSG;
	*ret_number = number;
	*ret_has_prefix = has_prefix;
	return 0;
}

int perf_map_line_parse(const char *line, size_t size, struct perf_map_line *ret_line)
{
	struct text text = { .at = line, .end = line + size };
	bool has_prefix, size_has_prefix;
	struct perf_map_line parsed;
	uint64_t end;

	(void)skip_blanks(&text);
	if (parse_hex(&text, &parsed.address, &has_prefix) < 0 || !skip_blanks(&text) ||
		parse_hex(&text, &parsed.size, &size_has_prefix) < 0 || !skip_blanks(&text))
		return -EBADMSG;
	if (parsed.size == 0 || __builtin_add_overflow(parsed.address, parsed.size, &end))
		return -EBADMSG;
	if (text.at < text.end && text.end[-1] == '\r')
		text.end--;
	if (text.at == text.end || memchr(text.at, '\0', (size_t)(text.end - text.at)))
		return -EBADMSG;
	/* Other runtimes have names that begin with '$', too, but another form of numbers. */
	parsed.is_erlang =
		has_prefix && !size_has_prefix && text.at[0] == '$' && text.end - text.at > 1;
	if (parsed.is_erlang)
		text.at++;
	parsed.name = text.at;
	parsed.name_size = (size_t)(text.end - text.at);
	*ret_line = parsed;
	return 0;
}
