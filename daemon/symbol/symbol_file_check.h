/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks that bytes are a symbol file, and finds its tables. The bytes are hostile (I8): callers
 * may rely only on the guarantees below.
 */
#pragma once

#include "pilotlight/symbol_file.h"

#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOL_FILE_SEGMENTS_MAX = 64,
	SYMBOL_FILE_SECTION_IDS = PILOTLIGHT_SYMBOL_RUNTIME + 1, /* of this version */
};
/* Far more than any binary's symbols; hashing as much takes a second. */
#define SYMBOL_FILE_BYTES_MAX (4ULL << 30)

struct symbol_file_table {
	const void *entries; /* aligned to 64 bytes; NULL: none */
	uint32_t count;
};

/* The known sections by id; [0] is unused. */
struct symbol_file_tables {
	struct symbol_file_table by_id[SYMBOL_FILE_SECTION_IDS];
};

/*
 * Checks the header and the table of sections, and reads nothing beyond them. `bytes` are aligned
 * to
 * 64. Returns 0; -EBADMSG damaged; -EPROTONOSUPPORT another version.
 */
int symbol_file_check_header(const void *bytes, uint64_t size);

/*
 * Checks the lengths and hashes of all sections, after the header. It guarantees that an index
 * covers the last entry of its table, that strings end with a NUL, and that there are at most
 * SYMBOL_FILE_SEGMENTS_MAX segments. Entries are not checked. Calls `passed` (may be NULL) for each
 * range after hashing it. Returns 0, -EBADMSG or -ENOMEM.
 */
typedef void (*symbol_file_passed)(const void *start, size_t size);
int symbol_file_check_sections(const void *bytes, uint64_t size, symbol_file_passed passed,
	struct symbol_file_tables *ret_tables);
