/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary of a recording: seven lines that begin with a key (samples, lost, processes,
 * functions, stacks, symbols, cost), one of JIT code if there was any, and one for each source but
 * CPU time that was sampled. */
#pragma once

#include "engine/pipeline.h"

#include <stdio.h>

struct record_cost {
	uint64_t cpu_ns;	 /* user and system, start-up included */
	uint64_t peak_rss_bytes; /* at most */
	uint64_t file_bytes;	 /* mapped files in memory now: the program and its libraries */
};

/* Loading the BPF programs takes some 15 MiB for a moment, before the other processes need theirs.
 * This begins the peak anew. */
void record_cost_begin(void);

/* Of this process and its reaped children: the CPU time of all, and the memory of this process and
 * the largest child. */
void record_cost_read(struct record_cost *ret_cost);

/*
 * `profile` is the one whose processes and functions are told, and `sampled` are those of all
 * sources, NULL: off. Returns 0 or -ENOMEM.
 */
int record_summary_print(FILE *file, const struct profile *profile,
	const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report, const struct record_cost *cost);
