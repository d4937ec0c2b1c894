/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drafts: files in `tmp/`, each locked as long as a writer has it open. A process that can lock a
 * draft has found a dead process's one, or one that is just being made; its maker then sees that
 * the name is gone and makes another.
 */
#include "base/array.h"
#include "base/clock.h"
#include "symbol/symbol_cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char drafts_name[] = "tmp";
static const char suffix[] = ".draft";

enum { MAKE_ATTEMPTS = 64 };

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/* Makes the folder again after a user has removed it. */
static int reopen_removed_folder(struct symbol_cache *cache)
{
	struct stat status;
	int fd = -1, r;

	if (fstat(cache->fd, &status) < 0)
		return -errno;
	if (status.st_nlink > 0)
		return 0;
	r = symbol_cache_folder_make(cache->directory, &fd);
	if (r < 0)
		return r;
	(void)close(cache->fd);
	cache->fd = fd;
	cache->is_size_known = false;
	return 0;
}

static int open_drafts(struct symbol_cache *cache, int *ret_fd)
{
	int r = reopen_removed_folder(cache);

	if (r < 0)
		return r;
	if (mkdirat(cache->fd, drafts_name, SYMBOL_CACHE_FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	return symbol_cache_folder_open(cache, drafts_name, O_PATH, ret_fd);
}

/* On -EEXIST and -EWOULDBLOCK the caller tries another name. */
static int make_draft(int folder_fd, const char *name, int *ret_fd)
{
	_cleanup_close_ int fd = openat(folder_fd, name,
		O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, SYMBOL_CACHE_FILE_MODE);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int r = -errno;

		(void)unlinkat(folder_fd, name, 0);
		return r;
	}
	if (!symbol_cache_folder_has(folder_fd, name, fd))
		return -EWOULDBLOCK;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int symbol_cache_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft)
{
	struct symbol_cache_draft draft = { .fd = -1 };
	_cleanup_close_ int folder_fd = -1;
	uint64_t removed;
	int r;

	r = open_drafts(cache, &folder_fd);
	if (r < 0)
		return r;
	if (!cache->has_cleared_drafts) {
		/* A draft that stays costs space and nothing else. */
		(void)symbol_cache_clear_drafts(cache, &removed);
		cache->has_cleared_drafts = true;
	}
	r = -EEXIST;
	for (int i = 0; i < MAKE_ATTEMPTS && (r == -EEXIST || r == -EWOULDBLOCK); i++) {
		(void)snprintf(draft.name, sizeof(draft.name), "%d-%" PRIx64 "%s", (int)getpid(),
			clock_realtime_ns(), suffix);
		r = make_draft(folder_fd, draft.name, &draft.fd);
	}
	if (r == 0)
		*ret_draft = draft;
	return r;
}

static bool is_in_memory(const char *folder)
{
	struct statfs status;

	return statfs(folder, &status) < 0 || status.f_type == TMPFS_MAGIC ||
	       status.f_type == RAMFS_MAGIC;
}

static int open_unnamed(int *ret_fd)
{
	static const char *const folders[] = { "/var/tmp", "/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		int fd = is_in_memory(folders[i])
				 ? -1
				 : open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
	}
	return -EROFS;
}

int symbol_cache_begin_or_unnamed(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft)
{
	struct symbol_cache_draft draft = { .fd = -1 };
	int r = cache ? symbol_cache_begin(cache, &draft) : -EROFS;

	if (r < 0)
		r = open_unnamed(&draft.fd);
	if (r == 0)
		*ret_draft = draft;
	return r;
}

static void remove_name(const struct symbol_cache *cache, const struct symbol_cache_draft *draft)
{
	_cleanup_close_ int folder_fd = -1;

	if (draft->name[0] &&
		symbol_cache_folder_open(cache, drafts_name, O_PATH, &folder_fd) == 0 &&
		symbol_cache_folder_has(folder_fd, draft->name, draft->fd))
		(void)unlinkat(folder_fd, draft->name, 0);
}

int symbol_cache_open_scratch(struct symbol_cache *cache, int *ret_fd)
{
	struct symbol_cache_draft draft;
	int r = symbol_cache_begin_or_unnamed(cache, &draft);

	if (r < 0)
		return r;
	remove_name(cache, &draft);
	*ret_fd = draft.fd;
	return 0;
}

void symbol_cache_draft_done(struct symbol_cache *cache, struct symbol_cache_draft *draft)
{
	remove_name(cache, draft);
	closep(&draft->fd);
	*draft = (struct symbol_cache_draft){ .fd = -1 };
}

int symbol_cache_draft_publish(const struct symbol_cache *cache, struct symbol_cache_draft *draft,
	int folder_fd, const char *name)
{
	_cleanup_close_ int drafts_fd = -1;
	int r;

	r = symbol_cache_folder_open(cache, drafts_name, O_PATH, &drafts_fd);
	if (r < 0)
		return r;
	if (!symbol_cache_folder_has(drafts_fd, draft->name, draft->fd))
		return -ESTALE;
	if (renameat(drafts_fd, draft->name, folder_fd, name) < 0)
		return -errno;
	draft->name[0] = '\0';
	return 0;
}

static bool is_draft(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
	       length >= sizeof(suffix) &&
	       strcmp(entry->d_name + length - (sizeof(suffix) - 1), suffix) == 0;
}

/* Returns 1 if its writer was dead and it is removed; 0 if it is in use or gone; -errno. */
static int clear_draft(int folder_fd, const char *name)
{
	/* An exclusive flock() over NFS needs a writable descriptor. */
	_cleanup_close_ int fd =
		openat(folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : -errno;
	if (!symbol_cache_folder_has(folder_fd, name, fd))
		return 0;
	return unlinkat(folder_fd, name, 0) < 0 ? -errno : 1;
}

int symbol_cache_clear_drafts(const struct symbol_cache *cache, uint64_t *ret_count)
{
	_cleanup_(closedirp) DIR *stream = NULL;
	_cleanup_close_ int fd = -1;
	const struct dirent *entry;
	uint64_t count = 0;
	int cleared, r;

	r = symbol_cache_folder_open(cache, drafts_name, O_RDONLY, &fd);
	if (r == 0) {
		stream = fdopendir(fd);
		if (!stream)
			return -errno;
		fd = -1;
	} else if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP) {
		return r;
	}
	r = 0;
	while (stream && (entry = readdir(stream))) {
		if (!is_draft(entry))
			continue;
		cleared = clear_draft(dirfd(stream), entry->d_name);
		if (cleared > 0)
			count++;
		else if (cleared < 0 && r == 0)
			r = cleared;
	}
	if (r == 0)
		*ret_count = count;
	return r;
}
