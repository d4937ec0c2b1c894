/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time_text.h"
#include "query/selection_state.h"

#include <errno.h>
#include <string.h>

enum { DATE_BYTES = sizeof("2026-11-20 ") - 1 };

/* The date of the end is not said again where it is that of the beginning. */
static void write_times(const struct selection *selection, FILE *file)
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES];
	const char *shown = time_text_format(selection->end_ns, end);

	if (selection->start_ns == 0) {
		(void)fprintf(file, "until %s", shown);
		return;
	}
	(void)time_text_format(selection->start_ns, start);
	if (strncmp(start, end, DATE_BYTES) == 0)
		shown = end + DATE_BYTES;
	(void)fprintf(file, "%s to %s", start, shown);
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

int selection_describe(struct selection *selection)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	bool has_failed;

	if (!file)
		return -ENOMEM;
	write_times(selection, file);
	for (enum selection_parameter i = SELECTION_EVENT; i < SELECTION_PARAMETERS; i++)
		if (selection->is_given[i])
			write_values(selection, i, file);
	has_failed = ferror(file);
	if (fclose(file) != 0 || has_failed) {
		free(text);
		return -ENOMEM;
	}
	free(selection->text);
	selection->text = text;
	return 0;
}

const char *selection_text(const struct selection *selection)
{
	return selection->text ? selection->text : "";
}
