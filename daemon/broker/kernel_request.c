/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/kernel_request.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker.h"
#include "broker/broker_roots.h"
#include "broker/regular_file.h"
#include "pilotlight/broker_request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

enum { MODULE_NAME_MAX = 64 };

int kernel_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	switch (request->file) {
	case BROKER_KALLSYMS:
		return broker_roots_open(roots->proc, "kallsyms", O_RDONLY, ret_fd);
	case BROKER_MODULES:
		return broker_roots_open(roots->proc, "modules", O_RDONLY, ret_fd);
	case BROKER_KERNEL_NOTES:
		return broker_roots_open(roots->sys, "kernel/notes", O_RDONLY, ret_fd);
	default:
		return -EINVAL;
	}
}

static bool is_module_name(const char *name)
{
	size_t length = strnlen(name, MODULE_NAME_MAX);

	return length > 0 && length < MODULE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       length;
}

int kernel_request_open_module_note(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	char rest[PILOTLIGHT_BROKER_NAME_BYTES + 64];

	if (!is_module_name(request->name))
		return -EINVAL;
	(void)snprintf(rest, sizeof(rest), "module/%s/notes/.note.gnu.build-id", request->name);
	return broker_roots_open(roots->sys, rest, O_RDONLY, ret_fd);
}

static int open_cgroup_mount(const char *mount, int *ret_fd)
{
	_cleanup_close_ int fd = open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs system;

	if (fd < 0 || fstatfs(fd, &system) < 0)
		return -errno;
	if ((unsigned long)system.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOENT;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int find_cgroup_mount(const struct broker_roots *roots, int *ret_fd)
{
	static const char *const places[] = { "fs/cgroup", "fs/cgroup/unified" };
	char path[PATH_MAX];
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(places); i++) {
		r = broker_roots_join(path, roots->sys, places[i]);
		if (r == 0)
			r = open_cgroup_mount(path, ret_fd);
	}
	return r;
}

int kernel_request_open_cgroup(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	_cleanup_close_ int mount_fd = -1, found_fd = -1;
	const char *path = request->path;
	int fd, r;

	if (path[0] != '/')
		return -EINVAL;
	r = request->has_name ? open_cgroup_mount(request->name, &mount_fd)
			      : find_cgroup_mount(roots, &mount_fd);
	if (r < 0)
		return r;
	path += strspn(path, "/");
	found_fd = regular_file_walk(mount_fd, path[0] ? path : ".", O_DIRECTORY,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	if (found_fd < 0)
		return found_fd;
	fd = openat(found_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
