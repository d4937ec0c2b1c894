/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/service_folders.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/service_folders_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void set_runtime(const char *path)
{
	assert_int_equal(setenv("RUNTIME_DIRECTORY", path, 1), 0);
}

static void write_file(void)
{
	char path[96];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/file", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* The system's folder in its place was not meant. */
static void relative_paths_are_refused(void **state)
{
	static const char *const names[] = { "STATE_DIRECTORY", "CACHE_DIRECTORY",
		"RUNTIME_DIRECTORY", "CONFIGURATION_DIRECTORY" };

	for (size_t i = 0; i < 4; i++) {
		struct fault fault = { 0 };

		for (size_t j = 0; j < 4; j++)
			assert_int_equal(setenv(names[j], folder, 1), 0);
		assert_int_equal(service_folders_check(&fault), 0);
		assert_int_equal(setenv(names[i], "a/relative/one", 1), 0);
		assert_int_equal(service_folders_check(&fault), -EINVAL);
		assert_non_null(strstr(fault.text, names[i]));
		assert_non_null(strstr(fault.text, "'a/relative/one'"));
	}
}

static void the_runtime_folder_belongs_to_the_group(void **state)
{
	const struct group *group = getgrgid(getegid());
	struct fault fault = { 0 };
	char path[96];
	struct stat status;

	assert_non_null(group);
	(void)snprintf(path, sizeof(path), "%s/run/deep", folder);
	set_runtime(path);
	assert_int_equal(service_folders_make_runtime(group->gr_name, &fault), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 02750);
	assert_int_equal(status.st_gid, getegid());
	/* An existing folder stays as it is. */
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(service_folders_make_runtime(group->gr_name, &fault), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	/* Without such a group it is private. */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(service_folders_make_runtime("no-such-group-here", &fault), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
	/* A file is in the way. */
	(void)snprintf(path, sizeof(path), "%s/file/x", folder);
	write_file();
	set_runtime(path);
	assert_int_equal(service_folders_make_runtime(group->gr_name, &fault), -ENOTDIR);
	assert_non_null(strstr(fault.text, path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relative_paths_are_refused),
		cmocka_unit_test(the_runtime_folder_belongs_to_the_group),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
