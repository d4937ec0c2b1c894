/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache.h"

#include "symbol/symbol_cache_folder.h"
#include "symbol/symbol_cache_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	symbol_cache_selection_init(&cache->usage.oldest, symbol_cache_by_use);
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
	symbol_cache_selection_done(&cache->usage.oldest);
	closep(&cache->fd);
	free(cache->directory);
	free(cache);
}

/* NULL where it is not set or empty. */
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

/* The service's, which has a user of its own: what root left there, that could not read. */
static bool is_anothers(const char *path)
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
	if (geteuid() == 0 && !is_anothers(SYSTEM_CACHE))
		return join(SYSTEM_CACHE, "/symbols", ret_directory);
	/* The XDG base directory specification has relative paths ignored. */
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

/* Of no weight: in a folder that is read-only the order of use stays as it is. */
static void touch(int fd, const struct symbol_cache_found *found)
{
	time_t now = (time_t)symbol_cache_now_s();

	if (found->modified.tv_sec < now - SYMBOL_CACHE_USE_S ||
		found->modified.tv_sec > now + SYMBOL_CACHE_USE_S)
		(void)futimens(fd, NULL);
}

int symbol_cache_load(int fd, const struct symbol_identity *identity, struct symbol_file **ret_file)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_identity its;
	int r;

	r = symbol_file_open(fd, &file);
	if (r < 0)
		return r;
	its = symbol_file_identity(file);
	if (!symbol_identity_equal(&its, identity))
		return -EBADMSG;
	*ret_file = TAKE_PTR(file);
	return 0;
}

/*
 * What is to be done with an entry after it was read, of which `read` is what came: 0 with a
 * header, or -errno. Returns 0 if it is of use, and marks it as used; -ENOENT, -errno.
 */
static int judge(struct symbol_cache *cache, int fd, const struct symbol_cache_found *found,
	int read, const struct pilotlight_symbol_header *header)
{
	int r = read;

	if (r == 0 && symbol_cache_header_is_expired(header, symbol_cache_now_s()))
		r = -ENOENT;
	if (r == -EBADMSG)
		cache->counters.damaged++;
	if (r == -EBADMSG || r == -ENOENT)
		(void)symbol_cache_folder_remove(cache, found);
	if (r == 0)
		touch(fd, found);
	return r == -EBADMSG || r == -EPROTONOSUPPORT ? -ENOENT : r;
}

static void count_search(struct symbol_cache *cache, int r)
{
	cache->counters.found += r == 0;
	cache->counters.missed += r == -ENOENT;
}

int symbol_cache_find(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_file **ret_file)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_cache_found found;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_folder_open_entry(cache, identity, &fd, &found);
	if (r == 0) {
		r = symbol_cache_load(fd, identity, &file);
		r = judge(cache, fd, &found, r, r == 0 ? symbol_file_header(file) : NULL);
	}
	count_search(cache, r);
	if (r == 0)
		*ret_file = TAKE_PTR(file);
	return r;
}

int symbol_cache_peek(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct pilotlight_symbol_header *ret_header)
{
	struct pilotlight_symbol_header header;
	struct symbol_cache_found found;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_folder_open_entry(cache, identity, &fd, &found);
	if (r == 0) {
		r = symbol_cache_header_read_of(fd, identity, &header);
		r = judge(cache, fd, &found, r, &header);
	}
	count_search(cache, r);
	if (r == 0)
		*ret_header = header;
	return r;
}

int symbol_cache_remove(struct symbol_cache *cache, const struct symbol_identity *identity)
{
	_cleanup_close_ int folder_fd = -1;
	struct symbol_cache_name name;
	int r;

	symbol_cache_name_set(&name, identity);
	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r == -ENOTDIR || r == -ELOOP)
		return -ENOENT;
	if (r == 0 && unlinkat(folder_fd, name.file, 0) < 0)
		r = -errno;
	return r;
}

void symbol_cache_counters(
	const struct symbol_cache *cache, struct symbol_cache_counters *ret_counters)
{
	*ret_counters = cache->counters;
}
