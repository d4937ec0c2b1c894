/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scratch file for a test, of as many bytes as the test wants. */
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

/* Returns whether there is one. */
static inline bool scratch_fixture_init(struct scratch_fixture *fixture, uint64_t limit_bytes)
{
	fixture->fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&fixture->scratch, fixture->fd, limit_bytes);
	return fixture->fd >= 0;
}

static inline void scratch_fixture_done(struct scratch_fixture *fixture)
{
	closep(&fixture->fd);
}
