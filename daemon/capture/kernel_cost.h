/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says that things cost, of its own accounts; 0 where it does not tell. */
#pragma once

#include <stdint.h>

/* What it charges for a BPF map. */
uint64_t kernel_cost_map_bytes(int fd);

/* Adds what a BPF program has run, while the kernel's statistics are on. `runs` may be NULL; a `fd`
 * below 0 is none. */
void kernel_cost_add_program(int fd, uint64_t *runs, uint64_t *ns);

/* Of this process, and of all its children that have ended. */
uint64_t kernel_cost_cpu_ns(void);

/* Of this process. */
uint64_t kernel_cost_resident_bytes(void);
