/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the kernel whether a mapping of a process is executable. */
#pragma once

#include <stdint.h>

/*
 * `process_fd` is the process's /proc/PID. Returns 0 if its mapping [start, end) is executable;
 * -EINVAL if it is not; -ENOENT if there is no such mapping. Kernels before 6.11 cannot answer;
 * then every mapping counts as executable.
 */
int mapped_code_check(int process_fd, uint64_t start, uint64_t end);
