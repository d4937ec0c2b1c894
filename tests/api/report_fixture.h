/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report in which no two numbers are the same, and text written by one of its functions. */
#pragma once

#include "api/report.h"
#include "base/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 2026-11-20 03:10:00 UTC. */
#define REPORT_NOW_NS 1795144200000000000ULL

/* As if time off CPU, time waiting for a CPU, page faults and a tracepoint were sampled, too, and
 * locks could not be. */
static inline void fill_sources(struct service_status *s)
{
	const enum pilotlight_source execs = PILOTLIGHT_SOURCE_COUNTED + 1;

	s->sources = 7 | 1U << PILOTLIGHT_SOURCE_FAULTS | 1U << execs;
	s->wanted_sources = s->sources | 1U << PILOTLIGHT_SOURCE_LOCK;
	(void)snprintf(s->missing[PILOTLIGHT_SOURCE_LOCK], PILOTLIGHT_MISSING_BYTES,
		"the kernel lacks it");
	(void)snprintf(s->counted[1], PILOTLIGHT_EVENT_NAME_BYTES, "sched:sched_process_exec");
	s->periods_ns[execs] = 3;
	s->by_source.of[execs] = (struct accounts){
		.fired = 77, .stored = { 77 }, .events = { [PILOTLIGHT_EVENT_THINNED] = 8 }
	};
	s->periods_ns[PILOTLIGHT_SOURCE_FAULTS] = 211;
	s->by_source.of[PILOTLIGHT_SOURCE_FAULTS] = (struct accounts){
		.fired = 6000, .stored = { 5970 }, .dropped = { [PILOTLIGHT_DROP_BUSY] = 30 }
	};
	s->periods_ns[PILOTLIGHT_SOURCE_OFFCPU] = 10000000;
	s->periods_ns[PILOTLIGHT_SOURCE_RUNQUEUE] = 2000000;
	s->by_source.of[PILOTLIGHT_SOURCE_OFFCPU] = (struct accounts){
		.fired = 750100,
		.stored = { 740000, 10000 },
		.dropped = { [PILOTLIGHT_DROP_FILTERED] = 100 },
	};
	s->by_source.of[PILOTLIGHT_SOURCE_RUNQUEUE] = (struct accounts){
		.fired = 5000,
		.stored = { 4900 },
		.dropped = { [PILOTLIGHT_DROP_RING_FULL] = 100 },
	};
}

/* Memory that lives, beside other sources. */
static inline void fill_live(struct service_status *s)
{
	s->sources |= 1U << PILOTLIGHT_SOURCE_KMEM_LIVE;
	s->wanted_sources |= 1U << PILOTLIGHT_SOURCE_KMEM_LIVE;
	s->periods_ns[PILOTLIGHT_SOURCE_KMEM_LIVE] = 65536;
	s->live[PILOTLIGHT_SOURCE_KMEM_LIVE] = (struct live_counters){
		.freed = 1000, .replaced = 2, .expired = 3, .thinned = 4, .refused = 5
	};
}

/* As if surveys sampled one of them. */
static inline void fill_surveyed(struct service_status *s)
{
	fill_sources(s);
	s->surveyed = 1U << PILOTLIGHT_SOURCE_OFFCPU;
	s->periods_ns[PILOTLIGHT_SOURCE_OFFCPU] = 1000000000;
	s->by_source.of[PILOTLIGHT_SOURCE_OFFCPU] =
		(struct accounts){ .fired = 7200, .stored = { 0, 7200 } };
}

/* Two sinks: one that is well, and one that fails and has lost what can be lost. */
static inline void fill_sinks(struct service_status *s)
{
	s->sink_count = 2;
	s->sinks[0] = (struct service_status_sink){
		.name = "bucket",
		.type = "pprof",
		.batches = 31,
		.bytes = 3200000,
		.empty = 32,
		.kept_files = 1,
		.kept_bytes = 3 << 19,
		.until_ns = REPORT_NOW_NS - 1500000000,
	};
	s->sinks[1] = (struct service_status_sink){
		.name = "other",
		.type = "otlp",
		.is_failing = true,
		.fault = "cannot write to its\x1b folder: No space left on device",
		.failed = 33,
		.skipped_ns = { 1500000000, 60000000000, 120000000000, 180000000000, 240000000000,
			300000000000, 360000000000, 420000000000 },
		.kept_files = 34,
		.is_sent = true,
		.is_held = true,
		.sent_batches = 35,
		.sent_bytes = 36000,
		.rejected = 37,
	};
}

static inline void fill_report(struct report *report)
{
	struct service_status *s = &report->service;

	*report = (struct report){ 0 };
	*s = (struct service_status){
		.version = "0.1.0",
		.event = "cycles",
		.started_ns = REPORT_NOW_NS - 3 * 86400000000000ULL - 123456789,
		.now_ns = REPORT_NOW_NS,
		.cpu_count = 8,
		.online_cpu_count = 4,
		.engine_starts = 1,
		.rate_hz = 99,
		.wanted_rate_hz = 99,
		.max_cost_ppm = 1500,
		.window_ns = 10000000000,
		.bpf_ns = 120500000000,
		.engine_cpu_ns = 60250000000,
		.broker_cpu_ns = 3125000000,
		.cost_ppm = 812.4,
		.memory_bytes = 43 << 20,
		.memory_max_bytes = 64 << 20,
		.map_bytes = 17 << 20,
		.sideband_bytes = 2 << 20,
		.engine_bytes = 19 << 20,
		.profile_bytes = 5 << 20,
		.jit_bytes = 3 << 20,
		.has_history = true,
		.windows_sealed = 25919,
		.sealed_until_ns = REPORT_NOW_NS - 4000000000,
		.history.bytes = 412 << 20,
		.history_max_bytes = 1 << 30,
		.history.days = 4,
		.history.windows = 12345,
		.history.first_ns = REPORT_NOW_NS - 3 * 86400000000000ULL,
		.history.last_ns = REPORT_NOW_NS - 4000000000,
		.binaries_wanted = 815,
		.binaries_cached = 700,
		.binaries_extracted = 101,
		.binaries_pending = 5,
		.binaries_failed = 9,
		.symbol_cache_bytes = 120 << 20,
		.symbol_cache_max_bytes = 2ULL << 30,
		.symbol_cache_entries = 813,
		.processes = 311,
		.mappings = 4711,
		.sideband_records = 99887,
		.stacks_by_tables = 5555,
		.stacks_by_frame_pointers = 6666,
		.stacks_cut = 77,
		.drain_lag_ns = 1500000,
	};
	s->accounts.fired = 1000000;
	s->accounts.stored[PILOTLIGHT_PATH_MAP] = 700000;
	s->accounts.stored[PILOTLIGHT_PATH_RING] = 100000;
	s->accounts.dropped[PILOTLIGHT_DROP_IDLE] = 200000;
	s->accounts.events[PILOTLIGHT_EVENT_TIMED] = 1234;
	s->accounts.walked[PILOTLIGHT_WALKER_TABLES] = 4321;
	s->accounts.ends[PILOTLIGHT_WALK_ROOT] = 4320;
	s->sources = 1;
	s->periods_ns[PILOTLIGHT_SOURCE_CPU] = 10101010;
	s->by_source.of[PILOTLIGHT_SOURCE_CPU] = s->accounts;
	s->last_window.fired = 4000;
	s->last_window.stored[PILOTLIGHT_PATH_MAP] = 4000;
	report->http = (struct http_counters){ .connections = 21,
		.connections_refused = 1,
		.requests = 33,
		.statuses = { 0, 0, 30, 0, 2, 1 },
		.timeouts = 3,
		.bytes = 987654,
		.open = 2 };
	report->queries = (struct report_queries){ .answered = 14,
		.refused = 6,
		.failed = 7,
		.timed_out = 8,
		.abandoned = 11,
		.running = 1,
		.waiting = 12 };
}

/* Returns a text, free(). */
static inline char *write_report(
	void (*function)(const struct report *, struct output *), const struct report *report)
{
	struct output_memory memory = { .limit_bytes = 1 << 20 };
	struct output *output = malloc(sizeof(*output));

	assert_non_null(output);
	output_init(output, output_to_memory, &memory);
	function(report, output);
	output_char(output, '\0');
	assert_int_equal(output_finish(output), 0);
	free(output);
	return memory.bytes;
}

static inline void expect_parts(const char *text, const char *const *parts)
{
	for (; *parts; parts++)
		if (!strstr(text, *parts))
			fail_msg("'%s' is not in:\n%s", *parts, text);
}
#define EXPECT_PARTS(text, ...) expect_parts(text, (const char *const[]){ __VA_ARGS__, NULL })
