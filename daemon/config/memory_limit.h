/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the unit of this process allows it of memory: MemoryMax= of systemd, which is memory.max of
 * its cgroup, or of one above it; memory.limit_in_bytes on hosts of version 1.
 */
#pragma once

#include <stdint.h>

/*
 * `root` stands before /proc and /sys: "" but in tests. The least limit on the way up counts;
 * UINT64_MAX: there is none, or none that can be read.
 */
uint64_t memory_limit_read(const char *root);
