/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker.h"

#include "broker/regular_file.h"
#include "broker/start_time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	MODULE_NAME_MAX = 64,
	/* As many as regular_file_open() makes of a walk that a rename elsewhere disturbs. */
	WALK_ATTEMPTS = 16,
};

struct broker {
	char *proc_root;
	char *debug_root;
	char *sys_root;
};

static int copy_root(char **ret_root, const char *root, const char *usual)
{
	*ret_root = strdup(root ? root : usual);
	return *ret_root ? 0 : -ENOMEM;
}

int broker_new(const struct broker_options *options, struct broker **ret_broker)
{
	static const struct broker_options usual;
	_cleanup_(broker_freep) struct broker *broker = calloc(1, sizeof(*broker));

	if (!broker)
		return -ENOMEM;
	if (!options)
		options = &usual;
	if (copy_root(&broker->proc_root, options->proc_root, "/proc") < 0 ||
		copy_root(&broker->debug_root, options->debug_root, "/usr/lib/debug") < 0 ||
		copy_root(&broker->sys_root, options->sys_root, "/sys") < 0)
		return -ENOMEM;
	*ret_broker = TAKE_PTR(broker);
	return 0;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	free(broker->proc_root);
	free(broker->debug_root);
	free(broker->sys_root);
	free(broker);
}

static int join_path(char path[PATH_MAX], const char *root, const char *rest)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", root, rest);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* A folder or file that only the kernel or the administrator puts there. */
static int open_trusted(const char *root, const char *rest, int flags, int *ret_fd)
{
	char path[PATH_MAX];
	int r = join_path(path, root, rest);
	int fd;

	if (r < 0)
		return r;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/*
 * /proc/PID. The descriptor stands for the process, not for the number: once the process is gone,
 * nothing opens below it, even if another process has the pid. So the start time need be asked
 * once, by whoever has opened what it wanted.
 */
static int open_process(struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	char name[16];
	int r;

	if (process->pid <= 0)
		return -ESRCH;
	(void)snprintf(name, sizeof(name), "%d", process->pid);
	r = open_trusted(broker->proc_root, name, O_PATH | O_DIRECTORY, ret_fd);
	return r == -ENOENT ? -ESRCH : r;
}

static int check_process(int process_fd, const struct broker_process *process)
{
	return process->start_ns ? start_time_check(process_fd, process->start_ns) : 0;
}

/* A file of /proc/PID. Where it is missing and every process has it, the process is. */
static int open_of_process(
	struct broker *broker, const struct broker_process *process, const char *name, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r = open_process(broker, process, &process_fd);

	if (r < 0)
		return r;
	fd = openat(process_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	r = check_process(process_fd, process);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Kernels without time namespaces (before 5.5, or built so) lack it for processes that live. */
static int open_time_offsets(
	struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = open_of_process(broker, process, "timens_offsets", ret_fd);

	if (r != -ESRCH)
		return r;
	r = open_of_process(broker, process, "stat", &fd);
	return r < 0 ? r : -ENOENT;
}

int broker_open_maps(struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	return open_of_process(broker, process, "maps", ret_fd);
}

int broker_open_process_file(struct broker *broker, const struct broker_process *process,
	enum broker_process_file file, int *ret_fd)
{
	static const char *const names[] = {
		[BROKER_PROCESS_STAT] = "stat",
		[BROKER_PROCESS_STATUS] = "status",
		[BROKER_PROCESS_COMM] = "comm",
		[BROKER_PROCESS_CGROUP] = "cgroup",
		[BROKER_PROCESS_MOUNTINFO] = "mountinfo",
	};

	if (file == BROKER_PROCESS_TIMENS_OFFSETS)
		return open_time_offsets(broker, process, ret_fd);
	if ((unsigned int)file >= sizeof(names) / sizeof(names[0]) || !names[file])
		return -EINVAL;
	return open_of_process(broker, process, names[file], ret_fd);
}

static int walk_to(int folder_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve };
	long fd;

	for (int i = 0; i < WALK_ATTEMPTS; i++) {
		fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}

/*
 * File systems that the kernel makes up have no blocks, since simple_statfs() answers for them.
 * Neither have the two in memory, where they are not bounded.
 */
static bool is_of_storage(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 &&
	       (system.f_blocks > 0 || (unsigned long)system.f_type == TMPFS_MAGIC ||
		       (unsigned long)system.f_type == RAMFS_MAGIC);
}

/*
 * As regular_file_open() does, but the file may be empty: its writer has opened it, and has what it
 * wrote in its buffer still.
 */
static int open_growing(int folder_fd, const char *path, uint64_t resolve, int *ret_fd)
{
	_cleanup_close_ int found_fd = walk_to(folder_fd, path, 0, resolve);
	struct stat status;
	char link[64];
	int fd;

	if (found_fd < 0)
		return found_fd;
	if (fstat(found_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || !is_of_storage(found_fd))
		return -EINVAL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", found_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* One that has ended and is not waited for has none. */
static int open_root(int process_fd, int *ret_fd)
{
	int fd = openat(process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_fd = fd;
	return 0;
}

static int open_below_root(int process_fd, const char *path, bool is_growing, int *ret_fd)
{
	_cleanup_close_ int root_fd = -1;
	int r = open_root(process_fd, &root_fd);

	if (r < 0)
		return r;
	if (is_growing)
		return open_growing(root_fd, path, RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT, ret_fd);
	return regular_file_open(root_fd, path, REGULAR_FILE_IN_ROOT, ret_fd);
}

static int open_map_file(int process_fd, uint64_t start, uint64_t end, bool is_growing, int *ret_fd)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)start,
		(unsigned long long)end);
	if (is_growing)
		return open_growing(process_fd, name, 0, ret_fd);
	return regular_file_open(process_fd, name, REGULAR_FILE_MAGIC_LINK, ret_fd);
}

static int open_mapping(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, bool is_growing, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	bool is_by_path = start == 0 && end == 0;
	int r, checked;

	if ((path && path[0] != '/') || (is_by_path ? !path : start >= end))
		return -EINVAL;
	r = open_process(broker, process, &process_fd);
	if (r < 0)
		return r;
	r = is_by_path ? -ENOENT : open_map_file(process_fd, start, end, is_growing, &fd);
	if (path && (r == -ENOENT || r == -EACCES || r == -EPERM))
		r = open_below_root(process_fd, path, is_growing, &fd);
	/* Asked even after a failure: -ENOENT says something else of a process that is gone. */
	checked = start_time_check(process_fd, process->start_ns);
	if (checked < 0)
		return checked;
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int broker_open_mapping(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd)
{
	return open_mapping(broker, process, start, end, path, false, ret_fd);
}

int broker_open_marker(struct broker *broker, const struct broker_process *process, uint64_t start,
	uint64_t end, const char *path, int *ret_fd)
{
	return open_mapping(broker, process, start, end, path, true, ret_fd);
}

static int open_perf_map(int process_fd, uint32_t ns_pid, int *ret_fd)
{
	_cleanup_close_ int root_fd = -1, folder_fd = -1;
	char name[32];
	int r = open_root(process_fd, &root_fd);

	if (r < 0)
		return r;
	/* A root may have its /tmp elsewhere, inside of it; what stands there is not trusted. */
	folder_fd = walk_to(root_fd, "tmp", O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (folder_fd < 0)
		return folder_fd;
	(void)snprintf(name, sizeof(name), "perf-%u.map", ns_pid);
	return open_growing(folder_fd, name, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH, ret_fd);
}

int broker_open_perf_map(
	struct broker *broker, const struct broker_process *process, uint32_t ns_pid, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r, checked;

	if (ns_pid == 0)
		return -EINVAL;
	r = open_process(broker, process, &process_fd);
	if (r < 0)
		return r;
	r = open_perf_map(process_fd, ns_pid, &fd);
	checked = start_time_check(process_fd, process->start_ns);
	if (checked < 0)
		return checked;
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int broker_open_path(struct broker *broker, const char *path, int *ret_fd)
{
	(void)broker;
	if (path[0] != '/')
		return -EINVAL;
	return regular_file_open(AT_FDCWD, path, REGULAR_FILE_NO_LINKS, ret_fd);
}

static int open_by_build_id(
	struct broker *broker, const struct build_id *id, const char *ending, int *ret_fd)
{
	char hex[BUILD_ID_HEX_BYTES], name[BUILD_ID_HEX_BYTES + 32], path[PATH_MAX];
	int r;

	(void)build_id_format(id, hex);
	(void)snprintf(name, sizeof(name), ".build-id/%.2s/%s%s", hex, hex + 2, ending);
	r = join_path(path, broker->debug_root, name);
	if (r < 0)
		return r;
	return regular_file_open(AT_FDCWD, path, REGULAR_FILE_PLAIN, ret_fd);
}

static int open_by_padded_build_id(
	struct broker *broker, const struct build_id *id, const char *ending, int *ret_fd)
{
	static const uint8_t usual_sizes[] = { 8, 16, BUILD_ID_BYTES };
	struct build_id padded = *id;
	int r;

	if (id->size < 2 || id->size > BUILD_ID_BYTES)
		return -EINVAL;
	r = open_by_build_id(broker, id, ending, ret_fd);
	for (size_t i = 0; r == -ENOENT && i < sizeof(usual_sizes); i++) {
		if (usual_sizes[i] <= id->size)
			continue;
		padded.size = usual_sizes[i];
		r = open_by_build_id(broker, &padded, ending, ret_fd);
	}
	return r;
}

int broker_open_debug_file(struct broker *broker, const struct build_id *id, int *ret_fd)
{
	return open_by_padded_build_id(broker, id, ".debug", ret_fd);
}

int broker_open_debug_package(struct broker *broker, const struct build_id *id, int *ret_fd)
{
	int r = open_by_padded_build_id(broker, id, ".debug.dwp", ret_fd);

	return r == -ENOENT ? open_by_padded_build_id(broker, id, ".dwp", ret_fd) : r;
}

static bool is_same_file(int fd, const char *path)
{
	struct stat first, second;

	return fstat(fd, &first) == 0 && stat(path, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool is_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int broker_open_debuglink(
	struct broker *broker, const char *binary_path, const char *name, int *ret_fd)
{
	/* In the folder for debug files only the administrator makes links. */
	const struct {
		const char *root, *folder;
		enum regular_file_walk walk;
	} places[] = { { "", "/", REGULAR_FILE_NO_LINKS },
		{ "", "/.debug/", REGULAR_FILE_NO_LINKS },
		{ broker->debug_root, "/", REGULAR_FILE_PLAIN } };
	const char *slash = strrchr(binary_path, '/');
	int r = -ENOENT;

	if (binary_path[0] != '/' || !is_file_name(name))
		return -EINVAL;
	for (size_t i = 0; r < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_close_ int fd = -1;
		char path[PATH_MAX];
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].root,
			(int)(slash - binary_path), binary_path, places[i].folder, name);

		if (length < 0 || (size_t)length >= sizeof(path))
			return -ENAMETOOLONG;
		r = regular_file_open(AT_FDCWD, path, places[i].walk, &fd);
		if (r == 0 && is_same_file(fd, binary_path))
			r = -ENOENT;
		if (r == 0)
			*ret_fd = TAKE_FD(fd);
	}
	return r;
}

int broker_open_alternate_file(
	struct broker *broker, const char *path, const struct build_id *id, int *ret_fd)
{
	static const char folder[] = "/.dwz/";
	const char *found = NULL;
	char below[PATH_MAX];
	int r;

	r = id->size > 0 ? broker_open_debug_file(broker, id, ret_fd) : -ENOENT;
	if (r == 0)
		return 0;
	for (const char *next = strstr(path, folder); next; next = strstr(next + 1, folder))
		found = next;
	if (found && !strstr(found, "/../") && join_path(below, broker->debug_root, found + 1) == 0)
		r = regular_file_open(AT_FDCWD, below, REGULAR_FILE_PLAIN, ret_fd);
	if (r < 0 && path[0] == '/')
		r = broker_open_path(broker, path, ret_fd);
	return r;
}

int broker_open_kernel_file(struct broker *broker, enum broker_kernel_file file, int *ret_fd)
{
	switch (file) {
	case BROKER_KALLSYMS:
		return open_trusted(broker->proc_root, "kallsyms", O_RDONLY, ret_fd);
	case BROKER_MODULES:
		return open_trusted(broker->proc_root, "modules", O_RDONLY, ret_fd);
	case BROKER_KERNEL_NOTES:
		return open_trusted(broker->sys_root, "kernel/notes", O_RDONLY, ret_fd);
	}
	return -EINVAL;
}

static bool is_module_name(const char *name)
{
	size_t length = strnlen(name, MODULE_NAME_MAX);

	return length > 0 && length < MODULE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       length;
}

int broker_open_module_note(struct broker *broker, const char *name, int *ret_fd)
{
	char rest[MODULE_NAME_MAX + 64];

	if (!is_module_name(name))
		return -EINVAL;
	(void)snprintf(rest, sizeof(rest), "module/%s/notes/.note.gnu.build-id", name);
	return open_trusted(broker->sys_root, rest, O_RDONLY, ret_fd);
}

int broker_open_executable(struct broker *broker, const struct broker_process *process, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r = open_process(broker, process, &process_fd);
	int error;

	if (r < 0)
		return r;
	fd = openat(process_fd, "exe", O_PATH | O_CLOEXEC);
	error = fd < 0 ? -errno : 0;
	/* Asked even after a failure: -ENOENT says something else of a process that is gone. */
	r = start_time_check(process_fd, process->start_ns);
	if (r == 0)
		r = error;
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
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

static int find_cgroup_mount(struct broker *broker, int *ret_fd)
{
	static const char *const places[] = { "fs/cgroup", "fs/cgroup/unified" };
	char path[PATH_MAX];
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(places) / sizeof(places[0]); i++) {
		r = join_path(path, broker->sys_root, places[i]);
		if (r == 0)
			r = open_cgroup_mount(path, ret_fd);
	}
	return r;
}

int broker_open_cgroup(struct broker *broker, const char *mount, const char *path, int *ret_fd)
{
	_cleanup_close_ int mount_fd = -1, found_fd = -1;
	int fd, r;

	if (path[0] != '/')
		return -EINVAL;
	r = mount ? open_cgroup_mount(mount, &mount_fd) : find_cgroup_mount(broker, &mount_fd);
	if (r < 0)
		return r;
	path += strspn(path, "/");
	found_fd = walk_to(mount_fd, path[0] ? path : ".", O_DIRECTORY,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	if (found_fd < 0)
		return found_fd;
	fd = openat(found_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
