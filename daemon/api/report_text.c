/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report.h"
#include "api/report_fields.h"
#include "api/report_sinks.h"
#include "api/report_words.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/output.h"
#include "base/time_text.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	LABEL_COLUMNS = 13,
	JIT_SHOWN_MAX = 5,
	AMOUNT_BYTES = 64,
	LIVE_TEXT_BYTES = 256,
};

static void write_entry(struct output *output, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void write_entry(struct output *output, const char *label, const char *format, ...)
{
	char text[REPORT_ENTRY_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	output_printf(output, "  %-*s", LABEL_COLUMNS - 2, label);
	report_write_words(output, text, LABEL_COLUMNS);
}

/* --- status --- */

static void write_title(const struct service_status *service, struct output *output)
{
	char since[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES], version[UTF8_CLEAN_BYTES];

	output_printf(output, "pilotlight %s, running for %s, since %s\n",
		REPORT_CLEAN(service->version, version),
		time_text_format_duration(service->now_ns > service->started_ns
						  ? service->now_ns - service->started_ns
						  : 0,
			duration),
		time_text_format(service->started_ns, since));
}

/* A restart may be deliberate: after CPU hotplug, or when the engine's tables were full. */
static void write_engine(const struct service_status *service, struct output *output)
{
	char count[REPORT_NUMBER_BYTES];

	if (service->engine_starts > 1)
		write_entry(output, "Engine",
			"started %s times, see the journal; counts begin with the last start",
			report_count(service->engine_starts, count));
}

/* Lists the rules that include, or those that exclude. */
static void write_rules(
	const struct cgroup_choice *choice, bool are_excluding, struct output *output)
{
	char text[REPORT_ENTRY_BYTES] = "", rule[UTF8_CLEAN_BYTES];
	size_t size = 0;

	for (size_t i = 0; i < choice->count && size < sizeof(text); i++)
		if (choice->rules[i].is_excluding == are_excluding)
			size += (size_t)snprintf(text + size, sizeof(text) - size, " %s:%s",
				cgroup_rule_kind_name(choice->rules[i].kind),
				REPORT_CLEAN(choice->rules[i].text, rule));
	if (size > 0)
		write_entry(output, are_excluding ? "Excluded" : "Only", "%s", text + 1);
}

static void write_sampling(const struct service_status *service, struct output *output)
{
	char event[UTF8_CLEAN_BYTES], duration[TIME_TEXT_BYTES], online[REPORT_NUMBER_BYTES] = "";

	if (service->online_cpu_count != service->cpu_count)
		(void)snprintf(online, sizeof(online), " online of %" PRIu32, service->cpu_count);
	write_entry(output, "Sampling",
		"%" PRIu32 " Hz on %" PRIu32 "%s CPU%s by %s; windows of %s", service->rate_hz,
		service->online_cpu_count, online,
		service->online_cpu_count == 1 && !*online ? "" : "s",
		REPORT_CLEAN(service->event, event),
		time_text_format_duration(service->window_ns, duration));
	if (service->rate_hz < service->wanted_rate_hz)
		write_entry(output, "",
			"%" PRIu32 " Hz are configured: lowered to keep the CPU cost in budget",
			service->wanted_rate_hz);
	write_rules(&service->choice, false, output);
	write_rules(&service->choice, true, output);
}

static void write_cost(const struct service_status *service, struct output *output)
{
	double all_s = (double)(service->bpf_ns + service->engine_cpu_ns + service->broker_cpu_ns) /
		       NSEC_PER_SEC;

	if (service->cost_ppm > 0)
		write_entry(output, "Cost",
			"%.3f%% of all CPU time in the last minute, limit %.3f%%",
			service->cost_ppm / 1e4, (double)service->max_cost_ppm / 1e4);
	else
		write_entry(output, "Cost", "not measured yet, limit %.3f%% of all CPU time",
			(double)service->max_cost_ppm / 1e4);
	write_entry(output, "", "%.1f s since the start: BPF %.1f, engine %.1f, %s %.1f", all_s,
		(double)service->bpf_ns / NSEC_PER_SEC,
		(double)service->engine_cpu_ns / NSEC_PER_SEC,
		service->engine_starts > 1 ? "broker, workers and former engines"
					   : "broker and workers",
		(double)service->broker_cpu_ns / NSEC_PER_SEC);
}

static void write_memory(const struct service_status *service, struct output *output)
{
	char all[REPORT_NUMBER_BYTES], budget[REPORT_NUMBER_BYTES], maps[REPORT_NUMBER_BYTES],
		rings[REPORT_NUMBER_BYTES], engine[REPORT_NUMBER_BYTES];

	write_entry(output, "Memory", "%s, limit %s: maps %s, side-band %s, engine %s",
		report_bytes(service->memory_bytes, all),
		report_bytes(service->memory_max_bytes, budget),
		report_bytes(service->map_bytes, maps),
		report_bytes(service->sideband_bytes, rings),
		report_bytes(service->engine_bytes, engine));
}

static void write_untimed(const struct service_status *service, struct output *output)
{
	static const char *const reasons[STORE_UNTIMED_REASONS] = {
		[STORE_UNTIMED_NO_ROOM] = "no room",
		[STORE_UNTIMED_TOO_LARGE] = "too many in a window",
		[STORE_UNTIMED_DAMAGED] = "damaged",
	};
	char count[REPORT_NUMBER_BYTES];

	for (size_t i = 0; i < STORE_UNTIMED_REASONS; i++)
		if (service->untimed[i] > 0)
			write_entry(output, "", "%s samples lost their time since the start: %s",
				report_count(service->untimed[i], count), reasons[i]);
}

static void write_history(const struct service_status *service, struct output *output)
{
	char first[TIME_TEXT_BYTES], last[TIME_TEXT_BYTES], span[TIME_TEXT_BYTES];
	char bytes[REPORT_NUMBER_BYTES], bytes_max[REPORT_NUMBER_BYTES],
		windows[REPORT_NUMBER_BYTES];

	if (!service->has_history) {
		write_entry(output, "History", "disabled");
		return;
	}
	if (service->history.last_ns <= service->history.first_ns)
		write_entry(output, "History", "nothing yet");
	else
		write_entry(output, "History", "%s, from %s to %s",
			time_text_format_duration(
				service->history.last_ns - service->history.first_ns, span),
			time_text_format(service->history.first_ns, first),
			time_text_format(service->history.last_ns, last));
	write_entry(output, "", "%s, limit %s, %s windows in %" PRIu64 " day%s",
		report_bytes(service->history.bytes, bytes),
		report_bytes(service->history_max_bytes, bytes_max),
		report_count(service->history.windows, windows), service->history.days,
		service->history.days == 1 ? "" : "s");
	if (service->windows_dropped > 0)
		write_entry(output, "", "%s windows could not be written since the start",
			report_count(service->windows_dropped, windows));
	write_untimed(service, output);
	if (!service->is_history_failing && service->history_fault[0]) {
		char clean[UTF8_CLEAN_BYTES];

		write_entry(
			output, "", "last error: %s", REPORT_CLEAN(service->history_fault, clean));
	}
}

static void write_sinks(const struct service_status *service, struct output *output)
{
	char text[REPORT_SINK_BYTES];

	for (size_t i = 0; i < service->sink_count; i++)
		write_entry(output, i == 0 ? "Sinks" : "", "%s",
			report_sink_text(&service->sinks[i], text));
}

static void write_samples(const struct service_status *service, struct output *output)
{
	const struct accounts *accounts = &service->accounts;
	uint64_t lost = accounts_lost(accounts) + service->lost_by_engines;
	uint64_t all = accounts_stored(accounts) + lost;
	char count[REPORT_NUMBER_BYTES], lost_count[REPORT_NUMBER_BYTES], share[REPORT_SHARE_BYTES];

	if (lost == 0) {
		write_entry(output, "Samples", "%s since the start, none lost",
			report_count(all, count));
		return;
	}
	write_entry(output, "Samples", "%s since the start, %s of them lost, %s",
		report_count(all, count), report_count(lost, lost_count),
		report_share(lost, all, share));
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (accounts_drop_is_loss(i) && accounts->dropped[i] > 0)
			write_entry(output, "", "%s: %s, %s", accounts_drop_name(i),
				report_count(accounts->dropped[i], count),
				report_share(accounts->dropped[i], all, share));
	if (service->lost_by_engines > 0)
		write_entry(output, "", "engine killed: %s, %s",
			report_count(service->lost_by_engines, count),
			report_share(service->lost_by_engines, all, share));
}

static const char *amount_text(
	const struct event_source *source, uint64_t amount, char text[AMOUNT_BYTES])
{
	char number[REPORT_NUMBER_BYTES], time[TIME_TEXT_BYTES];

	switch (event_source_unit(source)) {
	case EVENT_UNIT_TIME:
		(void)snprintf(text, AMOUNT_BYTES, "%s", time_text_format_duration(amount, time));
		break;
	case EVENT_UNIT_BYTES:
		(void)snprintf(text, AMOUNT_BYTES, "%s", report_bytes(amount, number));
		break;
	case EVENT_UNIT_COUNT:
		(void)snprintf(text, AMOUNT_BYTES, "%s %s%s", report_count(amount, number),
			source->noun, amount == 1 ? "" : "s");
		break;
	}
	return text;
}

/* Of other sources than CPU time. */
static void write_source(
	const struct service_status *service, enum pilotlight_source source, struct output *output)
{
	static const char *const labels[PILOTLIGHT_SOURCES] = {
		[PILOTLIGHT_SOURCE_OFFCPU] = "Off CPU",
		[PILOTLIGHT_SOURCE_RUNQUEUE] = "Run queue",
		[PILOTLIGHT_SOURCE_FAULTS] = "Faults",
		[PILOTLIGHT_SOURCE_LOCK] = "Locks",
		[PILOTLIGHT_SOURCE_BLOCK] = "Block I/O",
		[PILOTLIGHT_SOURCE_BLOCK_BYTES] = "I/O bytes",
	};
	const struct event_source *kind = &event_sources[source];
	const struct accounts *accounts = &service->by_source.of[source];
	uint64_t lost = accounts_lost(accounts), all = accounts_stored(accounts) + lost;
	char amount_all[AMOUNT_BYTES], period[AMOUNT_BYTES], share[REPORT_SHARE_BYTES];
	char name[PILOTLIGHT_EVENT_NAME_BYTES + 2] = "";
	const char *label = labels[source] ? labels[source] : kind->name;
	uint64_t amount;

	if (__builtin_mul_overflow(all, service->periods_ns[source], &amount))
		amount = UINT64_MAX;
	/* The names of events of perf are too long for a label. */
	if (event_source_is_counted(source)) {
		(void)snprintf(name, sizeof(name), "%s: ", report_event_name(service, source));
		label = "Event";
	}
	write_entry(output, label, "%s%s since the start, %s lost; samples of %s%s", name,
		amount_text(kind, amount, amount_all),
		lost > 0 ? report_share(lost, all, share) : "none",
		amount_text(kind, service->periods_ns[source], period),
		service->surveyed & 1U << source ? ", by surveys" : "");
}

/* What became of samples of allocations that are no longer among what lives, or never were. */
static void write_live(const struct live_counters *counters, struct output *output)
{
	char text[LIVE_TEXT_BYTES] = "", number[REPORT_NUMBER_BYTES];
	size_t size = 0;

	for (size_t i = 0; i < REPORT_OUTCOMES; i++) {
		uint64_t count = report_outcome_get(&report_outcomes[i], counters);

		if (count == 0)
			continue;
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s %s",
			size > 0 ? ", " : "samples: ", report_count(count, number),
			report_outcomes[i].text);
	}
	if (size > 0)
		write_entry(output, "", "%s", text);
}

static void write_sources(const struct service_status *service, struct output *output)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!(service->sources & 1U << i))
			continue;
		write_source(service, i, output);
		if (event_sources[i].is_live)
			write_live(&service->live[i], output);
	}
}

static void write_names(const struct service_status *service, struct output *output)
{
	char bytes[REPORT_NUMBER_BYTES], bytes_max[REPORT_NUMBER_BYTES],
		pending[REPORT_NUMBER_BYTES], requested[REPORT_NUMBER_BYTES],
		without[REPORT_NUMBER_BYTES], entries[REPORT_NUMBER_BYTES];

	write_entry(output, "Names", "%s binaries requested: %s pending, %s failed",
		report_count(service->binaries_wanted, requested),
		report_count(service->binaries_pending, pending),
		report_count(service->binaries_failed, without));
	write_entry(output, "", "symbol cache: %s, limit %s, %s binaries",
		report_bytes(service->symbol_cache_bytes, bytes),
		report_bytes(service->symbol_cache_max_bytes, bytes_max),
		report_count(service->symbol_cache_entries, entries));
}

static void write_processes(const struct service_status *service, struct output *output)
{
	char processes[REPORT_NUMBER_BYTES], mappings[REPORT_NUMBER_BYTES],
		count[REPORT_NUMBER_BYTES];

	write_entry(output, "Processes", "%s with %s executable mappings",
		report_count(service->processes, processes),
		report_count(service->mappings, mappings));
	if (service->contexts_read + service->contexts_invalid > 0)
		write_entry(output, "", "%s OpenTelemetry contexts read, %s invalid",
			report_count(service->contexts_read, processes),
			report_count(service->contexts_invalid, mappings));
	if (service->processes_refused > 0)
		write_entry(output, "", "%s more not tracked: the table is full",
			report_count(service->processes_refused, count));
	if (service->threads_refused > 0)
		write_entry(output, "",
			"%s times a thread had no room, and its waits are not sampled",
			report_count(service->threads_refused, count));
	if (service->sideband_lost > 0)
		write_entry(output, "", "%s records of the side-band were lost",
			report_count(service->sideband_lost, count));
}

/* Returns the process with the most symbols that is not shown yet. */
static const struct service_status_jit *next_jit(
	const struct service_status *service, bool is_shown[SERVICE_STATUS_JIT_MAX])
{
	size_t best = SERVICE_STATUS_JIT_MAX;

	for (size_t i = 0; i < service->jit_count && i < SERVICE_STATUS_JIT_MAX; i++)
		if (!is_shown[i] && (best == SERVICE_STATUS_JIT_MAX ||
					    service->jit[i].symbols > service->jit[best].symbols))
			best = i;
	if (best == SERVICE_STATUS_JIT_MAX)
		return NULL;
	is_shown[best] = true;
	return &service->jit[best];
}

static void write_interpreted(const struct service_status *service, struct output *output)
{
	char samples[REPORT_NUMBER_BYTES], share[REPORT_SHARE_BYTES], codes[REPORT_NUMBER_BYTES];
	char bytes[REPORT_NUMBER_BYTES];

	if (service->interpreted_samples == 0)
		return;
	write_entry(output, "Runtimes",
		"%s samples with frames of Python, JavaScript, Ruby, Java, PHP or Perl, %s of the "
		"frames without a name; %s functions in %s",
		report_count(service->interpreted_samples, samples),
		report_share(service->interpreted_nameless, service->interpreted_frames, share),
		report_count(service->interpreted_codes, codes),
		report_bytes(service->interpreted_bytes, bytes));
}

static void write_jit(const struct service_status *service, struct output *output)
{
	bool is_shown[SERVICE_STATUS_JIT_MAX] = { false };
	char count[REPORT_NUMBER_BYTES], share[REPORT_SHARE_BYTES], bytes[REPORT_NUMBER_BYTES];
	const struct service_status_jit *jit;
	uint64_t shown = 0;

	if (service->jit_processes == 0 && service->jit_samples == 0)
		return;
	write_entry(output, "JIT", "%s samples, %s of them without a name",
		report_count(service->jit_samples, count),
		report_share(service->jit_leaves_unknown, service->jit_samples, share));
	for (; shown < JIT_SHOWN_MAX && (jit = next_jit(service, is_shown)); shown++) {
		char comm[UTF8_CLEAN_BYTES], kind[UTF8_CLEAN_BYTES], runtime[UTF8_CLEAN_BYTES];

		write_entry(output, "", "%s (pid %" PRIu32 "): %s%s%s, %s symbols in %s",
			REPORT_CLEAN(jit->comm, comm), jit->pid, REPORT_CLEAN(jit->kind, kind),
			jit->runtime[0] ? " of " : "", REPORT_CLEAN(jit->runtime, runtime),
			report_count(jit->symbols, count), report_bytes(jit->bytes, bytes));
	}
	if (service->jit_processes > shown)
		write_entry(output, "", "and %s more processes",
			report_count(service->jit_processes - shown, count));
}

static void write_user(
	const struct user_excess_line *line, const char *label, struct output *output)
{
	char name[USER_EXCESS_NAME_BYTES], window[REPORT_NUMBER_BYTES],
		history[REPORT_NUMBER_BYTES];

	write_entry(output, label, "%s: samples beyond its share: %s of a window, %s of a day",
		user_excess_name(line->user, name),
		report_count(line->refused[USER_WINDOW], window),
		report_count(line->refused[USER_HISTORY], history));
}

static void write_users(const struct service_status *service, struct output *output)
{
	const char *label = "Over quota";

	for (size_t i = 0; i < ARRAY_SIZE(service->excess.lines); i++) {
		const struct user_excess_line *line = &service->excess.lines[i];

		if (line->refused[USER_WINDOW] + line->refused[USER_HISTORY] == 0)
			continue;
		write_user(line, label, output);
		label = "";
	}
}

static void write_resource(struct output *output, const struct user_holdings *holdings,
	size_t resource, uint64_t held, uint64_t refused)
{
	const struct report_resource *of = &report_resources[resource];
	char held_text[REPORT_NUMBER_BYTES], all_text[REPORT_SHARE_BYTES],
		refused_text[REPORT_NUMBER_BYTES];

	if (held + refused == 0)
		return;
	(void)(of->is_bytes ? report_bytes(held, held_text) : report_count(held, held_text));
	if (resource == USER_UNWIND)
		(void)snprintf(held_text, sizeof(held_text), "tables");
	write_entry(output, of->label, "%s, %s of the room%s%s%s%s", held_text,
		report_share(held, holdings->capacity[resource], all_text), refused > 0 ? "; " : "",
		refused > 0 ? report_count(refused, refused_text) : "", refused > 0 ? " " : "",
		refused > 0 ? of->refused : "");
}

static const uint64_t *held_by(const struct user_holdings *holdings, uint64_t user)
{
	static const uint64_t none[USER_RESOURCES];

	for (size_t i = 0; i < ARRAY_SIZE(holdings->lines); i++)
		if (user_holding_is_used(&holdings->lines[i]) && holdings->lines[i].user == user)
			return holdings->lines[i].held;
	return none;
}

static const uint64_t *refused_to(const struct user_excess *excess, uint64_t user)
{
	static const uint64_t none[USER_RESOURCES];

	for (size_t i = 0; i < ARRAY_SIZE(excess->lines); i++)
		if (user_excess_is_used(&excess->lines[i]) && excess->lines[i].user == user)
			return excess->lines[i].refused;
	return none;
}

static void write_whole_user(
	const struct service_status *service, uint64_t user, struct output *output)
{
	const uint64_t *held = held_by(&service->holdings, user);
	const uint64_t *refused = refused_to(&service->excess, user);
	char name[USER_EXCESS_NAME_BYTES];

	output_printf(output, "%s\n", user_excess_name(user, name));
	for (size_t i = 0; i < USER_RESOURCES; i++)
		write_resource(output, &service->holdings, i, held[i], refused[i]);
}

void report_write_users(const struct report *report, struct output *output)
{
	const struct service_status *service = &report->service;
	const struct user_holdings *holdings = &service->holdings;

	for (size_t i = 0; i < ARRAY_SIZE(holdings->lines); i++)
		if (user_holding_is_used(&holdings->lines[i]))
			write_whole_user(service, holdings->lines[i].user, output);
	for (size_t i = 0; i < ARRAY_SIZE(service->excess.lines); i++) {
		const struct user_excess_line *line = &service->excess.lines[i];
		bool is_listed = false;

		for (size_t n = 0; n < ARRAY_SIZE(holdings->lines); n++)
			is_listed |= user_holding_is_used(&holdings->lines[n]) &&
				     holdings->lines[n].user == line->user;
		if (user_excess_is_used(line) && !is_listed)
			write_whole_user(service, line->user, output);
	}
}

static void write_queries(const struct report *report, struct output *output)
{
	const struct report_queries *queries = &report->queries;
	char count[REPORT_NUMBER_BYTES], failed[REPORT_NUMBER_BYTES];

	write_entry(output, "Queries",
		"%s answered, %s failed; %" PRIu32 " running, %" PRIu32 " waiting",
		report_count(queries->answered, count),
		report_count(queries->failed + queries->timed_out, failed), queries->running,
		queries->waiting);
}

void report_write_text(const struct report *report, struct output *output)
{
	const struct service_status *service = &report->service;

	write_title(service, output);
	report_write_problems(service, output);
	output_char(output, '\n');
	write_engine(service, output);
	write_sampling(service, output);
	write_cost(service, output);
	write_memory(service, output);
	write_history(service, output);
	write_sinks(service, output);
	write_samples(service, output);
	write_sources(service, output);
	write_names(service, output);
	write_processes(service, output);
	write_interpreted(service, output);
	write_jit(service, output);
	write_users(service, output);
	write_queries(report, output);
}
