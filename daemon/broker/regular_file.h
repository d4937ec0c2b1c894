/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a regular file by an untrusted name, without ever opening a FIFO, a device or a socket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Walks a path by the rules of openat2(2), without opening the file. `resolve` is RESOLVE_*; O_PATH
 * and O_CLOEXEC are added to `flags`. Returns an O_PATH descriptor that the caller owns, or -errno.
 */
int regular_file_walk(int folder_fd, const char *path, uint64_t flags, uint64_t resolve);

enum regular_file_walk {
	REGULAR_FILE_PLAIN,    /* follow symlinks, but no magic links */
	REGULAR_FILE_NO_LINKS, /* follow no links: the kernel reports paths without, so one was put
				  there later */
	REGULAR_FILE_IN_ROOT,  /* follow no links, and `folder_fd` is the root */
	REGULAR_FILE_MAGIC_LINK, /* `path` is a magic link, as in map_files/ */
};

/*
 * Opens an ELF file at `path` below `folder_fd` (AT_FDCWD: as the caller sees it). Its first
 * bytes are read, because nothing else tells code from a secret that a compromised client asks for.
 * Returns 0 and an O_CLOEXEC, read-only descriptor that the caller owns; or: -EINVAL it is not a
 * regular file, is empty, or is on a file system of the kernel such as /proc; -ENOEXEC it is not an
 * ELF file, or is a core file; -EACCES it was opened by name and its mode lets neither everyone
 * read nor anyone execute it, so it may be a core file and is no code; -ELOOP there is a link where
 * none is allowed; or -errno of opening or reading.
 */
int regular_file_open_elf(
	int folder_fd, const char *path, enum regular_file_walk walk, int *ret_fd);

/*
 * Who mounted the file system? Overlayfs hides its layers from statfs(). Any user can mount it over
 * a FUSE of his own, but only in a user namespace of his own.
 */
enum regular_file_mounter { REGULAR_FILE_BY_ANYONE, REGULAR_FILE_BY_ADMINISTRATOR };

/* A file in which a process of `user` names its generated code. It is still being written. */
struct regular_file_growing {
	enum { REGULAR_FILE_JITDUMP, REGULAR_FILE_PERF_MAP } kind;
	enum regular_file_mounter mounter;
	uid_t user;
	bool may_be_empty; /* a jitdump, because its name is a jitdump's */
};

/*
 * Opens such a file. `resolve` is RESOLVE_* of openat2(2). A jitdump is recognized by its first
 * four bytes. Runtimes buffer them: until they are written the name has to do, and the file's owner
 * answers for what he writes there. A perf map is text: it is recognized by its name, so it must
 * not have a second one, and by two hexadecimal numbers at its start. It may be empty.
 *
 * Returns 0 as above, or also -EKEYREJECTED it belongs neither to `user` nor to root with everyone
 * allowed to read it; -EMLINK a perf map with another link; -ENOEXEC it does not begin as a jitdump
 * or a perf map does; -EREMOTE: see regular_file_check_storage(). The jitdumps of all users are
 * open to root's processes where only the administrator mounts, since those stand in for children
 * of other users that have ended. Their perf maps are not: any text of two numbers could be one.
 */
int regular_file_open_growing(int folder_fd, const char *path, uint64_t resolve,
	const struct regular_file_growing *growing, int *ret_fd);
/* The same for a file that regular_file_walk() has found. */
int regular_file_open_found_growing(
	int found_fd, const struct regular_file_growing *growing, int *ret_fd);

/*
 * May the client read a growing file on this file system? `type` and `blocks` are of statfs(),
 * `device` is of stat(). Returns 0; -EINVAL on a file system of the kernel; -EREMOTE if reading may
 * wait for a server, as on FUSE and NFS, because the client, unlike the opener, has no time limit.
 * A file system on a disk has a device number with a major; those without a disk are listed here.
 */
int regular_file_check_storage(
	uint64_t type, uint64_t blocks, dev_t device, enum regular_file_mounter mounter);
