/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/uprobe_event.h"

#include "base/cleanup.h"
#include "capture/perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>

#define TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

enum {
	/* The formats of config, /sys/bus/event_source/devices/uprobe/format/: */
	IS_RETURN = 1 << 0,
	SEMAPHORE_SHIFT = 32,
};

int uprobe_event_type(void)
{
	_cleanup_fclose_ FILE *file = fopen(TYPE_PATH, "re");
	unsigned type;

	return file && fscanf(file, "%u", &type) == 1 && type <= INT32_MAX ? (int)type : -ENOENT;
}

int uprobe_event_open(const struct uprobe_place *place, int *ret_fd)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = (place->is_return ? IS_RETURN : 0) | place->semaphore_offset
								       << SEMAPHORE_SHIFT,
		.uprobe_path = (uintptr_t)place->path,
		.probe_offset = place->offset,
	};
	int type = uprobe_event_type(), fd;

	if (type < 0)
		return type;
	if (place->semaphore_offset > UINT32_MAX)
		return -EINVAL;
	attr.type = (uint32_t)type;
	/* The CPU means nothing: it is hit on each. */
	fd = perf_event_open_cpu(&attr, 0);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}
