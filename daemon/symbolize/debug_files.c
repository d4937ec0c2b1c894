/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/debug_files.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "dwarf/elf_sections.h"
#include "symbol/file_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The drain waits for the search. No linker makes programs with more sections. */
enum { SECTIONS_MAX = 512 };

enum { RETRY_S = 24 * 60 * 60 };

struct debug_files debug_files_none(void)
{
	return (struct debug_files){
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
	};
}

/*
 * May the opened file contribute to the binary's symbols? Otherwise closes it. Only trusted files
 * contribute to those of a trusted binary, or other users could forge them.
 */
static bool may_contribute(const struct symbol_binary *binary, int *fd)
{
	int binary_fd = binary->fd >= 0 ? binary->fd : binary->debug_fd;

	if (file_owner_is_trusted(*fd) || (binary_fd >= 0 && !file_owner_is_trusted(binary_fd)))
		return true;
	(void)close(TAKE_FD(*fd));
	return false;
}

static int open_elf(struct elf_file *file, int fd)
{
	int r = elf_file_init(file, fd);

	return r == 0 && file->shdr_count > SECTIONS_MAX ? -EFBIG : r;
}

/* The path is relative to the folder of the debug file. */
static int open_beside(struct broker *broker, const char *debug_path, const char *path, int *ret_fd)
{
	const char *slash = debug_path ? strrchr(debug_path, '/') : NULL;
	_cleanup_free_ char *joined = NULL, *real = NULL;

	if (!slash || path[0] == '/')
		return -ENOENT;
	if (asprintf(&joined, "%.*s/%s", (int)(slash - debug_path), debug_path, path) < 0) {
		joined = NULL;
		return -ENOMEM;
	}
	real = realpath(joined, NULL);
	return real ? broker_open_path(broker, real, ret_fd) : -errno;
}

static int open_alternate(struct broker *broker, int fd, const char *path, int *ret_fd)
{
	_cleanup_free_ struct elf_alternate_link *link = malloc(sizeof(*link));
	struct build_id id = { 0 };
	struct elf_file file;
	int r;

	if (!link)
		return -ENOMEM;
	r = open_elf(&file, fd);
	if (r == 0)
		r = elf_sections_read_alternate_link(&file, link);
	if (r < 0)
		return r;
	(void)build_id_set(&id, link->build_id, link->build_id_bytes);
	r = broker_open_alternate_file(broker, link->path, &id, ret_fd);
	return r < 0 ? open_beside(broker, path, link->path, ret_fd) : r;
}

static int open_debuglink(struct broker *broker, const struct symbol_binary *binary, int *ret_fd)
{
	struct elf_debuglink link;
	struct elf_file file;
	int r;

	if (binary->fd < 0 || !binary->path || binary->path[0] != '/')
		return -ENOENT;
	r = open_elf(&file, binary->fd);
	if (r == 0)
		r = elf_sections_read_debuglink(&file, &link);
	return r == 0 ? broker_open_debuglink(broker, binary->path, link.name, ret_fd) : r;
}

static void find_debug_file(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *files)
{
	if (binary->debug_fd >= 0) {
		files->debug_fd = fcntl(binary->debug_fd, F_DUPFD_CLOEXEC, 3);
		files->rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE;
	} else if (binary->build_id.size > 0 &&
		   broker_open_debug_file(broker, &binary->build_id, &files->debug_fd) == 0 &&
		   may_contribute(binary, &files->debug_fd)) {
		files->rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE;
	} else if (open_debuglink(broker, binary, &files->debug_fd) == 0 &&
		   may_contribute(binary, &files->debug_fd)) {
		files->rank = PILOTLIGHT_SYMBOL_RANK_DEBUGLINK;
	}
	if (files->debug_fd < 0)
		files->rank = PILOTLIGHT_SYMBOL_RANK_BINARY;
}

/* The package of the file at `path`. */
static int open_package_of(struct broker *broker, const char *path, int *ret_fd)
{
	_cleanup_free_ char *package = NULL, *real = NULL;

	if (!path || path[0] != '/')
		return -ENOENT;
	if (asprintf(&package, "%s.dwp", path) < 0) {
		package = NULL;
		return -ENOMEM;
	}
	real = realpath(package, NULL);
	return real ? broker_open_path(broker, real, ret_fd) : -errno;
}

static void find_package(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *files)
{
	int *fd = &files->package_fd;

	if ((open_package_of(broker, binary->debug_path, fd) == 0 && may_contribute(binary, fd)) ||
		(open_package_of(broker, binary->path, fd) == 0 && may_contribute(binary, fd)))
		return;
	if (binary->build_id.size > 0 &&
		broker_open_debug_package(broker, &binary->build_id, fd) == 0)
		(void)may_contribute(binary, fd);
}

/* The alternate file of `fd`, which is at `path`. */
static void find_alternate(struct broker *broker, const struct symbol_binary *binary, int fd,
	const char *path, struct debug_files *files)
{
	if (open_alternate(broker, fd, path, &files->alternate_fd) == 0)
		(void)may_contribute(binary, &files->alternate_fd);
}

static int64_t changed_s(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ? status.st_ctim.tv_sec : 0;
}

void debug_files_find(
	struct broker *broker, const struct symbol_binary *binary, struct debug_files *ret_files)
{
	struct debug_files files = debug_files_none();

	find_debug_file(broker, binary, &files);
	find_package(broker, binary, &files);
	files.changed_s = changed_s(files.debug_fd);
	files.package_changed_s = changed_s(files.package_fd);
	if (files.debug_fd >= 0)
		find_alternate(broker, binary, files.debug_fd, binary->debug_path, &files);
	else if (binary->fd >= 0)
		find_alternate(broker, binary, binary->fd, binary->path, &files);
	*ret_files = files;
}

void debug_files_take(struct broker *broker, const struct symbol_binary *binary, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files)
{
	struct debug_files files = debug_files_none();

	files.debug_fd = debug_fd;
	files.rank = rank;
	find_alternate(broker, binary, debug_fd, NULL, &files);
	find_package(broker, binary, &files);
	files.changed_s = changed_s(files.debug_fd);
	files.package_changed_s = changed_s(files.package_fd);
	*ret_files = files;
}

void debug_files_done(struct debug_files *files)
{
	if (files->debug_fd >= 0)
		(void)close(files->debug_fd);
	if (files->alternate_fd >= 0)
		(void)close(files->alternate_fd);
	if (files->package_fd >= 0)
		(void)close(files->package_fd);
	*files = debug_files_none();
}

/* Is a file that changed at `changed_s` worth another try? */
static bool is_due(const struct pilotlight_symbol_header *header, int64_t changed_s, bool is_eager)
{
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;

	return is_eager || changed_s >= (int64_t)header->created_s ||
	       now_s > header->created_s + RETRY_S;
}

bool debug_files_has_better(struct broker *broker, const struct symbol_binary *binary,
	const struct pilotlight_symbol_header *header, bool is_eager)
{
	struct debug_files files;
	bool is_better;

	debug_files_find(broker, binary, &files);
	is_better = files.debug_fd >= 0 && files.rank > header->rank &&
		    is_due(header, files.changed_s, is_eager);
	if (header->contents & PILOTLIGHT_SYMBOL_LACKS_SPLIT && files.rank >= header->rank &&
		(binary->fd >= 0 || files.debug_fd >= 0))
		is_better = is_better || is_due(header, files.package_changed_s, is_eager);
	debug_files_done(&files);
	return is_better;
}

bool debug_files_can_renew(struct broker *broker, const struct symbol_binary *binary,
	const struct pilotlight_symbol_header *header)
{
	struct debug_files files;
	bool can;

	debug_files_find(broker, binary, &files);
	can = files.rank >= header->rank && (binary->fd >= 0 || files.debug_fd >= 0);
	debug_files_done(&files);
	return can;
}

bool debug_files_is_debug_file(int fd)
{
	struct elf_file file;
	Elf64_Shdr shdr;

	if (open_elf(&file, fd) < 0)
		return false;
	for (uint32_t i = 1; i < file.shdr_count; i++) {
		if (elf_file_read_shdr(&file, i, &shdr) < 0)
			return false;
		if (shdr.sh_flags & SHF_EXECINSTR)
			return shdr.sh_type == SHT_NOBITS;
	}
	return false;
}
