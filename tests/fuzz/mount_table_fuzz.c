/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line with the path that is asked for, and a mountinfo. */
#include "base/cleanup.h"
#include "jit/mount_table.h"

#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int read_through_folder(const uint8_t *bytes, size_t size, struct mount_table **ret_table)
{
	char folder[] = "/tmp/mount_table_fuzz.XXXXXX", process[64], name[80];
	const struct broker_options options = { .proc_root = folder };
	_cleanup_(broker_freep) struct broker *broker = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(process, sizeof(process), "%s/77", folder);
	(void)snprintf(name, sizeof(name), "%s/mountinfo", process);
	r = mkdir(process, 0700);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (r == 0 && fd >= 0 && write(fd, bytes, size) == (ssize_t)size &&
		broker_new(&options, &broker) == 0)
		r = mount_table_read(broker, &(struct broker_process){ .pid = 77 }, ret_table);
	else
		r = -1;
	(void)unlink(name);
	(void)rmdir(process);
	(void)rmdir(folder);
	return r;
}

/* Nothing further down is better than what is on the way to it. */
static void check_path(const struct mount_table *table, char *path)
{
	enum mount_kind kind = mount_table_of_path(table, path), above;

	assert(kind <= MOUNT_REMOTE && (path[0] == '/' || kind == MOUNT_UNKNOWN));
	for (char *slash = strrchr(path, '/'); slash && slash > path; slash = strrchr(path, '/')) {
		bool is_last =
			slash[1] == '\0' || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0;

		*slash = '\0';
		above = mount_table_of_path(table, path);
		/* A path that is not as the kernel writes it is of no kind. */
		assert(above <= kind || kind == MOUNT_UNKNOWN || is_last);
		kind = above;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *newline = size > 0 ? memchr(bytes, '\n', size) : NULL;
	size_t path_size = newline ? (size_t)(newline - bytes) : 0;
	_cleanup_(mount_table_freep) struct mount_table *table = NULL;
	_cleanup_free_ char *path = malloc(path_size + 1);

	if (!newline || !path)
		return 0;
	memcpy(path, bytes, path_size);
	path[path_size] = '\0';
	if (read_through_folder(newline + 1, size - path_size - 1, &table) < 0)
		return 0;
	check_path(table, path);
	for (uint32_t device = 0; device < 64; device++)
		assert(mount_table_of_device(table, 0, device) <= MOUNT_REMOTE);
	return 0;
}
