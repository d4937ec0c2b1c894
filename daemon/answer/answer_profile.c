/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the profile of one side, names its functions, and makes its title. */
#include "answer/answer_private.h"

#include "answer/answer_failure.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/time_text.h"
#include "query/naming.h"
#include "symbolize/cached_symbol_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Up to this time, an answer whose format has spans tells them. */
#define SPANS_TIME_MAX_NS (3600ULL * NSEC_PER_SEC)

size_t answer_profile_budget(const struct answer *answer)
{
	uint64_t budget = answer->request->memory_max / 2;

	if (answer->request->kind == ANSWER_DIFFERENCE)
		budget /= 2;
	return budget < SIZE_MAX ? (size_t)budget : SIZE_MAX;
}

/* Appends to a title of TITLE_BYTES, which is cut at its end. */
static void append(char *title, size_t *used, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *title, size_t *used, const char *format, ...)
{
	const size_t room = TITLE_BYTES - *used;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(title + *used, room, format, arguments);
	va_end(arguments);
	if (n > 0)
		*used += (size_t)n < room ? (size_t)n : room - 1;
}

/*
 * A sum that lacks a source, even for a part of the time, is no wall-clock time. Windows of one
 * time have the same length.
 */
static void name_missing_sources(
	const struct profile *profile, const struct store_found *found, char *title, size_t *used)
{
	const char *event = string_pool_get(&profile->strings, profile->event);
	uint64_t whole_ns = 0;

	if (event_source_of(event) != &event_source_wall)
		return;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (found->source_ns[i] > whole_ns)
			whole_ns = found->source_ns[i];
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		char missing[TIME_TEXT_BYTES];

		if (event_source_is_of_wall((enum pilotlight_source)i) &&
			found->source_ns[i] < whole_ns)
			append(title, used, "%s not sampled for %s: ", event_sources[i].title,
				time_text_format_duration(whole_ns - found->source_ns[i], missing));
	}
}

/* What an exact selection had to leave out. */
static void name_untimed(
	const struct profile *profile, const struct store_found *found, char *title, size_t *used)
{
	if (profile->period_ns > 0 && found->untimed_ns >= profile->period_ns)
		append(title, used, "without %" PRIu64 " samples that have no time: ",
			found->untimed_ns / profile->period_ns);
}

void answer_title(struct answer *answer, enum difference_side side, const struct profile *profile,
	const struct store_found *found, bool lacks_names)
{
	const struct selection *selection = answer->parameters.sides[side];
	char *shown = answer->titles[side], host[HOST_NAME_MAX + 1] = "";
	char time[SELECTION_TIME_BYTES];
	size_t used = 0;

	/* Pictures of several hosts lie side by side. */
	if (gethostname(host, sizeof(host) - 1) == 0 && host[0])
		append(shown, &used, "%s: ", host);
	if (found->days_damaged > 0)
		append(shown, &used, "without %" PRIu64 " of the days, which cannot be read: ",
			found->days_damaged);
	if (found->is_partial)
		append(shown, &used, "without windows of other events; ask with event=...: ");
	if (found->lacks_spans)
		append(shown, &used, "without windows that keep no spans any more: ");
	name_missing_sources(profile, found, shown, &used);
	if (answer->request->kind != ANSWER_HEATMAP)
		name_untimed(profile, found, shown, &used);
	if (lacks_names)
		append(shown, &used, "some names missing (out of memory): ");
	/* The time that is shown: the history may have less than was asked for, and whole windows.
	 */
	append(shown, &used, "%s%s",
		selection_time_text(selection, profile->start_ns, profile->end_ns, time),
		selection_filter_text(selection));
}

/* Excludes losses outside the selection from the accounts and their total. */
static void select_accounts(struct profile *profile)
{
	uint64_t selected = 0;

	for (size_t i = 0; i < profile->samples.count; i++)
		selected += profile->samples.items[i].count;
	accounts_select(&profile->accounts, selected);
}

/* Excludes all other samples from the accounts, and losses, since it is unknown whose they were. */
static void own_accounts(struct profile *profile)
{
	struct accounts accounts = { 0 };

	for (size_t i = 0; i < profile->samples.count; i++)
		accounts.fired += profile->samples.items[i].count;
	accounts.stored[PILOTLIGHT_PATH_MAP] = accounts.fired;
	profile->accounts = accounts;
}

/* A binary without an image has file offsets for addresses, which symbols cannot match. */
static int open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	const struct profile *profile = context;
	const struct profile_binary *binary = &profile->binaries.items[profile_binary];

	if (binary->text_bytes == 0 || (binary->build_id.size == 0 && binary->symbols.id.size == 0))
		return -ENOENT;
	/* Omits the path: the string may move while names are added, and no code opens it. */
	*ret_binary = (struct symbol_binary){
		.build_id = binary->build_id,
		.identity = binary->symbols,
		.path = "",
		.fd = -1,
		.debug_fd = -1,
	};
	return 0;
}

const struct event_source *answer_source_of(const struct store_selection *asked)
{
	return event_source_of(asked->event ? asked->event : "");
}

/* Their number is that of requests, and what is read for them is a multiple of the folds. */
static bool takes_spans(
	const struct answer_parameters *parameters, const struct store_selection *asked)
{
	const char *format = parameters->format->name;

	return (asked->spans || asked->end_ns - asked->start_ns <= SPANS_TIME_MAX_NS) &&
	       (strcmp(format, "otlp") == 0 ||
		       ((strcmp(format, "clickhouse") == 0 || strcmp(format, "pprof") == 0) &&
			       parameters->pprof_labels != PPROF_LABELS_SERVICE));
}

static int choose_details(struct answer *answer, struct store_selection *asked)
{
	asked->takes_times = answer->parameters.has_times;
	if (asked->takes_times && asked->spans)
		return answer_fail(answer->reply, ANSWER_INVALID,
			"spans of samples have no times of their own; leave out times");
	asked->takes_spans = !asked->takes_times && takes_spans(&answer->parameters, asked);
	if (asked->is_exact && answer_source_of(asked)->is_live)
		return answer_fail_live(answer->reply, answer_source_of(asked));
	return 0;
}

int answer_fail_side(
	struct answer *answer, enum difference_side side, const struct store_found *found)
{
	const struct answer_parameters *parameters = &answer->parameters;
	const bool is_before = side == DIFFERENCE_BASE && parameters->is_before;
	const bool has_windows = found->windows > 0 || found->supplements > 0 ||
				 found->has_other_events || found->days_damaged > 0;
	struct store_selection asked;

	if (parameters->incident == 0 || has_windows || (side == DIFFERENCE_BASE && !is_before))
		return answer_fail_empty(answer->reply, answer->request->history,
			parameters->sides[side], found, answer->request->memory_max);
	selection_store(parameters->sides[side], &asked);
	return answer_fail_incident(answer->reply, parameters->incident, &asked, is_before);
}

int answer_read_side(struct answer *answer, enum difference_side side)
{
	struct selection *selection = answer->parameters.sides[side];
	struct store_selection asked;
	struct store_found found = { 0 };
	struct profile *profile;
	struct naming_counters counters;
	struct fault fault = { 0 };
	int r;

	selection_store(selection, &asked);
	if (thread_group_needs_processes(answer->parameters.group))
		asked.merges_threads = false;
	r = choose_details(answer, &asked);
	if (r < 0)
		return r;
	r = store_reader_read(answer->request->history, &asked, answer_profile_budget(answer),
		&answer->profiles[side], &found, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	profile = answer->profiles[side];
	if (found.coarse_windows > 0)
		return answer_fail_coarse(answer->reply, answer->request->history,
			found.coarse_start_ns, found.coarse_end_ns, answer->request->memory_max);
	if ((found.windows == 0 && found.supplements == 0) ||
		(profile->samples.count == 0 && selection_has_filter(selection) &&
			!(side == DIFFERENCE_BASE && answer->parameters.is_of_subject)))
		return answer_fail_side(answer, side, &found);
	if (asked.takes_times && profile->stamps.count == 0 && profile->samples.count > 0)
		return answer_fail(answer->reply, ANSWER_NOT_FOUND,
			"the history keeps no times of these samples; leave out times");
	if (answer->request->scope == ANSWER_OWN)
		own_accounts(profile);
	else if (selection_has_filter(selection))
		select_accounts(profile);
	r = naming_run(profile, cached_symbol_source_interface(answer->names), open_binary, profile,
		&counters);
	if (r == -ENOMEM)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	if (strcmp(answer->parameters.format->name, "parca") == 0)
		naming_drop_places(profile);
	interpreted_frames_choose(profile, answer->parameters.interpreted_frames);
	if (thread_group_name(profile, answer->parameters.group) < 0)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	answer->covered_ns = profile->covered_ns;
	answer_title(answer, side, profile, &found, r == -E2BIG);
	return 0;
}
