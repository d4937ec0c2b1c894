/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a regular file by an untrusted name, without ever opening a FIFO, a device or a socket. */
#pragma once

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
 * Opens `path` below `folder_fd` (AT_FDCWD: as the caller sees it). Returns 0 and an O_CLOEXEC,
 * read-only descriptor that the caller owns; or: -EINVAL it is not a regular file, is empty, or is
 * on a file system of the kernel such as /proc; -EACCES it was opened by name and its mode lets
 * neither everyone read nor anyone execute it, so it may be a secret and is no code; -ELOOP there
 * is a link where none is allowed; or -errno of opening.
 */
int regular_file_open(int folder_fd, const char *path, enum regular_file_walk walk, int *ret_fd);

/*
 * Who mounted the file system? Overlayfs hides its layers from statfs(). Any user can mount it over
 * a FUSE of his own, but only in a user namespace of his own.
 */
enum regular_file_mounter { REGULAR_FILE_BY_ANYONE, REGULAR_FILE_BY_ADMINISTRATOR };

/*
 * The same for a file that is still being written and may be empty. `resolve` is RESOLVE_* of
 * openat2(2). Also returns -EREMOTE: see regular_file_check_storage().
 */
int regular_file_open_growing(int folder_fd, const char *path, uint64_t resolve,
	enum regular_file_mounter mounter, int *ret_fd);

/*
 * May the client read a growing file on this file system? `type` and `blocks` are of statfs(),
 * `device` is of stat(). Returns 0; -EINVAL on a file system of the kernel; -EREMOTE if reading may
 * wait for a server, as on FUSE and NFS, because the client, unlike the opener, has no time limit.
 * A file system on a disk has a device number with a major; those without a disk are listed here.
 */
int regular_file_check_storage(
	uint64_t type, uint64_t blocks, dev_t device, enum regular_file_mounter mounter);
