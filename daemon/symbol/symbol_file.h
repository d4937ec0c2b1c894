/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbol file (pilotlight/symbol_file.h), mapped and searched in place. The whole is checked once
 * when it is opened: lengths, hashes, versions. What would be dear to check beforehand, that ids
 * are within their tables, is checked where an id is used, so even a file with right hashes and
 * wrong contents (I8) yields wrong names at most, and never a bad access or an endless chain.
 *
 * Symbol files are replaced by renaming and never written to; one that is truncated in place under
 * a mapping ends the reader with SIGBUS, as with every mapped file. Any number of threads may read.
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
 * Maps the file; `fd` is borrowed and not needed afterwards. Returns 0; -EBADMSG not a symbol file,
 * or damaged, or beyond 4 GiB; -EPROTONOSUPPORT another version; -ENOMEM; another -errno from the
 * system.
 */
int symbol_file_open(int fd, struct symbol_file **ret_file);
void symbol_file_free(struct symbol_file *file);
DEFINE_CLEANUP(struct symbol_file, symbol_file_free);

/* Borrowed; `origin` ends with a NUL. */
const struct pilotlight_symbol_header *symbol_file_header(const struct symbol_file *file);
struct symbol_identity symbol_file_identity(const struct symbol_file *file);

/* Entries of a section, the empty entry 0 included where there is one; 0: no such section. */
uint64_t symbol_file_count(
	const struct symbol_file *file, enum pilotlight_symbol_section_id section);

/* The link-time vaddr of a file offset; false where no code is, or the segments are not known. */
bool symbol_file_find_vaddr(const struct symbol_file *file, uint64_t offset, uint64_t *ret_vaddr);

/*
 * For each vaddr, in any order, the innermost frame that the code there is in and the source line's
 * place; 0 where there is none. Either output may be NULL. Cache misses of neighbours in the array
 * overlap, so that batches of some hundred are several times faster than single calls.
 */
void symbol_file_find(const struct symbol_file *file, const uint64_t *vaddrs, size_t count,
	uint32_t *ret_frames, uint64_t *ret_places);

/* Its function's name, borrowed; "" for frame 0 and what is out of range. */
const char *symbol_file_frame_name(const struct symbol_file *file, uint32_t frame);

/* The frame it was inlined into, or 0; `ret_call` (may be NULL) is where. */
uint32_t symbol_file_frame_parent(
	const struct symbol_file *file, uint32_t frame, uint64_t *ret_call);

struct symbol_place {
	const char *file; /* borrowed; "" unknown */
	uint32_t line;	  /* 0: unknown, as the next */
	uint32_t column;
};
struct symbol_place symbol_file_place(const struct symbol_file *file, uint64_t place);

/* What code at one address is in: a function and a place of it. */
struct symbol_line {
	const char *function; /* borrowed; "" unknown */
	struct symbol_place place;
};

/*
 * The whole chain of one vaddr, innermost first; of a chain longer than `max` the innermost.
 * Returns how many; 0 where neither a function nor a line is known. A line without a function is
 * a chain of one with the function "".
 */
size_t symbol_file_find_chain(
	const struct symbol_file *file, uint64_t vaddr, struct symbol_line *ret_lines, size_t max);

/*
 * A section's entries, borrowed, aligned to 64 bytes; NULL if there are none. Strings end with a
 * NUL; otherwise the contents of entries are unchecked (unwind/unwind_table.h checks its own).
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
