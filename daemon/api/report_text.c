/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report.h"
#include "api/report_fields.h"
#include "api/report_sinks.h"

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
	COLUMNS = 80,
	LABEL_COLUMNS = 13,
	ENTRY_BYTES = 1024,
	JIT_SHOWN_MAX = 5,
	NUMBER_BYTES = 32,
	SHARE_BYTES = 24,
	AMOUNT_BYTES = 64,
	/* The history lags if this many window lengths pass without a seal. */
	WINDOWS_LATE = 3,
};

static size_t columns_of(const char *text, size_t size)
{
	size_t columns = 0;

	for (size_t i = 0; i < size; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/* Writes words from column `start` on and indents the following lines to it. */
static void write_words(struct output *output, const char *text, size_t start)
{
	size_t column = start;

	while (*text) {
		size_t size = strcspn(text, " ");
		size_t columns = columns_of(text, size);

		if (column > start && column + 1 + columns > COLUMNS) {
			output_printf(output, "\n%*s", (int)start, "");
			column = start;
		} else if (column > start) {
			output_char(output, ' ');
			column++;
		}
		output_write(output, text, size);
		column += columns;
		text += size;
		text += strspn(text, " ");
	}
	output_char(output, '\n');
}

static void write_entry(struct output *output, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void write_entry(struct output *output, const char *label, const char *format, ...)
{
	char text[ENTRY_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	output_printf(output, "  %-*s", LABEL_COLUMNS - 2, label);
	write_words(output, text, LABEL_COLUMNS);
}

static const char *bytes_text(uint64_t bytes, char text[NUMBER_BYTES])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, NUMBER_BYTES, unit > 0 && value < 99.95 ? "%.1f %s" : "%.0f %s", value,
		units[unit]);
	return text;
}

static const char *count_text(uint64_t count, char text[NUMBER_BYTES])
{
	char digits[NUMBER_BYTES];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *next = text;

	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			*next++ = ',';
		*next++ = digits[i];
	}
	*next = '\0';
	return text;
}

/* Uses enough digits to show that a nonzero share is not 0. */
static const char *share_text(uint64_t part, uint64_t whole, char text[SHARE_BYTES])
{
	double percent = whole > 0 ? (double)part * 100 / (double)whole : 0;

	if (percent > 0 && percent < 0.001)
		(void)snprintf(text, SHARE_BYTES, "< 0.001%%");
	else
		(void)snprintf(text, SHARE_BYTES, percent < 1 ? "%.3f%%" : "%.1f%%", percent);
	return text;
}

static const char *clean_text(const char *text, size_t size, char clean[UTF8_CLEAN_BYTES])
{
	(void)utf8_clean(clean, text, strnlen(text, size));
	return clean;
}
#define CLEAN_TEXT(text, clean) clean_text(text, sizeof(text), clean)

/* --- problems --- */

static void write_problem(struct output *output, size_t *count, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void write_problem(struct output *output, size_t *count, const char *format, ...)
{
	char text[ENTRY_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if ((*count)++ == 0)
		output_string(output, "Problems:\n");
	output_string(output, "  ! ");
	write_words(output, text, 4);
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
	char share[SHARE_BYTES];
	enum pilotlight_drop reason;

	if (lost <= all / one_of)
		return;
	reason = greatest_loss(accounts);
	write_problem(output, count, "%s %s, most for this reason: %s; %s.",
		share_text(lost, all, share), what, accounts_drop_name(reason), remedy_of(reason));
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
		char what[ENTRY_BYTES];

		(void)snprintf(what, sizeof(what), "of the %s since the start was lost",
			event_sources[i].title);
		if (service->sources & 1U << i)
			write_losses(&service->by_source.of[i], LOSSES_OF_ALL, what, output, count);
	}
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
			service->history_fault[0] ? CLEAN_TEXT(service->history_fault, clean)
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
				service->sinks[i].name, CLEAN_TEXT(service->sinks[i].fault, clean));
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

static void write_problems(
	const struct service_status *service, struct output *output, size_t *count)
{
	char used[NUMBER_BYTES], budget[NUMBER_BYTES], duration[TIME_TEXT_BYTES];
	uint64_t kept_bytes = service->memory_bytes - service->answer_bytes;

	write_history_problems(service, output, count);
	write_sink_problems(service, output, count);
	write_loss_problems(service, output, count);
	if (service->memory_max_bytes > 0 && kept_bytes > service->memory_max_bytes)
		write_problem(output, count, "Memory is over budget: %s used, limit %s.",
			bytes_text(kept_bytes, used),
			bytes_text(service->memory_max_bytes, budget));
	write_cost_problem(service, output, count);
	if (service->window_ns > 0 && service->drain_lag_ns > service->window_ns)
		write_problem(output, count,
			"Reading samples is %s late: the machine is overloaded, or the service's "
			"CPU quota is too small.",
			time_text_format_duration(service->drain_lag_ns, duration));
}

/* --- status --- */

static void write_title(const struct service_status *service, struct output *output)
{
	char since[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES], version[UTF8_CLEAN_BYTES];

	output_printf(output, "pilotlight %s, running for %s, since %s\n",
		CLEAN_TEXT(service->version, version),
		time_text_format_duration(service->now_ns > service->started_ns
						  ? service->now_ns - service->started_ns
						  : 0,
			duration),
		time_text_format(service->started_ns, since));
}

/* A restart may be deliberate: after CPU hotplug, or when the engine's tables were full. */
static void write_engine(const struct service_status *service, struct output *output)
{
	char count[NUMBER_BYTES];

	if (service->engine_starts > 1)
		write_entry(output, "Engine",
			"started %s times, see the journal; counts begin with the last start",
			count_text(service->engine_starts, count));
}

/* Lists the rules that include, or those that exclude. */
static void write_rules(
	const struct cgroup_choice *choice, bool are_excluding, struct output *output)
{
	char text[ENTRY_BYTES] = "", rule[UTF8_CLEAN_BYTES];
	size_t size = 0;

	for (size_t i = 0; i < choice->count && size < sizeof(text); i++)
		if (choice->rules[i].is_excluding == are_excluding)
			size += (size_t)snprintf(text + size, sizeof(text) - size, " %s:%s",
				cgroup_rule_kind_name(choice->rules[i].kind),
				CLEAN_TEXT(choice->rules[i].text, rule));
	if (size > 0)
		write_entry(output, are_excluding ? "Excluded" : "Only", "%s", text + 1);
}

static void write_sampling(const struct service_status *service, struct output *output)
{
	char event[UTF8_CLEAN_BYTES], duration[TIME_TEXT_BYTES], online[NUMBER_BYTES] = "";

	if (service->online_cpu_count != service->cpu_count)
		(void)snprintf(online, sizeof(online), " online of %" PRIu32, service->cpu_count);
	write_entry(output, "Sampling",
		"%" PRIu32 " Hz on %" PRIu32 "%s CPU%s by %s; windows of %s", service->rate_hz,
		service->online_cpu_count, online,
		service->online_cpu_count == 1 && !*online ? "" : "s",
		CLEAN_TEXT(service->event, event),
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
	char all[NUMBER_BYTES], budget[NUMBER_BYTES], maps[NUMBER_BYTES], rings[NUMBER_BYTES],
		engine[NUMBER_BYTES];

	write_entry(output, "Memory", "%s, limit %s: maps %s, side-band %s, engine %s",
		bytes_text(service->memory_bytes, all),
		bytes_text(service->memory_max_bytes, budget), bytes_text(service->map_bytes, maps),
		bytes_text(service->sideband_bytes, rings),
		bytes_text(service->engine_bytes, engine));
}

static void write_history(const struct service_status *service, struct output *output)
{
	char first[TIME_TEXT_BYTES], last[TIME_TEXT_BYTES], span[TIME_TEXT_BYTES];
	char bytes[NUMBER_BYTES], bytes_max[NUMBER_BYTES], windows[NUMBER_BYTES];

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
		bytes_text(service->history.bytes, bytes),
		bytes_text(service->history_max_bytes, bytes_max),
		count_text(service->history.windows, windows), service->history.days,
		service->history.days == 1 ? "" : "s");
	if (service->windows_dropped > 0)
		write_entry(output, "", "%s windows could not be written since the start",
			count_text(service->windows_dropped, windows));
	if (!service->is_history_failing && service->history_fault[0]) {
		char clean[UTF8_CLEAN_BYTES];

		write_entry(
			output, "", "last error: %s", CLEAN_TEXT(service->history_fault, clean));
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
	char count[NUMBER_BYTES], lost_count[NUMBER_BYTES], share[SHARE_BYTES];

	if (lost == 0) {
		write_entry(
			output, "Samples", "%s since the start, none lost", count_text(all, count));
		return;
	}
	write_entry(output, "Samples", "%s since the start, %s of them lost, %s",
		count_text(all, count), count_text(lost, lost_count), share_text(lost, all, share));
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (accounts_drop_is_loss(i) && accounts->dropped[i] > 0)
			write_entry(output, "", "%s: %s, %s", accounts_drop_name(i),
				count_text(accounts->dropped[i], count),
				share_text(accounts->dropped[i], all, share));
	if (service->lost_by_engines > 0)
		write_entry(output, "", "engine killed: %s, %s",
			count_text(service->lost_by_engines, count),
			share_text(service->lost_by_engines, all, share));
}

static const char *amount_text(
	const struct event_source *source, uint64_t amount, char text[AMOUNT_BYTES])
{
	char number[NUMBER_BYTES], time[TIME_TEXT_BYTES];

	switch (event_source_unit(source)) {
	case EVENT_UNIT_TIME:
		(void)snprintf(text, AMOUNT_BYTES, "%s", time_text_format_duration(amount, time));
		break;
	case EVENT_UNIT_BYTES:
		(void)snprintf(text, AMOUNT_BYTES, "%s", bytes_text(amount, number));
		break;
	case EVENT_UNIT_COUNT:
		(void)snprintf(text, AMOUNT_BYTES, "%s %s%s", count_text(amount, number),
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
		[PILOTLIGHT_SOURCE_BLOCK_BYTES] = "Block bytes",
	};
	const struct event_source *kind = &event_sources[source];
	const struct accounts *accounts = &service->by_source.of[source];
	uint64_t lost = accounts_lost(accounts), all = accounts_stored(accounts) + lost;
	char amount_all[AMOUNT_BYTES], period[AMOUNT_BYTES], share[SHARE_BYTES];
	uint64_t amount;

	if (__builtin_mul_overflow(all, service->periods_ns[source], &amount))
		amount = UINT64_MAX;
	write_entry(output, labels[source] ? labels[source] : kind->name,
		"%s since the start, %s lost; samples of %s", amount_text(kind, amount, amount_all),
		lost > 0 ? share_text(lost, all, share) : "none",
		amount_text(kind, service->periods_ns[source], period));
}

static void write_sources(const struct service_status *service, struct output *output)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (service->sources & 1U << i)
			write_source(service, i, output);
}

static void write_names(const struct service_status *service, struct output *output)
{
	char bytes[NUMBER_BYTES], bytes_max[NUMBER_BYTES], pending[NUMBER_BYTES],
		requested[NUMBER_BYTES], without[NUMBER_BYTES], entries[NUMBER_BYTES];

	write_entry(output, "Names", "%s binaries requested: %s pending, %s failed",
		count_text(service->binaries_wanted, requested),
		count_text(service->binaries_pending, pending),
		count_text(service->binaries_failed, without));
	write_entry(output, "", "symbol cache: %s, limit %s, %s binaries",
		bytes_text(service->symbol_cache_bytes, bytes),
		bytes_text(service->symbol_cache_max_bytes, bytes_max),
		count_text(service->symbol_cache_entries, entries));
}

static void write_processes(const struct service_status *service, struct output *output)
{
	char processes[NUMBER_BYTES], mappings[NUMBER_BYTES], count[NUMBER_BYTES];

	write_entry(output, "Processes", "%s with %s executable mappings",
		count_text(service->processes, processes), count_text(service->mappings, mappings));
	if (service->processes_refused > 0)
		write_entry(output, "", "%s more not tracked: the table is full",
			count_text(service->processes_refused, count));
	if (service->threads_refused > 0)
		write_entry(output, "",
			"%s times a thread had no room, and its waits are not sampled",
			count_text(service->threads_refused, count));
	if (service->sideband_lost > 0)
		write_entry(output, "", "%s records of the side-band were lost",
			count_text(service->sideband_lost, count));
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

static void write_jit(const struct service_status *service, struct output *output)
{
	bool is_shown[SERVICE_STATUS_JIT_MAX] = { false };
	char count[NUMBER_BYTES], share[SHARE_BYTES], bytes[NUMBER_BYTES];
	const struct service_status_jit *jit;
	uint64_t shown = 0;

	if (service->jit_processes == 0 && service->jit_samples == 0)
		return;
	write_entry(output, "JIT", "%s samples, %s of them without a name",
		count_text(service->jit_samples, count),
		share_text(service->jit_leaves_unknown, service->jit_samples, share));
	for (; shown < JIT_SHOWN_MAX && (jit = next_jit(service, is_shown)); shown++) {
		char comm[UTF8_CLEAN_BYTES], kind[UTF8_CLEAN_BYTES], runtime[UTF8_CLEAN_BYTES];

		write_entry(output, "", "%s (pid %" PRIu32 "): %s%s%s, %s symbols in %s",
			CLEAN_TEXT(jit->comm, comm), jit->pid, CLEAN_TEXT(jit->kind, kind),
			jit->runtime[0] ? " of " : "", CLEAN_TEXT(jit->runtime, runtime),
			count_text(jit->symbols, count), bytes_text(jit->bytes, bytes));
	}
	if (service->jit_processes > shown)
		write_entry(output, "", "and %s more processes",
			count_text(service->jit_processes - shown, count));
}

static void write_user(
	const struct user_excess_line *line, const char *label, struct output *output)
{
	char name[USER_EXCESS_NAME_BYTES], window[NUMBER_BYTES], history[NUMBER_BYTES];

	write_entry(output, label, "%s: samples beyond its share: %s of a window, %s of a day",
		user_excess_name(line->user, name), count_text(line->refused[USER_WINDOW], window),
		count_text(line->refused[USER_HISTORY], history));
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
	char held_text[NUMBER_BYTES], all_text[SHARE_BYTES], refused_text[NUMBER_BYTES];

	if (held + refused == 0)
		return;
	(void)(of->is_bytes ? bytes_text(held, held_text) : count_text(held, held_text));
	if (resource == USER_UNWIND)
		(void)snprintf(held_text, sizeof(held_text), "tables");
	write_entry(output, of->label, "%s, %s of the room%s%s%s%s", held_text,
		share_text(held, holdings->capacity[resource], all_text), refused > 0 ? "; " : "",
		refused > 0 ? count_text(refused, refused_text) : "", refused > 0 ? " " : "",
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
	char count[NUMBER_BYTES], failed[NUMBER_BYTES];

	write_entry(output, "Queries",
		"%s answered, %s failed; %" PRIu32 " running, %" PRIu32 " waiting",
		count_text(queries->answered, count),
		count_text(queries->failed + queries->timed_out, failed), queries->running,
		queries->waiting);
}

void report_write_text(const struct report *report, struct output *output)
{
	const struct service_status *service = &report->service;
	size_t problem_count = 0;

	write_title(service, output);
	write_problems(service, output, &problem_count);
	if (problem_count == 0 && is_starting(service) && is_too_costly(service))
		output_string(output, "No problems so far. The cost is over its limit, as it "
				      "includes the start.\n");
	else if (problem_count == 0)
		output_string(output, "No problems.\n");
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
	write_jit(service, output);
	write_users(service, output);
	write_queries(report, output);
}
