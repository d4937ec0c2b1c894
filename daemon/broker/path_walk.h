/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what is at a path, by the rules of openat2(2), without opening it. */
#pragma once

#include <stdint.h>

/*
 * `flags` are those of open(2) beyond O_PATH and O_CLOEXEC, `resolve` RESOLVE_*. Returns a
 * descriptor that the caller owns, or -errno.
 */
int path_walk(int folder_fd, const char *path, uint64_t flags, uint64_t resolve);
