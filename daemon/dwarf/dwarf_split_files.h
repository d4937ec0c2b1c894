/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the split units (.dwo) of one program: in its package (.dwp) or in single files, which a
 * callback opens. At most one single file is open at a time. One owner.
 */
#pragma once

#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_package.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DWARF_SPLIT_PATH_BYTES = 4096,
	DWARF_SPLIT_LOOKUPS_MAX = 65536, /* of single files; later ones fail */
};

struct dwarf_split_opener {
	/*
	 * Opens the file that the program's DWARF names. `path` is absolute or relative to a folder
	 * that only the opener knows, and has at most DWARF_SPLIT_PATH_BYTES with its NUL. Returns
	 * 0 and a descriptor that the caller owns, or -errno.
	 */
	int (*open)(void *context, const char *path, int *ret_fd);
	void *context;
};

struct dwarf_split_files {
	struct scratch *scratch;		 /* borrowed */
	const struct dwarf_split_opener *opener; /* borrowed; NULL: no single files */
	int package_fd;				 /* borrowed; -1: none */
	bool is_package_open;			 /* or opening it has failed */
	struct dwarf_file package_file;
	struct dwarf_package package; /* has no slots if opening failed */
	struct dwarf_file file;
	bool is_file_open;
	uint32_t lookups_left;
	char path[DWARF_SPLIT_PATH_BYTES]; /* of `file` */
};

void dwarf_split_files_init(struct dwarf_split_files *split_files, int package_fd,
	const struct dwarf_split_opener *opener, struct scratch *scratch);
void dwarf_split_files_done(struct dwarf_split_files *split_files);

/*
 * Both find functions return the sections that should have the unit `id`; they are valid until the
 * next call of either. Return 0; -ENOENT not found; -EBADMSG malformed; -ENOMEM; -ENOSPC.
 */
int dwarf_split_files_find_packaged(
	struct dwarf_split_files *split_files, uint64_t id, struct dwarf_sections *ret_sections);
/* `name` is relative to `folder`, or absolute. */
int dwarf_split_files_find_file(struct dwarf_split_files *split_files, const char *folder,
	const char *name, struct dwarf_sections *ret_sections);

/* Replaces .debug_info of `sections` by the next .debug_info.dwo of the last file found. Returns
 * false if the file has no other. */
bool dwarf_split_files_next_info(
	struct dwarf_split_files *split_files, struct dwarf_sections *sections);
