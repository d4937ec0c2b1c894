/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct output_file {
	char *path;
	char *temporary; /* NULL: written in place */
	int fd;
	bool is_borrowed; /* standard output */
};

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	if (file->temporary)
		(void)unlink(file->temporary);
	if (file->fd >= 0 && !file->is_borrowed)
		(void)close(file->fd);
	free(file->temporary);
	free(file->path);
	free(file);
}

static int open_temporary(struct output_file *file)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd < 0) {
		int error = -errno;

		free(TAKE_PTR(file->temporary));
		return error;
	}
	return fchmod(file->fd, 0666 & ~mask) < 0 ? -errno : 0;
}

static int open_in_place(struct output_file *file)
{
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? -errno : 0;
}

int output_file_open(const char *path, struct output_file **ret_file, struct fault *fault)
{
	_cleanup_(output_file_freep) struct output_file *file = calloc(1, sizeof(*file));
	struct stat status;
	int r;

	if (!file)
		return fault_set(fault, -ENOMEM, "out of memory");
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path)
		return fault_set(fault, -ENOMEM, "out of memory");
	if (strcmp(path, "-") == 0) {
		file->fd = STDOUT_FILENO;
		file->is_borrowed = true;
		r = 0;
	} else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		r = -EISDIR;
	} else if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		r = open_in_place(file);
	} else {
		r = open_temporary(file);
	}
	if (r < 0)
		return fault_set(fault, r, "cannot write '%s': %s; name another place with -o",
			path, strerror(-r));
	*ret_file = TAKE_PTR(file);
	return 0;
}

int output_file_fd(const struct output_file *file)
{
	return file->fd;
}

int output_file_commit(struct output_file *file, int error, struct fault *fault)
{
	if (error == 0 && !file->is_borrowed) {
		/* Some file systems tell that they are full only here. */
		if (close(TAKE_FD(file->fd)) < 0)
			error = -errno;
	}
	if (error == 0 && file->temporary) {
		if (rename(file->temporary, file->path) < 0)
			error = -errno;
		else
			free(TAKE_PTR(file->temporary));
	}
	if (error == -ENOSPC || error == -EDQUOT)
		return fault_set(fault, error,
			"cannot write '%s': %s; free some room, or name another "
			"place with -o",
			file->path, strerror(-error));
	if (error < 0)
		return fault_set(fault, error, "cannot write '%s': %s; name another place with -o",
			file->path, strerror(-error));
	return 0;
}
