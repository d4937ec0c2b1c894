/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the history's folder: "2026-11-20.db" with SQLite's "-wal" and "-shm" beside it, and
 * damaged databases that were set aside, "2026-11-20.db.damaged-1". All other names are ignored,
 * and so are files that are not regular. One exception: a folder in place of a database is set
 * aside.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_NS (86400ULL * 1000000000ULL)

enum {
	DAY_PATH_BYTES = 4096,
	DAY_FILES_MAX = 4096, /* days that are read, some eleven years */
	DAY_DAMAGED_MAX = 4,  /* how many files set aside are kept */
};

/* Days since 1970, UTC. */
uint32_t day_of(uint64_t realtime_ns);

/* Returns 0 or -ENAMETOOLONG. */
int day_file_path(char path[DAY_PATH_BYTES], const char *folder, uint32_t day);

struct day_file {
	uint64_t bytes; /* on disk, with its -wal and -shm */
	uint32_t day;
	uint32_t damaged; /* N of ".damaged-N"; 0: in use */
};

struct day_files {
	struct day_file *items; /* by day */
	size_t count, capacity;
	uint64_t bytes;
	size_t others_set_aside; /* set aside, but not regular files; not in `items` */
};

/* Lists the folder; a missing one is empty. Returns 0, -ENOMEM, or -errno with `fault`. */
int day_files_read(struct day_files *ret_files, const char *folder, struct fault *fault);
void day_files_done(struct day_files *files);

/* Removes a day that no writer has open. Returns 0 or -errno with `fault`. */
int day_file_remove(const char *folder, const struct day_file *file, struct fault *fault);

/*
 * Renames a damaged database, and removes the oldest renamed ones beyond DAY_DAMAGED_MAX. Only
 * regular files are removed. Returns 0 or -errno with `fault`.
 */
int day_file_set_aside(const char *folder, uint32_t day, struct fault *fault);

/*
 * For all days, removes the -wal and -shm of databases that do not exist: SQLite would apply them
 * to the next database of that name. Returns 0 or -errno with `fault`.
 */
int day_files_remove_orphans(const char *folder, struct fault *fault);
