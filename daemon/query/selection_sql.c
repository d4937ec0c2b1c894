/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/selection_sql.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "query/selection_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { HOUR_S = 3600 };

void sql_write_text(FILE *file, const char *text)
{
	(void)fputc('\'', file);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			(void)fputc('\\', file);
		(void)fputc(*text, file);
	}
	(void)fputc('\'', file);
}

/* --- globs --- */

/* The bracket expression that begins at `glob`; 0: it has no end, and '[' stands for itself. */
static size_t bracket_size(const char *glob)
{
	size_t size = 1;

	size += glob[size] == '!' || glob[size] == '^';
	size += glob[size] == ']';
	size += strcspn(glob + size, "]");
	return glob[size] ? size + 1 : 0;
}

/* Writes a byte of a regular expression that is in a literal: both have backslashes. */
static void write_byte(FILE *file, char byte)
{
	if (byte == '\'')
		(void)fputs("\\'", file);
	else if (byte == '\\')
		(void)fputs("\\\\\\\\", file);
	else if (strchr(".+()|{}^$*?[]", byte))
		(void)fprintf(file, "\\\\%c", byte);
	else
		(void)fputc(byte, file);
}

static size_t write_bracket(FILE *file, const char *glob, size_t size)
{
	const bool is_negated = glob[1] == '!' || glob[1] == '^';

	(void)fputs(is_negated ? "[^" : "[", file);
	for (size_t i = 1 + is_negated; i + 1 < size; i++)
		if (glob[i] == '-')
			(void)fputc('-', file);
		else
			write_byte(file, glob[i]);
	(void)fputc(']', file);
	return size;
}

static void write_regular_expression(FILE *file, const char *glob)
{
	while (*glob) {
		const size_t bracket = *glob == '[' ? bracket_size(glob) : 0;

		if (bracket > 0) {
			glob += write_bracket(file, glob, bracket);
			continue;
		}
		if (*glob == '*')
			(void)fputs(".*", file);
		else if (*glob == '?')
			(void)fputc('.', file);
		else
			write_byte(file, *glob);
		glob++;
	}
}

void sql_write_match(FILE *file, const char *column, const char *value)
{
	if (!strpbrk(value, "*?[")) {
		(void)fprintf(file, "%s = ", column);
		sql_write_text(file, value);
		return;
	}
	(void)fprintf(file, "match(%s, '(?s)^", column);
	write_regular_expression(file, value);
	(void)fputs("$')", file);
}

/* --- labels --- */

/* Labels are texts "name=value" (pilotlight/clickhouse_schema.h). */
static void write_label(FILE *file, const struct selection_value *value)
{
	const enum selection_parameter parameter = (enum selection_parameter)value->parameter;
	const bool is_prefix = parameter == SELECTION_CONTAINER || parameter == SELECTION_POD;
	const bool is_last_part = parameter == SELECTION_EXE && !strchr(value->text, '/');
	const char *name = selection_parameter_name(parameter);

	/* It also matches what has no such label. */
	if (strcmp(value->text, "*") == 0) {
		(void)fputc('1', file);
		return;
	}
	if (parameter == SELECTION_COMM || parameter == SELECTION_THREAD) {
		sql_write_match(file, "comm", value->text);
		return;
	}
	if (!value->is_glob && !is_prefix && !is_last_part) {
		(void)fprintf(file, "has(labels, concat('%s=', ", name);
		sql_write_text(file, value->text);
		(void)fputs("))", file);
		return;
	}
	(void)fprintf(
		file, "arrayExists(x -> match(x, '(?s)^%s=%s", name, is_last_part ? "(.*/)?" : "");
	if (value->is_glob)
		write_regular_expression(file, value->text);
	else
		for (const char *byte = value->text; *byte; byte++)
			write_byte(file, *byte);
	(void)fprintf(file, "%s'), labels)", is_prefix && !value->is_glob ? "" : "$");
}

static int write_filter(const struct selection *selection, enum selection_parameter parameter,
	FILE *file, struct fault *fault)
{
	const char *between = " AND (";

	switch (parameter) {
	case SELECTION_COMM:
	case SELECTION_THREAD:
	case SELECTION_EXE:
	case SELECTION_UNIT:
	case SELECTION_CONTAINER:
	case SELECTION_POD:
		break;
	default:
		return fault_set(fault, -EINVAL,
			"a fleet is not selected by %s; ask the host itself, or select by host, "
			"unit, container, pod, exe or comm",
			selection_parameter_name(parameter));
	}
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == parameter) {
			(void)fputs(between, file);
			write_label(file, &selection->values[i]);
			between = " OR ";
		}
	(void)fputc(')', file);
	return 0;
}

/* --- the rest --- */

const char *selection_event(const struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++)
		if (selection->values[i].parameter == SELECTION_EVENT)
			return selection->values[i].text;
	return event_sources[PILOTLIGHT_SOURCE_CPU].name;
}

void selection_get_times(
	const struct selection *selection, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	*ret_start_ns = selection->start_ns;
	*ret_end_ns = selection->end_ns;
}

/* A type is the name of a source, or of an event that the user has named. */
static void write_types(const struct selection *selection, FILE *file)
{
	const char *event = selection_event(selection), *between = "";
	const struct event_source *source = event_source_of(event);

	(void)fputs("type IN (", file);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (source == &event_source_wall ? event_source_is_of_wall(i)
						 : source == &event_sources[i]) {
			(void)fputs(between, file);
			sql_write_text(
				file, event_source_is_counted(i) ? event : event_sources[i].name);
			between = ", ";
		}
	(void)fputc(')', file);
}

/* The times of rows are seconds, to the nearest. */
static uint64_t seconds_of(uint64_t ns)
{
	const uint64_t s = (ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;

	return s < UINT32_MAX ? s : UINT32_MAX;
}

size_t selection_sql_times(
	const struct selection *selection, struct sql_times ret_times[SQL_TIMES_MAX])
{
	const uint64_t start = seconds_of(selection->start_ns);
	const uint64_t end = seconds_of(selection->end_ns);
	const uint64_t first = (start + HOUR_S - 1) / HOUR_S * HOUR_S, last = end - end % HOUR_S;
	const uint64_t bounds[] = { start, first, last, end };
	size_t count = 0;

	/* There are no sums by the ids of traces. */
	if (first >= last || selection_has_spans(selection)) {
		ret_times[0] = (struct sql_times){ start, end };
		return 1;
	}
	for (size_t i = 0; i < SQL_TIMES_MAX; i++)
		if (bounds[i] < bounds[i + 1])
			ret_times[count++] = (struct sql_times){ bounds[i], bounds[i + 1] };
	return count;
}

/* The key of the table has the hour, which a server does not conclude from the time. */
static void write_times(const struct sql_times *times, FILE *file)
{
	const uint64_t start = times->start_s, end = times->end_s;

	/* Sums of whole hours may be there already (clickhouse_schema.h). */
	if (start % HOUR_S == 0 && end % HOUR_S == 0) {
		(void)fprintf(file,
			" AND toStartOfHour(ts) >= toDateTime(%" PRIu64
			") AND toStartOfHour(ts) < toDateTime(%" PRIu64 ")",
			start, end);
		return;
	}
	(void)fprintf(file,
		" AND toStartOfHour(ts) >= toDateTime(%" PRIu64
		") AND toStartOfHour(ts) <= toDateTime(%" PRIu64 ") AND ts >= toDateTime(%" PRIu64
		") AND ts < toDateTime(%" PRIu64 ")",
		start - start % HOUR_S, end - end % HOUR_S, start, end);
}

/* As bytes, of digits that are no SQL (I8). */
static void write_ids(const struct span_choice *spans, FILE *file)
{
	char trace[TRACE_ID_TEXT_BYTES], span[SPAN_ID_TEXT_BYTES];

	if (spans->has_trace)
		(void)fprintf(file, " AND trace_id = toFixedString(unhex('%s'), 16)",
			trace_id_format(&spans->ids, trace));
	if (spans->has_span)
		(void)fprintf(file, " AND span_id = toFixedString(unhex('%s'), 8)",
			span_id_format(&spans->ids, span));
}

int selection_write_sql(const struct selection *selection, const struct sql_times *times,
	FILE *file, struct fault *fault)
{
	int r = 0;

	write_types(selection, file);
	write_times(times, file);
	write_ids(&selection->spans, file);
	for (enum selection_parameter i = SELECTION_FILTERS; r == 0 && i < SELECTION_PARAMETERS;
		i++)
		if (selection->is_given[i])
			r = write_filter(selection, i, file, fault);
	return r;
}
