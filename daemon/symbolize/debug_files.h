/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files beside a binary that know more of it: its separate debug file, the one that dwz moved
 * the common parts to, and the package of split DWARF files. Found by what the files' own
 * headers say, which is hostile (I8), so a worker checks that they belong together before it
 * believes them.
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
	int package_fd;			  /* owned; -1: none */
	enum pilotlight_symbol_rank rank; /* of the debug file; RANK_BINARY where there is none */
	int64_t changed_s;	   /* when it came to be as it is (ctime), since 1970; 0: none */
	int64_t package_changed_s; /* the same of the package */
};

/*
 * Looks for those of `binary`, whose own debug_fd goes first. Finding none is no error. Of a binary
 * whose owner is trusted, files of others are passed over (symbol/file_owner.h).
 */
void debug_files_find(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *ret_files);

/* The same, but the debug file is one that came from elsewhere, and is taken over. */
void debug_files_take(struct broker *broker, const struct symbol_binary *binary, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files);

/* None of them, to begin with. */
struct debug_files debug_files_none(void);

void debug_files_done(struct debug_files *files);

/* Has the file symbols or DWARF, but not the code: is it a debug file itself? */
bool debug_files_is_debug_file(int fd);
