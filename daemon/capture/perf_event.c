/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/perf_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_event_open_cpu(const struct perf_event_attr *attr, uint32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool perf_event_advance(int fd, uint64_t *enabled_ns)
{
	struct {
		uint64_t value, enabled_ns;
	} reading;

	if (read(fd, &reading, sizeof(reading)) != sizeof(reading) ||
		reading.enabled_ns <= *enabled_ns)
		return false;
	*enabled_ns = reading.enabled_ns;
	return true;
}
