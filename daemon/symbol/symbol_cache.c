/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache.h"

#include "base/clock.h"
#include "symbol/symbol_cache_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

enum { USE_S = 60 }; /* precision of the last use */

#define SYSTEM_CACHE "/var/cache/pilotlight"

static const char *what_to_do(int error)
{
	return error == -EACCES || error == -EPERM || error == -EROFS
		       ? "run as its owner, or name another folder in PILOTLIGHT_SYMBOL_CACHE"
		       : "name another folder in PILOTLIGHT_SYMBOL_CACHE";
}

int symbol_cache_open(const char *directory, uint64_t bytes_max, struct symbol_cache **ret_cache,
	struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return fault_set(fault, -ENOMEM, "no memory for the symbol cache");
	cache->fd = -1;
	cache->bytes_max = bytes_max;
	cache->patience_ms = SYMBOL_CACHE_PATIENCE_MS;
	cache->directory = strdup(directory);
	if (!cache->directory)
		return fault_set(fault, -ENOMEM, "no memory for the symbol cache");
	r = symbol_cache_folder_make(directory, &cache->fd);
	if (r < 0)
		return fault_set(fault, r, "cannot open the symbol cache in \"%s\": %s; %s",
			directory, strerror(-r), what_to_do(r));
	*ret_cache = TAKE_PTR(cache);
	return 0;
}

void symbol_cache_free(struct symbol_cache *cache)
{
	if (!cache)
		return;
	closep(&cache->fd);
	free(cache->oldest);
	free(cache->directory);
	free(cache);
}

/* NULL: not set, or empty. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int join(const char *folder, const char *rest, char **ret_path)
{
	size_t folder_bytes = strlen(folder), rest_bytes = strlen(rest) + 1;
	char *path = malloc(folder_bytes + rest_bytes);

	if (!path)
		return -ENOMEM;
	memcpy(path, folder, folder_bytes);
	memcpy(path + folder_bytes, rest, rest_bytes);
	*ret_path = path;
	return 0;
}

/* A service with a user of its own could not read what root stored there. */
static bool is_of_another_user(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_uid != geteuid();
}

int symbol_cache_default_directory(char **ret_directory)
{
	const char *named = environment("PILOTLIGHT_SYMBOL_CACHE");
	const char *caches = environment("XDG_CACHE_HOME");
	const char *home = environment("HOME");

	if (named)
		return join(named, "", ret_directory);
	if (geteuid() == 0 && !is_of_another_user(SYSTEM_CACHE))
		return join(SYSTEM_CACHE, "/symbols", ret_directory);
	/* The XDG base directory specification ignores relative paths. */
	if (caches && *caches == '/')
		return join(caches, "/pilotlight/symbols", ret_directory);
	if (home)
		return join(home, "/.cache/pilotlight/symbols", ret_directory);
	return -ENOENT;
}

const char *symbol_cache_directory(const struct symbol_cache *cache)
{
	return cache->directory;
}

void symbol_cache_set_patience(struct symbol_cache *cache, unsigned int ms)
{
	cache->patience_ms = ms;
}

/* A read-only folder keeps its order of use, so an error does not matter. */
static void touch(int fd, const struct symbol_cache_item *item)
{
	time_t now = (time_t)(clock_realtime_ns() / NSEC_PER_SEC);

	if (item->modified.tv_sec < now - USE_S || item->modified.tv_sec > now + USE_S)
		(void)futimens(fd, NULL);
}

/* Finds an entry, removes it if it is damaged or expired, and marks it as used. */
static int look_up(struct symbol_cache *cache, const struct symbol_identity *identity,
	bool is_whole, struct pilotlight_symbol_header *ret_header, struct symbol_file **ret_file)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_symbol_header header;
	struct symbol_cache_item item;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_item_open(cache, identity, &fd, &item);
	if (r == 0) {
		r = symbol_cache_read(fd, identity, is_whole, &header, &file);
		cache->counters.damaged += r == -EBADMSG;
		if (r == -EBADMSG || (r == 0 && symbol_cache_is_expired(&header))) {
			(void)symbol_cache_item_remove(cache, &item);
			r = -ENOENT;
		}
		if (r == -EPROTONOSUPPORT)
			r = -ENOENT;
	}
	cache->counters.found += r == 0;
	cache->counters.missed += r == -ENOENT;
	if (r < 0)
		return r;
	touch(fd, &item);
	if (ret_file)
		*ret_file = TAKE_PTR(file);
	if (ret_header)
		*ret_header = header;
	return 0;
}

int symbol_cache_find(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_file **ret_file)
{
	return look_up(cache, identity, true, NULL, ret_file);
}

int symbol_cache_peek(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct pilotlight_symbol_header *ret_header)
{
	return look_up(cache, identity, false, ret_header, NULL);
}

/*
 * Is the present entry of a higher rank than `rank`? Returns 0 (no) and its size in bytes, 0 if
 * there is none; -EEXIST (yes); -errno. A damaged one is counted and has no rank.
 */
static int check_present(struct symbol_cache *cache, const struct symbol_identity *identity,
	uint8_t rank, uint64_t *ret_bytes)
{
	struct pilotlight_symbol_header header;
	struct symbol_cache_item item;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_item_open(cache, identity, &fd, &item);
	if (r < 0) {
		*ret_bytes = 0;
		return r == -ENOENT ? 0 : r;
	}
	r = symbol_cache_read(fd, identity, false, &header, NULL);
	if (r == 0 && header.rank > rank) {
		r = symbol_cache_read(fd, identity, true, &header, NULL);
		cache->counters.damaged += r == -EBADMSG;
		if (r == 0)
			return -EEXIST;
	}
	/* Another version's symbols are better than none. */
	if (r == -EPROTONOSUPPORT && rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		return -EEXIST;
	*ret_bytes = item.bytes;
	return r == -EBADMSG || r == -EPROTONOSUPPORT ? 0 : r;
}

static int publish(struct symbol_cache *cache, const struct symbol_identity *identity, uint8_t rank,
	struct symbol_cache_draft *draft, uint64_t *ret_replaced_bytes)
{
	struct symbol_cache_name name = symbol_cache_name_of(identity);
	_cleanup_close_ int folder_fd = -1, lock_fd = -1;
	int r;

	if (mkdirat(cache->fd, name.folder, SYMBOL_CACHE_FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r == 0)
		r = symbol_cache_folder_lock(cache, &lock_fd);
	if (r == 0)
		r = check_present(cache, identity, rank, ret_replaced_bytes);
	if (r == 0)
		r = symbol_cache_draft_publish(cache, draft, folder_fd, name.file);
	return r;
}

int symbol_cache_commit(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_cache_draft *draft)
{
	struct pilotlight_symbol_header header;
	uint64_t replaced_bytes = 0;
	int r;

	assert(draft->name[0]);
	r = symbol_cache_make_room(cache);
	if (r < 0)
		return r;
	r = symbol_cache_read(draft->fd, identity, true, &header, NULL);
	if (r < 0)
		return r == -EPROTONOSUPPORT ? -EBADMSG : r;
	if (symbol_cache_block_bytes(header.file_bytes) > cache->bytes_max)
		return -EFBIG;
	/* After a power failure a negative entry may be lost, and so may a name: the folder is not
	 * synced. */
	if (header.rank != PILOTLIGHT_SYMBOL_RANK_NONE && fdatasync(draft->fd) < 0)
		return -errno;
	/* A draft written long ago would be evicted first. */
	(void)futimens(draft->fd, NULL);
	r = publish(cache, identity, header.rank, draft, &replaced_bytes);
	cache->counters.refused += r == -EEXIST;
	if (r < 0)
		return r;
	cache->counters.stored++;
	if (replaced_bytes > 0)
		symbol_cache_subtract_size(cache, identity, replaced_bytes);
	symbol_cache_add_size(cache, identity, header.file_bytes);
	cache->added_bytes += symbol_cache_block_bytes(header.file_bytes);
	symbol_cache_evict(cache, identity);
	return 0;
}

int symbol_cache_put_negative(struct symbol_cache *cache, const struct symbol_identity *identity,
	enum pilotlight_symbol_failure failure, const char *origin)
{
	struct symbol_cache_draft draft = { .fd = -1 };
	struct pilotlight_symbol_header header;
	ssize_t n;
	int r;

	if (failure <= PILOTLIGHT_SYMBOL_OK || failure >= PILOTLIGHT_SYMBOL_FAILURES ||
		failure == PILOTLIGHT_SYMBOL_NO_SPACE)
		return -EINVAL;
	symbol_header_init(&header, identity, PILOTLIGHT_SYMBOL_RANK_NONE, origin ? origin : "");
	header.file_bytes = sizeof(header);
	header.failure = (uint8_t)failure;
	header.header_hash = XXH3_64bits(&header, sizeof(header));
	r = symbol_cache_begin(cache, &draft);
	if (r < 0)
		return r;
	/* After a short write, the next one says why. */
	for (size_t done = 0; done < sizeof(header) && r == 0; done += (size_t)n) {
		n = write(draft.fd, (const char *)&header + done, sizeof(header) - done);
		if (n < 0)
			r = -errno;
	}
	if (r == 0)
		r = symbol_cache_commit(cache, identity, &draft);
	symbol_cache_draft_done(cache, &draft);
	return r;
}

int symbol_cache_remove(struct symbol_cache *cache, const struct symbol_identity *identity)
{
	struct symbol_cache_name name = symbol_cache_name_of(identity);
	_cleanup_close_ int folder_fd = -1;
	int r;

	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r == -ENOTDIR || r == -ELOOP)
		return -ENOENT;
	if (r == 0 && unlinkat(folder_fd, name.file, 0) < 0)
		r = -errno;
	/* Its size was not read. */
	cache->is_size_known = cache->is_size_known && r < 0;
	return r;
}

void symbol_cache_counters(
	const struct symbol_cache *cache, struct symbol_cache_counters *ret_counters)
{
	*ret_counters = cache->counters;
}
