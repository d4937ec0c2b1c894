/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files with a binary's debug information: its separate debug file, the alternate file to
 * which dwz moved common parts, and the package of split DWARF files. The files' own headers lead
 * to them, and those are hostile (I8): a worker checks that the files belong together before it
 * uses them.
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
	enum pilotlight_symbol_rank rank; /* of the debug file; RANK_BINARY: none */
	int64_t changed_s;		  /* ctime of the debug file; 0: none */
	int64_t package_changed_s;	  /* ctime of the package; 0: none */
};

/*
 * Finds the files of `binary`; its own `debug_fd` comes first. Finding none is not an error. For a
 * trusted binary, untrusted files are ignored (symbol/file_owner.h).
 */
void debug_files_find(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *ret_files);

/* The same with a fetched debug file, which the call takes over. */
void debug_files_take(struct broker *broker, const struct symbol_binary *binary, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files);

/*
 * Do better files exist now than those that the cache's entry was extracted from? Files that
 * existed then were rejected, so they are tried again only after a day, or if `is_eager`. The same
 * holds for missing split DWARF files: to find them, the binary must be read again.
 */
bool debug_files_has_better(struct broker *broker, const struct symbol_binary *binary,
	const struct pilotlight_symbol_header *header, bool is_eager);

/* Do files exist now from which an entry of at least the rank of the cache's can be made? */
bool debug_files_can_renew(struct broker *broker, const struct symbol_binary *binary,
	const struct pilotlight_symbol_header *header);

/* The empty set: no file is open. */
struct debug_files debug_files_none(void);

void debug_files_done(struct debug_files *files);

/* Is the file itself a debug file: does it lack the contents of its code sections? */
bool debug_files_is_debug_file(int fd);
