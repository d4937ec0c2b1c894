/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_state.h"

#include "base/clock.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t taking_ns(const struct pipeline_report *report)
{
	uint64_t run_ns = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		run_ns += report->accounts.of[i].run_ns;
	return run_ns;
}

static uint64_t watching_ns(const struct pipeline_report *report)
{
	uint64_t watch_ns = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		watch_ns += report->accounts.of[i].watch_ns;
	return watch_ns;
}

/* Prefers the kernel's statistics, if readable: they include the path that leads to the program. */
static uint64_t bpf_ns(const struct pipeline_report *report)
{
	return report->capture.program_ns ? report->capture.program_ns
					  : taking_ns(report) + watching_ns(report);
}

static void read_use(
	const struct pipeline_report *report, uint32_t sources, struct service_use *ret_use)
{
	const struct accounts *accounts = &report->accounts.of[PILOTLIGHT_SOURCE_CPU];

	*ret_use = (struct service_use){
		.at_ns = clock_monotonic_ns(),
		.bpf_ns = bpf_ns(report),
		.rated_bpf_ns =
			sources == 1U << PILOTLIGHT_SOURCE_CPU ? bpf_ns(report) : accounts->run_ns,
		.taking_ns = taking_ns(report),
		.rated_taking_ns = accounts->run_ns,
		.engine_ns = clock_process_cpu_ns(),
		.drain_ns = report->drain_cpu_ns,
		.jit_ns = report->jit_cpu_ns,
		.broker_ns = report->capture.broker_cpu_ns,
		.worker_ns =
			report->symbols.worker_spent_ns + report->unwinding.tables.worker_spent_ns,
		.busy_samples = accounts->fired - accounts->dropped[PILOTLIGHT_DROP_IDLE],
	};
}

static uint64_t rated_drain_ns(
	const struct service_use *before, const struct service_use *now, uint64_t drain_ns)
{
	const double all = (double)(now->taking_ns - before->taking_ns);
	const double rated = (double)(now->rated_taking_ns - before->rated_taking_ns);

	return all > 0 ? (uint64_t)((double)drain_ns * rated / all) : drain_ns;
}

void service_use_since(const struct service_use *before, const struct service_use *now,
	struct rate_governor_use *ret_use)
{
	uint64_t bpf_ns = now->bpf_ns - before->bpf_ns;
	uint64_t rated_ns = now->rated_bpf_ns - before->rated_bpf_ns;
	uint64_t drain_ns = now->drain_ns - before->drain_ns;
	uint64_t rated_draining_ns = rated_drain_ns(before, now, drain_ns);
	uint64_t engine_ns = now->engine_ns - before->engine_ns;
	uint64_t broker_ns = now->broker_ns - before->broker_ns;
	uint64_t worker_ns = now->worker_ns - before->worker_ns;

	/* One is the kernel's count until now, the other the programs' until the last drain. */
	if (rated_ns > bpf_ns)
		rated_ns = bpf_ns;
	*ret_use = (struct rate_governor_use){
		.elapsed_ns = now->at_ns - before->at_ns,
		.sampling_ns = rated_ns + rated_draining_ns,
		.other_ns = bpf_ns - rated_ns + engine_ns - rated_draining_ns -
			    (now->jit_ns - before->jit_ns) +
			    (broker_ns > worker_ns ? broker_ns - worker_ns : 0),
		.samples = now->busy_samples - before->busy_samples,
	};
}

static uint64_t resident_bytes(const struct service *service)
{
	unsigned long long pages = 0;
	char text[128];
	ssize_t n = pread(service->statm_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t sink_bytes(const struct service *service)
{
	return service->push ? push_memory_bytes(service->push) : 0;
}

/* All but the engine's own memory. */
static uint64_t other_bytes(const struct service *service, const struct capture_cost *capture)
{
	uint64_t bytes = capture->broker_resident_bytes + capture->map_bytes + sink_bytes(service);

	/* The engine maps the unwind-table arrays, so they count as engine and as maps. */
	return bytes > capture->mapped_bytes ? bytes - capture->mapped_bytes : 0;
}

void service_trim_heap(struct service *service)
{
	const uint64_t others = service->other_bytes, budget = service->settings.memory_budget;

	if (!heap_trim_is_due(&service->trim, resident_bytes(service) + others, budget))
		return;
	(void)malloc_trim(0);
	heap_trim_done(&service->trim, resident_bytes(service) + others);
}

uint32_t service_steer(struct service *service)
{
	struct pipeline_report report;
	struct service_use now, *before = &service->use;
	struct rate_governor_use used;

	pipeline_report(service->pipeline, &report);
	service->other_bytes = other_bytes(service, &report.capture);
	read_use(&report, pipeline_sources(service->pipeline), &now);
	if (before->at_ns == 0) {
		*before = now;
		return service->rate_hz;
	}
	service_use_since(before, &now, &used);
	used.cpu_count = pipeline_cpu_count(service->pipeline);
	*before = now;
	return rate_governor_run(&service->governor, &used);
}

static void fill_cost(struct service *service, const struct pipeline_report *report,
	struct service_status *status)
{
	struct http_counters served;

	api_counters(service->api, &served);
	status->bpf_ns = bpf_ns(report);
	status->engine_cpu_ns = clock_process_cpu_ns();
	status->broker_cpu_ns = report->capture.broker_cpu_ns;
	status->cost_ppm = rate_governor_cost_ppm(&service->governor);
	status->max_cost_ppm = service->settings.config.max_cost_ppm;
	status->map_bytes = report->capture.map_bytes;
	status->sideband_bytes = report->capture.sideband_bytes;
	status->profile_bytes = report->profile_bytes;
	status->jit_bytes = jit_table_bytes(pipeline_jit(service->pipeline));
	status->engine_bytes = resident_bytes(service);
	status->answer_bytes = served.file_bytes;
	status->claim_bytes = report->claim_bytes;
	status->sink_bytes = sink_bytes(service);
	status->memory_bytes = status->engine_bytes + other_bytes(service, &report->capture) +
			       status->answer_bytes;
	status->memory_max_bytes = service->settings.memory_budget;
}

static void fill_history(struct service *service, struct service_status *status)
{
	status->is_config_refused = service->is_config_refused;
	status->has_history = service->writer != NULL;
	status->is_history_failing = service->is_history_failing;
	(void)snprintf(
		status->history_fault, sizeof(status->history_fault), "%s", service->history_fault);
	status->windows_sealed = service->windows_sealed;
	status->windows_dropped = service->windows_dropped;
	status->sealed_until_ns = service->sealed_until_ns;
	status->history_max_bytes = service->settings.config.history_bytes;
	if (!service->writer)
		return;
	history_writer_summary(service->writer, &status->history);
	history_writer_untimed(service->writer, status->untimed);
}

static void fill_sinks(const struct service *service, struct service_status *status)
{
	_Static_assert((int)SERVICE_STATUS_SINKS_MAX == (int)CONFIG_SINKS_MAX &&
			       (int)SPOOLS_MAX == (int)CONFIG_SINKS_MAX,
		"room for all sinks");
	status->sink_count = service->push ? service->settings.config.sink_count : 0;
	for (size_t i = 0; i < status->sink_count; i++)
		push_report(service->push, i, &status->sinks[i]);
}

static void fill_names(const struct service *service, const struct pipeline_report *report,
	struct service_status *status)
{
	const struct accounts *accounts = &report->accounts.of[PILOTLIGHT_SOURCE_CPU];
	const struct symbolizer_counters *symbols = &report->symbols;

	status->binaries_wanted = symbols->requested;
	status->binaries_cached = symbols->cached;
	status->binaries_extracted = symbols->extracted;
	status->binaries_pending = symbols->pending;
	for (int i = 0; i < PILOTLIGHT_SYMBOL_FAILURES; i++)
		status->binaries_failed += symbols->failed[i];
	status->processes = report->processes.images;
	status->mappings = report->processes.mappings;
	status->contexts_read = report->claims.read;
	status->contexts_invalid = report->claims.invalid;
	status->contexts_refused = report->claims.refused;
	status->symbol_cache_entries = report->symbol_cache_entries;
	status->symbol_cache_bytes = report->symbol_cache_bytes;
	status->symbol_cache_max_bytes = service->settings.config.symbol_cache_bytes;
	status->processes_refused = report->processes.images_refused;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		status->threads_refused +=
			report->accounts.of[i].events[PILOTLIGHT_EVENT_THREAD_REFUSED];
	status->sideband_records = report->sideband.records;
	status->sideband_lost = report->sideband.lost + report->sideband.refused;
	status->stacks_by_tables = accounts->walked[PILOTLIGHT_WALKER_TABLES];
	status->stacks_by_frame_pointers = accounts->walked[PILOTLIGHT_WALKER_KERNEL];
	for (int end = PILOTLIGHT_WALK_ROOT + 1; end < PILOTLIGHT_WALK_ENDS; end++)
		status->stacks_cut += accounts->ends[end];
	status->jit_samples = report->jit_samples.samples;
	status->jit_leaves_unknown = report->jit_samples.leaves_unknown;
	status->jit_waiting = report->jit_samples.waiting;
	status->interpreted_samples = report->resolver.interpreted;
	status->interpreted_frames = report->resolver.interpreted_frames;
	status->interpreted_nameless = report->resolver.interpreted_nameless;
	status->interpreted_codes = report->runtime_names.codes;
	status->interpreted_bytes = report->runtime_names.bytes;
	status->interpreted_refused = report->runtime_names.refused;
	status->interpreted_cut = report->runtime_names.cut;
	status->interpreted_disputed = report->runtime_names.disputed;
	status->excess = report->excess;
	user_excess_merge(&status->excess, &service->history_excess);
	status->holdings = report->holdings;
	user_holdings_merge(&status->holdings, &service->history_holdings);
}

static void fill_jit(struct service *service, struct service_status *status)
{
	const struct jit_table *table = pipeline_jit(service->pipeline);
	struct jit_process_report report;
	size_t cursor = 0;

	while (jit_table_next(table, &cursor, &report)) {
		struct service_status_jit *jit;

		if (report.has_ended || report.path[0] == '\0')
			continue;
		status->jit_processes++;
		if (status->jit_count == SERVICE_STATUS_JIT_MAX)
			continue;
		jit = &status->jit[status->jit_count++];
		jit->pid = (uint32_t)report.pid;
		(void)snprintf(jit->comm, sizeof(jit->comm), "%s", report.comm);
		(void)snprintf(jit->kind, sizeof(jit->kind), "%s",
			report.is_jitdump ? "jitdump" : "perf map");
		(void)snprintf(jit->runtime, sizeof(jit->runtime), "%s", report.runtime);
		jit->symbols = report.symbols;
		jit->bytes = report.bytes;
	}
}

void service_fill_status(void *context, struct service_status *ret_status)
{
	struct service *service = context;
	struct pipeline_report report;
	struct service_status *status = ret_status;

	pipeline_report(service->pipeline, &report);
	memset(status, 0, sizeof(*status));
	(void)snprintf(status->version, sizeof(status->version), "%s", PILOTLIGHT_VERSION);
	(void)snprintf(
		status->event, sizeof(status->event), "%s", pipeline_event_name(service->pipeline));
	status->started_ns = service->started_ns;
	status->now_ns = clock_realtime_ns();
	status->cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	status->online_cpu_count = pipeline_cpu_count(service->pipeline);
	status->engine_starts = service->engines;
	status->rate_hz = service->rate_hz;
	status->wanted_rate_hz = (uint32_t)service->settings.config.frequency_hz;
	status->window_ns = service->settings.config.window_ns;
	service_settings_choice(&service->settings.config, &status->choice);
	status->sources = pipeline_sources(service->pipeline);
	status->surveyed = pipeline_surveyed(service->pipeline);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		status->periods_ns[i] = pipeline_period_ns(service->pipeline, i);
	service_fill_events(service, status);
	status->by_source = report.accounts;
	memcpy(status->live, report.live, sizeof(status->live));
	status->accounts = report.accounts.of[PILOTLIGHT_SOURCE_CPU];
	status->last_window = service->last_window.of[PILOTLIGHT_SOURCE_CPU];
	status->lost_by_engines = service->lost_samples;
	status->drain_lag_ns = report.lag_ns;
	fill_cost(service, &report, status);
	fill_history(service, status);
	fill_sinks(service, status);
	status->meter = service->meter ? function_meter_status(service->meter) : NULL;
	fill_names(service, &report, status);
	fill_jit(service, status);
}
