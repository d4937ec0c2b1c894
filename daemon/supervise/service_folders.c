/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/service_folders.h"

#include "base/cleanup.h"
#include "supervise/group_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A name service may ask another host. */
enum { GROUP_TIMEOUT_MS = 10000 };

static const struct {
	const char *variable, *path;
} folders[SERVICE_FOLDERS] = {
	[SERVICE_FOLDER_CONFIGURATION] = { "CONFIGURATION_DIRECTORY", "/etc/pilotlight" },
	[SERVICE_FOLDER_STATE] = { "STATE_DIRECTORY", "/var/lib/pilotlight" },
	[SERVICE_FOLDER_CACHE] = { "CACHE_DIRECTORY", "/var/cache/pilotlight" },
	[SERVICE_FOLDER_RUNTIME] = { "RUNTIME_DIRECTORY", "/run/pilotlight" },
};

int service_folders_check(struct fault *fault)
{
	for (enum service_folder i = 0; i < SERVICE_FOLDERS; i++) {
		const char *value = getenv(folders[i].variable);

		if (value && value[0] && value[0] != '/')
			return fault_set(fault, -EINVAL,
				"%s in the environment is '%.200s', a relative path; set an "
				"absolute path, or unset it to use %s",
				folders[i].variable, value, folders[i].path);
	}
	return 0;
}

/* A variable may list several folders, separated by colons. The first one counts. */
void service_folder_path(enum service_folder folder, char path[PATH_MAX])
{
	const char *value = getenv(folders[folder].variable);

	if (!value || !value[0])
		value = folders[folder].path;
	(void)snprintf(path, PATH_MAX, "%.*s", (int)strcspn(value, ":"), value);
}

static int make(const char *path, mode_t mode, struct fault *fault)
{
	if (mkdir(path, mode) == 0 || errno == EEXIST)
		return 0;
	return fault_set(fault, -errno, "cannot make the folder %s: %s", path, strerror(errno));
}

static int make_parents(const char *path, struct fault *fault)
{
	char parent[PATH_MAX];
	int r = 0;

	(void)snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash = strchr(parent + 1, '/'); r == 0 && slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make(parent, 0755, fault);
		*slash = '/';
	}
	return r;
}

int service_folder_make(const char *path, struct fault *fault)
{
	int r = make_parents(path, fault);

	return r < 0 ? r : make(path, 0750, fault);
}

static int give_to_group(const char *folder, const char *group, struct fault *fault)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	gid_t number;
	int r;

	if (fd < 0 || fchmod(fd, 0750) < 0)
		return fault_set(fault, -errno, "cannot set the mode of the folder %s: %s", folder,
			strerror(errno));
	r = group_lookup(group, GROUP_TIMEOUT_MS, &number);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return fault_set(fault, r, "cannot look up the group %s: %s", group, strerror(-r));
	/* The set-group-ID bit gives new files in the folder to the group, too. */
	if (fchown(fd, (uid_t)-1, number) < 0 || fchmod(fd, 02750) < 0)
		return fault_set(fault, -errno, "cannot give the folder %s to the group %s: %s",
			folder, group, strerror(errno));
	return 0;
}

int service_folders_make_runtime(const char *group, struct fault *fault)
{
	char path[PATH_MAX];
	int r;

	service_folder_path(SERVICE_FOLDER_RUNTIME, path);
	r = make_parents(path, fault);
	if (r < 0)
		return r;
	if (mkdir(path, 0700) == 0)
		return give_to_group(path, group, fault);
	return make(path, 0700, fault);
}
