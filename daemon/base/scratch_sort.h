/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorts a scratch array by integer keys, stable, in a time that does not depend on their values: a
 * radix sort from the least significant digit, so no file can be made that sorts slowly. It needs
 * as much scratch again.
 */
#pragma once

#include "base/scratch.h"

/* What an item is sorted by, ascending. */
typedef uint64_t (*scratch_sort_key)(const void *item);

/* By the first key, where that is equal by the second, and so on. Returns 0, or the errors of
 * scratch_array_reserve(), after which the items are in another order. */
int scratch_sort(struct scratch_array *array, const scratch_sort_key *keys, size_t key_count);
