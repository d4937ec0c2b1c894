/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files beside a binary that know more of it: its separate debug file, and the one that dwz
 * moved the common parts to. Found by what the files' own headers say, which is hostile (I8), so a
 * worker checks that they belong together before it believes them.
 */
#pragma once

#include "broker/broker.h"
#include "pilotlight/symbol_file.h"
#include "symbol/symbol_source.h"

#include <stdbool.h>
#include <stdint.h>

struct debug_files {
	int debug_fd;			  /* owned; -1: none */
	int alternate_fd;		  /* owned; -1: none */
	enum pilotlight_symbol_rank rank; /* of the debug file; RANK_BINARY where there is none */
	int64_t changed_s;		  /* when it came to be as it is (ctime), since 1970 */
};

/* Looks for those of `binary`, whose own debug_fd goes first. Finding none is no error. */
void debug_files_find(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *ret_files);

/* Takes over a debug file that came from elsewhere and finds its alternate file. */
void debug_files_take(struct broker *broker, int debug_fd, enum pilotlight_symbol_rank rank,
	struct debug_files *ret_files);

void debug_files_done(struct debug_files *files);

/* Has the file symbols or DWARF, but not the code: is it a debug file itself? */
bool debug_files_is_debug_file(int fd);
