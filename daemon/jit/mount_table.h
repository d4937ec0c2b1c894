/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file systems a process's files are on, as /proc/PID/mountinfo tells
 * (proc_pid_mountinfo(5)): to leave alone those whose every call asks somebody who need not answer
 * (FUSE, NFS, …), before any such call is made. One owner, for one question or a few. It is of the
 * moment when it was read: who may mount in the process's namespace may do so a moment later.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker.h"

#include <stdbool.h>
#include <stdint.h>

struct mount_table;

/*
 * Reads it; 4 MiB and 65536 mounts at most, what is beyond is not known. Returns 0, -ESRCH,
 * -ENOMEM, or -errno.
 */
int mount_table_read(struct broker *broker, const struct broker_process *process,
	struct mount_table **ret_table);
void mount_table_free(struct mount_table *table);

/* Does it tell of all mounts that the process sees? Not of what a chroot hides. */
bool mount_table_is_whole(const struct mount_table *table);
DEFINE_CLEANUP(struct mount_table, mount_table_free);

/* The worse the greater. */
enum mount_kind {
	MOUNT_UNKNOWN, /* no such mount is told of */
	MOUNT_LOCAL,   /* disks, memory, overlays of these: answers as long as the kernel does */
	MOUNT_REMOTE,  /* or by another process: fuse and fuse.*, fuseblk, nfs*, cifs, smb*, 9p,
			  ceph, afs, lustre, gfs2, ocfs2, coda, autofs, …; and whatever nobody has
			  heard of */
};

/* By the device that mappings are reported with. Of two that differ the worse counts. */
enum mount_kind mount_table_of_device(
	const struct mount_table *table, uint32_t device_major, uint32_t device_minor);

/*
 * By an absolute path without links in it, as the process sees it: the worst of the mounts whose
 * points are parts of it, since a walk to the file asks each on its way. One that another is
 * mounted on top of does not count; one that a mount further up hides does. MOUNT_UNKNOWN where a
 * part is empty, "." or "..", or where the table does not hold all mounts, and so need not hold the
 * one that counts.
 */
enum mount_kind mount_table_of_path(const struct mount_table *table, const char *path);
