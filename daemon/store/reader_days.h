/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the reader, shared by store_reader.c and store_read.c. */
#pragma once

#include "store/day_database.h"
#include "store/day_file.h"

/* Returns 0 or -errno. -EBADMSG means that the day is damaged: the next day follows. */
typedef int (*reader_day_function)(
	void *context, struct day_database *database, struct fault *fault);

/* Calls `function` for each day that may have a window in the time, the oldest first. */
int store_reader_each_day(const char *folder, uint64_t start_ns, uint64_t end_ns,
	reader_day_function function, void *context, uint64_t *ret_damaged, struct fault *fault);

/* Prepares DAY_WINDOWS or DAY_FOLDS for the windows that overlap the time. */
int day_database_windows(struct day_database *database, enum day_statement name, uint64_t start_ns,
	uint64_t end_ns, sqlite3_stmt **ret_statement, struct fault *fault);
