/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor_check.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
	va_list arguments;

	finding->state = state;
	va_start(arguments, format);
	(void)vsnprintf(finding->found, sizeof(finding->found), format, arguments);
	va_end(arguments);
}

bool doctor_has_capability(const struct doctor_host *host, int capability)
{
	return host->capabilities & (UINT64_C(1) << capability);
}

enum doctor_state doctor_refusal(const struct doctor_host *host)
{
	bool has_all =
		doctor_has_capability(host, CAP_SYS_ADMIN) ||
		(doctor_has_capability(host, CAP_BPF) && doctor_has_capability(host, CAP_PERFMON));

	return has_all ? DOCTOR_MISSING : DOCTOR_UNKNOWN;
}

bool doctor_is_since(const struct doctor_host *host, unsigned major, unsigned minor)
{
	return host->major > major || (host->major == major && host->minor >= minor);
}

int doctor_read_file(const char *path, char *ret_text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = 0;

	if (fd < 0)
		return -errno;
	while (length < size - 1) {
		ssize_t n = read(fd, ret_text + length, size - 1 - length);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	if (length && ret_text[length - 1] == '\n')
		length--;
	ret_text[length] = '\0';
	return 0;
}
