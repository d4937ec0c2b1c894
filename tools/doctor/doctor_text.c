/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int doctor_text_capabilities(const char *status, uint64_t *ret_capabilities)
{
	static const char key[] = "CapEff:";
	unsigned long long value;
	const char *line = status;
	char *end;

	while (strncmp(line, key, sizeof(key) - 1) != 0) {
		line = strchr(line, '\n');
		if (!line)
			return -EINVAL;
		line++;
	}
	line += sizeof(key) - 1;
	line += strspn(line, "\t ");
	if (!strchr("0123456789abcdef", *line) || !*line)
		return -EINVAL;
	errno = 0;
	value = strtoull(line, &end, 16);
	if (errno || (*end && *end != '\n'))
		return -EINVAL;
	*ret_capabilities = value;
	return 0;
}

/* strtoul() without its spaces and signs. */
static int parse_number(const char **text, uint32_t *ret_value)
{
	unsigned long value;
	char *end;

	if (!is_digit(**text))
		return -EINVAL;
	errno = 0;
	value = strtoul(*text, &end, 10);
	if (errno || value > UINT32_MAX)
		return -EINVAL;
	*text = end;
	*ret_value = (uint32_t)value;
	return 0;
}

int doctor_text_version(const char *release, unsigned *ret_major, unsigned *ret_minor)
{
	uint32_t major, minor;

	if (parse_number(&release, &major) < 0 || *release++ != '.' ||
		parse_number(&release, &minor) < 0)
		return -EINVAL;
	*ret_major = major;
	*ret_minor = minor;
	return 0;
}

int doctor_text_integer(const char *text, long *ret_value)
{
	long value;
	char *end;

	if (!is_digit(*text) && !(*text == '-' && is_digit(text[1])))
		return -EINVAL;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int doctor_text_cpu_list(const char *list, uint32_t *ret_first, uint32_t *ret_count)
{
	uint64_t count = 0;
	uint32_t lowest = UINT32_MAX;

	for (;;) {
		uint32_t from, to;

		if (parse_number(&list, &from) < 0)
			return -EINVAL;
		to = from;
		if (*list == '-') {
			list++;
			if (parse_number(&list, &to) < 0 || to < from)
				return -EINVAL;
		}
		count += (uint64_t)to - from + 1;
		if (count > UINT32_MAX)
			return -EINVAL;
		if (from < lowest)
			lowest = from;
		if (*list != ',')
			break;
		list++;
	}
	if (*list)
		return -EINVAL;
	*ret_first = lowest;
	*ret_count = (uint32_t)count;
	return 0;
}
