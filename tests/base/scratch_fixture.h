/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scratch without anonymous memory, on a file in memory. */
#pragma once

#include "base/cleanup.h"
#include "base/scratch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

struct scratch_fixture {
	struct scratch scratch;
	int fd;
};

/* Returns false on failure. */
static inline bool scratch_fixture_init(struct scratch_fixture *fixture, uint64_t limit_bytes)
{
	fixture->fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&fixture->scratch, fixture->fd, limit_bytes, 0);
	return fixture->fd >= 0;
}

static inline void scratch_fixture_done(struct scratch_fixture *fixture)
{
	closep(&fixture->fd);
}
