/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of each function in two profiles: the function_totals.h of both, joined by the name of
 * the function and the base name of its binary. The caller of function_difference_new() owns the
 * result; the profiles must outlive it.
 */
#pragma once

#include "query/profile_difference.h"
#include "render/function_totals.h"

struct function_change {
	const struct frame_label *label; /* of one of the sides */
	const char *path; /* of the binary; the compared profile's path if it has the binary */
	uint64_t self[DIFFERENCE_SIDE_COUNT], total[DIFFERENCE_SIDE_COUNT];
	int64_t self_change, total_change; /* of the share, in billionths */
	/* The change of self, or of either, exceeds the error of sampling. */
	bool is_self_certain, is_certain;
	double surprise; /* by self, of an incident; else 0 */
};

struct function_difference {
	struct function_totals *sides[DIFFERENCE_SIDE_COUNT];
	/*
	 * Certain changes first; of those, the greatest change of self, up or down, first. Of an
	 * incident, the greatest surprise first, and what is less than usual last.
	 */
	struct function_change *items;
	size_t count;
};

/* Returns 0, -ENOMEM or -E2BIG. */
int function_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	struct function_difference **ret_functions);
void function_difference_free(struct function_difference *functions);
DEFINE_CLEANUP(struct function_difference, function_difference_free);
