/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of a jitdump file. A DEBUG_INFO comes before the LOAD of its code, and records of
 * other threads may come between. So it waits here until the LOAD with its address claims it, and
 * then becomes a packed line_list. Entries are kept as written, except that a file name equal to
 * the one before is kept once. Writers disagree about what an entry's address is, and V8 damages
 * entries: only those before the first damaged one are believed.
 *
 * What waits is bounded (I4) in count and bytes: at a limit the older half is dropped. Owned by one
 * reader.
 */
#pragma once

#include "jit/jitdump_record.h"
#include "jit/line_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

enum {
	JITDUMP_WAITING_COUNT_MAX = 64,
	JITDUMP_WAITING_BYTES_MAX = 256 << 10,
	JITDUMP_WAITING_NONE = JITDUMP_WAITING_COUNT_MAX,
};

/* DEBUG_INFOs that wait; all zeros is empty. */
struct jitdump_waiting {
	struct jitdump_waiting_slot {
		uint64_t address;
		uint64_t entry_count;
		size_t start, size;	    /* in `bytes` */
		bool is_claimed;	    /* its room is not free yet */
		bool is_damaged;	    /* the entries after these could not be read */
	} slots[JITDUMP_WAITING_COUNT_MAX]; /* the oldest first */
	unsigned count;
	uint8_t *bytes;
	size_t size, capacity;
	uint64_t unclaimed; /* how many were dropped without a LOAD */
};
void jitdump_waiting_done(struct jitdump_waiting *waiting);

/* Keeps the whole entries of `record`, a DEBUG_INFO. Returns 0 or -ENOMEM. */
int jitdump_waiting_add(struct jitdump_waiting *waiting, const struct jitdump_header *header,
	const struct jitdump_record *record);

/* The slot for `address`, or JITDUMP_WAITING_NONE; valid until the next add. */
unsigned jitdump_waiting_find(const struct jitdump_waiting *waiting, uint64_t address);

/* The DEBUG_INFO again; its entries are borrowed until the next add. */
void jitdump_waiting_get(const struct jitdump_waiting *waiting, unsigned slot,
	struct jitdump_record *ret_record, bool *ret_is_damaged);

/* Removes it: its LOAD has come. */
void jitdump_waiting_claim(struct jitdump_waiting *waiting, unsigned slot);

/* Drops all as unclaimed: the file was rewritten. */
void jitdump_waiting_clear(struct jitdump_waiting *waiting);

/* Frees the memory if nothing waits. */
void jitdump_waiting_trim(struct jitdump_waiting *waiting);

/* Scratch memory, at most a few times the largest DEBUG_INFO; all zeros is empty. */
struct jitdump_lines {
	struct line_entry *entries;
	size_t entries_capacity;
	uint8_t *packed;
	size_t packed_capacity;
};
void jitdump_lines_done(struct jitdump_lines *lines);

/*
 * Packs the lines in `debug` of the code in `load`. File names become ids of `index`, or 0 if that
 * is NULL or has no room. Returns 0 or -ENOMEM. The list is borrowed until the next call, and empty
 * if no line is known. `is_damaged` goes in as whether the record had more entries that could not
 * be read, and comes out as whether any entry was useless.
 */
int jitdump_lines_pack(struct jitdump_lines *lines, const struct jitdump_header *header,
	const struct jitdump_record *debug, const struct jitdump_record *load,
	struct code_index *index, const uint8_t **ret_packed, size_t *ret_size, bool *is_damaged);
