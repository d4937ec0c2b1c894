/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/flamegraph_command.h"

#include "export/profile_format.h"
#include "tools/command.h"
#include "tools/history/history_answer.h"
#include "tools/history/history_request.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_LINES = HISTORY_OPTION_OWN, NAME_BYTES = 64 };

#define HELP_OPTIONS                                                                        \
	HISTORY_HELP_TIME HISTORY_HELP_SELECT                                               \
		"  --lines            tell the lines of a function apart\n"                 \
		"  -q, --quiet        say nothing but errors\n" HISTORY_HELP_ASK "\n"       \
		"What selects, but times, may be given more than once, for any of them.\n"  \
		"Names may have *, ? and [...]. `pilotlight record` needs no service and\n" \
		"profiles from now on.\n"

struct profile_command {
	const char *name;
	const char *path;   /* where to, without -o */
	const char *format; /* of standard output, without -f */
	const char *help;
};

static const struct profile_command flamegraph = {
	"flamegraph",
	"flamegraph.svg",
	"svg",
	"usage: pilotlight flamegraph [SELECT...] [OPTION...]\n"
	"\n"
	"A flame graph of what has run, out of the history that pilotlightd keeps.\n"
	"\n"
	"  -o FILE            where to (flamegraph.svg); `-` is standard output\n"
	"  -f FORMAT          svg, folded, pprof or txt; else by FILE's ending\n"
	"                     (.svg, .folded, .pb.gz, .txt)\n" HELP_OPTIONS,
};

static const struct profile_command report = {
	"report",
	"-",
	"txt",
	"usage: pilotlight report [SELECT...] [OPTION...]\n"
	"\n"
	"A table of the functions that took the most time, out of the history that\n"
	"pilotlightd keeps.\n"
	"\n"
	"  -o FILE            where to (standard output, which `-` is, too)\n"
	"  -f FORMAT          txt, svg, folded or pprof; else by FILE's ending\n"
	"                     (.txt, .svg, .folded, .pb.gz)\n" HELP_OPTIONS,
};

static const struct profile_command export = {
	"export",
	"profile.pb.gz",
	"pprof",
	"usage: pilotlight export [SELECT...] [OPTION...]\n"
	"\n"
	"A profile for other programs, out of the history that pilotlightd keeps.\n"
	"\n"
	"  -o FILE            where to (profile.pb.gz, or as -f has it); `-` is\n"
	"                     standard output\n"
	"  -f FORMAT          pprof, folded, svg or txt; else by FILE's ending\n"
	"                     (.pb.gz, .folded, .svg, .txt)\n" HELP_OPTIONS,
};

static enum history_parse parse(int argc, char **argv, struct history_request *request)
{
	static const struct option long_options[] = {
		HISTORY_OPTIONS_TIME,
		HISTORY_OPTIONS_SELECT,
		HISTORY_OPTIONS_OUTPUT,
		HISTORY_OPTIONS_ASK,
		{ "lines", no_argument, NULL, OPTION_LINES },
		{ 0 },
	};
	bool wants_lines = false;
	int option;

	/* 0: getopt begins anew. */
	optind = 0;
	while ((option = getopt_long(argc, argv, "p:o:f:qh", long_options, NULL)) >= 0) {
		enum history_parse r = HISTORY_PARSE_RUN;

		if (option == OPTION_LINES)
			wants_lines = true;
		else
			r = history_request_take(request, option);
		if (r != HISTORY_PARSE_RUN)
			return r;
	}
	if (wants_lines)
		query_text_add(&request->query, "lines", "1");
	return HISTORY_PARSE_RUN;
}

/* With -f alone the default name has that format's ending, so that it tells what is in the file. */
static const char *default_path(const struct profile_command *command,
	const struct profile_format *format, char path[NAME_BYTES])
{
	if (!format || strcmp(command->path, "-") == 0 ||
		strcmp(format->name, command->format) == 0)
		return command->path;
	(void)snprintf(path, NAME_BYTES, "%.*s%s", (int)strcspn(command->path, "."), command->path,
		format->ending);
	return path;
}

/* Where the answer goes, and in what format. `path` has room for a name. */
static enum history_parse settle(const struct profile_command *command,
	struct history_request *request, char path[NAME_BYTES])
{
	const struct profile_format *format = NULL;
	bool is_stream;

	if (request->format) {
		format = profile_format_find(request->format);
		if (!format) {
			(void)fprintf(stderr, "pilotlight: -f takes %s, not '%s'\n",
				profile_format_names(), request->format);
			return HISTORY_PARSE_WRONG;
		}
	}
	if (!request->path)
		request->path = default_path(command, format, path);
	is_stream = strcmp(request->path, "-") == 0;
	if (!format)
		format = is_stream ? profile_format_find(command->format)
				   : profile_format_of_path(request->path);
	if (!format) {
		(void)fprintf(stderr,
			"pilotlight: the ending of '%s' names no format, so -f must: %s\n",
			request->path, profile_format_names());
		return HISTORY_PARSE_WRONG;
	}
	if (is_stream && !format->is_text && isatty(STDOUT_FILENO))
		return history_request_wrong(request,
			"standard output is a terminal; name a file with -o for the format",
			format->name);
	query_text_add(&request->query, "format", format->name);
	return HISTORY_PARSE_RUN;
}

static int run(const struct profile_command *command, int argc, char **argv)
{
	struct history_request request;
	struct history_answer answer;
	struct fault fault = { 0 };
	enum history_parse parsed;
	char path[NAME_BYTES];
	int r;

	history_request_init(&request, command->name, command->help, "/api/v1/profile");
	parsed = parse(argc, argv, &request);
	if (parsed == HISTORY_PARSE_RUN)
		parsed = settle(command, &request, path);
	if (parsed == HISTORY_PARSE_RUN)
		parsed = history_request_check(&request, argc, argv);
	if (parsed != HISTORY_PARSE_RUN)
		return history_parse_status(parsed);
	answer = (struct history_answer){
		.socket_path = request.socket_path,
		.target = request.query.text,
		.path = request.path,
		.is_quiet = request.is_quiet,
	};
	r = history_answer_write(&answer, &fault);
	if (r < 0)
		return command_fail(&fault, r);
	if (!request.is_quiet && strcmp(request.path, "-") != 0)
		(void)fprintf(stderr, "written to %s\n", request.path);
	return EXIT_SUCCESS;
}

int flamegraph_main(int argc, char **argv)
{
	return run(&flamegraph, argc, argv);
}

int report_main(int argc, char **argv)
{
	return run(&report, argc, argv);
}

int export_main(int argc, char **argv)
{
	return run(&export, argc, argv);
}
