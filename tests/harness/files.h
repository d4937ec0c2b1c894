/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes and removes files below a test's own folder. A step that fails ends the test. */
#pragma once

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* FOLDER/NAME, until the next call. */
static inline const char *file_path(const char *folder, const char *name)
{
	static char path[512];

	assert_true((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path));
	return path;
}

static inline void write_file(const char *folder, const char *name, const char *text)
{
	FILE *file = fopen(file_path(folder, name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void write_bytes(const char *folder, const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(file_path(folder, name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static inline void make_folder(const char *folder, const char *name)
{
	assert_int_equal(mkdir(file_path(folder, name), 0755), 0);
}

static inline void make_link(const char *folder, const char *name, const char *target)
{
	assert_int_equal(symlink(target, file_path(folder, name)), 0);
}

static inline void remove_file(const char *folder, const char *name)
{
	assert_int_equal(remove(file_path(folder, name)), 0);
}

static inline int remove_entry(
	const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Removes the folder with everything in it. */
static inline void remove_folder(const char *folder)
{
	assert_int_equal(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}
