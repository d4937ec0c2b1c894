/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps_line.h"

#include "base/hex.h"

#include <errno.h>
#include <string.h>

/* The unparsed rest of the line. */
struct rest {
	const char *at, *end;
};

/* Parses a number in base 10 or 16, at most `limit`, and consumes the `delimiter` after it. */
static bool take_number(
	struct rest *rest, unsigned int base, uint64_t limit, char delimiter, uint64_t *ret_number)
{
	const char *first = rest->at;
	uint64_t number = 0;

	for (; rest->at < rest->end; rest->at++) {
		int digit = hex_digit(*rest->at);

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		if (__builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	}
	if (rest->at == first || number > limit || rest->at == rest->end || *rest->at != delimiter)
		return false;
	rest->at++;
	*ret_number = number;
	return true;
}

/* Parses "r-xp ": one character of each pair. */
static bool take_permissions(struct rest *rest, bool *ret_is_executable)
{
	static const char allowed[] = "r-w-x-ps";
	const char *at = rest->at;

	if (rest->end - at < 5 || at[4] != ' ')
		return false;
	for (size_t i = 0; i < 4; i++)
		if (at[i] != allowed[2 * i] && at[i] != allowed[2 * i + 1])
			return false;
	*ret_is_executable = at[2] == 'x';
	rest->at += 5;
	return true;
}

int maps_line_parse(const char *line, size_t size, struct maps_line *ret_line)
{
	struct rest rest = { .at = line, .end = line + size };
	struct maps_line parsed = { 0 };
	uint64_t major, minor;

	if (!take_number(&rest, 16, UINT64_MAX, '-', &parsed.start) ||
		!take_number(&rest, 16, UINT64_MAX, ' ', &parsed.end) ||
		parsed.start >= parsed.end || !take_permissions(&rest, &parsed.is_executable) ||
		!take_number(&rest, 16, UINT64_MAX, ' ', &parsed.offset) ||
		!take_number(&rest, 16, UINT32_MAX, ':', &major) ||
		!take_number(&rest, 16, UINT32_MAX, ' ', &minor) ||
		!take_number(&rest, 10, UINT64_MAX, ' ', &parsed.inode))
		return -EINVAL;
	while (rest.at < rest.end && *rest.at == ' ')
		rest.at++;
	parsed.device_major = (uint32_t)major;
	parsed.device_minor = (uint32_t)minor;
	parsed.path = rest.at;
	parsed.path_size = (size_t)(rest.end - rest.at);
	if (memchr(parsed.path, '\0', parsed.path_size))
		return -EINVAL;
	parsed.is_deleted = maps_line_strip_deleted(parsed.path, &parsed.path_size);
	*ret_line = parsed;
	return 0;
}

int maps_line_path(const struct maps_line *line, char *path, size_t room)
{
	static const char newline[] = "\\012";
	size_t size = 0;

	for (size_t i = 0; i < line->path_size; i++) {
		bool is_newline = line->path_size - i >= strlen(newline) &&
				  memcmp(line->path + i, newline, strlen(newline)) == 0;

		if (size + 1 >= room)
			return -ENAMETOOLONG;
		path[size++] = is_newline ? '\n' : line->path[i];
		if (is_newline)
			i += strlen(newline) - 1;
	}
	if (room == 0)
		return -ENAMETOOLONG;
	path[size] = '\0';
	return 0;
}

bool maps_line_strip_deleted(const char *path, size_t *size)
{
	static const char suffix[] = " (deleted)";
	size_t suffix_size = strlen(suffix);

	/* A name that consists of the suffix alone is a name. */
	if (*size <= suffix_size || memcmp(path + *size - suffix_size, suffix, suffix_size) != 0)
		return false;
	*size -= suffix_size;
	return true;
}
