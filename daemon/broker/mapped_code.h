/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells code that a process has mapped from data, by asking the kernel about the mapping. */
#pragma once

#include <stdint.h>

/*
 * Of the process whose /proc/PID is `process_fd`: is its mapping [start, end) executable? Returns
 * 0; -EINVAL: it is data; -ENOENT: there is no such mapping. Kernels before 6.11 do not tell, and
 * then all are taken for code.
 */
int mapped_code_check(int process_fd, uint64_t start, uint64_t end);
