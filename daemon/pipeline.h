/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages, put together: this is the one place that names them all. A pipeline samples until it
 * is told to stop and has a profile then. It is driven by its caller's poll loop: whenever
 * pipeline_poll_fd() is readable, pipeline_run(). One owner, one thread.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/capture.h"
#include "drain/accounts.h"
#include "jit/jit_table.h"
#include "process/process_table.h"
#include "query/naming.h"
#include "resolve/late_samples.h"
#include "resolve/resolver.h"
#include "symbolize/symbolizer.h"
#include "unwinding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pipeline;

struct pipeline_settings {
	struct capture_settings capture;
	size_t profile_budget_bytes;
	const char *symbol_cache;    /* its folder; NULL: symbols are kept for this run alone */
	const char *debuginfod_urls; /* NULL: no server is asked */
	/* How long a sample may wait for the names of its JIT code; 0: until the end. */
	uint64_t jit_patience_ns;
};

/* What happened on the way, for those who want to know what a profile is worth. */
struct pipeline_report {
	struct accounts accounts;
	struct resolver_counters resolver;
	struct naming_counters naming;
	struct symbolizer_counters symbols;
	struct sideband_counters sideband;
	struct process_table_counters processes;
	struct jit_table_counters jit;
	struct late_counters jit_samples;
	struct capture_cost capture;
	struct unwinding_report unwinding; /* zeros where the kernel alone walks */
	uint64_t expected;		   /* samples, by the clock; 0: cannot be told */
	uint64_t windows;
	uint64_t elapsed_ns;
};

/* Loads and opens everything; nothing is sampled yet. */
int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault);
void pipeline_free(struct pipeline *pipeline);
DEFINE_CLEANUP(struct pipeline, pipeline_free);

/* For capture.filters_processes: this process, and what it forks from now on. */
int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault);

int pipeline_start(struct pipeline *pipeline, struct fault *fault);

/* Readable when there is work; borrowed. */
int pipeline_poll_fd(const struct pipeline *pipeline);

/* Does the work there is: takes the side-band's records, drains a window when its time has come. */
int pipeline_run(struct pipeline *pipeline, struct fault *fault);

/* Stops sampling and drains what is left. The profile lacks names then. */
int pipeline_finish(struct pipeline *pipeline, struct fault *fault);

/*
 * Symbols are extracted while sampling goes on; what is not ready when it ends may be waited for:
 * as long as any are pending, poll the descriptor (borrowed) and run.
 */
size_t pipeline_symbols_pending(const struct pipeline *pipeline);
int pipeline_symbols_poll_fd(const struct pipeline *pipeline);
int pipeline_symbols_run(struct pipeline *pipeline, struct fault *fault);

/* Gives the locations the names that there are, once. */
int pipeline_name(struct pipeline *pipeline, struct fault *fault);

/* Borrowed. Whole after pipeline_name(). */
const struct profile *pipeline_profile(const struct pipeline *pipeline);
void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report);
