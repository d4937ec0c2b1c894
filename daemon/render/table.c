/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/table.h"

#include "base/clock.h"
#include "render/caption.h"
#include "render/function_totals.h"
#include "render/name_column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHARE_MIN = 10000 }; /* a function with less than one of so many samples is left out */
#define KIB 1024.0
#define MIB (1024 * KIB)

static bool is_of_cpu(const struct profile *profile)
{
	return event_source_is_cpu(caption_event_source(profile));
}

/* CPU time is told in samples. */
static enum event_unit unit_of(const struct profile *profile)
{
	return is_of_cpu(profile) ? EVENT_UNIT_COUNT
				  : event_source_unit(caption_event_source(profile));
}

static void write_header(const struct profile *profile, struct output *output)
{
	const struct accounts *accounts = &profile->accounts;
	char text[CAPTION_BYTES], losses[CAPTION_LOSSES_BYTES], amount[CAPTION_AMOUNT_BYTES];

	output_printf(output, "# event    %s\n", caption_source(profile, text));
	if (*caption_time(profile, text))
		output_printf(output, "# time     %s\n", text);
	output_printf(output,
		"# samples  %" PRIu64 " fired = %" PRIu64 " stored + %" PRIu64 " idle + %" PRIu64
		" filtered + %" PRIu64 " lost\n",
		accounts->fired, accounts_stored(accounts), accounts->dropped[PILOTLIGHT_DROP_IDLE],
		accounts->dropped[PILOTLIGHT_DROP_FILTERED], accounts_lost(accounts));
	if (!is_of_cpu(profile))
		output_printf(output, "# amount   %s stored\n",
			caption_samples(profile, accounts_stored(accounts), amount));
	output_printf(output, "# lost     %s%s\n",
		caption_losses(profile, &profile->accounts, losses),
		accounts_lost(accounts) > 0 ? "; percentages are of stored samples" : "");
}

static bool is_shown(const struct function_totals *totals, const struct function_total *function)
{
	return function->total >= totals->samples / SHARE_MIN;
}

static size_t name_width(const struct function_totals *totals, size_t limit)
{
	char name[FRAME_NAME_BYTES];
	size_t width = strlen("function"), rows = 0;

	for (size_t i = 0; i < totals->count && rows < limit; i++) {
		if (!is_shown(totals, &totals->items[i]))
			continue;
		rows++;
		(void)frame_label_format(&totals->labels->items[totals->items[i].label], name);
		width = name_column_widen(width, name);
	}
	return width;
}

/* In what the columns are: what their heads say. 0: the number of samples or events. */
struct column_unit {
	const char *self, *total;
	double divisor;
};

static const struct column_unit *unit_of_columns(
	const struct profile *profile, const struct function_totals *totals)
{
	static const struct column_unit seconds = { "self s", "total s", NSEC_PER_SEC },
					milliseconds = { "self ms", "total ms",
						NSEC_PER_SEC / 1000.0 },
					mib = { "self MiB", "total MiB", MIB },
					kib = { "self KiB", "total KiB", KIB },
					number = { "self", "total", 0 };
	const double amount = (double)totals->samples * (double)profile->period_ns;

	switch (unit_of(profile)) {
	case EVENT_UNIT_TIME:
		return amount < NSEC_PER_SEC ? &milliseconds : &seconds;
	case EVENT_UNIT_BYTES:
		return amount < MIB ? &kib : &mib;
	case EVENT_UNIT_COUNT:
		break;
	}
	return &number;
}

static const char *format_cell(const struct profile *profile, const struct column_unit *unit,
	uint64_t count, char text[CAPTION_AMOUNT_BYTES])
{
	if (unit->divisor == 0)
		return caption_plain_amount(profile, count, text);
	(void)snprintf(text, CAPTION_AMOUNT_BYTES, "%.3f",
		(double)count * (double)profile->period_ns / unit->divisor);
	return text;
}

static void write_columns(const struct column_unit *unit, size_t width, struct output *output)
{
	output_printf(output, "#\n#%6s %9s %8s %9s  %-10s  %-*s  %s\n", "self %", unit->self,
		"total %", unit->total, "kind", (int)width, "function", "binary");
}

static void write_row(const struct profile *profile, const struct function_totals *totals,
	const struct column_unit *unit, const struct function_total *function, size_t width,
	struct output *output)
{
	const struct frame_label *label = &totals->labels->items[function->label];
	const struct profile_binary *binary = &profile->binaries.items[function->binary];
	const char *path = string_pool_get(&profile->strings, binary->path);
	char self[CAPTION_SHARE_BYTES], total[CAPTION_SHARE_BYTES], name[FRAME_NAME_BYTES];
	char self_cell[CAPTION_AMOUNT_BYTES], total_cell[CAPTION_AMOUNT_BYTES];

	(void)frame_label_format(label, name);
	output_printf(output, "%7s %9s %8s %9s  %-10s  ",
		caption_share(function->self, totals->samples, self),
		format_cell(profile, unit, function->self, self_cell),
		caption_share(function->total, totals->samples, total),
		format_cell(profile, unit, function->total, total_cell),
		frame_kind_name(label->kind));
	name_column_write(output, name, width, path);
	output_char(output, '\n');
}

int table_write(const struct profile *profile, enum frame_detail detail, size_t rows_max,
	struct output *output)
{
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;
	const size_t limit = rows_max > 0 ? rows_max : SIZE_MAX;
	const struct column_unit *unit;
	size_t rows = 0, width;
	int r;

	r = function_totals_new(profile, detail, &totals);
	if (r < 0)
		return r;
	write_header(profile, output);
	width = name_width(totals, limit);
	unit = unit_of_columns(profile, totals);
	write_columns(unit, width, output);
	for (size_t i = 0; i < totals->count && rows < limit; i++) {
		if (!is_shown(totals, &totals->items[i]))
			continue;
		write_row(profile, totals, unit, &totals->items[i], width, output);
		rows++;
	}
	if (totals->without_stack > 0)
		output_printf(
			output, "# %" PRIu64 " samples have no stack\n", totals->without_stack);
	if (rows < totals->count)
		output_printf(output, "# %zu more %s\n", totals->count - rows,
			detail == FRAME_BY_LINE ? "lines" : "functions");
	return 0;
}
