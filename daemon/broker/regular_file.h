/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a file that somebody else has named, without ever opening a FIFO, a device or a socket. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum regular_file_walk {
	REGULAR_FILE_PLAIN,	 /* as any open() would walk the path, but for magic links */
	REGULAR_FILE_NO_LINKS,	 /* as the kernel reports paths: a symlink in it was put there since
				  */
	REGULAR_FILE_IN_ROOT,	 /* the same, and `folder_fd` is the root */
	REGULAR_FILE_MAGIC_LINK, /* `path` is a link of the kernel's own, such as map_files has */
};

/*
 * `path` below `folder_fd` (AT_FDCWD: of the caller). Returns 0 and an O_CLOEXEC, read-only
 * descriptor that the caller owns; -EINVAL for what is not a regular file, is empty, or is made up
 * by the kernel; -EACCES for what has been named, and not found by a link of the kernel's, if not
 * everybody may read it and nobody execute it, going by its mode: it is no code; -ELOOP for a link
 * where none is expected; or what opening returned.
 */
int regular_file_open(int folder_fd, const char *path, enum regular_file_walk walk, int *ret_fd);

/*
 * The same for a file that somebody still writes, which may be empty. `resolve` is RESOLVE_* of
 * openat2(2). Returns -EREMOTE, too: see regular_file_check_storage().
 */
int regular_file_open_growing(int folder_fd, const char *path, uint64_t resolve, int *ret_fd);

/*
 * May the client read a growing file on this file system? Takes statfs()'s type and blocks and
 * stat()'s device. Returns 0; -EINVAL where the kernel makes the file up; -EREMOTE where a read
 * may wait for a server, as on FUSE and NFS: the client, unlike the opener, has no time limit. A
 * file system on a disk has a device number of its own. Those without one have to be known here.
 */
int regular_file_check_storage(uint64_t type, uint64_t blocks, dev_t device);
