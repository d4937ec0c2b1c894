/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/batch_size.h"

/* Twice the time is at most about twice the bytes: growing must not cost a batch. */
void batch_size_note_taken(struct batch_size *size, uint64_t bytes)
{
	/* It takes more than it did: it was mended. */
	if (bytes >= size->refused_bytes)
		size->refused_bytes = 0;
	if (size->refused_bytes > 0 && bytes > size->refused_bytes / 2) {
		size->small_batches = 0;
		return;
	}
	if (++size->small_batches < BATCH_SIZE_GROW_AFTER)
		return;
	size->small_batches = 0;
	size->has_room = true;
}

void batch_size_note_refused(struct batch_size *size, uint64_t bytes, uint64_t duration_ns)
{
	size->refused_ns = duration_ns;
	if (size->refused_bytes == 0 || bytes < size->refused_bytes)
		size->refused_bytes = bytes;
	size->small_batches = 0;
	size->has_room = false;
}
