/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a binary that is wanted is known by, and what its symbols can be made of. */
#pragma once

#include "symbolize/debug_files.h"
#include "symbolize/wanted_table.h"

#include <stdbool.h>

/* By its build-id; where `binary` tells none, by what the file itself says. Returns 0; -ENOENT
 * there is neither; errors of symbol_identity_read_file(). */
int wanted_identify(const struct symbol_binary *binary, struct symbol_identity *ret_identity);

void wanted_find_debug_files(
	struct broker *broker, const struct wanted *wanted, struct debug_files *ret_files);

/*
 * Is there something better now than the cache's entry was made of? What was there before has been
 * tried and passed over, so unless `is_eager` it is only tried again after a day.
 */
bool wanted_has_better(struct broker *broker, const struct wanted *wanted,
	const struct pilotlight_symbol_header *header, bool is_eager);
