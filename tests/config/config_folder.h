/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of its own for a test, with the files that it writes. */
#pragma once

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct config_folder {
	char path[64];
	char file[96]; /* the configuration in it */
};

static inline void config_folder_make(struct config_folder *folder)
{
	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/config-test-XXXXXX");
	if (!mkdtemp(folder->path))
		abort();
	(void)snprintf(folder->file, sizeof(folder->file), "%s/x.conf", folder->path);
}

/* `name` below the folder, whose folders are made. */
static inline void config_folder_write_bytes(
	const struct config_folder *folder, const char *name, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	for (char *slash = path + strlen(folder->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
		abort();
}

static inline void config_folder_write(
	const struct config_folder *folder, const char *name, const char *text)
{
	config_folder_write_bytes(folder, name, text, strlen(text));
}

static inline void config_folder_remove(const struct config_folder *folder)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder->path);
	if (system(command) != 0)
		abort();
}
