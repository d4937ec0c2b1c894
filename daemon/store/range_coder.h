/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes numbers in as few bits as they are probable, and reads them: a range coder, whose chances
 * of bits adapt to those before (G. N. N. Martin, "Range encoding", 1979; LZMA has the same
 * arithmetic). The same calls write and read, so that a format is described once: a writer is given
 * each value, a reader returns it and ignores what it is given.
 *
 * The bytes may come from a damaged file (I8): a reader never reads beyond them, and returns values
 * within their limits.
 */
#pragma once

#include "store/column_blob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How probable a bit is. All 0: both values are as probable. Packed, since a merge has many coders.
 */
struct coded_bit {
	int16_t lean; /* of 65536, above one half: the chance that it is set */
	uint8_t seen;
} __attribute__((packed));

struct range_coder {
	uint32_t range;
	bool is_reader;

	/* A writer's. */
	struct column_writer *to;
	unsigned int column;
	uint64_t low;
	uint8_t first;	/* of the pending bytes, to which a carry may be added; others are 0xff */
	size_t pending; /* bytes */

	/* A reader's. */
	const uint8_t *next, *end;
	uint32_t code;
	bool is_damaged;
};

/* Appends to a column, which keeps the first error. */
void range_coder_init_writer(
	struct range_coder *coder, struct column_writer *to, unsigned int column);
void range_coder_finish_writing(struct range_coder *coder);

/* Reads borrowed bytes. */
void range_coder_init_reader(struct range_coder *coder, const uint8_t *bytes, size_t size);
/* True if the reader has taken all bytes, and found none damaged. */
bool range_coder_is_whole(const struct range_coder *coder);

bool range_coder_bit(struct range_coder *coder, struct coded_bit *bit, bool value);
/* A value below the limit, each as probable. Below 1 or 0 there is only 0, which takes no space. */
uint64_t range_coder_below(struct range_coder *coder, uint64_t limit, uint64_t value);
