/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line of an instruction, from the table of its code object (enum pilotlight_runtime_lines).
 * The table is hostile (I8), and may be cut.
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stddef.h>
#include <stdint.h>

/*
 * `unit` counts instructions from 0; a negative one is before the first, on `first_line`. Returns 0
 * if the line is not known: the instruction has none, or the table ends before. Takes time in
 * proportion to the table.
 */
uint32_t runtime_lines_find(enum pilotlight_runtime_lines kind, const uint8_t *table, size_t size,
	int32_t first_line, int32_t unit);
