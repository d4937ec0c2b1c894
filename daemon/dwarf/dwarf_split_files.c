/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_split_files.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void dwarf_split_files_init(struct dwarf_split_files *split_files, int package_fd,
	const struct dwarf_split_opener *opener, struct scratch *scratch)
{
	*split_files = (struct dwarf_split_files){
		.scratch = scratch,
		.opener = opener,
		.package_fd = package_fd,
		.lookups_left = DWARF_SPLIT_LOOKUPS_MAX,
	};
}

void dwarf_split_files_done(struct dwarf_split_files *split_files)
{
	dwarf_file_close(&split_files->package_file);
	dwarf_file_close(&split_files->file);
	*split_files = (struct dwarf_split_files){ .package_fd = -1 };
}

/* What is not this file's fault ends the whole. */
static int error_of(int r)
{
	return r == 0 || r == -ENOMEM || r == -ENOSPC ? r : -EBADMSG;
}

static int open_package(struct dwarf_split_files *split_files)
{
	int r;

	if (split_files->is_package_open || split_files->package_fd < 0)
		return 0;
	r = error_of(dwarf_file_open(
		&split_files->package_file, split_files->package_fd, true, split_files->scratch));
	if (r == -ENOMEM || r == -ENOSPC)
		return r;
	split_files->is_package_open = true;
	/* One that makes no sense has nothing. */
	if (r == 0)
		(void)dwarf_package_open(
			&split_files->package, &split_files->package_file.sections);
	return 0;
}

int dwarf_split_files_find_packaged(
	struct dwarf_split_files *split_files, uint64_t id, struct dwarf_sections *ret_sections)
{
	int r = open_package(split_files);

	return r < 0 ? r : dwarf_package_find(&split_files->package, id, ret_sections);
}

static int open_file(struct dwarf_split_files *split_files, const char *path)
{
	_cleanup_close_ int fd = -1;
	int r;

	split_files->is_file_open = false;
	if (!split_files->opener ||
		split_files->opener->open(split_files->opener->context, path, &fd) < 0)
		return -ENOENT;
	r = error_of(dwarf_file_open(&split_files->file, fd, true, split_files->scratch));
	if (r < 0)
		return r;
	split_files->is_file_open = true;
	(void)snprintf(split_files->path, sizeof(split_files->path), "%s", path);
	return 0;
}

int dwarf_split_files_find_file(struct dwarf_split_files *split_files, const char *folder,
	const char *name, struct dwarf_sections *ret_sections)
{
	const bool is_in_folder = folder[0] && name[0] != '/';
	const int bytes_max = sizeof(split_files->path);
	char path[sizeof(split_files->path)];
	int length, r = 0;

	length = snprintf(path, sizeof(path), "%.*s%s%.*s", is_in_folder ? bytes_max : 0, folder,
		is_in_folder ? "/" : "", bytes_max, name);
	if (split_files->lookups_left == 0)
		return -ENOENT;
	split_files->lookups_left--;
	if (!name[0] || length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	/* Units that were optimised together are in one file. */
	if (!split_files->is_file_open || strcmp(path, split_files->path) != 0)
		r = open_file(split_files, path);
	if (r == 0 && (!split_files->file.sections.info.position ||
			      !split_files->file.sections.abbrev.position))
		r = -EBADMSG;
	if (r == 0)
		*ret_sections = split_files->file.sections;
	return r;
}

bool dwarf_split_files_next_info(
	struct dwarf_split_files *split_files, struct dwarf_sections *sections)
{
	return dwarf_file_next_info(&split_files->file, sections);
}
