/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder for a spool, and batches of one minute each. */
#pragma once

#include "push/spool.h"
#include "tests/harness/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* 2026-11-20 03:10:00 UTC. */
#define SPOOL_NOW_NS	1795144200000000000ULL
#define SPOOL_MINUTE_NS 60000000000ULL

static char spool_folder[64];

static inline int spool_set_up(void **state)
{
	(void)state;
	(void)snprintf(spool_folder, sizeof(spool_folder), "/tmp/spool-test-XXXXXX");
	return mkdtemp(spool_folder) ? 0 : -1;
}

static inline int spool_tear_down(void **state)
{
	(void)state;
	remove_folder(spool_folder);
	return 0;
}

static inline struct spool_options spool_options_of(uint64_t bytes_max)
{
	return (struct spool_options){ .folder = spool_folder,
		.ending = ".pb.gz",
		.bytes_max = bytes_max,
		.age_max_ns = 100 * SPOOL_MINUTE_NS };
}

static inline struct batch minute_batch(unsigned i)
{
	return (struct batch){ .start_ns = SPOOL_NOW_NS + i * SPOOL_MINUTE_NS,
		.end_ns = SPOOL_NOW_NS + (i + 1) * SPOOL_MINUTE_NS };
}

/* A file with so many bytes. */
static inline int bytes_fd(size_t bytes)
{
	int fd = memfd_create("batch", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(write(fd, &"abcdefghijklmnopqrstuvwxyz"[i % 26], 1), 1);
	return fd;
}

/* The files in the folder, but those that are hidden; 0 if it is gone. */
static inline size_t count_files(void)
{
	DIR *folder = opendir(spool_folder);
	const struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	if (folder)
		(void)closedir(folder);
	return count;
}
