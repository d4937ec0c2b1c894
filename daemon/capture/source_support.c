/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/source_support.h"

#include "capture/block_programs.h"
#include "capture/count_events.h"
#include "capture/kmem_programs.h"
#include "capture/lock_programs.h"
#include "capture/scheduler_programs.h"
#include "capture/uprobe_tree.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What it lacks, of a kernel. */
static void say(char ret_missing[PILOTLIGHT_MISSING_BYTES], const char *missing)
{
	(void)snprintf(ret_missing, PILOTLIGHT_MISSING_BYTES, "%s%.*s",
		*missing ? "the kernel lacks " : "", PILOTLIGHT_MISSING_BYTES - 20, missing);
}

static int read_heaps(char ret_missing[PILOTLIGHT_MISSING_BYTES])
{
	/* Root alone may look. */
	(void)snprintf(ret_missing, PILOTLIGHT_MISSING_BYTES, "%s", uprobe_tree_missing());
	return *ret_missing && geteuid() != 0 ? -EACCES : 0;
}

int source_support_read(enum pilotlight_source source, bool is_surveyed,
	const struct pilotlight_counted_event *event, struct perf_event_opener *opener,
	char ret_missing[PILOTLIGHT_MISSING_BYTES])
{
	struct scheduler_support scheduler;
	struct lock_support lock;
	struct block_support block;
	char kmem[KMEM_MISSING_BYTES];

	*ret_missing = '\0';
	switch (source) {
	case PILOTLIGHT_SOURCE_OFFCPU:
	case PILOTLIGHT_SOURCE_RUNQUEUE:
		scheduler_support_read(&scheduler);
		say(ret_missing, is_surveyed ? scheduler.missing_for_surveys : scheduler.missing);
		return 0;
	case PILOTLIGHT_SOURCE_LOCK:
		lock_support_read(&lock);
		say(ret_missing, lock.missing);
		return 0;
	case PILOTLIGHT_SOURCE_BLOCK:
	case PILOTLIGHT_SOURCE_BLOCK_BYTES:
		block_support_read(&block);
		say(ret_missing, block.missing);
		return 0;
	case PILOTLIGHT_SOURCE_KMEM_ALLOC:
	case PILOTLIGHT_SOURCE_KMEM_LIVE:
	case PILOTLIGHT_SOURCE_KMEM_WASTE:
		kmem_support_read(kmem);
		say(ret_missing, kmem);
		return 0;
	case PILOTLIGHT_SOURCE_HEAP_ALLOC:
	case PILOTLIGHT_SOURCE_HEAP_LIVE:
		return read_heaps(ret_missing);
	case PILOTLIGHT_SOURCE_CPU:
		return 0;
	default:
		return count_events_find_missing(event, opener, ret_missing);
	}
}
