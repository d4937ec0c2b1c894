/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages, put together: this is the one place that names them all. A pipeline samples until it
 * is told to stop, and what it has sampled is a profile: one, or one after another, each of a
 * window of time. It is driven by its caller's poll loop: whenever pipeline_poll_fd() is readable,
 * pipeline_run(). One owner, one thread.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/capture.h"
#include "drain/accounts.h"
#include "engine/unwinding.h"
#include "jit/jit_table.h"
#include "labels/cgroup_table.h"
#include "process/process_table.h"
#include "query/naming.h"
#include "resolve/late_samples.h"
#include "resolve/resolver.h"
#include "symbolize/symbolizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pipeline;

struct pipeline_settings {
	struct capture_settings capture;
	struct broker *broker; /* borrowed; NULL: files are opened in this process */
	int capture_fd;	       /* of a capture_server, taken; -1: capture is in this process too */
	size_t profile_budget_bytes; /* of one window */
	const char *symbol_cache;    /* its folder; NULL: symbols are kept for this run alone */
	uint64_t symbol_cache_bytes; /* 0: SYMBOL_CACHE_BYTES_DEFAULT */
	const char *debuginfod_urls; /* NULL: no server is asked */
	/* How long a sample may wait for the names of its JIT code; 0: until the end. */
	uint64_t jit_patience_ns;
	size_t jit_bytes;  /* what names of JIT code may take; 0: jit_table_default_limits */
	size_t late_bytes; /* what samples may that wait for them; 0: 4 MiB */
	/* NULL: the defaults. Borrowed for the call. */
	const struct process_table_limits *process_limits;
	const struct binary_table_limits *binary_limits;
	const struct cgroup_table_limits *cgroup_limits;
	/* How long the start may be delayed for unwind tables of programs that run; 0: none is made
	 * ahead of the first sample. */
	uint64_t prepare_ns;
	bool wants_labels; /* executables and cgroups of threads */
	/* Called after each drain, when pipeline_accounts() includes it; may be NULL. */
	void (*drained)(void *context);
	void *drained_context;
};

/* What happened on the way, for those who want to know what a profile is worth. */
struct pipeline_report {
	struct accounts accounts;
	struct resolver_counters resolver;
	struct naming_counters naming;
	struct symbolizer_counters symbols;
	struct sideband_counters sideband;
	struct process_table_counters processes;
	struct cgroup_table_counters cgroups; /* zeros without labels */
	struct jit_table_counters jit;
	struct late_counters jit_samples;
	struct capture_cost capture;
	struct unwinding_report unwinding; /* zeros where the kernel alone walks */
	uint64_t expected;		   /* samples, by the clock; 0: cannot be told */
	uint64_t drains;
	uint64_t elapsed_ns;
	uint64_t drain_cpu_ns;				   /* of this thread, for draining */
	uint64_t lag_ns;				   /* how late the last drain began */
	uint64_t symbol_cache_entries, symbol_cache_bytes; /* 0: none, or not known */
	size_t profile_bytes, table_bytes; /* of all windows; of processes, binaries and cgroups */
};

/* Loads and opens everything; nothing is sampled yet, unless capture is taken over. */
int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault);
void pipeline_free(struct pipeline *pipeline);
DEFINE_CLEANUP(struct pipeline, pipeline_free);

/* For capture.filters_processes: this process, and what it forks from now on. */
int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault);

int pipeline_start(struct pipeline *pipeline, struct fault *fault);

/* Readable when there is work; borrowed. */
int pipeline_poll_fd(const struct pipeline *pipeline);

/* Does the work there is: takes the side-band's records, drains the maps when their time has come.
 */
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

/* The open window's; borrowed. Whole after pipeline_name(). */
const struct profile *pipeline_profile(const struct pipeline *pipeline);
void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report);

/* --- one window after another --- */

/*
 * Drains, ends the open window where the maps were switched for that, and begins the next. One that
 * has ended before must have been taken. On failure the open window goes on.
 */
int pipeline_cut(struct pipeline *pipeline, struct fault *fault);

/* Has a window ended that has not been taken? */
bool pipeline_has_window(const struct pipeline *pipeline);

/*
 * Takes the window that has ended, once the last of its samples has the names of its JIT code, or
 * at once if `is_hurried`. Its accounts close, and its stored samples are those of the profile;
 * names of binaries it has none. `ret_monotonic_ns` is its beginning. Returns 0, -EAGAIN: there is
 * none, or it has to wait; or another -errno with `fault`.
 */
int pipeline_take_window(struct pipeline *pipeline, bool is_hurried, struct profile **ret_profile,
	uint64_t *ret_monotonic_ns, struct fault *fault);

/* The running total of all that was drained, with what pipeline_add_lost() added; borrowed. */
const struct accounts *pipeline_accounts(const struct pipeline *pipeline);

/* What was in the maps of an engine with other settings, which were removed when this pipeline was
 * opened. Only this pipeline knows of it. */
void pipeline_left_behind(const struct pipeline *pipeline, struct accounts *ret_accounts);

/*
 * Right after pipeline_start(): adds what an earlier pipeline lost to the open window. If the
 * window holds samples from before this pipeline, it begins at `since_ns`, where the last closed
 * window ended (0: unknown). Returns the beginning of the open window. Both are CLOCK_MONOTONIC.
 */
uint64_t pipeline_add_lost(
	struct pipeline *pipeline, const struct accounts *lost, uint64_t since_ns);

/* From now on, and the rate of the windows that are yet to begin: pipeline_cut() is to follow at
 * once. */
int pipeline_set_rate(struct pipeline *pipeline, uint32_t rate_hz, struct fault *fault);

/*
 * Before the last pipeline_cut(). Where the next pipeline does not take over the maps with what is
 * in them, because there is none or its settings are others, sampling stops and both sets are
 * drained, so that nothing fires that nobody counts. Returns 0 or -errno with `fault`.
 */
int pipeline_prepare_end(struct pipeline *pipeline, bool is_taken_over, struct fault *fault);

/*
 * Another pipeline should take over: tables that only grow are nearly full, or there are more CPUs
 * than the maps were made for.
 */
bool pipeline_is_worn(const struct pipeline *pipeline);
/* The last thing that a pipeline does: where its maps are too small, the next one makes new ones.
 */
void pipeline_retire(struct pipeline *pipeline);

/* How often the maps have been drained, as in the report, which costs more to make. */
uint64_t pipeline_drains(const struct pipeline *pipeline);

/* As of capture.h; after an engine that is gone its rate may be another than was asked for. */
uint32_t pipeline_rate_hz(const struct pipeline *pipeline);
const char *pipeline_event_name(const struct pipeline *pipeline);
uint32_t pipeline_cpu_count(const struct pipeline *pipeline);

/* The processes that have told of generated code; borrowed. */
const struct jit_table *pipeline_jit(const struct pipeline *pipeline);
