/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user of a process, as the kernel reports it. */
#pragma once

#include <sys/types.h>

/*
 * Reads the effective user from the status of the /proc/PID `process_fd`. The owner of /proc/PID
 * would not do: it is root for every process that has changed its user. Returns 0; -ESRCH the
 * process is gone; -EBADMSG the kernel does not tell the user; or -errno of reading.
 */
int process_user_read(int process_fd, uid_t *ret_user);

/*
 * Finds the user who created the outermost user namespace of the process, below the one of this
 * process: that user answers for all uids in it. Returns 0; -ENODATA it is in no other namespace,
 * or in one that root created; or -errno.
 */
int process_user_find_creator(int process_fd, uid_t *ret_user);
