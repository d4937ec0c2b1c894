/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_failure.h"

#include "base/event_source.h"
#include "base/output.h"
#include "base/time_text.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	SENTENCE_BYTES = 1024,
	EVENTS_MAX = 8,
	EVENT_BYTES = 48,
	MEBIBYTE = 1 << 20,
};

static const char ellipsis[] = "…";

/* Truncates at a character boundary. */
static void shorten(char *text, size_t room, const char *sentence)
{
	size_t size = 0, step, limit = room - sizeof(ellipsis);

	if (strlen(sentence) < room) {
		(void)strcpy(text, sentence);
		return;
	}
	while ((step = utf8_sequence(sentence + size, strlen(sentence + size))) > 0 &&
		size + step <= limit)
		size += step;
	memcpy(text, sentence, size);
	(void)strcpy(text + size, ellipsis);
}

int answer_fail(struct answer_reply *reply, uint16_t status, const char *format, ...)
{
	char sentence[SENTENCE_BYTES], clean[UTF8_CLEAN_BYTES];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (size < 0)
		sentence[0] = '\0';
	(void)utf8_clean(clean, sentence, strlen(sentence));
	*reply = (struct answer_reply){ .version = ANSWER_VERSION, .status = status };
	shorten(reply->text, sizeof(reply->text), clean);
	return -EPROTO;
}

int answer_fail_memory(struct answer_reply *reply, uint64_t memory_max)
{
	return answer_fail(reply, ANSWER_TOO_LARGE,
		"the query needs more than %" PRIu64
		" MiB of memory; select less: a shorter time, a unit or a process",
		memory_max / MEBIBYTE);
}

int answer_fail_reading(
	struct answer_reply *reply, int error, const struct fault *fault, uint64_t memory_max)
{
	if (error == -ENOMEM || error == -E2BIG)
		return answer_fail_memory(reply, memory_max);
	if (error == -EBUSY)
		return answer_fail(
			reply, ANSWER_UNAVAILABLE, "the history database stayed locked; try again");
	return answer_fail(
		reply, ANSWER_FAILED, "%s", fault->text[0] ? fault->text : strerror(-error));
}

/* The events of some windows. */
struct events {
	char names[EVENTS_MAX][EVENT_BYTES];
	size_t count;
};

static int note_event(void *context, const struct store_window_line *line)
{
	struct events *events = context;

	for (size_t i = 0; i < events->count; i++)
		if (strncmp(events->names[i], line->event, EVENT_BYTES - 1) == 0)
			return 0;
	if (events->count < EVENTS_MAX)
		(void)snprintf(events->names[events->count++], EVENT_BYTES, "%s", line->event);
	return 0;
}

/* Names the events that the history has for this time. */
static int fail_event(
	struct answer_reply *reply, const char *history, const struct store_selection *asked)
{
	struct events events = { .count = 0 };
	char list[SENTENCE_BYTES] = "";
	size_t used = 0;

	(void)store_reader_each(history, asked->start_ns, asked->end_ns, note_event, &events, NULL);
	for (size_t i = 0; i < events.count; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
			i > 0 ? ", " : "", events.names[i]);
	return answer_fail(reply, ANSWER_NOT_FOUND,
		"no event \"%.40s\" in the history of this time; there is %s",
		asked->event ? asked->event : event_sources[PILOTLIGHT_SOURCE_CPU].name, list);
}

static int fail_time(struct answer_reply *reply, const struct store_selection *asked,
	const struct store_summary *summary)
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES];
	char first[TIME_TEXT_BYTES], last[TIME_TEXT_BYTES];
	bool is_gap = asked->start_ns >= summary->first_ns && asked->end_ns <= summary->last_ns;

	(void)time_text_format(summary->first_ns, first);
	(void)time_text_format(summary->last_ns, last);
	(void)time_text_format(asked->end_ns, end);
	if (asked->start_ns == 0)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"no history before %s; it reaches from %s to %s", end, first, last);
	return answer_fail(reply, ANSWER_NOT_FOUND,
		"no history from %s to %s%s; it reaches from %s to %s",
		time_text_format(asked->start_ns, start), end,
		is_gap ? ", when nothing was recorded" : "", first, last);
}

static int fail_windows(struct answer_reply *reply, const char *history,
	const struct store_selection *asked, const struct store_found *found, uint64_t memory_max)
{
	struct store_summary summary = { 0 };
	struct fault fault = { 0 };
	int r;

	if (found->has_other_events)
		return fail_event(reply, history, asked);
	if (found->days_damaged > 0)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"the history of this time is damaged: %" PRIu64
			" of its days cannot be read; see the service's journal",
			found->days_damaged);
	r = store_reader_summary(history, &summary, &fault);
	if (r < 0)
		return answer_fail_reading(reply, r, &fault, memory_max);
	if (summary.windows == 0)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"the history is still empty; try again in some seconds");
	return fail_time(reply, asked, &summary);
}

/* Lists as many existing values of the parameter as fit into the reply. */
static int fail_filter(struct answer_reply *reply, const struct selection *selection)
{
	const char *const *names;
	const char *parameter;
	char list[SENTENCE_BYTES];
	size_t count = selection_seen(selection, &parameter, &names), used = 0;

	if (!parameter)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"nothing in the history matches all of this: %s",
			selection_text(selection));
	if (count == 0)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"nothing in the history of this time has a %s; omit that parameter",
			parameter);
	list[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "", names[i]);
	return answer_fail(reply, ANSWER_NOT_FOUND,
		"no such %s in the history of this time; there is %s", parameter, list);
}

int answer_fail_empty(struct answer_reply *reply, const char *history, struct selection *selection,
	const struct store_found *found, uint64_t memory_max)
{
	struct store_selection asked;

	if (found->lacks_spans)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"nothing in the history matches all of this: %s; it does not keep spans of "
			"all this time (FineHistory= in pilotlight.conf)",
			selection_text(selection));
	if (found->windows > 0 || found->supplements > 0)
		return fail_filter(reply, selection);
	selection_store(selection, &asked);
	return fail_windows(reply, history, &asked, found, memory_max);
}

int answer_fail_incident(struct answer_reply *reply, uint64_t number,
	const struct store_selection *asked, bool is_before)
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES];

	(void)time_text_format(asked->start_ns, start);
	(void)time_text_format(asked->end_ns, end);
	if (is_before)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"nothing to compare incident %" PRIu64
			" with: no history from %s to %s; pilotlight flamegraph --incident %" PRIu64
			" shows it alone",
			number, start, end, number);
	return answer_fail(reply, ANSWER_NOT_FOUND,
		"no history of incident %" PRIu64
		" any more, or nothing was recorded from %s to %s",
		number, start, end);
}

int answer_fail_coarse(struct answer_reply *reply, const char *history, uint64_t start_ns,
	uint64_t end_ns, uint64_t memory_max)
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES], next[TIME_TEXT_BYTES];
	struct fault fault = { 0 };
	uint64_t next_ns = UINT64_MAX;
	int r = store_reader_first_times(history, end_ns, &next_ns, &fault);

	if (r < 0)
		return answer_fail_reading(reply, r, &fault, memory_max);
	(void)time_text_format(start_ns, start);
	(void)time_text_format(end_ns, end);
	if (next_ns == UINT64_MAX)
		return answer_fail(reply, ANSWER_NOT_FOUND,
			"the history keeps no times of samples from %s to %s, nor later "
			"(FineHistory= in pilotlight.conf); give no fraction of a second",
			start, end);
	return answer_fail(reply, ANSWER_NOT_FOUND,
		"the history keeps no times of samples from %s to %s, but from %s on; give a later "
		"time, or no fraction of a second",
		start, end, time_text_format(next_ns, next));
}

int answer_fail_live(struct answer_reply *reply, const struct event_source *source)
{
	return answer_fail(reply, ANSWER_INVALID,
		"%s counts what lives at the end of a window, and has no times of samples; select "
		"whole windows, or another event",
		source->name);
}
