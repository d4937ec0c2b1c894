/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/function_pattern.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { FLAGS = REG_EXTENDED | REG_NOSUB };

/* Where a back-reference is, as GNU's extension to extended expressions has them; NULL: nowhere. */
static const char *find_reference(const char *text)
{
	for (; *text; text++)
		if (*text == '\\') {
			if (isdigit((unsigned char)text[1]))
				return text;
			text += text[1] != '\0';
		}
	return NULL;
}

/* regcomp() does not tell where a mistake is: it comes after the longest beginning without one. */
static size_t position(const char *text)
{
	char beginning[FUNCTION_PATTERN_BYTES_MAX + 1];
	size_t size = strlen(text);
	regex_t pattern;

	memcpy(beginning, text, size + 1);
	while (size > 0) {
		beginning[--size] = '\0';
		if (regcomp(&pattern, beginning, FLAGS) != 0)
			continue;
		regfree(&pattern);
		break;
	}
	return size + 1;
}

static int refuse(const char *text, int error, const regex_t *pattern, struct fault *fault)
{
	char reason[80];

	(void)regerror(error, pattern, reason, sizeof(reason));
	return fault_set(fault, -EINVAL, "at character %zu: %s", position(text), reason);
}

int function_pattern_compile(const char *text, regex_t *ret_pattern, struct fault *fault)
{
	const char *reference = find_reference(text);
	regex_t pattern;
	int error;

	if (!*text || strlen(text) > FUNCTION_PATTERN_BYTES_MAX)
		return fault_set(
			fault, -EINVAL, "a pattern has 1 to %d bytes", FUNCTION_PATTERN_BYTES_MAX);
	if (reference)
		return fault_set(fault, -EINVAL,
			"at character %zu: back-references are not supported",
			(size_t)(reference - text) + 1);
	error = regcomp(&pattern, text, FLAGS);
	if (error == REG_ESPACE)
		return -ENOMEM;
	if (error != 0)
		return refuse(text, error, &pattern, fault);
	*ret_pattern = pattern;
	return 0;
}

bool function_pattern_matches(const regex_t *pattern, const char *name)
{
	return regexec(pattern, name, 0, NULL, 0) == 0;
}
