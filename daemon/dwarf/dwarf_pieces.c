/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_pieces.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void dwarf_pieces_init(struct dwarf_pieces *pieces, int package_fd,
	const struct dwarf_piece_opener *opener, struct scratch *scratch)
{
	*pieces = (struct dwarf_pieces){
		.scratch = scratch,
		.opener = opener,
		.package_fd = package_fd,
		.lookups_left = DWARF_PIECE_LOOKUPS_MAX,
	};
}

void dwarf_pieces_done(struct dwarf_pieces *pieces)
{
	dwarf_file_close(&pieces->package_file);
	dwarf_file_close(&pieces->file);
	*pieces = (struct dwarf_pieces){ .package_fd = -1 };
}

/* What is not this file's fault ends the whole. */
static int error_of(int r)
{
	return r == 0 || r == -ENOMEM || r == -ENOSPC ? r : -EBADMSG;
}

static int open_package(struct dwarf_pieces *pieces)
{
	int r;

	if (pieces->is_package_open || pieces->package_fd < 0)
		return 0;
	r = error_of(
		dwarf_file_open(&pieces->package_file, pieces->package_fd, true, pieces->scratch));
	if (r == -ENOMEM || r == -ENOSPC)
		return r;
	pieces->is_package_open = true;
	/* One that makes no sense has nothing. */
	if (r == 0)
		(void)dwarf_package_open(&pieces->package, &pieces->package_file.sections);
	return 0;
}

int dwarf_pieces_find_packaged(
	struct dwarf_pieces *pieces, uint64_t id, struct dwarf_sections *ret_sections)
{
	int r = open_package(pieces);

	return r < 0 ? r : dwarf_package_find(&pieces->package, id, ret_sections);
}

static int open_file(struct dwarf_pieces *pieces, const char *path)
{
	_cleanup_close_ int fd = -1;
	int r;

	pieces->is_file_open = false;
	if (!pieces->opener || pieces->opener->open(pieces->opener->context, path, &fd) < 0)
		return -ENOENT;
	r = error_of(dwarf_file_open(&pieces->file, fd, true, pieces->scratch));
	if (r < 0)
		return r;
	pieces->is_file_open = true;
	(void)snprintf(pieces->path, sizeof(pieces->path), "%s", path);
	return 0;
}

int dwarf_pieces_find_file(struct dwarf_pieces *pieces, const char *folder, const char *name,
	struct dwarf_sections *ret_sections)
{
	const bool is_in_folder = folder[0] && name[0] != '/';
	const int bytes_max = sizeof(pieces->path);
	char path[sizeof(pieces->path)];
	int length, r = 0;

	length = snprintf(path, sizeof(path), "%.*s%s%.*s", is_in_folder ? bytes_max : 0, folder,
		is_in_folder ? "/" : "", bytes_max, name);
	if (pieces->lookups_left == 0)
		return -ENOENT;
	pieces->lookups_left--;
	if (!name[0] || length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	/* Units that were optimised together are in one file. */
	if (!pieces->is_file_open || strcmp(path, pieces->path) != 0)
		r = open_file(pieces, path);
	if (r == 0 &&
		(!pieces->file.sections.info.position || !pieces->file.sections.abbrev.position))
		r = -EBADMSG;
	if (r == 0)
		*ret_sections = pieces->file.sections;
	return r;
}

bool dwarf_pieces_next_info(struct dwarf_pieces *pieces, struct dwarf_sections *sections)
{
	return dwarf_file_next_info(&pieces->file, sections);
}
