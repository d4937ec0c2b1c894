/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that write to one jitdump file: after a fork there are several. Their ids count
 * from 0 in the order of arrival. All writers from the 256th on share the last id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JITDUMP_WRITERS_MAX = 256 };

struct jitdump_writers {
	struct jitdump_writer {
		uint32_t pid; /* in its own namespace */
		uint64_t last_record_ns;
	} * writers;
	size_t capacity;
	uint32_t count;
	uint32_t last; /* the latest writer, who most likely writes the next record, too */
};

/* All zeros is an empty one. */
void jitdump_writers_done(struct jitdump_writers *writers);

/* The id of `pid`, which is a new one if it has none. Returns 0 or -ENOMEM. */
int jitdump_writers_get(struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer);

/* The id of `pid`; false: it has none. */
bool jitdump_writers_find(
	const struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer);

/* Notes the time of a record of `writer`. */
void jitdump_writers_note(struct jitdump_writers *writers, uint32_t writer, uint64_t time_ns);
