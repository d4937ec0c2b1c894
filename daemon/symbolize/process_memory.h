/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much anonymous memory this process has had, asked by a process that cannot open files. */
#pragma once

#include <stdint.h>

/* /proc/self/status, or -1. */
int process_memory_open(void);

/*
 * The greatest resident memory less what of it is backed by files now, and at least what is
 * anonymous now. Files that were mapped earlier and are no more count as anonymous. 0: not known.
 */
uint64_t process_memory_peak_anonymous(int status_fd);

/* The value in bytes of a line as `VmHWM:	   1234 kB`; 0: there is none. */
uint64_t process_memory_parse(const char *status, const char *field);
