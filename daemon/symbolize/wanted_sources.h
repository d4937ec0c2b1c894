/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a binary that is wanted is known by, and what its symbols can be made of. */
#pragma once

#include "symbolize/debug_files.h"
#include "symbolize/wanted_table.h"

#include <stdbool.h>

/*
 * By its build-id; where `binary` tells none, by what the file itself says, which is filled in; and
 * by whose file it is. Returns 0; -ENOENT there is neither; errors of symbol_identity_read_file().
 */
int wanted_identify(struct symbol_binary *binary, struct symbol_identity *ret_identity);

void wanted_find_debug_files(
	struct broker *broker, const struct wanted *wanted, struct debug_files *ret_files);
/* The same with a debug file that was fetched, which is taken over. */
void wanted_take_debug_file(struct broker *broker, const struct wanted *wanted, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files);

/* Opens a piece of split DWARF that the binary's debug information names (split_piece.h). -EACCES
 * also for one whose owner is not trusted, where the binary's is. */
int wanted_open_piece(
	struct broker *broker, const struct wanted *wanted, const char *path, int *ret_fd);

/*
 * Is there something better now than the cache's entry was made of? What was there before has been
 * tried and passed over, so unless `is_eager` it is only tried again after a day. So are pieces of
 * split DWARF that were missing, which nobody can look for without reading the binary again.
 */
bool wanted_has_better(struct broker *broker, const struct wanted *wanted,
	const struct pilotlight_symbol_header *header, bool is_eager);
