/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_writers.h"

#include "base/array.h"

#include <stdlib.h>

/* The id of all writers that came too late for their own. */
enum { SHARED = JITDUMP_WRITERS_MAX - 1 };

void jitdump_writers_done(struct jitdump_writers *writers)
{
	free(writers->writers);
	*writers = (struct jitdump_writers){ 0 };
}

bool jitdump_writers_find(const struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer)
{
	const uint32_t own = writers->count < SHARED ? writers->count : SHARED;

	for (uint32_t i = 0; i < own; i++)
		if (writers->writers[i].pid == pid) {
			*ret_writer = i;
			return true;
		}
	if (writers->count <= SHARED)
		return false;
	*ret_writer = SHARED;
	return true;
}

int jitdump_writers_get(struct jitdump_writers *writers, uint32_t pid, uint32_t *ret_writer)
{
	int r;

	if (writers->last < writers->count && writers->last < SHARED &&
		writers->writers[writers->last].pid == pid) {
		*ret_writer = writers->last;
		return 0;
	}
	if (!jitdump_writers_find(writers, pid, ret_writer)) {
		r = ARRAY_RESERVE(writers->writers, &writers->capacity, writers->count + 1,
			(size_t)JITDUMP_WRITERS_MAX);
		if (r < 0)
			return r;
		*ret_writer = writers->count++;
		writers->writers[*ret_writer] =
			(struct jitdump_writer){ .pid = *ret_writer == SHARED ? 0 : pid };
	}
	writers->last = *ret_writer;
	return 0;
}

void jitdump_writers_note(struct jitdump_writers *writers, uint32_t writer, uint64_t time_ns)
{
	if (time_ns > writers->writers[writer].last_record_ns)
		writers->writers[writer].last_record_ns = time_ns;
}
