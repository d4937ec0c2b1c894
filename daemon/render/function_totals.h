/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each function cost, over all stacks, or each line of one. It is a label in a binary. Its
 * `self` are samples that ended in it, its `total` those with it anywhere on the stack, however
 * often it recursed. Losses are not part of it. Owned by whoever called function_totals_new(); the
 * profile must outlive it.
 */
#pragma once

#include "render/frame_labels.h"

struct function_total {
	uint32_t label;	 /* of labels */
	uint32_t binary; /* of the profile */
	uint64_t self, total;
};

struct function_totals {
	struct frame_labels *labels;
	struct function_total *items; /* by self, then total, the greatest first; then by name and
				       binary; total is never 0 */
	size_t count, capacity;
	uint64_t samples;	/* in all */
	uint64_t without_stack; /* samples that have no frame at all */
};

/* Both return 0, -ENOMEM or -E2BIG. */
int function_totals_new(const struct profile *profile, struct function_totals **ret_totals);
int function_totals_new_by_line(const struct profile *profile, struct function_totals **ret_totals);
void function_totals_free(struct function_totals *totals);
DEFINE_CLEANUP(struct function_totals, function_totals_free);
