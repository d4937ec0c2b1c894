/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_roots.h"

#include "broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copy_root(char **ret_root, const char *root, const char *usual)
{
	*ret_root = strdup(root ? root : usual);
	return *ret_root ? 0 : -ENOMEM;
}

int broker_roots_init(struct broker_roots *roots, const struct broker_options *options)
{
	static const struct broker_options usual;

	*roots = (struct broker_roots){ 0 };
	if (!options)
		options = &usual;
	if (copy_root(&roots->proc, options->proc_root, "/proc") < 0 ||
		copy_root(&roots->debug, options->debug_root, "/usr/lib/debug") < 0 ||
		copy_root(&roots->sys, options->sys_root, "/sys") < 0)
		return -ENOMEM;
	return 0;
}

void broker_roots_done(struct broker_roots *roots)
{
	free(roots->proc);
	free(roots->debug);
	free(roots->sys);
	*roots = (struct broker_roots){ 0 };
}

int broker_roots_join(char path[PATH_MAX], const char *root, const char *rest)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", root, rest);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int broker_roots_open(const char *root, const char *rest, int flags, int *ret_fd)
{
	char path[PATH_MAX];
	int r = broker_roots_join(path, root, rest);
	int fd;

	if (r < 0)
		return r;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
