/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether bytes are a symbol file, and where its tables are. The bytes are hostile (I8): what is
 * told of the tables holds whatever they contain, and it is all that holds.
 */
#pragma once

#include "pilotlight/symbol_file.h"

#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOL_FILE_SEGMENTS_MAX = 64,
	SYMBOL_FILE_SECTION_IDS = PILOTLIGHT_SYMBOL_UNWIND_ESCAPES + 1, /* those that are known */
};
/* No binary's symbols come near it; hashing so much takes a second. */
#define SYMBOL_FILE_BYTES_MAX (4ULL << 30)

struct symbol_file_table {
	const void *entries; /* aligned to 64 bytes; NULL where there are none */
	uint32_t count;
};

/* The known sections by their id; [0] is not used. */
struct symbol_file_tables {
	struct symbol_file_table by_id[SYMBOL_FILE_SECTION_IDS];
};

/*
 * Is there a header of this version, whose table of sections is whole? `bytes` are aligned to 64.
 * Touches nothing behind the table of sections. Returns 0; -EBADMSG; -EPROTONOSUPPORT another
 * version.
 */
int symbol_file_check_header(const void *bytes, uint64_t size);

/*
 * The rest, after the header: lengths and hashes of all sections. Afterwards an index covers its
 * table's last entry, strings end with a NUL, and segments are at most SYMBOL_FILE_SEGMENTS_MAX;
 * what the entries themselves say is not looked at. `passed` (may be NULL) is told of stretches
 * that are not needed any more for now. Returns 0, -EBADMSG or -ENOMEM.
 */
typedef void (*symbol_file_passed)(const void *start, size_t size);
int symbol_file_check_sections(const void *bytes, uint64_t size, symbol_file_passed passed,
	struct symbol_file_tables *ret_tables);
