/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How large the batches are that a receiver takes, and refuses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Batches in a row, each less than half as large as the receiver refuses. */
enum { BATCH_SIZE_GROW_AFTER = 8 };

struct batch_size {
	uint64_t refused_ns;	/* how long the last such batch is; 0: none was */
	uint64_t refused_bytes; /* the least that was refused; 0: none is known */
	unsigned small_batches; /* taken in a row */
	bool has_room;		/* batches may be twice as long */
};

void batch_size_note_taken(struct batch_size *size, uint64_t bytes);
void batch_size_note_refused(struct batch_size *size, uint64_t bytes, uint64_t duration_ns);
