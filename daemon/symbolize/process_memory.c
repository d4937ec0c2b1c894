/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/process_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_BYTES = 8192 };

int process_memory_open(void)
{
	return open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

uint64_t process_memory_parse(const char *status, const char *field)
{
	size_t length = strlen(field);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, length) == 0 && line[length] == ':')
			return strtoull(line + length + 1, NULL, 10) * 1024;
	}
	return 0;
}

uint64_t process_memory_peak_anonymous(int status_fd)
{
	char status[STATUS_BYTES];
	uint64_t peak, backed, anonymous;
	ssize_t size = pread(status_fd, status, sizeof(status) - 1, 0);

	if (size < 0)
		return 0;
	status[size] = '\0';
	peak = process_memory_parse(status, "VmHWM");
	backed = process_memory_parse(status, "RssFile") + process_memory_parse(status, "RssShmem");
	anonymous = process_memory_parse(status, "RssAnon");
	return peak > backed && peak - backed > anonymous ? peak - backed : anonymous;
}
