/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_text.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/output.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "tools/shown_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double at_most(double value, double most)
{
	return value < most ? value : most;
}

static double per_cent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * The number of samples of a fully busy CPU, or of a thread that is blocked all the time, in the
 * time that the windows cover; 0: unknown. The windows cover more than the requested time, and
 * their rate may differ from the current one.
 */
static double samples_of_cpu(const struct top_answer *answer)
{
	return answer->period_ns > 0 ? (double)answer->covered_ns / (double)answer->period_ns : 0;
}

const char *top_text_title(const struct top_answer *answer, char line[TOP_TEXT_BYTES])
{
	char host[65] = "", span[TIME_TEXT_BYTES], clock[16] = "";
	time_t seconds = (time_t)(answer->received_ns / NSEC_PER_SEC);
	struct tm local;

	(void)gethostname(host, sizeof(host) - 1);
	if (localtime_r(&seconds, &local))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	(void)snprintf(line, TOP_TEXT_BYTES, "pilotlight top  %s  %s  last %s", host, clock,
		time_text_format_duration(answer->span_ns, span));
	return line;
}

/* Appends to the line; text beyond its end is cut. */
__attribute__((format(printf, 2, 3))) static void add(
	char line[TOP_TEXT_BYTES], const char *format, ...)
{
	size_t size = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line + size, TOP_TEXT_BYTES - size, format, arguments);
	va_end(arguments);
}

static const struct event_source *source_of(const struct top_answer *answer)
{
	return event_source_of(answer->event ? answer->event : "");
}

/* A count or bytes in a second; 0: unknown. */
static double per_second(const struct top_answer *answer, double samples)
{
	return answer->covered_ns > 0 ? samples * (double)answer->period_ns * NSEC_PER_SEC /
						(double)answer->covered_ns
				      : 0;
}

/* What lives is there at the end of the time: it does not grow by that each second. */
static double rate_or_amount(const struct top_answer *answer, double samples)
{
	return source_of(answer)->is_live ? samples * (double)answer->period_ns
					  : per_second(answer, samples);
}

static void add_rate(const struct top_answer *answer, double samples, char line[TOP_TEXT_BYTES])
{
	double of_one = samples_of_cpu(answer), rate = rate_or_amount(answer, samples);
	const char *each = source_of(answer)->is_live ? "" : " a second";
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	if (of_one <= 0)
		return;
	switch (event_source_unit(source_of(answer))) {
	case EVENT_UNIT_TIME:
		add(line, "%.2f s a second, ", samples / of_one);
		break;
	case EVENT_UNIT_BYTES:
		add(line, "%s%s, ",
			shown_text_bytes(rate < 1e18 ? (uint64_t)rate : (uint64_t)1e18, bytes),
			each);
		break;
	case EVENT_UNIT_COUNT:
		add(line, "%.0f a second, ", rate);
		break;
	}
}

static void add_share(const struct top_answer *answer, char line[TOP_TEXT_BYTES])
{
	const struct event_source *source = source_of(answer);
	double of_one = samples_of_cpu(answer), possible = of_one * answer->machine.cpus;
	double samples = (double)answer->profile->samples;

	if (!event_source_is_cpu(source)) {
		add(line, "%s: ", event_source_title(answer->event));
		add_rate(answer, samples, line);
	} else if (possible > 0) {
		add(line, "CPU %.1f%% of %.0f, ", 100.0 * samples / possible, answer->machine.cpus);
	}
}

const char *top_text_machine(const struct top_answer *answer, char line[TOP_TEXT_BYTES])
{
	const struct top_machine *machine = &answer->machine;
	const struct top_profile *profile = answer->profile;
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	line[0] = '\0';
	add_share(answer, line);
	add(line, "%" PRIu64 " samples", profile->samples);
	if (machine->rate_hz > 0 && event_source_is_cpu(source_of(answer)))
		add(line, " at %.0f Hz", machine->rate_hz);
	add(line, ", %" PRIu64 " lost", profile->lost);
	if (profile->lost > 0)
		add(line, " (%.2f%%)", per_cent(profile->lost, profile->samples + profile->lost));
	if (machine->memory_bytes > 0 && machine->memory_bytes < 1e18)
		add(line, "; costs %.2f%%, %s", 100.0 * machine->cost_ratio,
			shown_text_bytes((uint64_t)machine->memory_bytes, bytes));
	if (profile->cut + profile->damaged > 0)
		add(line, "; %" PRIu64 " stacks cut, %" PRIu64 " not understood", profile->cut,
			profile->damaged);
	return line;
}

static const char *kind_name(enum folded_kind kind)
{
	static const char *const names[] = {
		[FOLDED_PROGRAM] = "",
		[FOLDED_KERNEL] = "kernel",
		[FOLDED_JIT] = "jit",
		[FOLDED_INLINED] = "inlined",
		[FOLDED_PYTHON] = "python",
		[FOLDED_JAVASCRIPT] = "javascript",
		[FOLDED_RUBY] = "ruby",
		[FOLDED_PHP] = "php",
		[FOLDED_PERL] = "perl",
		[FOLDED_NAMELESS] = "",
	};

	return names[kind];
}

/* Of other times than CPU time, 100 % is one thread for all the time. */
static const char *rate_head(const struct top_answer *answer)
{
	if (!answer || event_source_is_cpu(source_of(answer)))
		return "CPU%";
	switch (event_source_unit(source_of(answer))) {
	case EVENT_UNIT_TIME:
		return "TIME%";
	case EVENT_UNIT_BYTES:
		return source_of(answer)->is_live ? "MIB" : "MIB/S";
	case EVENT_UNIT_COUNT:
		break;
	}
	return "/S";
}

/* What that column shows; below 0: nothing. */
static double rate_of(const struct top_answer *answer, const struct top_row *row)
{
	double of_one = samples_of_cpu(answer), rate = rate_or_amount(answer, (double)row->total);

	if (of_one <= 0)
		return -1;
	switch (event_source_unit(source_of(answer))) {
	case EVENT_UNIT_TIME:
		return 100.0 * (double)row->total / of_one;
	case EVENT_UNIT_BYTES:
		return rate / (1 << 20);
	case EVENT_UNIT_COUNT:
		break;
	}
	return rate;
}

/* Ten columns: samples of CPU time, amounts of all others. */
static const char *amount_head(const struct top_answer *answer)
{
	if (!answer || event_source_is_cpu(source_of(answer)) || answer->period_ns == 0)
		return "  SAMPLES ";
	switch (event_source_unit(source_of(answer))) {
	case EVENT_UNIT_TIME:
		return "  SECONDS ";
	case EVENT_UNIT_BYTES:
		return "      MIB ";
	case EVENT_UNIT_COUNT:
		break;
	}
	return "   EVENTS ";
}

/* The column has room for nine digits. */
static void write_amount(
	const struct top_answer *answer, uint64_t samples, char *text, size_t text_size)
{
	const struct event_source *source = source_of(answer);
	double amount = (double)samples * (double)answer->period_ns;

	if (event_source_is_cpu(source) || answer->period_ns == 0)
		(void)snprintf(text, text_size, "%9" PRIu64 " ",
			samples < 1000000000 ? samples : 999999999);
	else if (event_source_unit(source) == EVENT_UNIT_TIME)
		(void)snprintf(text, text_size, "%9.2f ", at_most(amount / NSEC_PER_SEC, 999999));
	else if (event_source_unit(source) == EVENT_UNIT_BYTES)
		(void)snprintf(text, text_size, "%9.2f ", at_most(amount / (1 << 20), 999999));
	else
		(void)snprintf(text, text_size, "%9.0f ", at_most(amount, 999999999));
}

const char *top_text_head(const struct top_answer *answer, enum top_mode mode, bool is_narrow,
	char columns[TOP_TEXT_COLUMNS_BYTES])
{
	const char *const shares[][2] = {
		[TOP_FUNCTIONS] = { "SELF%", "TOTAL%" },
		[TOP_PROCESSES] = { "SHARE%", rate_head(answer) },
		[TOP_TREE] = { "TOTAL%", "SELF%" },
	};
	const char *samples = is_narrow ? "" : amount_head(answer);
	const char *kind = is_narrow || mode != TOP_FUNCTIONS ? "" : "KIND    ";

	(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6s %7s %s%s", shares[mode][0],
		shares[mode][1], samples, kind);
	return columns;
}

static void write_shares(const struct top_answer *answer, const struct top_row *row,
	enum top_mode mode, char columns[TOP_TEXT_COLUMNS_BYTES])
{
	double self = per_cent(row->self, answer->profile->samples);
	double total = per_cent(row->total, answer->profile->samples);
	double rate = rate_of(answer, row);

	if (mode == TOP_FUNCTIONS)
		(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6.1f %7.1f ", self, total);
	else if (mode == TOP_TREE)
		(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6.1f %7.1f ", total, self);
	else if (rate >= 0 && rate < 99999)
		(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6.1f %7.1f ", total, rate);
	else if (rate >= 0 && rate < 9999999)
		(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6.1f %7.0f ", total, rate);
	else
		(void)snprintf(columns, TOP_TEXT_COLUMNS_BYTES, "%6.1f %7s ", total, "-");
}

const char *top_text_columns(const struct top_answer *answer, const struct top_row *row,
	enum top_mode mode, bool is_narrow, char columns[TOP_TEXT_COLUMNS_BYTES])
{
	uint64_t samples = mode == TOP_FUNCTIONS ? row->self : row->total;
	enum folded_kind kind;
	size_t size, name_size;

	write_shares(answer, row, mode, columns);
	if (is_narrow)
		return columns;
	size = strlen(columns);
	write_amount(answer, samples, columns + size, TOP_TEXT_COLUMNS_BYTES - size);
	if (mode != TOP_FUNCTIONS)
		return columns;
	size = strlen(columns);
	(void)top_profile_name(answer->profile, row->name, &name_size, &kind);
	(void)snprintf(columns + size, TOP_TEXT_COLUMNS_BYTES - size, "%-7s ", kind_name(kind));
	return columns;
}

/* Appends as much of a text as fits, and spaces up to the width and one more. */
static char *put_column(char *to, const char *text, size_t width)
{
	for (; *text && width > 0; width--) {
		size_t size = utf8_sequence(text, strlen(text));

		memcpy(to, text, size);
		to += size;
		text += size;
	}
	memset(to, ' ', width + 1);
	to += width + 1;
	*to = '\0';
	return to;
}

const char *top_text_origin(const struct top_profile *profile, const struct top_function *function,
	char columns[TOP_TEXT_ORIGIN_BYTES])
{
	enum { UNIT_COLUMNS = 18, THREAD_COLUMNS = 15, BINARY_COLUMNS = 15 };
	const struct string_pool *names = &profile->names;
	char *at = columns;

	_Static_assert(
		4 * (UNIT_COLUMNS + THREAD_COLUMNS + BINARY_COLUMNS) + 4 <= TOP_TEXT_ORIGIN_BYTES,
		"of four bytes each");
	at = put_column(
		at, function ? string_pool_get(names, function->unit) : "UNIT", UNIT_COLUMNS);
	at = put_column(
		at, function ? string_pool_get(names, function->thread) : "THREAD", THREAD_COLUMNS);
	(void)put_column(
		at, function ? string_pool_get(names, function->binary) : "BINARY", BINARY_COLUMNS);
	return columns;
}

const char *top_text_name_head(enum top_mode mode)
{
	static const char *const names[] = {
		[TOP_FUNCTIONS] = "FUNCTION",
		[TOP_PROCESSES] = "NAME",
		[TOP_TREE] = "NAME AND STACK",
	};

	return names[mode];
}

static void write_rows(
	const struct top_answer *answer, const struct top_rows *rows, struct output *output)
{
	const struct top_profile *profile = answer->profile;
	char columns[TOP_TEXT_COLUMNS_BYTES], origin[TOP_TEXT_ORIGIN_BYTES];

	for (size_t i = 0; i < rows->count; i++) {
		const struct top_row *row = &rows->items[i];
		enum folded_kind kind;
		const char *name;
		size_t size;

		if (per_cent(row->self, profile->samples) < 0.1)
			break;
		name = top_profile_name(profile, row->name, &size, &kind);
		output_string(output, top_text_columns(answer, row, TOP_FUNCTIONS, false, columns));
		shown_text_string(output,
			top_text_origin(profile, &profile->functions[row->function], origin));
		shown_text_write(output, size > 0 ? name : "?", size > 0 ? size : 1);
		output_char(output, '\n');
	}
}

int top_text_write(const struct top_answer *answer, struct output *output)
{
	static const struct top_open nothing;
	const struct top_order order = { .mode = TOP_FUNCTIONS, .filter = "", .open = &nothing };
	_cleanup_(top_rows_done) struct top_rows rows = { 0 };
	char line[TOP_TEXT_BYTES], columns[TOP_TEXT_COLUMNS_BYTES], origin[TOP_TEXT_ORIGIN_BYTES];
	int r = top_rows_make(&rows, answer->profile, &order);

	if (r < 0)
		return r;
	shown_text_string(output, top_text_title(answer, line));
	output_char(output, '\n');
	output_string(output, top_text_machine(answer, line));
	output_printf(output, "\n\n%s%s%s\n", top_text_head(answer, TOP_FUNCTIONS, false, columns),
		top_text_origin(answer->profile, NULL, origin), top_text_name_head(TOP_FUNCTIONS));
	write_rows(answer, &rows, output);
	return 0;
}
