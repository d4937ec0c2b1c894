/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections BOUNDARY_INDEX and ROW_INDEX of a symbol file. */
#pragma once

#include "base/scratch.h"

#include <stdint.h>

/*
 * Builds the index of `entries`, each of which begins with its offset; offsets ascend. Item i is
 * the number of entries that begin before offset i * 2^shift, for the offsets from 0 to `span`;
 * one more item ends the index. The shift gives four to eight entries an item on average. Without
 * entries there is no index. `index` is an empty array of uint32_t. Errors of the scratch.
 */
int bucket_index_build(const struct scratch_array *entries, uint32_t span,
	struct scratch_array *index, uint8_t *ret_shift);
