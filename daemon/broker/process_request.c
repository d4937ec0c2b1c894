/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/process_request.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "broker/broker.h"
#include "broker/broker_roots.h"
#include "broker/process_context.h"
#include "broker/process_user.h"
#include "broker/regular_file.h"
#include "broker/request_rate.h"
#include "broker/start_time.h"
#include "pilotlight/broker_request.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/ioctl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAP_NAME_BYTES = 64 };

/*
 * Opens /proc/PID. The descriptor refers to the process, not to its pid: after the process is gone
 * nothing opens below it, even if the pid is reused. So one check of the start time, after the file
 * was opened, is enough.
 */
static int open_process(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	char name[16];
	int r;

	if (request->pid <= 0)
		return -ESRCH;
	(void)snprintf(name, sizeof(name), "%d", request->pid);
	r = broker_roots_open(roots->proc, name, O_PATH | O_DIRECTORY, ret_fd);
	return r == -ENOENT ? -ESRCH : r;
}

/* The clients know one error for both refusals: by the kernel, and because of the owner. */
static int told(int r)
{
	return r == -EKEYREJECTED ? -EPERM : r;
}

/*
 * Returns the result of opening, unless the process is gone. The start time is checked even after a
 * failure, because -ENOENT means something else if the process is gone.
 */
static int check_process(
	int process_fd, const struct pilotlight_broker_request *request, int opened)
{
	int r = start_time_check(process_fd, request->start_ns);

	return r < 0 ? r : opened;
}

/* Opens a file that every process has in /proc/PID: if it is missing, the process is gone. */
static int open_of_process(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, const char *name, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r = open_process(roots, request, &process_fd);

	if (r < 0)
		return r;
	fd = openat(process_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	r = request->start_ns ? start_time_check(process_fd, request->start_ns) : 0;
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/*
 * Kernels without time namespaces (before 5.5, or configured without) lack the file, though the
 * process lives.
 */
static int open_time_offsets(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = open_of_process(roots, request, "timens_offsets", ret_fd);

	if (r != -ESRCH)
		return r;
	r = open_of_process(roots, request, "stat", &fd);
	return r < 0 ? r : -ENOENT;
}

int process_request_open_maps(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	return open_of_process(roots, request, "maps", ret_fd);
}

int process_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	static const char *const names[] = {
		[BROKER_PROCESS_STAT] = "stat",
		[BROKER_PROCESS_STATUS] = "status",
		[BROKER_PROCESS_COMM] = "comm",
		[BROKER_PROCESS_CGROUP] = "cgroup",
	};

	if (request->file == BROKER_PROCESS_TIMENS_OFFSETS)
		return open_time_offsets(roots, request, ret_fd);
	if (request->file >= ARRAY_SIZE(names) || !names[request->file])
		return -EINVAL;
	return open_of_process(roots, request, names[request->file], ret_fd);
}

/* A zombie has no root. */
static int open_root(int process_fd, int *ret_fd)
{
	int fd = openat(process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_fd = fd;
	return 0;
}

/*
 * Who mounted the file systems below the root of the process? Call this after the root was opened:
 * a process that leaves our user namespace can neither return nor make its root ours. Without user
 * namespaces in the kernel the file is missing. It is also missing if the process is gone, which
 * check_process() reports.
 */
static enum regular_file_mounter mounter_of(int process_fd)
{
	struct stat theirs, ours;

	if (fstatat(process_fd, "ns/user", &theirs, 0) < 0)
		return errno == ENOENT ? REGULAR_FILE_BY_ADMINISTRATOR : REGULAR_FILE_BY_ANYONE;
	if (stat("/proc/self/ns/user", &ours) < 0 || theirs.st_dev != ours.st_dev ||
		theirs.st_ino != ours.st_ino)
		return REGULAR_FILE_BY_ANYONE;
	return REGULAR_FILE_BY_ADMINISTRATOR;
}

/*
 * Opens folders and files of all users while it is in scope, if the process may. The kernel tells
 * which file a process has mapped. The owner is checked for jitdumps and perf maps, which often
 * only their owners can read.
 */
static bool open_closed_folders(void)
{
	return sandbox_raise_capability(CAP_DAC_READ_SEARCH);
}

static void close_folders(const bool *is_raised)
{
	if (*is_raised)
		(void)sandbox_lower_capability(CAP_DAC_READ_SEARCH);
}

#define WITH_CLOSED_FOLDERS                                                     \
	_cleanup_(close_folders) const bool is_raised __attribute__((unused)) = \
		open_closed_folders()

static int open_elf_below_root(int process_fd, const char *path, int *ret_fd)
{
	_cleanup_close_ int root_fd = -1;
	int r = open_root(process_fd, &root_fd);

	return r < 0 ? r : regular_file_open_elf(root_fd, path, REGULAR_FILE_IN_ROOT, ret_fd);
}

/* Would a success say that a folder on the way exists? */
static bool has_upward_part(const char *path)
{
	const char *part = path;

	while ((part = strstr(part, "/.."))) {
		part += strlen("/..");
		if (*part == '/' || *part == '\0')
			return true;
	}
	return false;
}

static int walk_closed_folders(int root_fd, const char *path, uint64_t resolve)
{
	WITH_CLOSED_FOLDERS;

	return regular_file_walk(root_fd, path, 0, resolve);
}

static int open_dump_found(int process_fd, int found_fd, int *ret_fd)
{
	WITH_CLOSED_FOLDERS;
	struct regular_file_growing dump = { .kind = REGULAR_FILE_JITDUMP, .may_be_empty = true };
	int r = process_user_read(process_fd, &dump.user);

	if (r < 0)
		return r;
	dump.mounter = mounter_of(process_fd);
	return regular_file_open_found_growing(found_fd, &dump, ret_fd);
}

/*
 * Of a closed folder the client learns nothing but the dumps that it gets: whatever else is there,
 * or is not, has one error. What an open path leads to is walked to once, because a process may
 * close a folder on the way meanwhile.
 */
static int open_dump_below_root(int process_fd, const char *path, int *ret_fd)
{
	const uint64_t resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT;
	_cleanup_close_ int root_fd = -1, found_fd = -1;
	bool is_closed;
	int r = open_root(process_fd, &root_fd);

	if (r < 0)
		return r;
	found_fd = regular_file_walk(root_fd, path, 0, resolve);
	is_closed = found_fd == -EACCES;
	if (is_closed && !has_upward_part(path))
		found_fd = walk_closed_folders(root_fd, path, resolve);
	r = found_fd < 0 ? found_fd : open_dump_found(process_fd, found_fd, ret_fd);
	return r < 0 && is_closed ? -EACCES : r;
}

/* struct procmap_query of <linux/fs.h>, which older headers lack (Linux 6.11). */
struct mapping_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t address;
	uint64_t start, end;
	uint64_t flags;
	uint64_t page_size, offset, inode;
	uint32_t device_major, device_minor;
	uint32_t name_size, build_id_size;
	uint64_t name_address, build_id_address;
};
#define MAPPING_QUERY	   _IOWR('f', 17, struct mapping_query)
#define MAPPING_EXECUTABLE 0x4

_Static_assert(sizeof(struct mapping_query) == 104, "as the kernel has it");

/*
 * Asks the kernel whether the mapping [start, end) is executable. Returns 0; -EINVAL it is not;
 * -ENOENT there is no such mapping. Kernels before 6.11 cannot answer; then every mapping counts as
 * executable.
 */
static int check_mapped_code(int process_fd, uint64_t start, uint64_t end)
{
	_cleanup_close_ int fd = openat(process_fd, "maps", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct mapping_query query = { .size = sizeof(query), .address = start };

	/* Opening the mapping reports any other error. */
	if (fd < 0)
		return 0;
	if (ioctl(fd, MAPPING_QUERY, &query) < 0)
		return errno == ENOENT ? -ENOENT : 0;
	if (query.start != start || query.end != end)
		return -ENOENT;
	return query.flags & MAPPING_EXECUTABLE ? 0 : -EINVAL;
}

static int find_map_file(
	int process_fd, uint64_t start, uint64_t end, char ret_name[MAP_NAME_BYTES])
{
	(void)snprintf(ret_name, MAP_NAME_BYTES, "map_files/%llx-%llx", (unsigned long long)start,
		(unsigned long long)end);
	return check_mapped_code(process_fd, start, end);
}

static int open_mapped_elf(int process_fd, uint64_t start, uint64_t end, int *ret_fd)
{
	WITH_CLOSED_FOLDERS;
	char name[MAP_NAME_BYTES];
	int r = find_map_file(process_fd, start, end, name);

	return r < 0 ? r : regular_file_open_elf(process_fd, name, REGULAR_FILE_MAGIC_LINK, ret_fd);
}

/* Is the last part of `path` a jitdump's: jit-NUMBER.dump? */
static bool is_marker_name(const char *path)
{
	static const char start[] = "jit-", end[] = ".dump";
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t digits;

	if (strncmp(name, start, sizeof(start) - 1) != 0)
		return false;
	name += sizeof(start) - 1;
	digits = strspn(name, "0123456789");
	return digits > 0 && strcmp(name + digits, end) == 0;
}

/* Did the process map the file under a jitdump's name? A path that is cut off has another one. */
static bool is_mapped_as_marker(int process_fd, const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = sizeof(deleted) - 1;
	char path[PATH_MAX];
	ssize_t size = readlinkat(process_fd, name, path, sizeof(path) - 1);

	if (size < 0)
		return false;
	if ((size_t)size > length && memcmp(path + size - length, deleted, length) == 0)
		size -= (ssize_t)length;
	path[size] = '\0';
	return is_marker_name(path);
}

static int open_mapped_dump(int process_fd, uint64_t start, uint64_t end, int *ret_fd)
{
	WITH_CLOSED_FOLDERS;
	/* The process may have the file from a process of another user namespace. */
	struct regular_file_growing dump = { .kind = REGULAR_FILE_JITDUMP,
		.mounter = REGULAR_FILE_BY_ANYONE };
	char name[MAP_NAME_BYTES];
	int r = find_map_file(process_fd, start, end, name);

	if (r == 0)
		r = process_user_read(process_fd, &dump.user);
	if (r < 0)
		return r;
	dump.may_be_empty = is_mapped_as_marker(process_fd, name);
	return regular_file_open_growing(process_fd, name, 0, &dump, ret_fd);
}

static int open_mapping(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, bool is_dump, int *ret_fd)
{
	int (*const open_mapped)(int, uint64_t, uint64_t, int *) =
		is_dump ? open_mapped_dump : open_mapped_elf;
	int (*const open_below_root)(int, const char *, int *) =
		is_dump ? open_dump_below_root : open_elf_below_root;
	_cleanup_close_ int process_fd = -1, fd = -1;
	bool is_by_path = request->range_start == 0 && request->range_end == 0;
	int r;

	if (request->has_path && request->path[0] != '/')
		return -EINVAL;
	if (is_by_path ? !request->has_path : request->range_start >= request->range_end)
		return -EINVAL;
	r = open_process(roots, request, &process_fd);
	if (r < 0)
		return r;
	r = is_by_path ? -ENOENT
		       : open_mapped(process_fd, request->range_start, request->range_end, &fd);
	if (request->has_path && (!is_dump || is_marker_name(request->path)) &&
		(r == -ENOENT || r == -EACCES || r == -EPERM || r == -EREMOTE))
		r = open_below_root(process_fd, request->path, &fd);
	r = check_process(process_fd, request, r);
	if (r < 0)
		return told(r);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int process_request_open_mapping(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	return open_mapping(roots, request, false, ret_fd);
}

int process_request_open_marker(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	return open_mapping(roots, request, true, ret_fd);
}

static int open_perf_map(int process_fd, uint32_t ns_pid, int *ret_fd)
{
	WITH_CLOSED_FOLDERS;
	struct regular_file_growing map = { .kind = REGULAR_FILE_PERF_MAP };
	_cleanup_close_ int root_fd = -1, folder_fd = -1;
	char name[32];
	int r = open_root(process_fd, &root_fd);

	if (r == 0)
		r = process_user_read(process_fd, &map.user);
	if (r < 0)
		return r;
	map.mounter = mounter_of(process_fd);
	/* /tmp may be a link to elsewhere within the root; links inside /tmp are not trusted. */
	folder_fd = regular_file_walk(
		root_fd, "tmp", O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (folder_fd < 0)
		return folder_fd;
	(void)snprintf(name, sizeof(name), "perf-%u.map", ns_pid);
	return regular_file_open_growing(
		folder_fd, name, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH, &map, ret_fd);
}

int process_request_open_perf_map(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r;

	if (request->ns_pid == 0)
		return -EINVAL;
	r = open_process(roots, request, &process_fd);
	if (r < 0)
		return r;
	r = check_process(process_fd, request, open_perf_map(process_fd, request->ns_pid, &fd));
	if (r < 0)
		return told(r);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int process_request_open_executable(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r = open_process(roots, request, &process_fd);

	if (r < 0)
		return r;
	fd = openat(process_fd, "exe", O_PATH | O_CLOEXEC);
	r = check_process(process_fd, request, fd < 0 ? -errno : 0);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* /proc/PID/mem is its owner's alone. */
static int copy_context(int process_fd, int *ret_fd)
{
	WITH_CLOSED_FOLDERS;

	return process_context_copy(process_fd, ret_fd);
}

int process_request_copy_context(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	int r = open_process(roots, request, &process_fd);

	if (r < 0)
		return r;
	r = check_process(process_fd, request, copy_context(process_fd, &fd));
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

uint64_t process_request_user(
	const struct broker_roots *roots, const struct pilotlight_broker_request *request)
{
	_cleanup_close_ int process_fd = -1;
	uid_t user;

	if (open_process(roots, request, &process_fd) < 0)
		return REQUEST_RATE_NOBODY;
	if (process_user_find_creator(process_fd, &user) < 0 &&
		process_user_read(process_fd, &user) < 0)
		return REQUEST_RATE_NOBODY;
	return user;
}
