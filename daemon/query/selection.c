/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "query/selection_state.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_DEFAULT_NS (600ULL * 1000000000ULL)

bool selection_has_parameter(const char *name)
{
	return selection_parameter_find(name) < SELECTION_PARAMETERS;
}

bool selection_is_time(const char *name)
{
	return selection_parameter_find(name) < SELECTION_TIMES;
}

int selection_new(struct selection **ret_selection)
{
	struct selection *selection = calloc(1, sizeof(*selection));

	if (!selection)
		return -ENOMEM;
	for (enum selection_parameter i = 0; i < SELECTION_PARAMETERS; i++)
		for (size_t j = 0; j < SELECTION_SEEN_MAX; j++)
			selection->seen[i].pointers[j] = selection->seen[i].texts[j];
	*ret_selection = selection;
	return 0;
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	for (size_t i = 0; i < selection->count; i++)
		free(selection->values[i].text);
	free(selection->text);
	free(selection);
}

static int check(const struct selection *selection, enum selection_parameter parameter,
	const char *name, const char *value, struct fault *fault)
{
	if (parameter == SELECTION_PARAMETERS)
		return fault_set(fault, -EINVAL, "there is no parameter \"%s\"", name);
	if (strlen(value) > SELECTION_VALUE_BYTES_MAX)
		return fault_set(fault, -E2BIG, "%s is longer than %d bytes; use a shorter glob",
			name, SELECTION_VALUE_BYTES_MAX);
	if (selection->count == SELECTION_VALUES_MAX)
		return fault_set(fault, -E2BIG,
			"more than %d values are given; use a glob or a slice for several",
			SELECTION_VALUES_MAX);
	if (!value[0])
		return fault_set(fault, -EINVAL, "%s has no value", name);
	if (parameter < SELECTION_FILTERS && selection->is_given[parameter])
		return fault_set(fault, -EINVAL, "%s is given twice; give it once", name);
	return 0;
}

static int add(struct selection *selection, const char *name, const char *value, bool is_exact,
	struct fault *fault)
{
	enum selection_parameter parameter = selection_parameter_find(name);
	struct selection_value *added = &selection->values[selection->count];
	char clean[UTF8_CLEAN_BYTES];
	const char *hint = NULL;
	bool is_glob;
	char *text;
	int r;

	r = check(selection, parameter, name, value, fault);
	if (r < 0)
		return r;
	(void)utf8_clean(clean, value, strlen(value));
	r = selection_parameter_normalize(parameter, clean, &text, &is_glob, &hint);
	if (r == -EINVAL)
		return fault_set(fault, r, "%s is \"%.40s\", but %s", name, clean, hint);
	if (r < 0)
		return r;
	*added = (struct selection_value){
		.text = text,
		.parameter = (uint8_t)parameter,
		.is_glob = is_glob && !is_exact,
		.is_exact = is_exact,
	};
	if (parameter == SELECTION_PID || parameter == SELECTION_TID || parameter == SELECTION_USER)
		added->number = (uint32_t)strtoul(text, NULL, 10);
	/* They have been checked. */
	if (parameter == SELECTION_TRACE)
		(void)span_choice_set_trace(&selection->spans, text);
	else if (parameter == SELECTION_SPAN)
		(void)span_choice_set_span(&selection->spans, text);
	selection->is_given[parameter] = true;
	selection->count++;
	return 0;
}

int selection_add(
	struct selection *selection, const char *name, const char *value, struct fault *fault)
{
	return add(selection, name, value, false, fault);
}

int selection_add_exact(
	struct selection *selection, const char *name, const char *value, struct fault *fault)
{
	return add(selection, name, value, true, fault);
}

void selection_restrict(struct selection *selection, uint32_t owner)
{
	assert(owner != 0);
	selection->owner = owner;
}

/* The value of a parameter that is given once; NULL: it is absent. */
static const char *value_of(const struct selection *selection, enum selection_parameter parameter)
{
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == parameter)
			return selection->values[i].text;
	return NULL;
}

/* --- times --- */

static int wrong_time(struct fault *fault, const char *name, const struct fault *reason)
{
	return fault_set(fault, -EINVAL, "%s: %s", name, reason->text);
}

/* "03:12", with or without seconds or a date behind it. */
static bool is_time_of_day(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && text[digits] == ':';
}

/* The time of day of the end is before that of the beginning, and tomorrow has not come. */
static int refuse_tomorrow(const char *text, struct fault *fault)
{
	return fault_set(fault, -EINVAL,
		"\"%.40s\" is before from, and the next one is in the future; leave it out for now",
		text);
}

static int parse_end(const char *text, uint64_t start_ns, bool has_start, uint64_t now_ns,
	uint64_t *ret_ns, struct fault *fault)
{
	/* Hours after the start: its own day, or the next one, as a day has 23 to 25 hours. */
	static const uint64_t hours[] = { 0, 22, 26 };
	const uint64_t hour_ns = 3600 * 1000000000ULL;
	const char *at = text + strspn(text, " \t");
	bool is_of_day = is_time_of_day(at);
	uint64_t ns = 0;
	size_t tries = 0;
	int r = 0;

	if (!has_start || (!is_of_day && *at != '+'))
		return time_text_parse(text, now_ns, ret_ns, fault);
	for (; r == 0 && ns <= start_ns && tries < (is_of_day ? ARRAY_SIZE(hours) : 1); tries++)
		if (start_ns < UINT64_MAX - hours[tries] * hour_ns)
			r = time_text_parse(text, start_ns + hours[tries] * hour_ns, &ns, fault);
	if (r == 0 && tries > 1 && start_ns <= now_ns && ns > now_ns)
		return refuse_tomorrow(text, fault);
	if (r == 0)
		*ret_ns = ns;
	return r;
}

static int parse_times(struct selection *selection, uint64_t now_ns, struct fault *fault)
{
	const char *last = value_of(selection, SELECTION_LAST);
	const char *from = value_of(selection, SELECTION_FROM);
	const char *to = value_of(selection, SELECTION_TO);
	uint64_t start_ns = 0, end_ns = now_ns, last_ns = LAST_DEFAULT_NS;
	struct fault reason = { 0 };

	if (last && from)
		return fault_set(
			fault, -EINVAL, "last and from both set the beginning; give one of them");
	if (last && time_text_parse_duration(last, &last_ns, &reason) < 0)
		return wrong_time(fault, "last", &reason);
	if (from && time_text_parse(from, now_ns, &start_ns, &reason) < 0)
		return wrong_time(fault, "from", &reason);
	if (to && parse_end(to, start_ns, from, now_ns, &end_ns, &reason) < 0)
		return wrong_time(fault, "to", &reason);
	if (last || (!from && !to))
		start_ns = end_ns > last_ns ? end_ns - last_ns : 0;
	if (from && !to && start_ns >= now_ns)
		return fault_set(fault, -EINVAL,
			"from is \"%.40s\", which is in the future; for the day before, write "
			"\"yesterday 03:12\"",
			from);
	if (start_ns >= end_ns)
		return fault_set(fault, -EINVAL, "the end is not after the beginning");
	selection->start_ns = start_ns;
	selection->end_ns = end_ns;
	return 0;
}

bool selection_has_fraction(const char *from_or_to)
{
	const char *minutes = from_or_to ? strchr(from_or_to, ':') : NULL;

	return minutes && strchr(minutes, '.');
}

static bool is_by_end(const struct selection *selection)
{
	const char *windows = value_of(selection, SELECTION_WINDOWS);

	return windows && strcmp(windows, "ended") == 0;
}

/* Without a word on windows, a fraction of a second asks for exact times. */
static bool is_exact(const struct selection *selection)
{
	const char *windows = value_of(selection, SELECTION_WINDOWS);

	if (windows)
		return strcmp(windows, "exact") == 0;
	return selection_has_fraction(value_of(selection, SELECTION_FROM)) ||
	       selection_has_fraction(value_of(selection, SELECTION_TO));
}

bool selection_has_spans(const struct selection *selection)
{
	return selection->is_given[SELECTION_TRACE] || selection->is_given[SELECTION_SPAN];
}

/* --- the selection in words --- */

enum { DATE_BYTES = sizeof("2026-11-20 ") - 1 };

/* With milliseconds, if they count. */
static const char *format_time(
	const struct selection *selection, uint64_t time_ns, char text[TIME_TEXT_BYTES])
{
	const size_t used = strlen(time_text_format(time_ns, text));

	if (is_exact(selection))
		(void)snprintf(text + used, TIME_TEXT_BYTES - used, ".%03u",
			(unsigned)(time_ns / 1000000 % 1000));
	return text;
}

/* Omits the date of the end if it equals the date of the beginning. */
const char *selection_time_text(const struct selection *selection, uint64_t start_ns,
	uint64_t end_ns, char text[SELECTION_TIME_BYTES])
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES];
	const char *shown = format_time(selection, end_ns, end);

	if (start_ns == 0) {
		(void)snprintf(text, SELECTION_TIME_BYTES, "until %s", shown);
		return text;
	}
	(void)format_time(selection, start_ns, start);
	if (strncmp(start, end, DATE_BYTES) == 0)
		shown = end + DATE_BYTES;
	(void)snprintf(text, SELECTION_TIME_BYTES, "%s to %s", start, shown);
	return text;
}

static void write_values(
	const struct selection *selection, enum selection_parameter parameter, FILE *file)
{
	const char *before = selection_parameter_name(parameter), *between = ", ";

	for (size_t i = 0; i < selection->count; i++) {
		if (selection->values[i].parameter != parameter)
			continue;
		(void)fprintf(file, "%s%s %s", between, before, selection->values[i].text);
		between = " ";
		before = "or";
	}
}

static int describe(struct selection *selection)
{
	char time[SELECTION_TIME_BYTES], *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	bool has_failed;

	if (!file)
		return -ENOMEM;
	(void)fputs(
		selection_time_text(selection, selection->start_ns, selection->end_ns, time), file);
	selection->time_size = strlen(time);
	for (enum selection_parameter i = SELECTION_EVENT; i < SELECTION_PARAMETERS; i++)
		/* The times show that they are exact, and that they overlap is the default. */
		if (selection->is_given[i] && (i != SELECTION_WINDOWS || is_by_end(selection)))
			write_values(selection, i, file);
	if (selection->owner != 0)
		(void)fprintf(file, ", of user %" PRIu32 " alone", selection->owner - 1);
	has_failed = ferror(file);
	if (fclose(file) != 0 || has_failed) {
		free(text);
		return -ENOMEM;
	}
	free(selection->text);
	selection->text = text;
	return 0;
}

int selection_finish(struct selection *selection, uint64_t now_ns, struct fault *fault)
{
	int r = parse_times(selection, now_ns, fault);

	if (r == 0 && selection_has_spans(selection) && is_exact(selection))
		return fault_set(fault, -EINVAL,
			"trace and span select whole windows, so times cannot be exact; leave out "
			"fractions of seconds");
	return r < 0 ? r : describe(selection);
}

/* --- after selection_finish() --- */

void selection_store(struct selection *selection, struct store_selection *ret_selection)
{
	const bool *is_given = selection->is_given;
	bool has_processes = is_given[SELECTION_PID] || is_given[SELECTION_TID];
	bool has_threads = selection->owner != 0;

	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_PARAMETERS; i++) {
		selection->has_matched[i] = false;
		selection->seen[i].count = 0;
		if (i != SELECTION_BUILD_ID)
			has_threads = has_threads || is_given[i];
	}
	*ret_selection = (struct store_selection){
		.start_ns = selection->start_ns,
		.end_ns = selection->end_ns,
		.merges_threads = !has_processes,
		.wants_processes = has_processes,
		.wants_thread = has_threads ? selection_matches_thread : NULL,
		.wants_binary = is_given[SELECTION_BUILD_ID] ? selection_matches_binary : NULL,
		.event = value_of(selection, SELECTION_EVENT),
		.by_end = is_by_end(selection),
		.is_exact = is_exact(selection),
		.spans = selection_has_spans(selection) ? &selection->spans : NULL,
		.context = selection,
	};
}

bool selection_has_filter(const struct selection *selection)
{
	if (selection->owner != 0 || selection_has_spans(selection))
		return true;
	for (enum selection_parameter i = SELECTION_FILTERS; i < SELECTION_PARAMETERS; i++)
		if (selection->is_given[i])
			return true;
	return false;
}

const char *selection_text(const struct selection *selection)
{
	return selection->text ? selection->text : "";
}

const char *selection_filter_text(const struct selection *selection)
{
	return selection->text ? selection->text + selection->time_size : "";
}
