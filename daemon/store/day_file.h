/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the history's folder: "2026-11-20.db" with SQLite's "-wal" and "-shm" beside it, and
 * what was set aside, "2026-11-20.db.damaged-1". Other names are nobody's business here, nor is
 * what is no regular file, but that a folder in a database's place is set aside as well.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_NS (86400ULL * 1000000000ULL)

enum {
	DAY_PATH_BYTES = 4096,
	DAY_FILES_MAX = 4096, /* days that are looked at, some eleven years */
	DAY_DAMAGED_MAX = 4,  /* files set aside that are kept */
};

/* Days since 1970, UTC. */
uint32_t day_of(uint64_t realtime_ns);

/* Returns 0 or -ENAMETOOLONG. */
int day_file_path(char path[DAY_PATH_BYTES], const char *folder, uint32_t day);

struct day_file {
	uint64_t bytes; /* on disk, with its -wal and -shm */
	uint32_t day;
	uint32_t damaged; /* N of ".damaged-N"; 0: it is in use */
};

struct day_files {
	struct day_file *items; /* by day */
	size_t count, capacity;
	uint64_t bytes;
	size_t others_set_aside; /* what is set aside and no regular file; not in `items` */
};

/* A folder that is not there is empty. Returns 0, -ENOMEM, or -errno with `fault`. */
int day_files_read(struct day_files *ret_files, const char *folder, struct fault *fault);
void day_files_done(struct day_files *files);

/* Removes a day that nobody has open for writing. Returns 0 or -errno with `fault`. */
int day_file_remove(const char *folder, const struct day_file *file, struct fault *fault);

/*
 * Gives a damaged database another name, and removes the oldest of those where there are too many;
 * what is no regular file is not removed. Returns 0 or -errno with `fault`.
 */
int day_file_set_aside(const char *folder, uint32_t day, struct fault *fault);

/*
 * Removes what SQLite keeps beside a database that is not there: it would take it for a part of the
 * next one of that name. Of all days. Returns 0 or -errno with `fault`.
 */
int day_files_remove_orphans(const char *folder, struct fault *fault);
