/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections BOUNDARY_INDEX and ROW_INDEX of a symbol file. */
#pragma once

#include "base/scratch.h"

#include <stdint.h>

/*
 * For `entries`, each of which begins with its offset, ascending: how many of them begin before
 * each stretch of 2^shift bytes of code from 0 to `span` inclusive, and one to end with. The
 * stretches are such that four to eight entries are in one on average; of no entries there is no
 * index. `index` is an empty array of uint32_t. Errors of the scratch.
 */
int bucket_index_build(const struct scratch_array *entries, uint32_t span,
	struct scratch_array *index, uint8_t *ret_shift);
