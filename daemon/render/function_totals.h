/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of each function, or of each line of a function, over all stacks. A function is a label
 * in a binary. `self` counts samples that end in the function. `total` counts samples with the
 * function anywhere on the stack, once even if it recurses. Losses are not included. The caller of
 * function_totals_new() owns the result; the profile must outlive it.
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
	uint64_t without_stack; /* samples without any frame */
};

/* Returns 0, -ENOMEM or -E2BIG. */
int function_totals_new(const struct profile *profile, enum frame_detail detail,
	struct function_totals **ret_totals);
void function_totals_free(struct function_totals *totals);
DEFINE_CLEANUP(struct function_totals, function_totals_free);
