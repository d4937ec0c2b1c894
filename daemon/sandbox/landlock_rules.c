/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/landlock_rules.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By the interface version that introduced them; our headers may be older than the kernel. */
#define ACCESS_1	(((uint64_t)LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_REFER	(1ULL << 13) /* 2: move to other folders; version 1 denies that to all */
#define ACCESS_TRUNCATE (1ULL << 14) /* 3 */
#define ACCESS_IOCTL	(1ULL << 15) /* 5: ioctl() on devices */
#define SCOPE_6		3ULL	     /* 6: no abstract sockets or signals outside */

enum { VERSION_REFER = 2, VERSION_TRUNCATE = 3, VERSION_IOCTL = 5, VERSION_SCOPE = 6 };

/*
 * struct landlock_ruleset_attr of version 6. Earlier versions accept a longer one if the rest is
 * zero.
 */
struct ruleset {
	uint64_t files, network, scope;
};

#define ACCESS_LIST ((uint64_t)LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_READ (ACCESS_LIST | LANDLOCK_ACCESS_FS_READ_FILE)
#define ACCESS_WRITE                                                                 \
	(ACCESS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |       \
		LANDLOCK_ACCESS_FS_REMOVE_DIR | ACCESS_REFER | ACCESS_TRUNCATE)
/* The kernel refuses a rule on a file with any other right. */
#define ACCESS_OF_FILES \
	((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)

int landlock_version(void)
{
	long version = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? -errno : (int)version;
}

bool landlock_can_confine_writers(void)
{
	return landlock_version() >= VERSION_REFER;
}

static uint64_t handled_access(int version)
{
	uint64_t access = ACCESS_1;

	if (version >= VERSION_REFER)
		access |= ACCESS_REFER;
	if (version >= VERSION_TRUNCATE)
		access |= ACCESS_TRUNCATE;
	if (version >= VERSION_IOCTL)
		access |= ACCESS_IOCTL;
	return access;
}

static uint64_t allowed_access(const struct sandbox_folder *folder)
{
	if (folder->is_written)
		return ACCESS_WRITE;
	return folder->is_listed ? ACCESS_LIST : ACCESS_READ;
}

static int add_folder(int ruleset_fd, int version, const struct sandbox_folder *folder)
{
	struct landlock_path_beneath_attr rule = { 0 };
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (!folder->path)
		return 0;
	fd = open(folder->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	rule.parent_fd = fd;
	rule.allowed_access = allowed_access(folder) & handled_access(version);
	if (!S_ISDIR(status.st_mode))
		rule.allowed_access &= ACCESS_OF_FILES;
	if (rule.allowed_access == 0)
		return -ENOTDIR;
	if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

int landlock_confine(int version, const struct sandbox_folder *folders, size_t count)
{
	const struct ruleset ruleset = {
		.files = handled_access(version),
		.scope = version >= VERSION_SCOPE ? SCOPE_6 : 0,
	};
	_cleanup_close_ int fd = -1;
	int r = 0;

	/* Version 1 forbids moves between folders, which every writer here needs. */
	for (size_t i = 0; i < count; i++)
		if (folders[i].is_written && version < VERSION_REFER)
			return -EOPNOTSUPP;
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_folder(fd, version, &folders[i]);
	if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	return r;
}

int sandbox_confine(const struct sandbox_folder *folders, size_t count)
{
	int version = landlock_version();

	return version < 0 ? version : landlock_confine(version, folders, count);
}
