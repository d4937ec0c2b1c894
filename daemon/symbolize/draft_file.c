/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/draft_file.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/vfs.h>

static const struct symbol_cache_draft none = { .fd = -1 };

static bool is_in_memory(const char *folder)
{
	struct statfs status;

	return statfs(folder, &status) < 0 || status.f_type == TMPFS_MAGIC ||
	       status.f_type == RAMFS_MAGIC;
}

static int open_nameless(int *ret_fd)
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

int draft_file_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft)
{
	*ret_draft = none;
	if (cache && symbol_cache_begin(cache, ret_draft) == 0)
		return 0;
	*ret_draft = none;
	return open_nameless(&ret_draft->fd);
}

int draft_file_open_scratch(struct symbol_cache *cache, int *ret_fd)
{
	struct symbol_cache_draft draft;
	int fd, r;

	r = draft_file_begin(cache, &draft);
	if (r < 0)
		return r;
	fd = fcntl(draft.fd, F_DUPFD_CLOEXEC, 3);
	r = fd < 0 ? -errno : 0;
	symbol_cache_draft_done(cache, &draft);
	if (r == 0)
		*ret_fd = fd;
	return r;
}
