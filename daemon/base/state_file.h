/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A struct in a file that outlives its process, even if that is killed. */
#pragma once

#include <stddef.h>

/* Opens or creates the file, with mode 0600, and maps so many bytes. Those that it did not have are
 * 0. The caller unmaps them. Returns 0 or -errno. */
int state_file_map(const char *path, size_t bytes, void **ret_memory);
