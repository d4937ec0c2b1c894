/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads this process's memory limit: systemd's MemoryMax=, stored in memory.max of its cgroup or of
 * an ancestor. With cgroup version 1 the file is memory.limit_in_bytes.
 */
#pragma once

#include <stdint.h>

/*
 * Returns the lowest limit of the cgroup and its ancestors; UINT64_MAX if there is none or none is
 * readable. `root` is a prefix of /proc and /sys: "" except in tests.
 */
uint64_t memory_limit_read(const char *root);
