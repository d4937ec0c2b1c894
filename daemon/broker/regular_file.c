/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/regular_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "pilotlight/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Missing from <linux/magic.h>, at least in some of the headers that we build with. */
#define UBIFS_MAGIC	  0x24051905
#define ZFS_MAGIC	  0x2fc12fc1
#define BCACHEFS_MAGIC	  0xca451a4e
#define AUFS_MAGIC	  0x61756673
#define FUSE_SUPER_MAGIC  0x65735546
#define GFS2_MAGIC	  0x01161970
#define OCFS2_SUPER_MAGIC 0x7461636f

enum {
	/* A concurrent rename anywhere on the machine makes a walk with ".." fail with EAGAIN:
	 * openat2(2). */
	WALK_ATTEMPTS = 16,
	MAGIC_BYTES = SELFMAG,
	TYPE_BYTES = offsetof(Elf64_Ehdr, e_type) + sizeof(((Elf64_Ehdr *)NULL)->e_type),
	PERF_MAP_BYTES = 4096,
};

int regular_file_walk(int folder_fd, const char *path, uint64_t flags, uint64_t resolve)
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

static uint64_t resolve_of(enum regular_file_walk walk)
{
	switch (walk) {
	case REGULAR_FILE_PLAIN:
		return RESOLVE_NO_MAGICLINKS;
	case REGULAR_FILE_NO_LINKS:
		return RESOLVE_NO_SYMLINKS;
	case REGULAR_FILE_IN_ROOT:
		return RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT;
	case REGULAR_FILE_MAGIC_LINK:
		break;
	}
	return 0;
}

/*
 * The kernel's own file systems have regular files, too. Opening or closing some of them has
 * effects: tracefs's free_buffer empties the trace. No program maps code from them.
 */
static bool is_of_the_kernel(int fd)
{
	static const unsigned long types[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC,
		DEBUGFS_MAGIC, BPF_FS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC, SELINUX_MAGIC, EFIVARFS_MAGIC, PSTOREFS_MAGIC, BINFMTFS_MAGIC };
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)system.f_type == types[i])
			return true;
	return false;
}

static bool is_one_of(const uint64_t *types, size_t count, uint64_t type)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] == type)
			return true;
	return false;
}

int regular_file_check_storage(
	uint64_t type, uint64_t blocks, dev_t device, enum regular_file_mounter mounter)
{
	static const uint64_t without_disk[] = { TMPFS_MAGIC, RAMFS_MAGIC, BTRFS_SUPER_MAGIC,
		UBIFS_MAGIC, ZFS_MAGIC, BCACHEFS_MAGIC };
	static const uint64_t with_layers[] = { OVERLAYFS_SUPER_MAGIC, AUFS_MAGIC };
	static const uint64_t with_disk_and_server[] = { FUSE_SUPER_MAGIC, GFS2_MAGIC,
		OCFS2_SUPER_MAGIC };

	if (is_one_of(without_disk, ARRAY_SIZE(without_disk), type))
		return 0;
	if (is_one_of(with_layers, ARRAY_SIZE(with_layers), type))
		return mounter == REGULAR_FILE_BY_ADMINISTRATOR ? 0 : -EREMOTE;
	if (is_one_of(with_disk_and_server, ARRAY_SIZE(with_disk_and_server), type))
		return -EREMOTE;
	if (major(device) != 0)
		return 0;
	/* simple_statfs() reports no blocks for the kernel's own file systems. */
	return blocks > 0 ? -EREMOTE : -EINVAL;
}

static int check_storage(int fd, const struct stat *status, enum regular_file_mounter mounter)
{
	struct statfs system;

	/* Only a file system with a server fails to answer. */
	if (fstatfs(fd, &system) < 0)
		return -EREMOTE;
	return regular_file_check_storage(
		(uint64_t)system.f_type, system.f_blocks, status->st_dev, mounter);
}

/* Programs, libraries and debug files are readable by everyone or executable by someone; core files
 * are neither. */
static bool may_be_code(const struct stat *status)
{
	return status->st_mode & (S_IROTH | S_IXUSR | S_IXGRP | S_IXOTH);
}

/* Opens a file that is known to be regular, so that opening neither blocks nor has effects. */
static int open_found(int found_fd, int *ret_fd)
{
	char link[64];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", found_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* Reads the first bytes. Returns their number, which is less if the file is shorter, or -errno. */
static ssize_t read_start(int fd, void *bytes, size_t count)
{
	ssize_t size;

	do
		size = pread(fd, bytes, count, 0);
	while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : size;
}

/*
 * A core file has what was in a process's memory. The type is the same number of two bytes in files
 * of 32 and of 64 bits, of either byte order.
 */
static int check_elf(int fd)
{
	uint8_t start[TYPE_BYTES] = { 0 };
	ssize_t size = read_start(fd, start, sizeof(start));
	const uint8_t *type = start + offsetof(Elf64_Ehdr, e_type);

	_Static_assert(offsetof(Elf64_Ehdr, e_type) == offsetof(Elf32_Ehdr, e_type), "one place");
	if (size < 0)
		return (int)size;
	if (size < MAGIC_BYTES || memcmp(start, ELFMAG, MAGIC_BYTES) != 0)
		return -ENOEXEC;
	return size == sizeof(start) && (type[0] | type[1]) == ET_CORE && !(type[0] & type[1])
		       ? -ENOEXEC
		       : 0;
}

static int check_jitdump(int fd, bool may_be_empty)
{
	uint32_t magic;
	ssize_t size = read_start(fd, &magic, sizeof(magic));

	_Static_assert(sizeof(magic) == MAGIC_BYTES, "the same length as ELF's");
	if (size < 0)
		return (int)size;
	if (size == 0)
		return may_be_empty ? 0 : -ENOEXEC;
	return size == MAGIC_BYTES && (magic == PILOTLIGHT_JITDUMP_MAGIC ||
					      magic == PILOTLIGHT_JITDUMP_MAGIC_SWAPPED)
		       ? 0
		       : -ENOEXEC;
}

/* Skips a hexadecimal number, with or without 0x, and the blanks after it. Returns NULL: there is
 * none. */
static const char *skip_number(const char *text)
{
	size_t digits, blanks;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	digits = strspn(text, "0123456789abcdefABCDEF");
	blanks = strspn(text + digits, " \t");
	return digits > 0 && digits <= 16 && blanks > 0 ? text + digits + blanks : NULL;
}

/*
 * Does it begin as the line of a perf map does: with two hexadecimal numbers? It may be empty. A
 * writer whose file was truncated leaves NULs before its next line.
 */
static int check_perf_map(int fd)
{
	char text[PERF_MAP_BYTES + 1];
	ssize_t size = read_start(fd, text, PERF_MAP_BYTES);
	const char *line = text;

	if (size < 0)
		return (int)size;
	text[size] = '\0';
	while (line < text + size && *line == '\0')
		line++;
	if (line == text + size)
		return 0;
	line = skip_number(line + strspn(line, " \t"));
	return line && skip_number(line) ? 0 : -ENOEXEC;
}

int regular_file_open_elf(int folder_fd, const char *path, enum regular_file_walk walk, int *ret_fd)
{
	_cleanup_close_ int found_fd = regular_file_walk(folder_fd, path, 0, resolve_of(walk));
	_cleanup_close_ int fd = -1;
	struct stat status;
	int r;

	if (found_fd < 0)
		return found_fd;
	if (fstat(found_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size == 0 || is_of_the_kernel(found_fd))
		return -EINVAL;
	if (walk != REGULAR_FILE_MAGIC_LINK && !may_be_code(&status))
		return -EACCES;
	r = open_found(found_fd, &fd);
	if (r == 0)
		r = check_elf(fd);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/*
 * A user can give another one's file the name of a perf map: by a hard link, or by mounting it
 * there in namespaces of his own. So the file must belong to the process.
 */
static int check_owner(const struct stat *status, const struct regular_file_growing *growing)
{
	if (status->st_uid != growing->user &&
		!(status->st_uid == 0 && (status->st_mode & S_IROTH)) &&
		!(growing->kind == REGULAR_FILE_JITDUMP && growing->user == 0 &&
			growing->mounter == REGULAR_FILE_BY_ADMINISTRATOR))
		return -EKEYREJECTED;
	return growing->kind == REGULAR_FILE_PERF_MAP && status->st_nlink > 1 ? -EMLINK : 0;
}

int regular_file_open_found_growing(
	int found_fd, const struct regular_file_growing *growing, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat status;
	int r;

	if (fstat(found_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	r = check_storage(found_fd, &status, growing->mounter);
	if (r == 0)
		r = check_owner(&status, growing);
	if (r == 0)
		r = open_found(found_fd, &fd);
	if (r == 0)
		r = growing->kind == REGULAR_FILE_JITDUMP ? check_jitdump(fd, growing->may_be_empty)
							  : check_perf_map(fd);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

int regular_file_open_growing(int folder_fd, const char *path, uint64_t resolve,
	const struct regular_file_growing *growing, int *ret_fd)
{
	_cleanup_close_ int found_fd = regular_file_walk(folder_fd, path, 0, resolve);

	return found_fd < 0 ? found_fd : regular_file_open_found_growing(found_fd, growing, ret_fd);
}
