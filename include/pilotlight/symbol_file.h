/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol file: what is known of one binary's code, as flat tables that are mapped and searched
 * in place. One a build-id, `<cache>/<xx>/<rest>.sym`. Version 1.
 *
 * Little-endian. A header, then a table of sections, then the sections, each at a multiple of 64
 * bytes. A reader passes over sections that it does not know; a change of what a section means is a
 * new version. Addresses are link-time vaddrs, kept as 32-bit offsets from `base_vaddr`, which is
 * at or before the first byte of code: code that spans 4 GiB or more has no symbol file. Ids are
 * positions in their tables; 0 is always "none", and entry 0 of FRAMES and FILES is all zeros.
 *
 *   SEGMENTS         the executable PT_LOADs, to make vaddrs of file offsets
 *   BOUNDARIES       sorted by offset, no two of one offset: the code from here to the next
 *                    boundary is in `frame` (0: in no function that is known)
 *   BOUNDARY_INDEX   a u32 for each 2^boundary_shift bytes of code and one to end with: how many
 *                    boundaries begin before that stretch of code does
 *   FRAMES           a function, or one inlined instance of it. Its callers are its parents, up to
 *                    the frame whose parent is 0, which was not inlined
 *   ROWS             sorted by offset, no two of one offset: the source line of the code from here
 *                    to the next row. All zeros after the offset: no line is known
 *   ROW_INDEX        as BOUNDARY_INDEX, of rows, with row_shift
 *   FILES            offsets in STRINGS of the source files' paths
 *   STRINGS          NUL-terminated UTF-8, each distinct one once; begins and ends with a NUL.
 *                    Functions are demangled, and elided in the middle beyond 1 KiB
 *   UNWIND and what follows: an unwind table (pilotlight/unwind.h), in a file of its own, which has
 *                    SEGMENTS and these sections alone; UNWIND is one pilotlight_unwind_summary
 *   RUNTIME          in the same file: one pilotlight_runtime (pilotlight/runtime.h), if the binary
 *                    contains an interpreter that is described
 */
#pragma once

#include <stdint.h>

#define PILOTLIGHT_SYMBOL_MAGIC "PLSYMBOL" /* without its NUL */

enum {
	PILOTLIGHT_SYMBOL_VERSION = 1,
	/* Rises when the same files give more or better names. Files with a lower number are used
	 * until they have been made anew. */
	PILOTLIGHT_SYMBOL_EXTRACTION = 3,
	PILOTLIGHT_SYMBOL_SECTIONS_MAX = 32,
	PILOTLIGHT_SYMBOL_ALIGNMENT = 64,
};

enum pilotlight_symbol_section_id {
	PILOTLIGHT_SYMBOL_SEGMENTS = 1,
	PILOTLIGHT_SYMBOL_BOUNDARIES = 2,
	PILOTLIGHT_SYMBOL_BOUNDARY_INDEX = 3,
	PILOTLIGHT_SYMBOL_FRAMES = 4,
	PILOTLIGHT_SYMBOL_ROWS = 5,
	PILOTLIGHT_SYMBOL_ROW_INDEX = 6,
	PILOTLIGHT_SYMBOL_FILES = 7,
	PILOTLIGHT_SYMBOL_STRINGS = 8,
	PILOTLIGHT_SYMBOL_UNWIND = 9,
	PILOTLIGHT_SYMBOL_UNWIND_PAGES = 10,
	PILOTLIGHT_SYMBOL_UNWIND_LINES = 11,
	PILOTLIGHT_SYMBOL_UNWIND_RULES = 12,
	PILOTLIGHT_SYMBOL_UNWIND_ESCAPES = 13,
	PILOTLIGHT_SYMBOL_RUNTIME = 14,
};

enum pilotlight_symbol_identity_kind {
	PILOTLIGHT_SYMBOL_BUILD_ID = 1,
	/* Of files without one: the first 16 bytes of SHA-256 over the first 4096 bytes, the last
	 * 4096 and the length as 64 bits, big-endian (OpenTelemetry's htlhash). */
	PILOTLIGHT_SYMBOL_HTLHASH = 2,
	/* Of a file whose owner is not trusted, whatever it says of itself: the first 16 bytes of
	 * SHA-256 over the kind of the above (one byte), its bytes padded to 20 with zeros, and the
	 * owner's user id as 32 bits, big-endian; then the user id again (0 in older files). */
	PILOTLIGHT_SYMBOL_OWNED = 3,
};

/* Where the symbols come from; the greater is the more trusted and never gives way to a lower. */
enum pilotlight_symbol_rank {
	PILOTLIGHT_SYMBOL_RANK_NONE = 0,       /* a negative entry: `failure` says why */
	PILOTLIGHT_SYMBOL_RANK_BINARY = 1,     /* the binary alone */
	PILOTLIGHT_SYMBOL_RANK_DEBUGLINK = 2,  /* a debug file by .gnu_debuglink and its CRC */
	PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD = 3, /* a debug file from a debuginfod server */
	PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE = 4, /* a debug file of the host's, by build-id */
};

/* What the symbols were made of: bits of `contents`. */
enum {
	PILOTLIGHT_SYMBOL_HAS_DYNSYM = 1 << 0,
	PILOTLIGHT_SYMBOL_HAS_SYMTAB = 1 << 1,
	PILOTLIGHT_SYMBOL_HAS_DEBUGDATA = 1 << 2, /* .gnu_debugdata */
	PILOTLIGHT_SYMBOL_HAS_PLT = 1 << 3,
	PILOTLIGHT_SYMBOL_HAS_DWARF = 1 << 4,
	PILOTLIGHT_SYMBOL_HAS_ALTERNATE = 1 << 5, /* dwz */
	PILOTLIGHT_SYMBOL_HAS_SPLIT = 1 << 6,
	PILOTLIGHT_SYMBOL_HAS_EH_FRAME = 1 << 7,
	PILOTLIGHT_SYMBOL_HAS_DEBUG_FRAME = 1 << 8,
	PILOTLIGHT_SYMBOL_LACKS_SPLIT = 1 << 9,	  /* split DWARF files were missing */
	PILOTLIGHT_SYMBOL_HAS_GO_TABLE = 1 << 10, /* .gopclntab */
	PILOTLIGHT_SYMBOL_HAS_INFERRED = 1 << 11, /* unwind rules inferred from instructions */
	/* Instructions would have told more, but Zydis, which decodes them, was not installed. */
	PILOTLIGHT_SYMBOL_LACKS_DECODER = 1 << 12,
	PILOTLIGHT_SYMBOL_HAS_RUNTIME = 1 << 13,   /* an interpreter, which is described */
	PILOTLIGHT_SYMBOL_LACKS_RUNTIME = 1 << 14, /* an interpreter, of an unknown build */
	/* Why it is unknown: its pointers are compressed, or its own functions cannot be found. */
	PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED = 1 << 15,
	PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED = 1 << 16,
};

/* Why a binary has no symbols, or fewer than it could: of a negative entry, and of counters. */
enum pilotlight_symbol_failure {
	PILOTLIGHT_SYMBOL_OK = 0,
	PILOTLIGHT_SYMBOL_NOTHING = 1,	  /* there is nothing in it */
	PILOTLIGHT_SYMBOL_DAMAGED = 2,	  /* what there is makes no sense */
	PILOTLIGHT_SYMBOL_TOO_BIG = 3,	  /* beyond a bound of the format or of the extraction */
	PILOTLIGHT_SYMBOL_NO_MEMORY = 4,  /* the worker's limit was not enough */
	PILOTLIGHT_SYMBOL_TIMEOUT = 5,	  /* the worker took too long and was ended */
	PILOTLIGHT_SYMBOL_CRASHED = 6,	  /* the worker was ended by a signal of its own */
	PILOTLIGHT_SYMBOL_NO_SPACE = 7,	  /* on the disk; never kept as a negative entry */
	PILOTLIGHT_SYMBOL_UNREADABLE = 8, /* the file could not be opened or read */
	PILOTLIGHT_SYMBOL_FAILURES = 9,
};

struct pilotlight_symbol_header {
	uint8_t magic[8];
	uint32_t version;
	uint16_t header_bytes;
	uint16_t section_count;
	uint64_t file_bytes;
	uint64_t header_hash; /* XXH3, 64 bits, of header and section table; here 0 */
	uint8_t identity[20]; /* padded with zeros */
	uint8_t identity_bytes;
	uint8_t identity_kind;
	uint8_t rank;
	uint8_t failure;
	uint32_t contents;
	uint16_t machine; /* EM_… */
	uint8_t boundary_shift;
	uint8_t row_shift;
	uint64_t base_vaddr;
	uint64_t created_s; /* since 1970 */
	/* What extraction met and could not carry (I1). */
	uint32_t units_failed;	 /* compilation units without their functions or lines */
	uint32_t ranges_outside; /* of functions or lines, outside of the code */
	uint32_t names_failed;
	uint32_t symbols_failed; /* symbol tables that made no sense */
	uint32_t extraction;	 /* PILOTLIGHT_SYMBOL_EXTRACTION; 0 in older files */
	uint8_t reserved[28];
	char origin[128]; /* the path of what it was made of, its beginning elided; for people */
};

struct pilotlight_symbol_section {
	uint32_t id;
	uint32_t entry_bytes;
	uint64_t offset;
	uint64_t bytes;
	uint64_t hash; /* XXH3, 64 bits */
};

struct pilotlight_symbol_segment {
	uint64_t offset; /* in the binary */
	uint64_t vaddr;
	uint64_t file_bytes; /* 0: from a debug file alone, whose offsets are not the binary's */
	uint64_t memory_bytes;
};

struct pilotlight_symbol_boundary {
	uint32_t offset; /* from base_vaddr */
	uint32_t frame;
};

/*
 * A place in the source in 64 bits: file << 40 | line << 16 | column. A line beyond 2^24 and a
 * column beyond 2^16 are kept as 0, unknown; a file beyond 2^24 makes the whole 0.
 */
struct pilotlight_symbol_frame {
	uint32_t parent;	      /* its caller; smaller than its own id */
	uint32_t name;		      /* offset in STRINGS */
	uint32_t call_low, call_high; /* the place in the parent that it was inlined at */
};

struct pilotlight_symbol_row {
	uint32_t offset;		/* from base_vaddr */
	uint32_t place_low, place_high; /* of the source */
};

_Static_assert(sizeof(struct pilotlight_symbol_header) == 256, "header");
_Static_assert(sizeof(struct pilotlight_symbol_section) == 32, "section");
_Static_assert(sizeof(struct pilotlight_symbol_segment) == 32, "segment");
_Static_assert(sizeof(struct pilotlight_symbol_boundary) == 8, "boundary");
_Static_assert(sizeof(struct pilotlight_symbol_frame) == 16, "frame");
_Static_assert(sizeof(struct pilotlight_symbol_row) == 12, "row");
