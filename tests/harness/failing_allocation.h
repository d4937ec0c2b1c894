/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes allocations fail. Tests link with --wrap, so each malloc, calloc, realloc, reallocarray and
 * strdup of the code under test passes here; those inside shared libraries do not.
 *
 *	assert_true(FAIL_EACH_ALLOCATION(thing_new(&thing), -ENOMEM, !thing, 0) >= 3);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes the allocation after the next `n` fail, once, and resets allocation_failed(). */
void fail_allocation(size_t n);

/* Returns whether the failure has happened. If not, disarms it. */
bool allocation_failed(void);

/*
 * Evaluates `result` with the first allocation failing, then the second, and so on until none
 * fails. It must be `failure` each time, with `is_clean`, and at the end `success`. The value is
 * the number of allocations that failed. Needs cmocka.h.
 */
#define FAIL_EACH_ALLOCATION(result, failure, is_clean, success) \
	({                                                       \
		size_t failed_count = 0;                         \
		int run_result;                                  \
                                                                 \
		for (;; failed_count++) {                        \
			fail_allocation(failed_count);           \
			run_result = (result);                   \
			if (!allocation_failed())                \
				break;                           \
			assert_int_equal(run_result, failure);   \
			assert_true(is_clean);                   \
		}                                                \
		assert_int_equal(run_result, success);           \
		failed_count;                                    \
	})
