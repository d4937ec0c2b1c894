/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary folder that each test enters, so that relative paths are its own. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char test_folder[] = "/tmp/tools-test.XXXXXX";

static inline int test_folder_enter(void **state)
{
	strcpy(test_folder + strlen(test_folder) - 6, "XXXXXX");
	return mkdtemp(test_folder) && chdir(test_folder) == 0 ? 0 : -1;
}

static inline int test_folder_leave(void **state)
{
	char command[sizeof(test_folder) + 16];

	(void)snprintf(command, sizeof(command), "rm -rf %s", test_folder);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* The number of files in the folder; -1 if it cannot be read. */
static inline ssize_t test_folder_count_files(void)
{
	DIR *listing = opendir(".");
	struct dirent *entry;
	ssize_t count = 0;

	if (!listing)
		return -1;
	while ((entry = readdir(listing)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			count++;
	(void)closedir(listing);
	return count;
}
