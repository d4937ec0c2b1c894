/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs rows into the format of a table (pilotlight/unwind.h): lines, pages, rules sorted by use,
 * and escapes for rules without a short id. The output is deterministic. One owner, one thread;
 * lines, pages and escapes are scratch.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_rows.h"
#include "pilotlight/unwind.h"

struct unwind_packing {
	struct pilotlight_unwind_summary summary; /* without functions, flags and machine */
	struct scratch_array pages, lines, escapes;
	struct pilotlight_unwind_rule *rules; /* owned */
};

/* All zeros at first, and after done(). */
void unwind_packing_done(struct unwind_packing *packing);

/*
 * Without rows, the arrays are empty and the summary is zeros. Returns 0; -EFBIG beyond the limits
 * of a table; -ENOMEM; the scratch's errors.
 */
int unwind_packing_build(
	struct unwind_packing *packing, const struct unwind_rows *rows, struct scratch *scratch);
