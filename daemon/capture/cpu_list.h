/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU lists as sysfs writes them: "0-3,8,10-11". */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CPU_LIST_MAX = 8192 };

/*
 * Parses `text`, ascending. Returns the number of CPUs and, in an array that the caller frees,
 * their numbers; -EINVAL, -E2BIG for more than CPU_LIST_MAX, -ENOMEM.
 */
int cpu_list_parse(const char *text, uint32_t **ret_cpus);

/* The online CPUs, from /sys/devices/system/cpu/online; or -errno. */
int cpu_list_read_online(uint32_t **ret_cpus);
