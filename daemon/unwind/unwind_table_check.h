/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a table's sections, which are hostile (I8), are what the sampler takes them for. */
#pragma once

#include <stdbool.h>

struct unwind_table;

/* The counts of the summary are those of the sections. */
bool unwind_table_is_sound(const struct unwind_table *table);
