/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start time of a process distinguishes it from a later process with the same pid. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Parses field 22 of /proc/PID/stat, in clock ticks since boot. The second field, the process's
 * name, may hold spaces, parentheses and newlines; all fields after it are numbers. The text has
 * `size` bytes and may be cut off anywhere. Returns 0 or -EINVAL.
 */
int start_time_parse(const char *stat, size_t size, uint64_t *ret_ticks);

/*
 * Reads it from the /proc/PID `process_fd`. Returns 0; -ESRCH the process is gone; or -errno of
 * reading.
 */
int start_time_read(int process_fd, uint64_t *ret_ticks);

/*
 * Did the process whose /proc/PID is `process_fd` start at `start_ns` (CLOCK_BOOTTIME), to within
 * one clock tick? A `start_ns` of 0 matches any. Returns 0; -ESRCH it is another process, or gone;
 * or -errno of reading.
 */
int start_time_check(int process_fd, uint64_t start_ns);
