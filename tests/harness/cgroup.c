/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/cgroup.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

const char *test_cgroup_mount(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs system;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (statfs(mounts[i], &system) == 0 &&
			(unsigned long)system.f_type == CGROUP2_SUPER_MAGIC)
			return mounts[i];
	return NULL;
}

static const char *find(struct test_cgroup *cgroup)
{
	struct stat status;

	if (stat(cgroup->folder, &status) < 0)
		return "the cgroup is gone";
	cgroup->id = status.st_ino;
	return NULL;
}

const char *test_cgroup_make(struct test_cgroup *cgroup, const char *name)
{
	const char *mount = test_cgroup_mount();

	if (!mount)
		return "there is no cgroup2 file system";
	(void)snprintf(cgroup->folder, sizeof(cgroup->folder), "%s/%s", mount, name);
	cgroup->path = cgroup->folder + strlen(mount);
	if (mkdir(cgroup->folder, 0755) < 0 && errno != EEXIST)
		return "no cgroup can be made here";
	return find(cgroup);
}

const char *test_cgroup_current(struct test_cgroup *cgroup)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
	const char *mount = test_cgroup_mount();
	char line[PATH_MAX];

	if (!file || !mount)
		return "there is no cgroup2 file system";
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		(void)snprintf(
			cgroup->folder, sizeof(cgroup->folder), "%.32s%.4000s", mount, line + 3);
		cgroup->path = cgroup->folder + strlen(mount);
		return find(cgroup);
	}
	return "this process is in no cgroup";
}

int test_cgroup_enter(const struct test_cgroup *cgroup, pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX + 16], text[16];
	int length = snprintf(text, sizeof(text), "%d", (int)pid);

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup->folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, (size_t)length) == length ? 0 : -errno;
}

int test_cgroup_remove(const struct test_cgroup *cgroup)
{
	return rmdir(cgroup->folder) < 0 ? -errno : 0;
}
