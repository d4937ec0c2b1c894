/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what a file says of itself may be believed where others rely on it. Anybody can link a
 * program with the build-id of another one, so a build-id alone tells nothing of whose it is: files
 * of root's and of the user that we run as are trusted, but for those that anybody may write to. A
 * value object.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file_owner {
	bool is_trusted;
	uint32_t uid;
};

/* `fd` is borrowed. Returns 0 or -errno of fstat(). */
int file_owner_read(int fd, struct file_owner *ret_owner);

/* One whose owner cannot be told is not trusted. */
bool file_owner_is_trusted(int fd);
