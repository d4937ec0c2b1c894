/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cpu_list.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>

static int parse_number(const char **text, uint32_t *ret_number)
{
	uint32_t number = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	while (isdigit((unsigned char)**text)) {
		number = number * 10 + (uint32_t)(*(*text)++ - '0');
		if (number >= CPU_LIST_MAX)
			return -E2BIG;
	}
	*ret_number = number;
	return 0;
}

int cpu_list_parse(const char *text, uint32_t **ret_cpus)
{
	_cleanup_free_ uint32_t *cpus = NULL;
	size_t count = 0, capacity = 0;
	uint32_t first, last;
	int r;

	do {
		r = parse_number(&text, &first);
		if (r < 0)
			return r;
		last = first;
		if (*text == '-') {
			text++;
			r = parse_number(&text, &last);
			if (r < 0)
				return r;
		}
		if (last < first || (count > 0 && cpus[count - 1] >= first))
			return -EINVAL;
		for (; first <= last; first++) {
			r = ARRAY_RESERVE(cpus, &capacity, count + 1, CPU_LIST_MAX);
			if (r < 0)
				return r;
			cpus[count++] = first;
		}
	} while (*text++ == ',');
	if (text[-1] != '\n' && text[-1] != '\0')
		return -EINVAL;
	*ret_cpus = TAKE_PTR(cpus);
	return (int)count;
}

int cpu_list_read_online(uint32_t **ret_cpus)
{
	_cleanup_close_ int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return cpu_list_parse(text, ret_cpus);
}
