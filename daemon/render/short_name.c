/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char anonymous[] = "(anonymous namespace)", operator[] = "operator";

/* Is a bracket behind it the operator's name: "operator()", "operator<", "operator<<"? */
static bool ends_in_operator(const char *name, size_t size, char bracket)
{
	const size_t length = sizeof(operator) - 1;

	if (bracket == '<' && size > 0 && name[size - 1] == '<')
		size--;
	return size >= length && memcmp(name + size - length, operator, length) == 0;
}

/* The bracket that closes the one at `open`; NULL: none does. */
static const char *closing(const char *open)
{
	const char opens = *open, closes = opens == '<' ? '>' : ')';
	size_t depth = 0;

	for (; *open; open++) {
		/* The arrow of "auto f() -> int" closes nothing. */
		if (*open == opens)
			depth++;
		else if (*open == closes && open[-1] != '-' && --depth == 0)
			return open;
	}
	return NULL;
}

/* Is the bracket one of arguments, and not of an operator's name or of Rust's "<T as Trait>"? */
static bool begins_arguments(const char *name, size_t size, const char *bracket)
{
	if (size == 0 || ends_in_operator(name, size, *bracket))
		return false;
	if (*bracket == '(')
		return strncmp(bracket, anonymous, sizeof(anonymous) - 1) != 0;
	return isalnum((unsigned char)name[size - 1]) || strchr("_:", name[size - 1]);
}

size_t short_name(char *name)
{
	const char *from = name;
	size_t size = 0;

	if (name[0] == '[')
		return strlen(name);
	while (*from) {
		const char *end = NULL;

		if ((*from == '<' || *from == '(') && begins_arguments(name, size, from))
			end = closing(from);
		/* Behind parameters only a scope or a lambda's number goes on; not " const". */
		if (end && *from == '(' && strncmp(end + 1, "::", 2) != 0 && end[1] != '#')
			break;
		if (end) {
			from = end + 1;
			continue;
		}
		name[size++] = *from++;
	}
	name[size] = '\0';
	return size;
}
