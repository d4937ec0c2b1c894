/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start time of a process, which tells it from a later one with the same pid. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Field 22 of /proc/PID/stat, in clock ticks since boot. The second field is the process's name,
 * which may hold spaces, parentheses and newlines, but everything after it is numbers. `size`
 * bytes; the text may be cut off anywhere. Returns 0, or -EINVAL.
 */
int start_time_parse(const char *stat, size_t size, uint64_t *ret_ticks);

/* The same, of the process whose /proc/PID is `process_fd`. Returns 0; -ESRCH when it is gone; or
 * what reading returned. */
int start_time_read(int process_fd, uint64_t *ret_ticks);

/*
 * Did the process whose /proc/PID is `process_fd` start at `start_ns` (CLOCK_BOOTTIME), to within a
 * clock tick? 0 is the start time of any. Returns 0; -ESRCH when it is another one or gone; or what
 * reading returned.
 */
int start_time_check(int process_fd, uint64_t start_ns);
