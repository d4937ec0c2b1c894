/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/diff_command.h"

#include "base/array.h"
#include "tools/command.h"
#include "tools/history/history_answer.h"
#include "tools/history/history_request.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_AGAINST = HISTORY_OPTION_OWN, OPTION_NORMALISE, OPTION_LINES };

static const char help[] =
	"usage: pilotlight diff [SELECT...] --against SELECT... [OPTION...]\n"
	"\n"
	"What takes more time (red) and what less (blue) in the first selection than in\n"
	"the one behind --against, out of the history that pilotlightd keeps: a flame\n"
	"graph, diff.svg, and a table on standard output; with -o or -f just that one.\n"
	"\n"
	"  --against          the options of a selection that follow are those of what\n"
	"                     was before\n"
	"  -o FILE            where to; its ending chooses the format: .svg or .txt;\n"
	"                     `-` is standard output\n"
	"  -f FORMAT          svg or txt\n"
	"  --normalise HOW    total: shares of all samples (the default); time: CPU time\n"
	"                     in a second, so that more work shows as more\n" HISTORY_HELP_TIME
		HISTORY_HELP_SELECT "  --lines            tell the lines of a function apart\n"
	"  -q, --quiet        say nothing but errors\n" HISTORY_HELP_ASK "\n"
	"What the second selection does not say is as in the first; \"*\" stands for all.\n"
	"  pilotlight diff --last 1h --unit a.service --against --last 1h --to -1d\n";

static enum history_parse parse(int argc, char **argv, struct history_request *request)
{
	static const struct option long_options[] = {
		HISTORY_OPTIONS_TIME,
		HISTORY_OPTIONS_SELECT,
		HISTORY_OPTIONS_OUTPUT,
		HISTORY_OPTIONS_ASK,
		{ "against", no_argument, NULL, OPTION_AGAINST },
		{ "normalise", required_argument, NULL, OPTION_NORMALISE },
		{ "normalize", required_argument, NULL, OPTION_NORMALISE },
		{ "lines", no_argument, NULL, OPTION_LINES },
		{ 0 },
	};
	const char *normalise = NULL;
	bool wants_lines = false;
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "p:o:f:qh", long_options, NULL)) >= 0) {
		enum history_parse r = HISTORY_PARSE_RUN;

		if (option == OPTION_AGAINST)
			request->is_against = true;
		else if (option == OPTION_NORMALISE)
			normalise = optarg;
		else if (option == OPTION_LINES)
			wants_lines = true;
		else
			r = history_request_take(request, option);
		if (r != HISTORY_PARSE_RUN)
			return r;
	}
	if (normalise)
		query_text_add(&request->query, "normalise", normalise);
	if (wants_lines)
		query_text_add(&request->query, "lines", "1");
	if (request->against > 0)
		return HISTORY_PARSE_RUN;
	(void)fputs("pilotlight: diff needs --against, and behind it what to compare with, as "
		    "--from yesterday --to today; see `pilotlight diff --help`\n",
		stderr);
	return HISTORY_PARSE_WRONG;
}

struct diff_format {
	const char *name, *ending, *path; /* where to, without -o */
};

static const struct diff_format formats[] = {
	{ "svg", ".svg", "diff.svg" },
	{ "txt", ".txt", "-" },
};

static const struct diff_format *find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

static const struct diff_format *format_of_path(const char *path)
{
	size_t length = strlen(path);

	if (strcmp(path, "-") == 0)
		return find_format("txt");
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t ending = strlen(formats[i].ending);

		if (length > ending && strcmp(path + length - ending, formats[i].ending) == 0)
			return &formats[i];
	}
	return NULL;
}

/* The one format that is asked for; NULL: both. */
static enum history_parse settle(
	const struct history_request *request, const struct diff_format **ret_format)
{
	const struct diff_format *format = NULL;

	if (request->format) {
		format = find_format(request->format);
		if (!format)
			return history_request_wrong(
				request, "-f takes svg or txt, not", request->format);
	} else if (request->path) {
		format = format_of_path(request->path);
		if (!format)
			return history_request_wrong(request,
				"the ending names no format (.svg, .txt), so -f must:",
				request->path);
	}
	*ret_format = format;
	return HISTORY_PARSE_RUN;
}

static int write_format(const struct history_request *request, const struct diff_format *format,
	struct fault *fault)
{
	struct query_text query = request->query;
	struct history_answer answer = {
		.socket_path = request->socket_path,
		.path = request->path ? request->path : format->path,
		.is_quiet = request->is_quiet,
	};
	int r;

	query_text_add(&query, "format", format->name);
	r = query_text_finish(&query, &answer.target);
	if (r < 0)
		return fault_set(fault, r,
			"the selection is longer than a request may be; select less at once");
	r = history_answer_write(&answer, fault);
	if (r == 0 && !request->is_quiet && strcmp(answer.path, "-") != 0)
		(void)fprintf(stderr, "written to %s\n", answer.path);
	return r;
}

int diff_main(int argc, char **argv)
{
	const struct diff_format *format = NULL;
	struct history_request request;
	struct fault fault = { 0 };
	enum history_parse parsed;
	int r = 0;

	history_request_init(&request, "diff", help, "/api/v1/diff");
	parsed = parse(argc, argv, &request);
	if (parsed == HISTORY_PARSE_RUN)
		parsed = settle(&request, &format);
	if (parsed == HISTORY_PARSE_RUN)
		parsed = history_request_check(&request, argc, argv);
	if (parsed != HISTORY_PARSE_RUN)
		return history_parse_status(parsed);
	if (format)
		r = write_format(&request, format, &fault);
	for (size_t i = 0; !format && r == 0 && i < ARRAY_SIZE(formats); i++)
		r = write_format(&request, &formats[i], &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}
