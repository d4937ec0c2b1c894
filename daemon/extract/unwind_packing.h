/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as a table has them (pilotlight/unwind.h): lines, pages, rules by how often they are used,
 * and the rules that have no short id. The same rows come to the same bytes. One owner, one thread;
 * lines, pages and escapes are in the scratch file.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_rows.h"
#include "pilotlight/unwind.h"

struct unwind_packing {
	struct pilotlight_unwind_summary summary; /* but for functions, flags and machine */
	struct scratch_array pages, lines, escapes;
	struct pilotlight_unwind_rule *rules; /* owned */
};

/* All zeros at first, and after done(). */
void unwind_packing_done(struct unwind_packing *packing);

/*
 * Of no rows there is nothing, and the summary is zeros. Returns 0; -EFBIG beyond what a table
 * holds; -ENOMEM; the scratch's errors.
 */
int unwind_packing_build(
	struct unwind_packing *packing, const struct unwind_rows *rows, struct scratch *scratch);
