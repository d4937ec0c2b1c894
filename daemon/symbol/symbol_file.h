/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbol file (pilotlight/symbol_file.h), mapped and searched in place. Opening it checks
 * version, lengths and hashes. Ids are checked against their tables only when they are used,
 * because checking all of them is expensive. So a hostile file with valid hashes (I8) yields wrong
 * names at most, and never a bad access or an endless chain.
 *
 * Symbol files are replaced by renaming and never written to. One that is truncated in place raises
 * SIGBUS in its readers, as every mapped file does. Any number of threads may read.
 */
#pragma once

#include "base/cleanup.h"
#include "symbol/symbol_header.h"
#include "symbol/symbol_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;

/*
 * Maps the file; `fd` is borrowed for the call. Returns 0; -EBADMSG not a symbol file, damaged, or
 * larger than 4 GiB; -EPROTONOSUPPORT another version; -ENOMEM; or another -errno.
 */
int symbol_file_open(int fd, struct symbol_file **ret_file);
void symbol_file_free(struct symbol_file *file);
DEFINE_CLEANUP(struct symbol_file, symbol_file_free);

/* Borrowed; `origin` ends with a NUL. */
const struct pilotlight_symbol_header *symbol_file_header(const struct symbol_file *file);
struct symbol_identity symbol_file_identity(const struct symbol_file *file);

/* The number of a section's entries, with the empty entry 0 if it has one; 0: no such section. */
uint64_t symbol_file_count(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section);

/* The link-time vaddr of a file offset. False: no code is there, or the file has no segments. */
bool symbol_file_find_vaddr(const struct symbol_file *file, uint64_t offset, uint64_t *ret_vaddr);

/*
 * Finds the innermost frame and the place of the source line for each vaddr, in any order; 0: none.
 * Either output may be NULL. Cache misses overlap, so batches of some hundred are several times
 * faster than single calls.
 */
void symbol_file_find(const struct symbol_file *file, const uint64_t *vaddrs, size_t count,
	uint32_t *ret_frames, uint64_t *ret_places);

/* The name of the frame's function, borrowed; "" for frame 0 and frames out of range. */
const char *symbol_file_frame_name(const struct symbol_file *file, uint32_t frame);

/* The frame into which it was inlined, or 0. `ret_call` (may be NULL) is the place of the call. */
uint32_t symbol_file_frame_parent(
	const struct symbol_file *file, uint32_t frame, uint64_t *ret_call);

struct symbol_place {
	const char *file; /* borrowed; "": unknown */
	uint32_t line;	  /* 0: unknown */
	uint32_t column;  /* 0: unknown */
};
struct symbol_place symbol_file_place(const struct symbol_file *file, uint64_t place);

/* The function of an address and a place in it. */
struct symbol_line {
	const char *function; /* borrowed; "": unknown */
	struct symbol_place place;
};

/*
 * The chain of inlined functions at one vaddr: the `max` innermost, innermost first. Returns how
 * many; 0 if neither function nor line is known. A line without a function is a chain of one with
 * the function "".
 */
size_t symbol_file_find_chain(
	const struct symbol_file *file, uint64_t vaddr, struct symbol_line *ret_lines, size_t max);

/*
 * A section's entries, borrowed and aligned to 64 bytes; NULL: none. The strings end with a NUL.
 * The contents of other entries are unchecked (unwind/unwind_table.h checks its own).
 */
const void *symbol_file_entries(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section);

static inline uint64_t symbol_place_pack(uint32_t file, uint32_t line, uint32_t column)
{
	if (file >> 24)
		return 0;
	return (uint64_t)file << 40 | (uint64_t)(line >> 24 ? 0 : line) << 16 |
	       (column >> 16 ? 0 : column);
}
