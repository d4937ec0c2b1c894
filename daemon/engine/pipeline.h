/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connects all stages; no other module names them all. A pipeline samples until its owner stops it.
 * It yields one profile, or a sequence of profiles, one for each window of time. The caller's poll
 * loop drives it: call pipeline_run() whenever pipeline_poll_fd() is readable. One owner, one
 * thread. Functions that take a `fault` return 0, or -errno with `fault` set.
 */
#pragma once

#include "aggregate/interpreted_frames.h"
#include "aggregate/profile.h"
#include "aggregate/profile_set.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/user_share.h"
#include "capture/capture.h"
#include "drain/accounts.h"
#include "engine/unwinding.h"
#include "jit/jit_table.h"
#include "labels/cgroup_table.h"
#include "labels/claim_table.h"
#include "process/process_table.h"
#include "query/naming.h"
#include "resolve/late_samples.h"
#include "resolve/live_table.h"
#include "resolve/resolver.h"
#include "symbolize/symbolizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct heap_reader;
struct pipeline;

struct pipeline_settings {
	struct capture_settings capture;
	struct broker *broker; /* borrowed */
	/* Borrowed. NULL: made if heaps are sampled, if a sandbox does not forbid threads. */
	struct heap_reader *heap_reader;
	int capture_fd;		     /* of a capture_server; owned */
	size_t profile_budget_bytes; /* of one window: of the profiles of all sources */
	const char *symbol_cache;    /* folder; NULL: symbols last for this run only */
	uint64_t symbol_cache_bytes; /* 0: SYMBOL_CACHE_BYTES_DEFAULT */
	const char *debuginfod_urls; /* NULL: use no server */
	/* Timeout of samples that wait for the names of their JIT code; 0: until the end. */
	uint64_t jit_timeout_ns;
	size_t jit_bytes;     /* bound of JIT names; 0: jit_table_default_limits */
	size_t late_bytes;    /* bound of samples that wait for JIT names; 0: 4 MiB */
	size_t runtime_bytes; /* bound of the names of interpreted code; 0: 8 MiB */
	size_t live_bytes;    /* bound of samples of what lives; 0: 16 MiB */
	/* NULL: the defaults. Borrowed for the call. */
	const struct process_table_limits *process_limits;
	const struct binary_table_limits *binary_limits;
	const struct cgroup_table_limits *cgroup_limits;
	/* How long pipeline_start() may wait for unwind tables of running programs; 0: make no
	 * table before the first sample. */
	uint64_t prepare_ns;
	bool wants_labels;	  /* label threads with executable and cgroup */
	bool keeps_times;	  /* of samples: profile_keep_times() */
	bool keeps_spans;	  /* of samples (aggregate/profile_spans.h) */
	struct span_choice spans; /* other samples count as filtered */
	/* The share of the machine's CPU time that surveys may take in the host, in millionths.
	 * Those that cost more are rarer, and their samples stand for more periods. */
	uint64_t survey_ppm;
	/* Called after each drain; pipeline_accounts() includes that drain. May be NULL. */
	void (*drained)(void *context);
	void *drained_context;
};

/* Counters of all stages: they show how complete a profile is and what it cost. */
struct pipeline_report {
	struct source_accounts accounts;
	struct resolver_counters resolver;
	struct runtime_names_counters runtime_names;
	struct naming_counters naming;
	struct symbolizer_counters symbols;
	struct sideband_counters sideband;
	struct process_table_counters processes;
	struct cgroup_table_counters cgroups; /* zeros without labels */
	struct claim_counters claims;	      /* the same */
	struct jit_table_counters jit;
	struct late_counters jit_samples;
	struct capture_cost capture;
	struct unwinding_report unwinding;	       /* zeros if only the kernel walks */
	struct live_counters live[PILOTLIGHT_SOURCES]; /* zeros but for sources of what lives */
	uint64_t expected;			       /* samples, by the clock; 0: unknown */
	struct user_excess excess;		       /* what exceeded the shares of users */
	struct user_holdings holdings; /* what users hold; the window is the open one */
	uint64_t drains;
	uint64_t elapsed_ns;
	uint64_t drain_cpu_ns; /* spent by this thread on draining, without the following */
	uint64_t jit_cpu_ns;   /* spent by this thread on reading jitdumps and perf maps */
	uint64_t lag_ns;       /* delay of the last drain */
	uint64_t symbol_cache_entries, symbol_cache_bytes; /* 0: none, or unknown */
	size_t profile_bytes, table_bytes; /* all windows; process, binary and cgroup tables */
	size_t claim_bytes;
};

/* Loads and opens everything. Sampling starts later, unless an earlier engine's capture is taken
 * over. */
int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault);
void pipeline_free(struct pipeline *pipeline);
DEFINE_CLEANUP(struct pipeline, pipeline_free);

/* With capture.filters_processes: samples this process and its future children. */
int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault);

int pipeline_start(struct pipeline *pipeline, struct fault *fault);

/* Readable when there is work; borrowed. */
int pipeline_poll_fd(const struct pipeline *pipeline);

/* Does the pending work: reads side-band records, and drains the maps when they are due. */
int pipeline_run(struct pipeline *pipeline, struct fault *fault);

/* Stops sampling and drains the rest. The profile has no names until pipeline_name(). */
int pipeline_finish(struct pipeline *pipeline, struct fault *fault);

/*
 * Workers extract symbols during sampling. To wait for the rest afterwards, poll the descriptor
 * (borrowed) and call pipeline_symbols_run() while any are pending.
 */
size_t pipeline_symbols_pending(const struct pipeline *pipeline);
int pipeline_symbols_poll_fd(const struct pipeline *pipeline);
int pipeline_symbols_run(struct pipeline *pipeline, struct fault *fault);

/* Symbolizes the profile with the symbols that are ready. Call once. */
int pipeline_name(struct pipeline *pipeline, struct fault *fault);

/* Turns the times that were kept into stamps (aggregate/profile.h). Call once, after
 * pipeline_name() and before pipeline_choose_interpreted(). */
void pipeline_stamp_times(struct pipeline *pipeline);

/* Leaves out frames of interpreters, or the native ones that run them. Call once, after
 * pipeline_name(). */
void pipeline_choose_interpreted(struct pipeline *pipeline, enum interpreted_frames choice);

/*
 * The open window's profile of a source, NULL if that is off; borrowed. Complete after
 * pipeline_name().
 */
const struct profile *pipeline_profile(
	const struct pipeline *pipeline, enum pilotlight_source source);
void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report);

/* --- one window after another --- */

/*
 * Drains, ends the open window at the moment the maps were flipped, and begins the next one. Take
 * the previously ended window first. On failure the open window continues.
 */
int pipeline_cut(struct pipeline *pipeline, struct fault *fault);

/* Is there an ended window to take? */
bool pipeline_has_window(const struct pipeline *pipeline);

/*
 * Takes the ended window once all its samples have their JIT names, or at once if `is_hurried`. It
 * is a profile of each source that is on. Its accounts close, and their stored samples equal those
 * of the profile. Binaries have no names yet. The caller calls profile_set_done().
 * `ret_monotonic_ns` is the start of the window. Returns 0; -EAGAIN if no window is ready; or
 * another -errno with `fault`.
 */
int pipeline_take_window(struct pipeline *pipeline, bool is_hurried,
	struct profile_set *ret_profiles, uint64_t *ret_monotonic_ns, struct fault *fault);

/* The running total of all drained samples, with those of pipeline_add_lost(); borrowed. */
const struct source_accounts *pipeline_accounts(const struct pipeline *pipeline);

/* Returns the samples left in the maps of an engine with other settings. pipeline_open() removed
 * those maps, so this is the only record of them. */
void pipeline_left_behind(const struct pipeline *pipeline, struct source_accounts *ret_accounts);

/*
 * Adds the losses of an earlier pipeline to the open window; those of a source that is off now, to
 * the running total alone. Call right after pipeline_start(). If
 * the window holds samples from before this pipeline, it begins at `since_ns`, where the last
 * closed window ended (0: unknown). Returns the start of the open window. Both times are
 * CLOCK_MONOTONIC.
 */
uint64_t pipeline_add_lost(
	struct pipeline *pipeline, const struct source_accounts *lost, uint64_t since_ns);

/* Changes the rate now, and in the metadata of future windows. Call pipeline_cut() right after. */
int pipeline_set_rate(struct pipeline *pipeline, uint32_t rate_hz, struct fault *fault);

/*
 * Prepares the last pipeline_cut(). If no next pipeline takes over the filled maps, because none
 * follows or its settings differ, this stops sampling and drains one set; pipeline_cut() drains the
 * other. So no sample fires uncounted. Returns 0 or -errno with `fault`.
 */
int pipeline_prepare_end(struct pipeline *pipeline, bool is_taken_over, struct fault *fault);

/* Should another pipeline take over? True if the machine has more CPUs than the maps were made for.
 */
bool pipeline_needs_restart(const struct pipeline *pipeline);
/* Call last. If the maps are too small, makes the next pipeline create new ones. */
void pipeline_retire(struct pipeline *pipeline);

/* The number of drains, as in the report; much cheaper than pipeline_report(). */
uint64_t pipeline_drains(const struct pipeline *pipeline);

/* See capture.h. After a takeover the rate may be the earlier engine's, not the requested one. */
uint32_t pipeline_rate_hz(const struct pipeline *pipeline);
const char *pipeline_event_name(const struct pipeline *pipeline);
uint32_t pipeline_sources(const struct pipeline *pipeline); /* as in capture_settings */
uint32_t pipeline_surveyed(const struct pipeline *pipeline);
/* See capture_missing(): such sources are left out. */
const char *pipeline_missing(const struct pipeline *pipeline, enum pilotlight_source source);
/* What a sample stands for; 0: the source is off. */
uint64_t pipeline_period_ns(const struct pipeline *pipeline, enum pilotlight_source source);
uint32_t pipeline_cpu_count(const struct pipeline *pipeline);

/* The processes that announced JIT code; borrowed. */
const struct jit_table *pipeline_jit(const struct pipeline *pipeline);
