/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/kallsyms_line.h"

#include "base/hex.h"

#include <errno.h>
#include <string.h>

enum {
	ADDRESS_DIGITS_MAX = 16,
	MODULES_FIELDS_BEFORE_ADDRESS = 5,
};

/* Returns the number of digits; 0 if there are none or too many. */
static size_t parse_address(const char *text, size_t size, uint64_t *ret_address)
{
	uint64_t address = 0;
	size_t i;

	for (i = 0; i < size && hex_digit(text[i]) >= 0; i++) {
		if (i == ADDRESS_DIGITS_MAX)
			return 0;
		address = address << 4 | (uint64_t)hex_digit(text[i]);
	}
	*ret_address = address;
	return i;
}

static int parse_name(const char *text, size_t size, struct kallsyms_line *line)
{
	const char *tab = memchr(text, '\t', size);
	const char *module = tab ? tab + 1 : text + size;
	size_t module_size = size - (size_t)(module - text);

	line->name = text;
	line->name_size = tab ? (size_t)(tab - text) : size;
	if (line->name_size == 0 || memchr(text, '\0', size) || memchr(text, ' ', line->name_size))
		return -EINVAL;
	if (!tab)
		return 0;
	if (module_size < 3 || module[0] != '[' || module[module_size - 1] != ']')
		return -EINVAL;
	line->module = module + 1;
	line->module_size = module_size - 2;
	return 0;
}

int kallsyms_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line)
{
	struct kallsyms_line parsed = { 0 };
	size_t digits = parse_address(line, size, &parsed.address);
	const char *rest = line + digits;
	int r;

	if (digits == 0 || size - digits < 4 || rest[0] != ' ' || rest[2] != ' ')
		return -EINVAL;
	parsed.type = rest[1];
	r = parse_name(rest + 3, size - digits - 3, &parsed);
	if (r == 0)
		*ret_line = parsed;
	return r;
}

int modules_line_parse(const char *line, size_t size, struct kallsyms_line *ret_line)
{
	struct kallsyms_line parsed = { .name = line };
	const char *at = line, *end = line + size;

	for (int field = 0; field < MODULES_FIELDS_BEFORE_ADDRESS; field++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return -EINVAL;
		if (field == 0)
			parsed.name_size = (size_t)(at - line);
		at++;
	}
	if (parsed.name_size == 0 || memchr(line, '\0', parsed.name_size) || end - at < 3 ||
		at[0] != '0' || at[1] != 'x' ||
		parse_address(at + 2, (size_t)(end - at - 2), &parsed.address) == 0)
		return -EINVAL;
	*ret_line = parsed;
	return 0;
}
