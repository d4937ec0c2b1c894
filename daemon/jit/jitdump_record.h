/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses a jitdump header and records: checks them (I8) and converts them to our byte order. Pure
 * functions; the bytes need no alignment. The layout is in pilotlight/jitdump.h.
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

/* V8 marks its files in the padding of the header. */
#define JITDUMP_V8_PADDING 0xdeadbeef
static inline bool jitdump_is_v8(const struct jitdump_header *header)
{
	return header->padding == JITDUMP_V8_PADDING;
}

/* What is odd about a header that can be read all the same, for `pilotlight jit verify`. */
enum jitdump_header_oddity {
	JITDUMP_ODD_MACHINE = 1 << 0, /* 0 */
	JITDUMP_ODD_PADDING = 1 << 1, /* not 0 */
	JITDUMP_ODD_FLAGS = 1 << 2,   /* bits that nobody has defined */
	JITDUMP_ODD_SIZE = 1 << 3,    /* longer than its fields */
};
unsigned jitdump_header_oddities(const struct jitdump_header *header);

/* Why a file, or the rest of it, cannot be read. */
enum jitdump_fault {
	JITDUMP_FAULT_NONE,
	JITDUMP_FAULT_NO_HEADER,   /* still shorter than a header */
	JITDUMP_FAULT_NOT_JITDUMP, /* another magic number */
	JITDUMP_FAULT_VERSION,	   /* above 2, or 0 */
	JITDUMP_FAULT_HEADER_SIZE,
	JITDUMP_FAULT_RECORD_SIZE, /* below 16 bytes or above the bound */
	JITDUMP_FAULT_CLOCK,	   /* CPU time stamps that cannot be converted here */
	JITDUMP_FAULT_READ,	   /* the file cannot be read */
};

/* Needs the fields only: a longer header is skipped by its total_size. */
enum jitdump_fault jitdump_header_parse(
	const void *bytes, size_t size, struct jitdump_header *ret_header);

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
 * Parses the record at the start of `bytes`, which may be cut off at `size`. With `is_all` the
 * whole record must be there. Otherwise its fixed fields must, and the rest is used as far as it is
 * there: a name needs no code after it. Returns 0; -EAGAIN: more bytes are needed; -EMSGSIZE: the
 * size is below the prefix's or above the bound, so the next record cannot be found; -EBADMSG: the
 * record contradicts itself. After the last two `ret_record` holds the prefix only.
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
 * from the first damaged entry on.
 */
int jitdump_debug_next(const struct jitdump_header *header, const struct jitdump_record *record,
	struct jitdump_debug_cursor *cursor, struct jitdump_debug_entry *ret_entry);
