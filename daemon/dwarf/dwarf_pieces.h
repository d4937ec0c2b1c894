/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pieces of one program's split DWARF, as they are wanted: out of a package where that has
 * them, else each from a file of its own, which somebody else opens. One file is open at a time.
 * One owner.
 */
#pragma once

#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_package.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DWARF_PIECE_PATH_BYTES = 4096,
	DWARF_PIECE_LOOKUPS_MAX = 65536, /* of single files; beyond it there are none */
};

/* Who opens files. */
struct dwarf_piece_opener {
	/*
	 * The file that the program's DWARF says is at `path`, which is absolute or relative to a
	 * folder that only the opener may know; of at most DWARF_PIECE_PATH_BYTES with its NUL.
	 * Returns 0 and a descriptor that the caller owns, or -errno: it is not to be had.
	 */
	int (*open)(void *context, const char *path, int *ret_fd);
	void *context;
};

struct dwarf_pieces {
	struct scratch *scratch;		 /* borrowed */
	const struct dwarf_piece_opener *opener; /* borrowed; NULL: there are no single files */
	int package_fd;				 /* borrowed; -1: none */
	bool is_package_open;			 /* tried, at least */
	struct dwarf_file package_file;
	struct dwarf_package package; /* of no slots where there is none */
	struct dwarf_file file;
	bool is_file_open;
	uint32_t lookups_left;
	char path[DWARF_PIECE_PATH_BYTES]; /* of that file */
};

void dwarf_pieces_init(struct dwarf_pieces *pieces, int package_fd,
	const struct dwarf_piece_opener *opener, struct scratch *scratch);
void dwarf_pieces_done(struct dwarf_pieces *pieces);

/*
 * Where the unit `id` is said to be. Both return 0; -ENOENT it is not to be had; -EBADMSG it makes
 * no sense; -ENOMEM; -ENOSPC. The sections are there until the next call of either.
 */
int dwarf_pieces_find_packaged(
	struct dwarf_pieces *pieces, uint64_t id, struct dwarf_sections *ret_sections);
/* `name` is relative to `folder`, or absolute. */
int dwarf_pieces_find_file(struct dwarf_pieces *pieces, const char *folder, const char *name,
	struct dwarf_sections *ret_sections);

/* The file that was found last may have the unit in another .debug_info.dwo; makes that the one of
 * `sections`. False: it has no other. */
bool dwarf_pieces_next_info(struct dwarf_pieces *pieces, struct dwarf_sections *sections);
