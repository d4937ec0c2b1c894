/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_folder.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "lock";

enum { LOCK_PAUSE_NS = 1000 * 1000, NSEC_PER_MS = 1000 * 1000 };

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/* Opens one folder of the path, and makes it if it is missing. Other processes may do the same. */
static int make_step(int fd, const char *name, int *ret_fd)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int next = openat(fd, name, flags);

	if (next < 0 && errno == ENOENT) {
		if (mkdirat(fd, name, SYMBOL_CACHE_FOLDER_MODE) < 0 && errno != EEXIST)
			return -errno;
		next = openat(fd, name, flags);
	}
	if (next < 0)
		return -errno;
	*ret_fd = next;
	return 0;
}

/* Goes folder by folder, because the path may exceed PATH_MAX. */
int symbol_cache_folder_make(const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_MAX + 1];
	size_t length;
	int next, r;

	if (!*path)
		return -ENOENT;
	r = make_step(AT_FDCWD, *path == '/' ? "/" : ".", &fd);
	while (r == 0) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 0)
			break;
		if (length >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
		r = make_step(fd, name, &next);
		if (r < 0)
			break;
		(void)close(fd);
		fd = next;
	}
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

int symbol_cache_folder_open(
	const struct symbol_cache *cache, const char *name, int flags, int *ret_fd)
{
	int fd = openat(cache->fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

bool symbol_cache_folder_has(int folder_fd, const char *name, int fd)
{
	struct stat there, ours;

	return fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &ours) == 0 && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}

/* Only the owner may open the file, because a process that opens it can hold the lock for ever. It
 * is opened each time, because a fork would share the lock of an open descriptor. */
static int try_to_lock(const struct symbol_cache *cache, int *ret_fd)
{
	_cleanup_close_ int fd = openat(cache->fd, lock_name,
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		SYMBOL_CACHE_FILE_MODE);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? -EBUSY : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int symbol_cache_folder_lock(const struct symbol_cache *cache, int *ret_fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	uint64_t start_ns = 0;
	int r;

	for (;;) {
		r = try_to_lock(cache, ret_fd);
		if (r != -EBUSY || cache->patience_ms == 0)
			return r;
		if (start_ns == 0)
			start_ns = clock_monotonic_ns();
		if (clock_monotonic_ns() - start_ns >= cache->patience_ms * (uint64_t)NSEC_PER_MS)
			return r;
		(void)nanosleep(&pause, NULL);
	}
}

static const char *suffix_of(enum pilotlight_symbol_identity_kind kind)
{
	switch (kind) {
	case PILOTLIGHT_SYMBOL_HTLHASH:
		return ".htlhash.sym";
	case PILOTLIGHT_SYMBOL_OWNED:
		return ".owned.sym";
	default:
		return ".sym";
	}
}

struct symbol_cache_name symbol_cache_name_of(const struct symbol_identity *identity)
{
	struct symbol_cache_name name;
	char hex[BUILD_ID_HEX_BYTES];
	struct build_id id;

	build_id_set_padded(&id, identity->id.bytes);
	(void)build_id_format(&id, hex);
	(void)snprintf(name.folder, sizeof(name.folder), "%.2s", hex);
	(void)snprintf(name.file, sizeof(name.file), "%.38s%s", hex + strlen(name.folder),
		suffix_of(identity->kind));
	return name;
}

/* False for a name that symbol_cache_name_of() does not return. */
static bool parse_name(const char *folder, const char *file, struct symbol_identity *ret_identity)
{
	size_t digits = strspn(file, "0123456789abcdef");
	char text[SYMBOL_IDENTITY_TEXT_BYTES];
	struct symbol_identity identity;
	struct symbol_cache_name name;

	(void)snprintf(text, sizeof(text), "%s%.*s", folder, (int)digits, file);
	if (symbol_identity_parse(text, &identity) < 0)
		return false;
	if (strcmp(file + digits, suffix_of(PILOTLIGHT_SYMBOL_HTLHASH)) == 0)
		identity.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	else if (strcmp(file + digits, suffix_of(PILOTLIGHT_SYMBOL_OWNED)) == 0)
		identity.kind = PILOTLIGHT_SYMBOL_OWNED;
	name = symbol_cache_name_of(&identity);
	if (strcmp(folder, name.folder) != 0 || strcmp(file, name.file) != 0)
		return false;
	*ret_identity = identity;
	return true;
}

static struct symbol_cache_item item_of(
	const struct symbol_identity *identity, const struct stat *status)
{
	return (struct symbol_cache_item){
		.identity = *identity,
		.bytes = (uint64_t)status->st_size,
		.inode = status->st_ino,
		.modified = status->st_mtim,
	};
}

/* ENXIO: a socket. */
static bool is_not_an_entry(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENXIO;
}

int symbol_cache_item_open(const struct symbol_cache *cache, const struct symbol_identity *identity,
	int *ret_fd, struct symbol_cache_item *ret_item)
{
	_cleanup_close_ int folder_fd = -1, fd = -1;
	struct symbol_cache_name name = symbol_cache_name_of(identity);
	struct stat status;
	int r;

	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r == 0) {
		fd = openat(folder_fd, name.file,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			r = -errno;
		else if (fstat(fd, &status) < 0)
			r = -errno;
		else if (!S_ISREG(status.st_mode))
			r = -ENOENT;
	}
	if (r < 0)
		return is_not_an_entry(r) ? -ENOENT : r;
	*ret_item = item_of(identity, &status);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

uint64_t symbol_cache_block_bytes(uint64_t file_bytes)
{
	return (file_bytes / SYMBOL_CACHE_BLOCK_BYTES +
		       (file_bytes % SYMBOL_CACHE_BLOCK_BYTES != 0)) *
	       SYMBOL_CACHE_BLOCK_BYTES;
}

size_t symbol_cache_share_of(const struct symbol_identity *identity)
{
	uint32_t uid;

	return symbol_identity_find_owner(identity, &uid) ? 1 + uid % (SYMBOL_CACHE_SHARES - 1) : 0;
}

void symbol_cache_add_size(
	struct symbol_cache *cache, const struct symbol_identity *identity, uint64_t file_bytes)
{
	uint64_t bytes = symbol_cache_block_bytes(file_bytes);

	cache->entries++;
	cache->bytes += bytes;
	cache->shares[symbol_cache_share_of(identity)] += bytes;
}

/* Others may have changed the folder since the scan, so the sums may be too small. */
void symbol_cache_subtract_size(
	struct symbol_cache *cache, const struct symbol_identity *identity, uint64_t file_bytes)
{
	uint64_t bytes = symbol_cache_block_bytes(file_bytes);
	uint64_t *share = &cache->shares[symbol_cache_share_of(identity)];

	cache->entries -= cache->entries > 0;
	cache->bytes -= bytes < cache->bytes ? bytes : cache->bytes;
	*share -= bytes < *share ? bytes : *share;
}

int symbol_cache_item_remove(struct symbol_cache *cache, const struct symbol_cache_item *item)
{
	_cleanup_close_ int folder_fd = -1, lock_fd = -1;
	struct symbol_cache_name name = symbol_cache_name_of(&item->identity);
	struct stat status;
	int r;

	r = symbol_cache_folder_open(cache, name.folder, O_PATH, &folder_fd);
	if (r < 0)
		return is_not_an_entry(r) ? -ENOENT : r;
	r = symbol_cache_folder_lock(cache, &lock_fd);
	if (r < 0)
		return r;
	if (fstatat(folder_fd, name.file, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_ino != item->inode ||
		(uint64_t)status.st_size != item->bytes ||
		status.st_mtim.tv_sec != item->modified.tv_sec ||
		status.st_mtim.tv_nsec != item->modified.tv_nsec)
		return -ESTALE;
	if (unlinkat(folder_fd, name.file, 0) < 0)
		return -errno;
	symbol_cache_subtract_size(cache, &item->identity, item->bytes);
	return 0;
}

/* Returns 1 and an item; 0: foreign or removed; or -errno. */
static int look_at(
	int fd, const char *folder, const struct dirent *entry, struct symbol_cache_item *ret_item)
{
	struct symbol_identity identity;
	struct stat status;

	if (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN)
		return 0;
	if (!parse_name(folder, entry->d_name, &identity))
		return 0;
	if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(status.st_mode))
		return 0;
	*ret_item = item_of(&identity, &status);
	return 1;
}

int symbol_cache_folder_each(const struct symbol_cache *cache, unsigned int folder,
	symbol_cache_visit visit, void *context)
{
	_cleanup_(closedirp) DIR *stream = NULL;
	_cleanup_close_ int fd = -1;
	struct symbol_cache_item item;
	const struct dirent *entry;
	char name[16];
	int r;

	(void)snprintf(name, sizeof(name), "%02x", folder);
	r = symbol_cache_folder_open(cache, name, O_RDONLY, &fd);
	if (r < 0)
		return is_not_an_entry(r) ? 0 : r;
	stream = fdopendir(fd);
	if (!stream)
		return -errno;
	fd = -1;
	for (;;) {
		errno = 0;
		entry = readdir(stream);
		if (!entry)
			return errno == ENOENT ? 0 : -errno;
		r = look_at(dirfd(stream), name, entry, &item);
		if (r > 0)
			r = visit(context, &item);
		if (r < 0)
			return r;
	}
}

int symbol_cache_item_each(
	const struct symbol_cache *cache, symbol_cache_visit visit, void *context)
{
	int first_error = 0;

	for (unsigned int folder = 0; folder < SYMBOL_CACHE_FOLDERS; folder++) {
		int r = symbol_cache_folder_each(cache, folder, visit, context);

		if (r == -ENOMEM || r == -EBUSY)
			return r;
		if (r < 0 && first_error == 0)
			first_error = r;
	}
	return first_error;
}

int symbol_cache_read(int fd, const struct symbol_identity *identity, bool is_whole,
	struct pilotlight_symbol_header *ret_header, struct symbol_file **ret_file)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_symbol_header header;
	struct symbol_identity found;
	int r;

	if (is_whole) {
		r = symbol_file_open(fd, &file);
		if (r == 0)
			header = *symbol_file_header(file);
	} else {
		r = symbol_header_read(fd, &header);
	}
	if (r < 0)
		return r;
	found = symbol_header_identity(&header);
	if (!symbol_identity_equal(&found, identity))
		return -EBADMSG;
	*ret_header = header;
	if (ret_file)
		*ret_file = TAKE_PTR(file);
	return 0;
}

bool symbol_cache_is_expired(const struct pilotlight_symbol_header *header)
{
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;

	return header->rank == PILOTLIGHT_SYMBOL_RANK_NONE &&
	       (header->created_s > now_s || now_s - header->created_s >= SYMBOL_CACHE_NEGATIVE_S);
}
