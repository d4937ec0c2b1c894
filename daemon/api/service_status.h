/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What there is to know of the service while it runs (I10): the source of `pilotlight status`,
 * /api/v1/status and /metrics. Filled by the engine, once for each that asks. Counters count from
 * the start of the service's engine.
 */
#pragma once

#include "drain/accounts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVICE_STATUS_JIT_MAX = 64 };

struct service_status_jit {
	uint32_t pid;
	char comm[16];
	char kind[16];	  /* "jitdump", "perf map" */
	char runtime[24]; /* "V8"; "" */
	uint64_t symbols, bytes;
};

struct service_status {
	/* What it is. */
	char version[16], event[16];
	uint64_t started_ns, now_ns; /* CLOCK_REALTIME */
	uint32_t cpu_count, online_cpu_count;
	uint64_t engine_starts; /* 1: it has never been started again */

	/* What it samples with. */
	uint32_t rate_hz, wanted_rate_hz;
	uint64_t max_cost_ppm;
	uint64_t window_ns;

	/* What it costs: all roles; the machine's CPU time in the last minute is elapsed × CPUs. */
	uint64_t bpf_ns, engine_cpu_ns, broker_cpu_ns; /* the broker's with all children's */
	double cost_ppm;			       /* over the last minute; 0 in the first */
	uint64_t memory_bytes;	   /* all of it: maps, and answers that wait to be read, too */
	uint64_t memory_max_bytes; /* the budget */
	uint64_t map_bytes, sideband_bytes, engine_bytes, profile_bytes, jit_bytes;

	/* I1, of all windows since the start, and of the last one. */
	struct accounts accounts, last_window;
	uint64_t lost_by_engines; /* samples of windows that were open when an engine was killed */

	/* History. */
	bool has_history;
	bool is_history_failing;
	char history_fault[160]; /* the last error, "" when all is well */
	uint64_t windows_sealed,
		windows_dropped;  /* since the start; not written, for want of a disk */
	uint64_t sealed_until_ns; /* CLOCK_REALTIME */
	uint64_t history_bytes, history_max_bytes, history_days, history_windows;
	uint64_t history_first_ns, history_last_ns;

	/* Names. */
	uint64_t binaries_wanted, binaries_cached, binaries_extracted, binaries_pending,
		binaries_failed;
	uint64_t symbol_cache_bytes, symbol_cache_max_bytes, symbol_cache_entries;
	uint64_t processes, processes_refused, mappings;
	uint64_t sideband_records, sideband_lost;
	uint64_t stacks_by_tables, stacks_by_frame_pointers, stacks_cut;
	uint64_t jit_samples, jit_leaves_unknown, jit_waiting;
	struct service_status_jit jit[SERVICE_STATUS_JIT_MAX];
	size_t jit_count;
	uint64_t jit_processes; /* all of them */

	/* How far behind it is. */
	uint64_t drain_lag_ns; /* between the end of the last drain and when it was due */
};
