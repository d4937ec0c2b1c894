/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "labels/process_cgroups.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_path(const char *path)
{
	assert(strlen(path) < PATH_MAX && (!path[0] || path[0] == '/') && !strchr(path, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("cgroup", MFD_CLOEXEC);
	struct process_cgroups cgroups;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		return 0;
	if (process_cgroups_read(fd, &cgroups) < 0)
		return 0;
	check_path(cgroups.unified);
	check_path(cgroups.systemd);
	check_path(cgroups.other);
	check_path(process_cgroups_path(&cgroups));
	assert(cgroups.has_v1 || !cgroups.has_perf_event_v1);
	return 0;
}
