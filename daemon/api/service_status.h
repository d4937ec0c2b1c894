/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The status of the running service (I10), the source of `pilotlight status`, /api/v1/status and
 * /metrics. The engine fills it for each request. Counters start at zero with the engine.
 */
#pragma once

#include "base/user_share.h"
#include "capture/cgroup_choice.h"
#include "drain/accounts.h"
#include "pilotlight/capture_message.h"
#include "pilotlight/counted_event.h"
#include "resolve/live_table.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVICE_STATUS_JIT_MAX = 64, SERVICE_STATUS_SINKS_MAX = 8, SERVICE_STATUS_COUNTED_MAX = 32 };

struct service_status_jit {
	uint32_t pid;
	char comm[16];
	char kind[16];	  /* "jitdump", "perf map" */
	char runtime[24]; /* "V8"; "" */
	uint64_t symbols, bytes;
};

/* Why a time is missing from what a sink receives or keeps. */
enum service_sink_skip {
	SERVICE_SINK_TOO_OLD,	   /* it could not be pushed in time, or nothing was sampled then */
	SERVICE_SINK_TOO_LARGE,	   /* the batch exceeded a bound */
	SERVICE_SINK_CLOCK_SET,	   /* the clock was set back: this time had been pushed before */
	SERVICE_SINK_EVICTED,	   /* deleted to make room for newer batches */
	SERVICE_SINK_EXPIRED,	   /* deleted for its age */
	SERVICE_SINK_REFUSED,	   /* the receiver refused this batch, and took a later one */
	SERVICE_SINK_REFUSED_SIZE, /* the receiver found the batch too large */
	SERVICE_SINK_UNSAMPLED,	   /* other hosts were drawn (query/host_sample.h) */
	SERVICE_SINK_SKIPS,
};

struct service_status_sink {
	char name[32], type[16];
	bool is_failing;
	char fault[160];			/* the last error; "": none */
	uint64_t batches, bytes, empty, failed; /* batches written, without samples, attempts */
	uint64_t skipped_ns[SERVICE_SINK_SKIPS];
	uint64_t kept_files, kept_bytes; /* in the folder, when it was last looked at */
	uint64_t until_ns; /* CLOCK_REALTIME: how far CPU time is covered; 0: nothing yet */
	bool is_sent;	   /* the sink has a receiver; otherwise all below is 0 */
	bool is_held;	   /* the receiver refuses every batch, so none is deleted */
	uint64_t sent_batches, sent_bytes; /* that the receiver took */
	uint64_t rejected; /* profiles, and names, that batches were taken without */
};

/* The sections [metric NAME] of the configuration, as far as they have been measured. */
struct service_status_series {
	char label[128];   /* of the unit, container or thread; "": none */
	uint64_t ns;	   /* of CPU time, since the engine started or the series did */
	uint64_t grown_at; /* the number of the measurement */
};
struct service_status_metric {
	char name[32];
	char by[16]; /* the name of the label; "": none */
	uint64_t selected_ns, unnamed_ns;
	struct service_status_series *series;
	size_t series_count, series_max;
};
struct service_status_meter {
	const struct service_status_metric *metrics;
	size_t metric_count;
	uint64_t until_ns; /* CLOCK_REALTIME: how far the history has been measured; 0: unknown */
	uint64_t measured, failed, skipped_ns;
	bool is_failing;
	char fault[160]; /* the last error; "": none */
};

struct service_status {
	/* Identity. */
	char version[16], event[16];
	uint64_t started_ns, now_ns; /* CLOCK_REALTIME */
	uint32_t cpu_count, online_cpu_count;
	uint64_t engine_starts; /* 1: no restart so far */

	/* Sampling. */
	uint32_t rate_hz, wanted_rate_hz;
	uint64_t max_cost_ppm;
	uint64_t window_ns;
	struct cgroup_choice choice; /* of whose threads are recorded */

	/* Cost of all roles, relative to the machine's CPU time (elapsed × CPUs). */
	uint64_t bpf_ns, engine_cpu_ns, broker_cpu_ns; /* broker: includes all its children */
	double cost_ppm;			       /* over the last minute; 0 in the first */
	uint64_t memory_bytes;	   /* total, including BPF maps and unread answers */
	uint64_t memory_max_bytes; /* the budget, which unread answers may exceed */
	uint64_t map_bytes, sideband_bytes, engine_bytes, profile_bytes, jit_bytes, claim_bytes,
		sink_bytes, answer_bytes;

	/* I1: the accounts of CPU time, of all windows since the start and of the last one. */
	struct accounts accounts, last_window;
	/* The sources that are sampled, bit mask of 1 << enum pilotlight_source; and by source the
	 * period of a sample, and what was counted since the start. */
	uint32_t sources;
	uint32_t surveyed; /* those of them that surveys sample */
	/* Those that are wanted, and what the machine lacks for each; "": nothing. */
	uint32_t wanted_sources;
	char missing[PILOTLIGHT_SOURCES][PILOTLIGHT_MISSING_BYTES];
	uint64_t periods_ns[PILOTLIGHT_SOURCES];
	struct source_accounts by_source;
	struct live_counters live[PILOTLIGHT_SOURCES];
	/* Which of them are on for a time, until when by CLOCK_REALTIME, 0: not; and which a
	 * client may turn on. */
	uint64_t ordered_until_ns[PILOTLIGHT_SOURCES];
	uint32_t allowed_events;
	/* The names of events of perf and of tracepoints: by place, "": it is free; and of those
	 * that a client may turn on. */
	char counted[PILOTLIGHT_COUNTED_EVENTS][PILOTLIGHT_EVENT_NAME_BYTES];
	char allowed_counted[SERVICE_STATUS_COUNTED_MAX][PILOTLIGHT_EVENT_NAME_BYTES];
	size_t allowed_counted_count;
	uint64_t lost_by_engines; /* samples of open windows, lost when an engine was killed */

	bool is_config_refused; /* the last reload found a mistake */

	/* History. */
	bool has_history;
	bool is_history_failing;
	char history_fault[160]; /* the last error; "": none */
	uint64_t windows_sealed,
		windows_dropped;  /* since the start; dropped: the disk did not accept them */
	uint64_t sealed_until_ns; /* CLOCK_REALTIME */
	uint64_t history_max_bytes;
	struct store_summary history;
	uint64_t untimed[STORE_UNTIMED_REASONS]; /* samples without a time; since the start */

	/* Names. */
	uint64_t binaries_wanted, binaries_cached, binaries_extracted, binaries_pending,
		binaries_failed;
	uint64_t symbol_cache_bytes, symbol_cache_max_bytes, symbol_cache_entries;
	uint64_t processes, processes_refused, mappings;
	uint64_t contexts_read, contexts_invalid, contexts_refused;
	uint64_t threads_refused; /* how often; their waits are not sampled */
	uint64_t sideband_records, sideband_lost;
	uint64_t stacks_by_tables, stacks_by_frame_pointers, stacks_cut;
	uint64_t jit_samples, jit_leaves_unknown, jit_waiting;
	/* Frames of interpreters' code, and the names that they need. */
	uint64_t interpreted_samples, interpreted_frames, interpreted_nameless;
	uint64_t interpreted_codes, interpreted_bytes, interpreted_refused, interpreted_cut;
	uint64_t interpreted_disputed;
	struct service_status_jit jit[SERVICE_STATUS_JIT_MAX];
	size_t jit_count;
	uint64_t jit_processes; /* total, including those that `jit` has no room for */

	/* Sinks, in the order of the configuration. */
	struct service_status_sink sinks[SERVICE_STATUS_SINKS_MAX];
	size_t sink_count;

	const struct service_status_meter *meter; /* borrowed; NULL: no metrics */

	/* What exceeded the shares of users, and what they hold. */
	struct user_excess excess;
	struct user_holdings holdings;

	/* Lag. */
	uint64_t drain_lag_ns; /* from the last drain's due time to its end */
};
