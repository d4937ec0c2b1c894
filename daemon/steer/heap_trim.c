/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/heap_trim.h"

enum {
	PLENTY_SHARE = 4,  /* memory is short if less than this part of the budget is left */
	GROWTH_SHARE = 16, /* and this much of it came since the last trim */
};

bool heap_trim_is_due(struct heap_trim *trim, uint64_t used_bytes, uint64_t budget_bytes)
{
	if (used_bytes < trim->left_bytes)
		trim->left_bytes = used_bytes;
	return used_bytes > budget_bytes - budget_bytes / PLENTY_SHARE &&
	       used_bytes - trim->left_bytes >= budget_bytes / GROWTH_SHARE;
}

void heap_trim_done(struct heap_trim *trim, uint64_t used_bytes)
{
	trim->left_bytes = used_bytes;
}
