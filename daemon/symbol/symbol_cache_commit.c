/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_folder.h"
#include "symbol/symbol_cache_header.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each of them has found a damaged entry in the way, and removed it. */
enum { PUBLISH_ATTEMPTS = 8 };

/* Is it whole, and what it is said to be? */
static int check_draft(
	int fd, const struct symbol_identity *identity, struct pilotlight_symbol_header *ret_header)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	int r = symbol_cache_load(fd, identity, &file);

	if (r < 0)
		return r == -EPROTONOSUPPORT ? -EBADMSG : r;
	*ret_header = *symbol_file_header(file);
	return 0;
}

/*
 * May an entry of `rank` stand in the place of the one that is there? Returns 0; -EEXIST it is
 * outranked; -errno. `ret_standing` is the one that is there, of 0 bytes where there is none.
 */
static int look_at_standing(const struct symbol_cache *cache,
	const struct symbol_identity *identity, uint8_t rank,
	struct symbol_cache_found *ret_standing)
{
	struct symbol_cache_found standing = { .bytes = 0 };
	struct pilotlight_symbol_header header;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_folder_open_entry(cache, identity, &fd, &standing);
	if (r == 0) {
		r = symbol_cache_header_read(fd, &header);
		if (r == 0) {
			struct symbol_identity its = symbol_cache_header_identity(&header);

			if (header.rank > rank && symbol_identity_equal(&its, identity))
				r = -EEXIST;
		} else if (r == -EPROTONOSUPPORT && rank == PILOTLIGHT_SYMBOL_RANK_NONE) {
			/* Another program's, and something is better than nothing. */
			r = -EEXIST;
		}
	}
	if (r == -ENOENT || r == -EBADMSG || r == -EPROTONOSUPPORT)
		r = 0;
	if (r == 0 || r == -EEXIST)
		*ret_standing = standing;
	return r;
}

/* Renames under the lock. -EEXIST as look_at_standing(), with the one that outranks. */
static int try_to_publish(struct symbol_cache *cache, const struct symbol_identity *identity,
	uint8_t rank, struct symbol_cache_draft *draft, struct symbol_cache_found *ret_standing)
{
	_cleanup_close_ int folder_fd = -1, lock_fd = -1;
	struct symbol_cache_name name;
	int r;

	symbol_cache_name_set(&name, identity);
	if (mkdirat(cache->fd, name.folder, SYMBOL_CACHE_FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r == 0)
		r = symbol_cache_folder_lock(cache, &lock_fd);
	if (r == 0)
		r = look_at_standing(cache, identity, rank, ret_standing);
	if (r == 0)
		r = symbol_cache_draft_publish(cache, draft, folder_fd, name.file);
	return r;
}

/* What outranks is to be whole, or else it is in nobody's way. */
static bool is_damaged(const struct symbol_cache *cache, const struct symbol_identity *identity)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_cache_found found;
	_cleanup_close_ int fd = -1;

	return symbol_cache_folder_open_entry(cache, identity, &fd, &found) == 0 &&
	       symbol_file_open(fd, &file) == -EBADMSG;
}

static int publish(struct symbol_cache *cache, const struct symbol_identity *identity, uint8_t rank,
	struct symbol_cache_draft *draft, struct symbol_cache_found *ret_replaced)
{
	int r = -EEXIST;

	for (int i = 0; i < PUBLISH_ATTEMPTS && r == -EEXIST; i++) {
		r = try_to_publish(cache, identity, rank, draft, ret_replaced);
		if (r != -EEXIST || !is_damaged(cache, identity))
			break;
		cache->counters.damaged++;
		r = symbol_cache_folder_remove(cache, ret_replaced);
		if (r == 0 || r == -ENOENT || r == -ESTALE)
			r = -EEXIST;
	}
	return r;
}

int symbol_cache_commit(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_cache_draft *draft)
{
	struct pilotlight_symbol_header header;
	struct symbol_cache_found replaced;
	int r;

	assert(draft->path);
	r = check_draft(draft->fd, identity, &header);
	if (r < 0)
		return r;
	if (symbol_cache_usage_bytes(header.file_bytes) > cache->bytes_max)
		return -EFBIG;
	/* That there is nothing may be forgotten when the machine fails. The folder is not synced
	 * either: the name is lost then, and no more. */
	if (header.rank != PILOTLIGHT_SYMBOL_RANK_NONE && fdatasync(draft->fd) < 0)
		return -errno;
	/* It may have been written long ago, and would be the first to go. */
	(void)futimens(draft->fd, NULL);
	r = publish(cache, identity, header.rank, draft, &replaced);
	if (r == -EEXIST)
		cache->counters.refused++;
	if (r < 0)
		return r;
	cache->counters.stored++;
	symbol_cache_usage_add(cache, header.file_bytes, replaced.bytes);
	/* It is stored, whatever comes of this; the next one tries again. */
	(void)symbol_cache_evict(cache, cache->bytes_max, identity, NULL);
	return 0;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = write(fd, (const char *)bytes + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int symbol_cache_put_negative(struct symbol_cache *cache, const struct symbol_identity *identity,
	enum pilotlight_symbol_failure failure, const char *origin)
{
	struct symbol_cache_draft draft = { .fd = -1 };
	struct pilotlight_symbol_header header;
	int r;

	if (failure <= PILOTLIGHT_SYMBOL_OK || failure >= PILOTLIGHT_SYMBOL_FAILURES ||
		failure == PILOTLIGHT_SYMBOL_NO_SPACE)
		return -EINVAL;
	symbol_cache_header_set_negative(&header, identity, failure, origin, symbol_cache_now_s());
	r = symbol_cache_begin(cache, &draft);
	if (r < 0)
		return r;
	r = write_all(draft.fd, &header, sizeof(header));
	if (r == 0)
		r = symbol_cache_commit(cache, identity, &draft);
	symbol_cache_draft_done(cache, &draft);
	return r;
}
