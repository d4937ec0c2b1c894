/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes allocations fail. Tests link with --wrap, so each malloc, calloc, realloc, reallocarray and
 * strdup of the code under test passes here; those inside shared libraries do not.
 *
 *	for (size_t n = 0;; n++) {
 *		fail_allocation(n);
 *		r = thing_new(&thing);
 *		if (!allocation_failed())
 *			break;
 *		assert_int_equal(r, -ENOMEM);
 *	}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes the allocation after the next `n` fail, once, and resets allocation_failed(). */
void fail_allocation(size_t n);

/* Returns whether the failure has happened. If not, disarms it. */
bool allocation_failed(void);
