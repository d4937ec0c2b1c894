/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind table of a symbol file (pilotlight/unwind.h). The sampler searches it in the kernel
 * and relies on its invariants, so it is checked as a whole before it is used (I8). A table borrows
 * the file's memory and owns nothing. Any number of threads may read it.
 */
#pragma once

#include "pilotlight/unwind.h"

#include <stdint.h>

struct symbol_file;

struct unwind_table {
	const struct pilotlight_unwind_summary *summary;
	/* Arrays as long as the summary says; NULL if empty. */
	const uint32_t *pages; /* one more than `page_count`, unless that is 0 */
	const struct pilotlight_unwind_line *lines;
	const struct pilotlight_unwind_rule *rules;
	const struct pilotlight_unwind_escape *escapes;
};

/*
 * `file` is borrowed for as long as the table is used. Takes time in proportion to the table.
 * Returns 0; -ENODATA if the file has no table; -EBADMSG if a count, a page, a row, a rule or an
 * escape violates pilotlight/unwind.h.
 */
int unwind_table_init(struct unwind_table *ret_table, const struct symbol_file *file);

/* The size of all sections, in bytes. */
uint64_t unwind_table_bytes(const struct unwind_table *table);
