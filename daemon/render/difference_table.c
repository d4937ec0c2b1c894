/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_table.h"

#include "base/utf8.h"
#include "render/caption.h"
#include "render/difference_text.h"
#include "render/function_difference.h"
#include "render/name_column.h"
#include "render/short_name.h"
#include "render/svg_text.h"

#include <inttypes.h>
#include <string.h>

enum {
	CHANGE_MIN = DIFFERENCE_SHARE_ONE / 10000, /* smaller changes are left out */
	SENTENCE_NAMES = 3,
	SENTENCE_NAME_COLUMNS = 48,
};

static void write_side(const struct profile *profile, const char *name, struct output *output)
{
	const struct accounts *accounts = &profile->accounts;
	char clean[UTF8_CLEAN_BYTES], text[CAPTION_BYTES], losses[CAPTION_LOSSES_BYTES];
	char stored[CAPTION_AMOUNT_BYTES], lost[CAPTION_AMOUNT_BYTES];

	(void)utf8_clean(clean, name, strlen(name));
	output_printf(output, "# %s: %s\n", clean, caption_source(profile, text));
	if (*caption_time(profile, text))
		output_printf(output, "#   time     %s\n", text);
	if (event_source_is_cpu(caption_event_source(profile)))
		output_printf(output, "#   samples  %" PRIu64 " stored, %" PRIu64 " lost\n",
			accounts_stored(accounts), accounts_lost(accounts));
	else
		output_printf(output, "#   amount   %s stored, %s lost\n",
			caption_samples(profile, accounts_stored(accounts), stored),
			caption_amount(profile, accounts_lost(accounts), lost));
	output_printf(
		output, "#   lost     %s\n", caption_losses(profile, &profile->accounts, losses));
}

/* "# fib +12.93 points, index_orders -6.51, and 4 more": what changed for certain. */
static void write_sentence(const struct function_difference *functions, struct output *output)
{
	char name[FRAME_NAME_BYTES], points[DIFFERENCE_TEXT_BYTES];
	size_t count = 0;

	output_string(output, "# ");
	for (size_t i = 0; i < functions->count; i++) {
		const struct function_change *function = &functions->items[i];

		if (!function->is_self_certain || count++ >= SENTENCE_NAMES)
			continue;
		(void)frame_label_format(function->label, name);
		if (svg_text_columns(name) > SENTENCE_NAME_COLUMNS)
			(void)short_name(name);
		svg_elide_text(name, sizeof(name), SENTENCE_NAME_COLUMNS);
		output_printf(output, "%s%s %s%s", count > 1 ? ", " : "", name,
			difference_points(function->self_change, points),
			count == 1 ? " points" : "");
	}
	if (count > SENTENCE_NAMES)
		output_printf(output, ", and %zu more", count - SENTENCE_NAMES);
	output_string(output,
		count > 0 ? "\n"
			  : "no function's own share changed by more than the error of sampling\n");
}

static void write_header(const struct profile_difference *difference,
	const char *const names[DIFFERENCE_SIDE_COUNT], size_t width, struct output *output)
{
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		write_side(difference->sides[i], names[i], output);
	output_printf(output, "# shares are of %s; changes are in percentage points\n#\n",
		difference_whole_text(difference));
	output_printf(output, "#%8s%19s %8s\n", "self %", "", "total %");
	output_printf(output, "#%8s %8s %9s %8s %8s %9s  %-10s  ", "base", "compared", "change",
		"base", "compared", "change", "kind");
	name_column_write(output, "function", width, "binary");
	output_char(output, '\n');
}

static bool is_shown(const struct function_change *function, size_t rows_max)
{
	if (rows_max > 0)
		return function->is_certain;
	return llabs(function->self_change) >= CHANGE_MIN ||
	       llabs(function->total_change) >= CHANGE_MIN;
}

static size_t name_width(const struct function_difference *functions, size_t rows_max)
{
	char name[FRAME_NAME_BYTES];
	size_t width = strlen("function");

	for (size_t i = 0; i < functions->count; i++) {
		if (!is_shown(&functions->items[i], rows_max))
			continue;
		(void)frame_label_format(functions->items[i].label, name);
		width = name_column_widen(width, name);
	}
	return width;
}

static void write_figures(const struct profile_difference *difference,
	const uint64_t samples[DIFFERENCE_SIDE_COUNT], int64_t change, struct output *output)
{
	char base[DIFFERENCE_TEXT_BYTES], compared[DIFFERENCE_TEXT_BYTES];
	char points[DIFFERENCE_TEXT_BYTES];

	output_printf(output, " %8s %8s %9s",
		difference_share(profile_difference_share(
					 difference, DIFFERENCE_BASE, samples[DIFFERENCE_BASE]),
			base),
		difference_share(profile_difference_share(difference, DIFFERENCE_COMPARED,
					 samples[DIFFERENCE_COMPARED]),
			compared),
		difference_points(change, points));
}

static void write_row(const struct profile_difference *difference,
	const struct function_change *function, size_t width, struct output *output)
{
	char name[FRAME_NAME_BYTES];

	write_figures(difference, function->self, function->self_change, output);
	write_figures(difference, function->total, function->total_change, output);
	(void)frame_label_format(function->label, name);
	output_printf(output, "  %-10s  ", frame_kind_name(function->label->kind));
	name_column_write(output, name, width, function->path);
	output_char(output, '\n');
}

static void write_rows(const struct profile_difference *difference,
	const struct function_difference *functions, enum frame_detail detail, size_t rows_max,
	struct output *output)
{
	const size_t limit = rows_max > 0 ? rows_max : SIZE_MAX,
		     width = name_width(functions, rows_max);
	bool was_certain = true;
	size_t rows = 0;

	for (size_t i = 0; i < functions->count && rows < limit; i++) {
		const struct function_change *function = &functions->items[i];

		if (!is_shown(function, rows_max))
			continue;
		if (was_certain && !function->is_certain)
			output_string(output, "# within the error of sampling:\n");
		was_certain = function->is_certain;
		write_row(difference, function, width, output);
		rows++;
	}
	if (rows < functions->count)
		output_printf(output, "# %zu more %s\n", functions->count - rows,
			detail == FRAME_BY_LINE ? "lines" : "functions");
}

static int64_t greatest_increase(const struct function_difference *functions)
{
	int64_t greatest = 0;

	for (size_t i = 0; i < functions->count; i++)
		if (functions->items[i].is_self_certain &&
			functions->items[i].self_change > greatest)
			greatest = functions->items[i].self_change;
	return greatest;
}

int difference_table_write(const struct profile_difference *difference,
	const char *const names[DIFFERENCE_SIDE_COUNT], enum frame_detail detail, size_t rows_max,
	struct output *output, int64_t *ret_increase)
{
	_cleanup_(function_difference_freep) struct function_difference *functions = NULL;
	int r = function_difference_new(difference, detail, &functions);

	if (r < 0)
		return r;
	write_sentence(functions, output);
	write_header(difference, names, name_width(functions, rows_max), output);
	write_rows(difference, functions, detail, rows_max, output);
	*ret_increase = greatest_increase(functions);
	return 0;
}
