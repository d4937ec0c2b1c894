/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that write to one dump, in the order of their coming: after a fork there are more
 * than one. Bounded at JITDUMP_WRITERS_MAX ids, the last of which all later ones share.
 */
#pragma once

#include "jit/jitdump_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump_writers {
	struct jitdump_writer {
		uint32_t pid; /* in its own namespace */
		uint64_t told_ns;
	} * writers;
	size_t capacity;
	uint32_t count;
	uint32_t last; /* the one that wrote last writes most */
};

/* All zeros is an empty one. */
void jitdump_writers_done(struct jitdump_writers *writers);

/* The id of `pid`, a new one if need be. Returns 0 or -ENOMEM. */
int jitdump_writers_get(struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer);

/* The id of `pid`; false: it has none. */
bool jitdump_writers_find(
	const struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer);

/* `writer` has told of a time. */
void jitdump_writers_note(struct jitdump_writers *writers, uint32_t writer, uint64_t time_ns);
