/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso is not a file, and is the same in all processes of one kernel and word size. This copies
 * our own vdso into a memfd, so the ordinary code can read its symbols.
 */
#pragma once

#include <stdint.h>

/* Returns 0, a descriptor that the caller owns and the size of the mapping; or -errno. */
int vdso_image_open(int *ret_fd, uint64_t *ret_mapping_bytes);
