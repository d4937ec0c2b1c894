/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose the amounts of a time line are: of the kernel and of user code, or of the units or thread
 * names that have the most. This reads all samples of the time, and so takes much longer than the
 * time line itself.
 */
#pragma once

#include "query/timeline.h"

enum timeline_by {
	TIMELINE_BY_NONE,
	TIMELINE_BY_KIND,
	TIMELINE_BY_UNIT,
	TIMELINE_BY_COMM,
};

/* Finds "kind", "unit" or "comm". */
bool timeline_by_find(const char *name, enum timeline_by *ret_by);

/*
 * Adds the parts of a time line that was read with the same `folder` and `asked`, the greatest
 * first. What they do not have is of others. Returns 0, -ENOMEM, -E2BIG (`bytes` do not suffice) or
 * another -errno with `fault`.
 */
int timeline_read_parts(const char *folder, const struct store_selection *asked,
	enum timeline_by by, size_t bytes, struct timeline *timeline, struct fault *fault);
