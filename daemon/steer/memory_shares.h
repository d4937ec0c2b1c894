/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One budget in bytes for the whole service (I4), and what each structure may take of it: the sum
 * of all shares is never above the budget. Computed from the budget, the CPUs and the rate; below
 * the least that the service can run with it is an error, not a surprise later.
 */
#pragma once

#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

struct binary_table_limits;
struct cgroup_table_limits;
struct process_table_limits;

enum { MEMORY_BUDGET_MIN = 32 << 20 };

struct memory_shares {
	size_t map_bytes;      /* all BPF maps: capture_settings.map_budget_bytes */
	size_t unwind_bytes;   /* of these: unwind tables */
	size_t sideband_bytes; /* perf rings */
	size_t profile_bytes; /* of one window's profile; two are there at a time: the open one, and
				 those that are being written */
	size_t jit_bytes;     /* names of generated code */
	size_t late_bytes;    /* samples that wait for these names */
	size_t process_bytes; /* processes, mappings, binaries, cgroups: their bounds scale with it
			       */
	size_t store_bytes;   /* the history's writer */
	size_t base_bytes;    /* both programs' code and data, kernel symbols, HTTP */
	size_t total_bytes;   /* of all these, the second profile too */
};

struct memory_work {
	uint32_t cpu_count, rate_hz;
	size_t jit_bytes; /* as configured; 0: a share of the budget */
};

/* Returns 0, or -ENOSPC with `fault`, which names the least that would do. */
int memory_shares_compute(uint64_t budget_bytes, const struct memory_work *work,
	struct memory_shares *ret_shares, struct fault *fault);

/*
 * The bounds at which these take what process_bytes has for them: half of it, three eighths and an
 * eighth. Descriptors are no memory of ours; their number is the default one.
 */
void memory_shares_process_limits(
	const struct memory_shares *shares, struct process_table_limits *ret_limits);
void memory_shares_binary_limits(
	const struct memory_shares *shares, struct binary_table_limits *ret_limits);
void memory_shares_cgroup_limits(
	const struct memory_shares *shares, struct cgroup_table_limits *ret_limits);
