/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides the service's memory budget (I4) among its structures. The shares never add up to more
 * than the budget. They follow from the budget, the number of CPUs and the rate. A budget below the
 * minimum is an error at start, so the service never runs short later.
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
	size_t unwind_bytes;   /* part of map_bytes: unwind tables */
	size_t thread_bytes;   /* part of map_bytes: threads whose waits are sampled */
	size_t sideband_bytes; /* perf rings */
	size_t profile_bytes;  /* one window's profile; two exist: open, and unwritten */
	size_t jit_bytes;      /* names of JIT code */
	size_t runtime_bytes;  /* names of interpreted code */
	size_t late_bytes;     /* samples that wait for these names */
	size_t live_bytes;     /* samples of what lives; 0: no source counts that */
	size_t process_bytes;  /* processes, mappings, binaries, cgroups; sets their bounds */
	size_t claim_bytes;    /* what processes claim to be */
	size_t sink_bytes;     /* what receivers have already */
	size_t store_bytes;    /* the history writer */
	size_t base_bytes;     /* both programs' code and data, kernel symbols, HTTP */
	size_t total_bytes;    /* the sum, with the second profile */
};

struct memory_work {
	uint32_t cpu_count, rate_hz;
	size_t jit_bytes;  /* as configured; 0: a share of the budget */
	uint32_t sources;  /* as in capture_settings: they need room in the maps */
	size_t sink_bytes; /* of all sinks, as in push.h */
};

/* Returns 0, or -ENOSPC with `fault`, which names the smallest sufficient budget. */
int memory_shares_compute(uint64_t budget_bytes, const struct memory_work *work,
	struct memory_shares *ret_shares, struct fault *fault);

/*
 * Convert process_bytes into the bounds of three tables: 1/2 for processes, 3/8 for binaries, 1/8
 * for cgroups. The bound on descriptors stays at its default, because they cost us no memory.
 */
void memory_shares_process_limits(
	const struct memory_shares *shares, struct process_table_limits *ret_limits);
void memory_shares_binary_limits(
	const struct memory_shares *shares, struct binary_table_limits *ret_limits);
void memory_shares_cgroup_limits(
	const struct memory_shares *shares, struct cgroup_table_limits *ret_limits);
