/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks a path by the rules of openat2(2) and returns an O_PATH descriptor, without opening the
 * file.
 */
#pragma once

#include <stdint.h>

/*
 * `resolve` is RESOLVE_*; O_PATH and O_CLOEXEC are added to `flags`. Returns a descriptor that the
 * caller owns, or -errno.
 */
int path_walk(int folder_fd, const char *path, uint64_t flags, uint64_t resolve);
