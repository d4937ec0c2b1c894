/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Costs from the kernel's own accounts; 0 if the kernel does not report one. */
#pragma once

#include <stdint.h>

/* The memory that the kernel charges for a BPF map. */
uint64_t kernel_cost_map_bytes(int fd);

/*
 * Adds the runs and run time of a BPF program, which the kernel counts while its statistics are on.
 * `runs` may be NULL; an `fd` below 0 is ignored.
 */
void kernel_cost_add_program(int fd, uint64_t *runs, uint64_t *ns);

/* The runs that the kernel skipped, because the program was running already on that CPU;
 * since 5.12.
 */
uint64_t kernel_cost_skipped_runs(int fd);

/* CPU time of this process and of all its ended children. */
uint64_t kernel_cost_cpu_ns(void);

/* Resident memory of this process. */
uint64_t kernel_cost_resident_bytes(void);
