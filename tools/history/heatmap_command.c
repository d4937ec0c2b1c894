/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/heatmap_command.h"

#include "base/array.h"
#include "tools/history/history_request.h"

#include <string.h>

static const struct heatmap_format {
	const char *name, *ending, *path; /* the last: without -o */
} formats[] = {
	{ "svg", ".svg", "heatmap.svg" },
	{ "html", ".html", "heatmap.html" },
	{ "json", ".json", "-" },
};

static const struct option_row heatmap_options[] = {
	{ 'o', "output", "FILE",
		"Write to FILE; its ending (.svg, .html, .json) chooses the format. `-` is "
		"standard "
		"output.",
		OPTION_STRING, .offset = offsetof(struct history_request, path) },
	{ 'f', "format", "FORMAT", "Write svg, html or json, whatever the file's ending.",
		OPTION_STRING, .offset = offsetof(struct history_request, format) },
	{ 'q', "quiet", NULL, "Print errors only.", OPTION_SET,
		.offset = offsetof(struct history_request, is_quiet) },
	{ 0 },
};

static void prepare(void *invocation)
{
	history_request_init(invocation, "/api/v1/heatmap");
}

static bool has_ending(const char *path, const char *ending)
{
	const size_t size = strlen(path), ending_size = strlen(ending);

	return size > ending_size && strcmp(path + size - ending_size, ending) == 0;
}

static const struct heatmap_format *find_format(const struct history_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (request->format ? strcmp(formats[i].name, request->format) == 0
				    : has_ending(request->path, formats[i].ending))
			return &formats[i];
	return NULL;
}

static int run(void *invocation)
{
	struct history_request *request = invocation;
	const struct heatmap_format *format = &formats[0];
	int r;

	if (request->format || (request->path && strcmp(request->path, "-") != 0))
		format = find_format(request);
	if (!format && request->format)
		return command_misuse(request->base.command, "-f takes svg, html or json, not '%s'",
			request->format);
	if (!format)
		return command_misuse(request->base.command,
			"the ending of '%s' names no format; choose one with -f: svg, html or json",
			request->path);
	r = history_request_check(request);
	return r == 0 ? history_request_write(
				request, format->name, request->path ? request->path : format->path)
		      : r;
}

const struct command heatmap_command = {
	.name = "heatmap",
	.summary = "draw when samples were taken, to parts of a second",
	.synopsis = "[SELECT...] [OPTION...]",
	.description =
		"Draw a heat map, heatmap.svg, from the history: a column for each second, in "
		"parts "
		"of 20 ms from bottom to top, the darker the more samples. Up to an hour; of a "
		"longer time, a column has several seconds. The service keeps the times of samples "
		"for a day (FineHistory=).",
	.notes = "Every SELECT option except times may be repeated: any of its values matches.\n"
		 "To see the code of a moment:\n"
		 "  pilotlight flamegraph --from \"03:12:07.250\" --to \"03:12:07.400\"\n",
	.options = { history_time_options, history_select_options, heatmap_options,
		history_socket_options },
	.bytes = sizeof(struct history_request),
	.prepare = prepare,
	.run = run,
};
