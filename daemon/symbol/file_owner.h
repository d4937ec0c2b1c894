/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a file's owner trusted? Any user can link a program with the build-id of another one, so
 * symbols are shared by build-id only among trusted files. A file is trusted if it belongs to root
 * or the effective user and is not writable by others. A value object.
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

/* False if fstat() fails. */
bool file_owner_is_trusted(int fd);
