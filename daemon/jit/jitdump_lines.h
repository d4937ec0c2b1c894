/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line list of some code from the DEBUG_INFO that came for it. Writers disagree about what the
 * addresses are, and one of them, V8, damages entries: those before the first damaged one are
 * believed.
 */
#pragma once

#include "jit/jitdump_record.h"
#include "jit/line_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

/* Room to work in; all zeros is empty. At most a few times the size of the largest DEBUG_INFO. */
struct jitdump_lines {
	struct line_entry *entries;
	size_t entries_capacity;
	uint8_t *packed;
	size_t packed_capacity;
};
void jitdump_lines_done(struct jitdump_lines *lines);

/*
 * Packs the lines in `debug` of the code in `load`. Names of files are made ids of `index`, or 0
 * where that is NULL or has no room. Returns 0 or -ENOMEM. The list is borrowed until the next
 * call; it has no bytes where nothing is known. `is_damaged` goes in as whether the record had more
 * entries, which could not be read, and comes out as whether any entry was of no use.
 */
int jitdump_lines_pack(struct jitdump_lines *lines, const struct jitdump_header *header,
	const struct jitdump_record *debug, const struct jitdump_record *load,
	struct code_index *index, const uint8_t **ret_packed, size_t *ret_size, bool *is_damaged);

/* V8 says so by the padding of the header. */
bool jitdump_is_v8(const struct jitdump_header *header);
