/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A jitdump header and its records, checked and in our own byte order: pure functions of some
 * bytes, which need no alignment. Layout: pilotlight/jitdump.h.
 */
#pragma once

#include "pilotlight/jitdump.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* No writer comes near: a function of 64 MiB. */
	JITDUMP_RECORD_BYTES_MAX = 64 << 20,
	JITDUMP_HEADER_BYTES_MAX = 64 << 10,
};

struct jitdump_header {
	bool is_swapped;
	uint32_t version;
	uint32_t total_size;
	uint32_t machine, padding, pid;
	uint64_t timestamp, flags;
};

/* What is odd about a header that can be read all the same: for those who ask. */
enum jitdump_header_oddity {
	JITDUMP_ODD_MACHINE = 1 << 0, /* 0 */
	JITDUMP_ODD_PADDING = 1 << 1, /* not 0 */
	JITDUMP_ODD_FLAGS = 1 << 2,   /* bits that nobody has defined */
	JITDUMP_ODD_SIZE = 1 << 3,    /* longer than its fields */
};
unsigned jitdump_header_oddities(const struct jitdump_header *header);

/*
 * Needs the fields alone; what a longer header has beyond them is passed over by its total_size.
 * Returns 0; -EAGAIN: `size` bytes are not all of the fields as yet; -EBADMSG: it is no jitdump
 * file; -EPROTONOSUPPORT: of a version above 2 or of none; -EINVAL: a size that cannot be.
 */
int jitdump_header_parse(const void *bytes, size_t size, struct jitdump_header *ret_header);

struct jitdump_record {
	uint32_t id; /* enum pilotlight_jitdump_id, or one that nobody has defined */
	uint32_t total_size;
	uint64_t timestamp;
	union {
		struct {
			uint32_t pid, tid;
			uint64_t vma, address, size, index;
			const char *name;    /* borrowed; no NUL in it, any other byte */
			size_t name_size;    /* less than the name's own where `is_cut` */
			uint64_t code_bytes; /* that are in the record: `size`, or 0 */
			bool is_cut;	     /* the bytes that there are end in the name */
		} load;
		struct {
			uint32_t pid, tid;
			uint64_t vma, from, to, size, index;
		} move;
		struct {
			uint64_t address, entry_count;
			const uint8_t *entries; /* borrowed, for jitdump_debug_next() */
			size_t entries_size;
		} debug;
		struct {
			uint64_t size, header_size, mapped_size;
		} unwinding;
	};
};

/*
 * The record that `bytes` begin with, of which `size` bytes are there. Where `is_all`, all of the
 * record must be; otherwise its fixed fields must, and what follows them is taken as far as it is
 * there: so names can be had without the code after them. Returns 0; -EAGAIN: more bytes are
 * needed; -EMSGSIZE: its size is below the prefix's or above the bound, so that where the next
 * record begins is not known; -EBADMSG: it lies about itself. Of the last two `ret_record` has the
 * prefix, and nothing else.
 */
int jitdump_record_parse(const struct jitdump_header *header, const void *bytes, size_t size,
	bool is_all, struct jitdump_record *ret_record);

struct jitdump_debug_entry {
	uint64_t address; /* as it stands, whatever is added to it */
	int32_t line, discriminator;
	const char *file; /* borrowed; "\xff" has become the name it stands for */
	size_t file_size;
};
struct jitdump_debug_cursor {
	size_t at;
	uint64_t seen;
	const char *file;
	size_t file_size;
};

/*
 * The next entry of a DEBUG_INFO; the cursor starts as {0}. Returns 1, 0 at the end, or -EBADMSG
 * where the rest makes no sense, and so for ever after.
 */
int jitdump_debug_next(const struct jitdump_header *header, const struct jitdump_record *record,
	struct jitdump_debug_cursor *cursor, struct jitdump_debug_entry *ret_entry);
