/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/split_file.h"

#include "base/cleanup.h"
#include "dwarf/elf_sections.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* The search delays the drain. A split unit may be in the object file itself, with a section for
 * each function. */
enum { SECTIONS_MAX = 4096 };
#define BYTES_MAX (1ULL << 30)

/* The broker follows no links, but folders of the path may be links. */
static int resolve(const char *path, const char *binary_path, char **ret_real)
{
	const char *slash = binary_path ? strrchr(binary_path, '/') : NULL;
	_cleanup_free_ char *joined = NULL;
	char *real;

	if (path[0] != '/') {
		if (!slash || binary_path[0] != '/')
			return -ENOENT;
		if (asprintf(&joined, "%.*s/%s", (int)(slash - binary_path), binary_path, path) <
			0) {
			joined = NULL;
			return -ENOMEM;
		}
	}
	real = realpath(joined ? joined : path, NULL);
	if (!real)
		return -errno;
	*ret_real = real;
	return 0;
}

static bool may_be_opened(const struct stat *file, int binary_fd)
{
	struct stat binary;

	return (file->st_mode & S_IROTH) ||
	       (binary_fd >= 0 && fstat(binary_fd, &binary) == 0 && binary.st_uid == file->st_uid);
}

static int match_section(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	(void)context;
	(void)index;
	return section->sh_type != SHT_NOBITS &&
	       (strcmp(name, ".debug_info.dwo") == 0 || strcmp(name, ".zdebug_info.dwo") == 0);
}

static int check_file(int fd, int binary_fd)
{
	struct elf_file file;
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!may_be_opened(&status, binary_fd))
		return -EACCES;
	if ((uint64_t)status.st_size > BYTES_MAX)
		return -EFBIG;
	r = elf_file_init(&file, fd);
	if (r < 0)
		return r;
	if (file.type != ET_REL)
		return -ENOEXEC;
	if (file.shdr_count > SECTIONS_MAX)
		return -EFBIG;
	r = elf_sections_each(&file, match_section, NULL);
	return r < 0 ? r : r == 1 ? 0 : -ENOEXEC;
}

int split_file_open(
	struct broker *broker, const char *path, const struct symbol_binary *binary, int *ret_fd)
{
	_cleanup_free_ char *real = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	r = resolve(path, binary->path, &real);
	if (r == 0)
		r = broker_open_path(broker, real, &fd);
	if (r == 0)
		r = check_file(fd, binary->fd >= 0 ? binary->fd : binary->debug_fd);
	/* Only trusted files contribute to the symbols of a trusted file. */
	if (r == 0 && binary->identity.kind != PILOTLIGHT_SYMBOL_OWNED &&
		!file_owner_is_trusted(fd))
		r = -EACCES;
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}
