/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/fetch_folder.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

enum {
	ATTEMPTS_MAX = 16,
	DEPTH_MAX = 4, /* inner folder, cache, build-id, files */
	ENTRIES_MAX = 4096,
};
#define NAME_PREFIX "fetch."
#define INNER_NAME  "files"

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

static int open_folder(int parent_fd, const char *name)
{
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens the folder again, because the position of `fd` is shared. */
static DIR *list_folder(int fd)
{
	_cleanup_close_ int copy = open_folder(fd, ".");
	DIR *folder = copy < 0 ? NULL : fdopendir(copy);

	if (folder)
		copy = -1;
	return folder;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The recursion is bounded by DEPTH_MAX. */
static void empty_folder(int fd, int depth, int *budget)
{
	_cleanup_(closedirp) DIR *folder = list_folder(fd);
	const struct dirent *entry;

	while (folder && *budget > 0 && (entry = readdir(folder))) {
		if (is_dots(entry->d_name))
			continue;
		(*budget)--;
		if (unlinkat(fd, entry->d_name, 0) == 0 || depth == DEPTH_MAX)
			continue;
		_cleanup_close_ int inner_fd = open_folder(fd, entry->d_name);

		if (inner_fd < 0)
			continue;
		empty_folder(inner_fd, depth + 1, budget);
		(void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
}

static bool remove_folder(int parent_fd, int fd, const char *name)
{
	int budget = ENTRIES_MAX;

	empty_folder(fd, 1, &budget);
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0;
}

/* -EAGAIN: a sweep has removed the folder before it was locked. */
static int lock_folder(int fd)
{
	struct stat stat;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &stat) < 0)
		return -errno;
	return stat.st_nlink > 0 ? 0 : -EAGAIN;
}

/* Everybody may write, because root does not fetch as root; only a descriptor leads here. mkdirat()
 * sets the mode, because the engine's sandbox forbids fchmod() to a mode that lets others write. */
static int make_inner(int outer_fd, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	mode_t mask = umask(0);
	int r = mkdirat(outer_fd, INNER_NAME, 0777) < 0 ? -errno : 0;

	(void)umask(mask);
	if (r < 0)
		return r;
	fd = open_folder(outer_fd, INNER_NAME);
	if (fd < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int make_once(int parent_fd, struct fetch_folder *ret_folder)
{
	_cleanup_close_ int outer_fd = -1;
	uint64_t number;
	int r;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	(void)snprintf(ret_folder->name, sizeof(ret_folder->name), NAME_PREFIX "%016llx",
		(unsigned long long)number);
	if (mkdirat(parent_fd, ret_folder->name, 0700) < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	outer_fd = open_folder(parent_fd, ret_folder->name);
	r = outer_fd < 0 ? (errno == ENOENT ? -EAGAIN : -errno) : lock_folder(outer_fd);
	if (r == 0)
		r = make_inner(outer_fd, &ret_folder->fd);
	if (r < 0) {
		if (outer_fd >= 0)
			(void)unlinkat(outer_fd, INNER_NAME, AT_REMOVEDIR);
		(void)unlinkat(parent_fd, ret_folder->name, AT_REMOVEDIR);
		return r;
	}
	ret_folder->outer_fd = TAKE_FD(outer_fd);
	return 0;
}

int fetch_folder_make(const char *parent, struct fetch_folder *ret_folder)
{
	struct fetch_folder folder;
	_cleanup_close_ int parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = -EAGAIN;

	if (parent_fd < 0)
		return -errno;
	for (int i = 0; i < ATTEMPTS_MAX && r == -EAGAIN; i++)
		r = make_once(parent_fd, &folder);
	if (r < 0)
		return r;
	folder.parent_fd = TAKE_FD(parent_fd);
	*ret_folder = folder;
	return 0;
}

void fetch_folder_remove(struct fetch_folder *folder)
{
	if (folder->parent_fd < 0)
		return;
	(void)remove_folder(folder->parent_fd, folder->outer_fd, folder->name);
	(void)close(folder->fd);
	(void)close(folder->outer_fd);
	(void)close(folder->parent_fd);
	folder->fd = folder->outer_fd = folder->parent_fd = -1;
}

size_t fetch_folder_sweep(const char *parent)
{
	_cleanup_close_ int parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = parent_fd < 0 ? NULL : list_folder(parent_fd);
	const struct dirent *entry;
	size_t removed = 0;

	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
			continue;
		_cleanup_close_ int fd = open_folder(parent_fd, entry->d_name);
		struct stat stat;

		if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_uid == geteuid() &&
			lock_folder(fd) == 0)
			removed += remove_folder(parent_fd, fd, entry->d_name);
	}
	return removed;
}
