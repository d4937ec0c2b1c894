/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso is the same in all processes of one kernel and word size, and it is no file: this copies
 * our own into a memory file, so that its symbols are read like any other's.
 */
#pragma once

#include <stdint.h>

/* Returns 0 and a descriptor that the caller owns, with the size of the mapping; or -errno. */
int vdso_image_open(int *ret_fd, uint64_t *ret_mapping_bytes);
