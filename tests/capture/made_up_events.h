/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel that opens perf events as a test says, in the place of the one that runs: it defines the
 * functions of capture/perf_event.h. Each event is a file of its own, whose position is its clock:
 * that goes on by 1 ms at every look.
 */
#pragma once

#include "capture/perf_event.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MADE_UP_CPUS = 4, MADE_UP_FILE_BYTES = 1 << 16 };

static struct {
	int error[MADE_UP_CPUS];	/* of every event on that CPU; 0: it opens */
	int cycles_error[MADE_UP_CPUS]; /* of its cycles alone */
	int precise_error;		/* of cycles that are precise */
	uint32_t cpu;			/* of the event that was last opened */
} kernel;

int perf_event_open_cpu(const struct perf_event_attr *attr, uint32_t cpu)
{
	int fd;

	assert_true(cpu < MADE_UP_CPUS);
	if (kernel.error[cpu])
		return kernel.error[cpu];
	if (attr->type == PERF_TYPE_HARDWARE && kernel.cycles_error[cpu])
		return kernel.cycles_error[cpu];
	if (attr->precise_ip && kernel.precise_error)
		return kernel.precise_error;
	fd = memfd_create("event", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, MADE_UP_FILE_BYTES), 0);
	kernel.cpu = cpu;
	return fd;
}

bool perf_event_advance(int fd, uint64_t *enabled_ns)
{
	off_t looks = lseek(fd, 1, SEEK_CUR);

	assert_true(looks > 0);
	*enabled_ns = (uint64_t)looks * 1000000;
	return true;
}
