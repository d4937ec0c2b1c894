/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_words.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The history lags if this many window lengths pass without a seal. */
enum { WINDOWS_LATE = 3 };

static void write_problem(struct output *output, size_t *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void write_problem(struct output *output, size_t *count, const char *format, ...)
{
	char text[REPORT_ENTRY_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if ((*count)++ == 0)
		output_string(output, "Problems:\n");
	output_string(output, "  ! ");
	report_write_words(output, text, 4);
}

/* What to do about losses. */
static const char *remedy_of(enum pilotlight_drop reason)
{
	switch (reason) {
	case PILOTLIGHT_DROP_RING_FULL:
	case PILOTLIGHT_DROP_UNREAD:
		return "samples came faster than the engine reads them: lower FrequencyHz, sample "
		       "fewer sources, or raise MaxBytes in [Memory]";
	case PILOTLIGHT_DROP_PROFILE_FULL:
		return "a window has no room for more stacks: raise MaxBytes in [Memory], or "
		       "shorten Window in [History]";
	case PILOTLIGHT_DROP_ENGINE:
		return "an engine was killed or restarted: journalctl -u pilotlightd says why";
	default:
		return "please report it, with what journalctl -u pilotlightd says";
	}
}

static enum pilotlight_drop greatest_loss(const struct accounts *accounts)
{
	enum pilotlight_drop greatest = PILOTLIGHT_DROP_COUNT;

	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (accounts_drop_is_loss(i) && accounts->dropped[i] > 0 &&
			(greatest == PILOTLIGHT_DROP_COUNT ||
				accounts->dropped[i] > accounts->dropped[greatest]))
			greatest = i;
	return greatest;
}

/* One of so many non-idle samples, in the last window and since the start. */
enum { LOSSES_OF_WINDOW = 1000, LOSSES_OF_ALL = 100 };

/* `what` begins the sentence's end: "of the last window's samples were lost". */
static void write_losses(const struct accounts *accounts, unsigned one_of, const char *what,
	struct output *output, size_t *count)
{
	uint64_t lost = accounts_lost(accounts), all = accounts_stored(accounts) + lost;
	char share[REPORT_SHARE_BYTES];
	enum pilotlight_drop reason;

	if (lost <= all / one_of)
		return;
	reason = greatest_loss(accounts);
	write_problem(output, count, "%s %s, most for this reason: %s; %s.",
		report_share(lost, all, share), what, accounts_drop_name(reason),
		remedy_of(reason));
}

/* Losses since the start matter also when the last window has none: queries show them. */
static void write_loss_problems(
	const struct service_status *service, struct output *output, size_t *count)
{
	struct accounts all = service->accounts;

	all.dropped[PILOTLIGHT_DROP_ENGINE] += service->lost_by_engines;
	write_losses(&service->last_window, LOSSES_OF_WINDOW,
		"of the last window's samples were lost", output, count);
	write_losses(
		&all, LOSSES_OF_ALL, "of all samples since the start were lost", output, count);
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		char what[REPORT_ENTRY_BYTES];

		if (!(service->sources & 1U << i))
			continue;
		(void)snprintf(what, sizeof(what), "of the %s since the start was lost",
			event_source_title(report_event_name(service, i)));
		write_losses(&service->by_source.of[i], LOSSES_OF_ALL, what, output, count);
	}
}

static void write_missing_problems(
	const struct service_status *service, struct output *output, size_t *count)
{
	char clean[UTF8_CLEAN_BYTES];

	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (service->wanted_sources & 1U << i && service->missing[i][0])
			write_problem(output, count,
				"The event %s is on, but cannot be sampled: %s. All others are.",
				report_event_name(service, i),
				REPORT_CLEAN(service->missing[i], clean));
}

static void write_history_problems(
	const struct service_status *service, struct output *output, size_t *count)
{
	char clean[UTF8_CLEAN_BYTES], duration[TIME_TEXT_BYTES];
	uint64_t since_ns = service->sealed_until_ns > service->started_ns
				    ? service->sealed_until_ns
				    : service->started_ns;

	if (!service->has_history)
		return;
	if (service->is_history_failing)
		write_problem(output, count, "The history cannot be written: %s",
			service->history_fault[0] ? REPORT_CLEAN(service->history_fault, clean)
						  : "see the journal");
	else if (service->now_ns > since_ns &&
		 (service->now_ns - since_ns) / WINDOWS_LATE > service->window_ns)
		write_problem(output, count,
			"No window was added to the history for %s (window length: %" PRIu64 " s).",
			time_text_format_duration(service->now_ns - since_ns, duration),
			service->window_ns / NSEC_PER_SEC);
}

static void write_sink_problems(
	const struct service_status *service, struct output *output, size_t *count)
{
	char clean[UTF8_CLEAN_BYTES];

	for (size_t i = 0; i < service->sink_count; i++)
		if (service->sinks[i].is_failing)
			write_problem(output, count, "The sink %s fails: %s",
				service->sinks[i].name,
				REPORT_CLEAN(service->sinks[i].fault, clean));
	if (service->meter && service->meter->is_failing)
		write_problem(output, count, "CPU time in functions is not measured: %s",
			REPORT_CLEAN(service->meter->fault, clean));
}

/* After this time the last minute no longer includes the cost of the start. */
#define START_NS (2ULL * 60 * NSEC_PER_SEC)

static bool is_starting(const struct service_status *service)
{
	return service->now_ns <= service->started_ns ||
	       service->now_ns - service->started_ns <= START_NS;
}

static bool is_too_costly(const struct service_status *service)
{
	return service->max_cost_ppm > 0 && service->cost_ppm > 1.1 * (double)service->max_cost_ppm;
}

/* The rate is lowered first, so what is left has another cause than the rate. */
static const char *cost_remedy(const struct service_status *service)
{
	uint64_t engine_ns = service->engine_cpu_ns, broker_ns = service->broker_cpu_ns;

	if (broker_ns > service->bpf_ns && broker_ns > engine_ns)
		return "most of it since the start was for reading programs' symbols and for "
		       "queries, and ends when all are read";
	if (engine_ns > service->bpf_ns)
		return "most of it since the start was the engine's: if it stays, lengthen Window "
		       "in "
		       "[History], or raise MaxCostPercent";
	return "most of it since the start was taking samples: if it stays, lower FrequencyHz, "
	       "sample fewer sources, or raise MaxCostPercent";
}

static void write_cost_problem(
	const struct service_status *service, struct output *output, size_t *count)
{
	if (!is_too_costly(service) || is_starting(service))
		return;
	write_problem(output, count,
		"CPU cost is over budget: %.3f%% of the machine's CPU time, limit %.3f%%; %s.",
		service->cost_ppm / 1e4, (double)service->max_cost_ppm / 1e4, cost_remedy(service));
}

static void write_all(const struct service_status *service, struct output *output, size_t *count)
{
	char used[REPORT_NUMBER_BYTES], budget[REPORT_NUMBER_BYTES], duration[TIME_TEXT_BYTES];
	uint64_t kept_bytes = service->memory_bytes - service->answer_bytes;

	if (service->is_config_refused)
		write_problem(output, count,
			"The configuration was not reloaded, as it has a mistake; the old one "
			"holds. "
			"`pilotlightd --check` says what is wrong.");
	write_missing_problems(service, output, count);
	write_history_problems(service, output, count);
	write_sink_problems(service, output, count);
	write_loss_problems(service, output, count);
	if (service->memory_max_bytes > 0 && kept_bytes > service->memory_max_bytes)
		write_problem(output, count, "Memory is over budget: %s used, limit %s.",
			report_bytes(kept_bytes, used),
			report_bytes(service->memory_max_bytes, budget));
	write_cost_problem(service, output, count);
	if (service->window_ns > 0 && service->drain_lag_ns > service->window_ns)
		write_problem(output, count,
			"Reading samples is %s late: the machine is overloaded, or the service's "
			"CPU quota is too small.",
			time_text_format_duration(service->drain_lag_ns, duration));
}

void report_write_problems(const struct service_status *service, struct output *output)
{
	size_t problem_count = 0;

	write_all(service, output, &problem_count);
	if (problem_count == 0 && is_starting(service) && is_too_costly(service))
		output_string(output, "No problems so far. The cost is over its limit, as it "
				      "includes the start.\n");
	else if (problem_count == 0)
		output_string(output, "No problems.\n");
}
