/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbol cache in a temporary folder. The only function of each entry is named after its identity
 * and rank, so that a misplaced entry is detected.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { CACHE_FIXTURE_PATH_BYTES = 512 };

struct cache_fixture {
	char folder[64];
	struct symbol_cache *cache;
};

static inline bool cache_fixture_open(struct cache_fixture *fixture, uint64_t bytes_max)
{
	(void)strcpy(fixture->folder, "/tmp/symbol-cache-XXXXXX");
	return mkdtemp(fixture->folder) && chmod(fixture->folder, 0755) == 0 &&
	       symbol_cache_open(fixture->folder, bytes_max, &fixture->cache, NULL) == 0;
}

static inline int cache_fixture_remove_one(
	const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void cache_fixture_remove_tree(const char *path)
{
	(void)nftw(path, cache_fixture_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void cache_fixture_close(struct cache_fixture *fixture)
{
	symbol_cache_free(fixture->cache);
	cache_fixture_remove_tree(fixture->folder);
}

/* 20 bytes: two for `number`, then constants. */
static inline struct symbol_identity cache_fixture_identity(uint32_t number)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id.size = BUILD_ID_BYTES };

	memset(identity.id.bytes, 0x5a, BUILD_ID_BYTES);
	identity.id.bytes[0] = (uint8_t)number;
	identity.id.bytes[1] = (uint8_t)(number >> 8);
	return identity;
}

/* As the kernel reports it: without its length. */
static inline struct symbol_identity cache_fixture_padded(const struct symbol_identity *identity)
{
	struct symbol_identity padded = { .kind = identity->kind };

	build_id_set_padded(&padded.id, identity->id.bytes);
	return padded;
}

static inline const char *cache_fixture_path(const struct cache_fixture *fixture,
	const struct symbol_identity *identity, char path[CACHE_FIXTURE_PATH_BYTES])
{
	char hex[BUILD_ID_HEX_BYTES];
	struct build_id id;

	build_id_set_padded(&id, identity->id.bytes);
	(void)build_id_format(&id, hex);
	(void)snprintf(path, CACHE_FIXTURE_PATH_BYTES, "%s/%.2s/%s%s", fixture->folder, hex,
		hex + 2,
		identity->kind == PILOTLIGHT_SYMBOL_HTLHASH ? ".htlhash.sym"
		: identity->kind == PILOTLIGHT_SYMBOL_OWNED ? ".owned.sym"
							    : ".sym");
	return path;
}

static inline void cache_fixture_function(
	const struct symbol_identity *identity, unsigned int rank, char name[80])
{
	struct build_id id;
	char hex[BUILD_ID_HEX_BYTES];

	build_id_set_padded(&id, identity->id.bytes);
	(void)snprintf(name, 80, "%s_%d_%u", build_id_format(&id, hex), (int)identity->kind, rank);
}

/* At least `bytes_min` (up to 60,000) bytes long. Rank NONE makes a negative entry. */
static inline void cache_fixture_build(struct symbol_file_fixture *file,
	const struct symbol_identity *identity, unsigned int rank, size_t bytes_min)
{
	static char padding[SYMBOL_FILE_FIXTURE_BYTES];
	const struct pilotlight_symbol_boundary boundary = { 0, 1 };
	const char *files[] = { padding };
	struct symbol_file_fixture_frame frame = { 0 };
	char name[80];

	cache_fixture_function(identity, rank, name);
	frame.name = name;
	memset(padding, 'x', bytes_min);
	padding[bytes_min] = '\0';
	*file = (struct symbol_file_fixture){
		.identity_bytes = identity->id.size,
		.kind = (uint8_t)identity->kind,
		.rank = (uint8_t)rank,
		.failure = rank ? PILOTLIGHT_SYMBOL_OK : PILOTLIGHT_SYMBOL_NOTHING,
		.base_vaddr = SYMBOL_FILE_FIXTURE_BASE,
		.created_s = (uint64_t)time(NULL),
		.boundary_shift = 5,
		.row_shift = 5,
		.boundaries = &boundary,
		.boundary_count = 1,
		.frames = &frame,
		.frame_count = 1,
		.files = files,
		.file_count = 1,
	};
	memcpy(file->identity, identity->id.bytes, sizeof(file->identity));
	symbol_file_fixture_build(file);
}

/* Writes and commits any bytes as the entry of `identity`. Returns 0 or -errno. */
static inline int cache_fixture_commit_bytes(struct symbol_cache *cache,
	const struct symbol_identity *identity, const void *bytes, size_t size)
{
	struct symbol_cache_draft draft = { .fd = -1 };
	ssize_t n;
	int r = symbol_cache_begin(cache, &draft);

	if (r < 0)
		return r;
	n = write(draft.fd, bytes, size);
	if (n < 0)
		r = -errno;
	else
		r = symbol_cache_commit(cache, identity, &draft);
	symbol_cache_draft_done(cache, &draft);
	return r;
}

static inline int cache_fixture_store(struct symbol_cache *cache,
	const struct symbol_identity *identity, unsigned int rank, size_t bytes_min)
{
	struct symbol_file_fixture file;

	cache_fixture_build(&file, identity, rank, bytes_min);
	return cache_fixture_commit_bytes(cache, identity, file.bytes, file.size);
}

/* The rank of an open entry, or -1 if it is not that of `identity`. */
static inline int cache_fixture_check(
	const struct symbol_file *file, const struct symbol_identity *identity)
{
	struct symbol_identity its = symbol_file_identity(file);
	unsigned int rank = symbol_file_header(file)->rank;
	struct symbol_line line;
	char name[80];

	if (!symbol_identity_equal(&its, identity))
		return -1;
	if (rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		return 0;
	cache_fixture_function(identity, rank, name);
	if (symbol_file_find_chain(file, SYMBOL_FILE_FIXTURE_BASE, &line, 1) != 1 ||
		strcmp(line.function, name) != 0)
		return -1;
	return (int)rank;
}

/* Finds an entry. Returns its rank, -EILSEQ for a wrong entry, or another -errno. */
static inline int cache_fixture_find(
	struct symbol_cache *cache, const struct symbol_identity *identity)
{
	struct symbol_file *file = NULL;
	int r = symbol_cache_find(cache, identity, &file);

	if (r == 0) {
		r = cache_fixture_check(file, identity);
		if (r < 0)
			r = -EILSEQ;
	}
	symbol_file_free(file);
	return r;
}

/* Sets the time of last use. */
static inline int cache_fixture_use_at(
	const struct cache_fixture *fixture, const struct symbol_identity *identity, time_t at)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = at } };
	char path[CACHE_FIXTURE_PATH_BYTES];

	return utimensat(AT_FDCWD, cache_fixture_path(fixture, identity, path), times, 0);
}

static inline int cache_fixture_age(
	const struct cache_fixture *fixture, const struct symbol_identity *identity, time_t age_s)
{
	return cache_fixture_use_at(fixture, identity, time(NULL) - age_s);
}

static inline bool cache_fixture_has(
	const struct cache_fixture *fixture, const struct symbol_identity *identity)
{
	char path[CACHE_FIXTURE_PATH_BYTES];

	return access(cache_fixture_path(fixture, identity, path), F_OK) == 0;
}

/* Stores a negative entry that is `age_s` old. */
static inline int cache_fixture_store_negative(
	const struct cache_fixture *fixture, uint32_t number, uint64_t age_s)
{
	struct symbol_identity identity = cache_fixture_identity(number);
	struct symbol_file_fixture file;

	cache_fixture_build(&file, &identity, PILOTLIGHT_SYMBOL_RANK_NONE, 0);
	symbol_file_fixture_header(&file)->created_s -= age_s;
	symbol_file_fixture_seal(file.bytes, file.size);
	return cache_fixture_commit_bytes(fixture->cache, &identity, file.bytes, file.size);
}

/* Overwrites the last byte of an entry. */
static inline int cache_fixture_damage(const struct cache_fixture *fixture, uint32_t number)
{
	struct symbol_identity identity = cache_fixture_identity(number);
	char path[CACHE_FIXTURE_PATH_BYTES];
	_cleanup_close_ int fd =
		open(cache_fixture_path(fixture, &identity, path), O_WRONLY | O_CLOEXEC);

	return fd >= 0 && pwrite(fd, "x", 1, lseek(fd, 0, SEEK_END) - 1) == 1 ? 0 : -1;
}

/* Makes an empty file. */
static inline int cache_fixture_make_file(const char *folder, const char *name)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd >= 0 ? 0 : -1;
}

static inline bool cache_fixture_has_file(const char *folder, const char *name)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return lstat(path, &status) == 0;
}

static inline int cache_fixture_overwrite(const char *path, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	return fd >= 0 && write(fd, bytes, size) == (ssize_t)size ? 0 : -1;
}
