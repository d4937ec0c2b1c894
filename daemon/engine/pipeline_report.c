/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/pipeline_state.h"

#include "base/clock.h"

const struct profile *pipeline_profile(
	const struct pipeline *pipeline, enum pilotlight_source source)
{
	return pipeline->open.parts[source].profile;
}

static size_t window_bytes(const struct pipeline_window *window)
{
	size_t bytes = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		bytes += window->parts[i].profile ? profile_bytes(window->parts[i].profile) : 0;
	return bytes;
}

static void report_users(const struct pipeline *pipeline, struct pipeline_report *report)
{
	struct user_excess *excess = &report->excess;
	struct user_holdings *holdings = &report->holdings;

	user_excess_merge(excess, binary_table_excess(pipeline->binaries));
	user_excess_merge(excess, symbolizer_excess(pipeline->symbolizer));
	user_excess_merge(excess, jit_table_excess(pipeline->jit));
	/* The quota of CPU time is that of all sources. */
	aggregator_holdings(pipeline->open.parts[PILOTLIGHT_SOURCE_CPU].aggregator, holdings);
	user_holdings_add(holdings, USER_BINARIES, binary_table_share(pipeline->binaries));
	user_holdings_add(holdings, USER_SYMBOLS, symbolizer_unfinished(pipeline->symbolizer));
	user_holdings_add(holdings, USER_JIT, jit_table_share(pipeline->jit));
	process_table_users(pipeline->processes, excess, holdings);
	if (pipeline->live)
		live_table_users(pipeline->live, excess, holdings);
	if (pipeline->unwinding)
		unwinding_users(pipeline->unwinding, excess, holdings);
}

void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report)
{
	pipeline->report.expected = capture_expected_samples(pipeline->capture);
	capture_read_cost(pipeline->capture, &pipeline->report.capture);
	sideband_counters(capture_sideband(pipeline->capture), &pipeline->report.sideband);
	process_table_counters(pipeline->processes, &pipeline->report.processes);
	resolver_counters(pipeline->resolver, &pipeline->report.resolver);
	if (pipeline->names)
		runtime_names_counters(pipeline->names, &pipeline->report.runtime_names);
	jit_table_counters(pipeline->jit, &pipeline->report.jit);
	late_samples_counters(pipeline->late, &pipeline->report.jit_samples);
	symbolizer_counters(pipeline->symbolizer, &pipeline->report.symbols);
	if (pipeline->symbol_cache)
		(void)symbol_cache_size(pipeline->symbol_cache,
			&pipeline->report.symbol_cache_entries,
			&pipeline->report.symbol_cache_bytes);
	for (enum pilotlight_source i = 0; pipeline->live && i < PILOTLIGHT_SOURCES; i++)
		live_table_counters(pipeline->live, i, &pipeline->report.live[i]);
	if (pipeline->cgroups)
		cgroup_table_counters(pipeline->cgroups, &pipeline->report.cgroups);
	if (pipeline->claims)
		claim_table_counters(pipeline->claims, &pipeline->report.claims);
	if (pipeline->unwinding)
		unwinding_report(pipeline->unwinding, &pipeline->report.unwinding);
	pipeline->report.profile_bytes =
		window_bytes(&pipeline->open) + window_bytes(&pipeline->ended);
	pipeline->report.table_bytes = process_table_bytes(pipeline->processes);
	if (pipeline->live)
		pipeline->report.table_bytes += live_table_bytes(pipeline->live);
	if (pipeline->cgroups)
		pipeline->report.table_bytes += cgroup_table_bytes(pipeline->cgroups);
	if (pipeline->claims)
		pipeline->report.claim_bytes = claim_table_bytes(pipeline->claims);
	*ret_report = pipeline->report;
	report_users(pipeline, ret_report);
}

const struct source_accounts *pipeline_accounts(const struct pipeline *pipeline)
{
	return &pipeline->report.accounts;
}

uint64_t pipeline_drains(const struct pipeline *pipeline)
{
	return pipeline->report.drains;
}

uint32_t pipeline_rate_hz(const struct pipeline *pipeline)
{
	return pipeline->settings.capture.rate_hz;
}

const char *pipeline_event_name(const struct pipeline *pipeline)
{
	return capture_event_name(pipeline->capture);
}

uint32_t pipeline_sources(const struct pipeline *pipeline)
{
	return pipeline->settings.capture.sources;
}

uint32_t pipeline_surveyed(const struct pipeline *pipeline)
{
	return pipeline->settings.capture.surveyed;
}

const char *pipeline_missing(const struct pipeline *pipeline, enum pilotlight_source source)
{
	return capture_missing(pipeline->capture, source);
}

uint64_t pipeline_period_ns(const struct pipeline *pipeline, enum pilotlight_source source)
{
	const struct capture_settings *settings = &pipeline->settings.capture;

	if (!(settings->sources & 1U << source))
		return 0;
	return source == PILOTLIGHT_SOURCE_CPU ? NSEC_PER_SEC / settings->rate_hz
					       : settings->periods[source];
}

uint32_t pipeline_cpu_count(const struct pipeline *pipeline)
{
	return capture_cpu_count(pipeline->capture);
}

const struct jit_table *pipeline_jit(const struct pipeline *pipeline)
{
	return pipeline->jit;
}
