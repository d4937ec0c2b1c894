/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DEBUG_INFOs that wait for the LOAD with their address. Other threads' records may stand between,
 * so they are told apart by that address and by nothing else. They are kept as they were written,
 * but for file names that are those of the entry before, which writers repeat.
 *
 * Bounded (I4) in count and bytes; where that is reached, the older half goes. Owned by one reader.
 */
#pragma once

#include "jit/jitdump_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JITDUMP_WAITING_COUNT_MAX = 64,
	JITDUMP_WAITING_BYTES_MAX = 256 << 10,
	JITDUMP_WAITING_NONE = JITDUMP_WAITING_COUNT_MAX,
};

struct jitdump_waiting {
	struct jitdump_waiting_slot {
		uint64_t address;
		uint64_t entry_count;
		size_t start, size;	    /* in `bytes` */
		bool is_claimed;	    /* and only takes room as yet */
		bool is_damaged;	    /* entries after these were of no use */
	} slots[JITDUMP_WAITING_COUNT_MAX]; /* the oldest first */
	unsigned count;
	uint8_t *bytes;
	size_t size, capacity;
	uint64_t unclaimed; /* how many went without a LOAD */
};

/* All zeros is an empty one. */
void jitdump_waiting_done(struct jitdump_waiting *waiting);

/* Keeps what `record`, a DEBUG_INFO, has of whole entries. Returns 0 or -ENOMEM. */
int jitdump_waiting_add(struct jitdump_waiting *waiting, const struct jitdump_header *header,
	const struct jitdump_record *record);

/* The slot of the one for `address`, or JITDUMP_WAITING_NONE; valid until the next add. */
unsigned jitdump_waiting_find(const struct jitdump_waiting *waiting, uint64_t address);

/* As the record that it was; its entries are borrowed until the next add. */
void jitdump_waiting_get(const struct jitdump_waiting *waiting, unsigned slot,
	struct jitdump_record *ret_record, bool *ret_is_damaged);

/* Its LOAD has come. */
void jitdump_waiting_claim(struct jitdump_waiting *waiting, unsigned slot);

/* None of them will be claimed: the file was written anew. */
void jitdump_waiting_clear(struct jitdump_waiting *waiting);

/* Gives its memory back where nothing waits. */
void jitdump_waiting_trim(struct jitdump_waiting *waiting);
