/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_commands.h"

#include "base/array.h"
#include "base/duration_text.h"
#include "export/profile_format.h"
#include "tools/history/history_request.h"
#include "tools/history/status_users.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, POINT = 10000000 /* a percentage point in billionths */ };

/* --- flamegraph, report, export --------------------------------------------------------------- */

/* They are one command with three defaults. */
struct profile_request {
	struct history_request history;
	const char *path;   /* without -o */
	const char *format; /* of standard output without -f */
	bool has_roots, has_times;
};

static const struct option_row profile_options[] = {
	{ 0, "lines", NULL, "Keep the lines of a function apart.", OPTION_SET,
		.offset = offsetof(struct history_request, is_by_line) },
	HISTORY_GROUP_OPTION,
	HISTORY_RUNTIME_FRAMES_OPTION,
	{ 'o', "output", "FILE",
		"Write to FILE; its ending (.svg, .folded, .pb.gz, .otlp.gz, .push.pb, "
		".parca, .clickhouse, .html, .json, .txt, .top, .sites) chooses the format. `-` is "
		"standard "
		"output.",
		OPTION_STRING, .offset = offsetof(struct history_request, path) },
	{ 'f', "format", "FORMAT",
		"Write svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt, "
		"top or sites, "
		"whatever the file's ending.",
		OPTION_STRING, .offset = offsetof(struct history_request, format) },
	{ 0, "comm-roots", NULL,
		"In pprof, begin each stack with the name of its thread, as the other formats do. "
		"For viewers that do not show labels, such as speedscope.",
		OPTION_SET, .offset = offsetof(struct profile_request, has_roots) },
	{ 0, "times", NULL,
		"In pprof and otlp, tell when samples were taken, to 10 or 20 ms, where the "
		"history keeps it.",
		OPTION_SET, .offset = offsetof(struct profile_request, has_times) },
	HISTORY_ROWS_OPTION,
	{ 'q', "quiet", NULL, "Print errors only.", OPTION_SET,
		.offset = offsetof(struct history_request, is_quiet) },
	{ 0 },
};

static void prepare_profile(void *invocation, const char *path, const char *format)
{
	struct profile_request *request = invocation;

	history_request_init(&request->history, "/api/v1/profile");
	request->path = path;
	request->format = format;
}

static void prepare_flamegraph(void *invocation)
{
	prepare_profile(invocation, "flamegraph.svg", "svg");
}

static void prepare_report(void *invocation)
{
	prepare_profile(invocation, "-", "txt");
}

static void prepare_export(void *invocation)
{
	prepare_profile(invocation, "profile.pb.gz", "pprof");
}

/* With -f alone the default name has that format's ending. */
static const char *default_path(const struct profile_request *request,
	const struct profile_format *format, char name[NAME_BYTES])
{
	const char *path = request->path;

	if (!format || strcmp(path, "-") == 0 || strcmp(format->name, request->format) == 0)
		return path;
	(void)snprintf(name, NAME_BYTES, "%.*s%s", (int)strcspn(path, "."), path, format->ending);
	return name;
}

static int run_profile(void *invocation)
{
	struct profile_request *request = invocation;
	struct history_request *history = &request->history;
	const struct command *command = history->base.command;
	const struct profile_format *format = NULL;
	const char *path = history->path;
	char name[NAME_BYTES];
	bool is_stream;
	int r;

	if (history->format) {
		format = profile_format_find(history->format);
		if (!format)
			return command_misuse(command, "-f takes %s, not '%s'",
				profile_format_names(), history->format);
	}
	if (!path)
		path = default_path(request, format, name);
	is_stream = strcmp(path, "-") == 0;
	if (!format)
		format = is_stream ? profile_format_find(request->format)
				   : profile_format_of_path(path);
	if (!format)
		return command_misuse(command,
			"the ending of '%s' names no format; choose one with -f: %s", path,
			profile_format_names());
	if (is_stream && !format->is_text && isatty(STDOUT_FILENO))
		return command_misuse(command,
			"standard output is a terminal, and %s is not text; name a file with -o",
			format->name);
	if (history->is_by_line)
		query_text_add(&history->query, "lines", "1");
	if (history->runtime_frames)
		query_text_add(&history->query, "runtime-frames", history->runtime_frames);
	if (history->group)
		query_text_add(&history->query, "group", history->group);
	if (request->has_roots)
		query_text_add(&history->query, "labels", "roots");
	if (request->has_times)
		query_text_add(&history->query, "times", "yes");
	r = history_request_check(history);
	return r == 0 ? history_request_write(history, format->name, path) : r;
}

#define PROFILE_COMMAND                                                                 \
	.options = { history_time_options, history_select_options, profile_options,     \
		history_socket_options },                                               \
	.bytes = sizeof(struct profile_request), .run = run_profile,                    \
	.synopsis = "[SELECT...] [OPTION...]",                                          \
	.notes = "Every SELECT option except times may be repeated: any of its values " \
		 "matches.\nNames may contain *, ? and [...].\n"

const struct command flamegraph_command = {
	.name = "flamegraph",
	.summary = "draw a flame graph from pilotlightd's history",
	.description = "Draw a flame graph, flamegraph.svg, from the history that pilotlightd "
		       "keeps. `pilotlight record` needs no service and profiles from now on.",
	.prepare = prepare_flamegraph,
	PROFILE_COMMAND,
};

const struct command report_command = {
	.name = "report",
	.summary = "list the hottest functions in the history",
	.description = "List the functions that took the most time, on standard output, from the "
		       "history that pilotlightd keeps.",
	.prepare = prepare_report,
	PROFILE_COMMAND,
};

const struct command export_command = {
	.name = "export",
	.summary = "write a profile from the history for other programs",
	.description = "Write a pprof profile, profile.pb.gz, or another format from the history "
		       "that pilotlightd keeps.",
	.prepare = prepare_export,
	PROFILE_COMMAND,
};

/* --- diff ------------------------------------------------------------------------------------- */

struct diff_request {
	struct history_request history;
	const char *normalise;
	const char *fail_above; /* NULL: not given */
};

enum { EXIT_ABOVE = 3 };

static const struct option_row diff_options[] = {
	{ 0, "against", NULL,
		"The options of a selection that follow choose what to compare with. What they do "
		"not say is as in the first selection; \"*\" stands for all.",
		OPTION_SET, .offset = offsetof(struct history_request, is_against) },
	{ 0, "normalise", "HOW",
		"total: compare shares of all samples (the default); time: compare CPU time in a "
		"second, so that more work shows as more.",
		OPTION_STRING, .offset = offsetof(struct diff_request, normalise) },
	{ 0, "normalize", "HOW", NULL, OPTION_STRING,
		.offset = offsetof(struct diff_request, normalise) },
	{ 0, "lines", NULL, "Keep the lines of a function apart.", OPTION_SET,
		.offset = offsetof(struct history_request, is_by_line) },
	HISTORY_GROUP_OPTION,
	HISTORY_RUNTIME_FRAMES_OPTION,
	{ 'o', "output", "FILE",
		"Write only FILE; its ending (.svg, .txt) chooses the format. `-` is standard "
		"output.",
		OPTION_STRING, .offset = offsetof(struct history_request, path) },
	{ 'f', "format", "FORMAT", "Write only svg or txt, whatever the file's ending.",
		OPTION_STRING, .offset = offsetof(struct history_request, format) },
	{ 0, "fail-above", "POINTS",
		"Exit with 3 if the own share of any function rose by more than so many percentage "
		"points, and by more than the error of sampling.",
		OPTION_STRING, .offset = offsetof(struct diff_request, fail_above) },
	HISTORY_ROWS_OPTION,
	{ 'q', "quiet", NULL, "Print errors only.", OPTION_SET,
		.offset = offsetof(struct history_request, is_quiet) },
	{ 0 },
};

static const struct diff_format {
	const char *name, *path; /* the last: without -o; NULL: only if it is chosen */
} diff_formats[] = {
	{ "svg", "diff.svg" },
	{ "txt", "-" },
	{ "html", NULL },
};

static const struct diff_format *find_diff_format(const char *name, const char *path)
{
	const struct profile_format *of_path = name ? NULL : profile_format_of_path(path);

	if (!name)
		name = of_path ? of_path->name : strcmp(path, "-") == 0 ? "txt" : "";
	for (size_t i = 0; i < ARRAY_SIZE(diff_formats); i++)
		if (strcmp(diff_formats[i].name, name) == 0)
			return &diff_formats[i];
	return NULL;
}

static void prepare_diff(void *invocation)
{
	history_request_init(invocation, "/api/v1/diff");
}

/* "3%", "0.5": in billionths. */
static bool parse_points(const char *text, uint64_t *ret_billionths)
{
	struct decimal points;

	*ret_billionths = 0;
	return decimal_parse(&text, &points) && (!*text || strcmp(text, "%") == 0) &&
	       decimal_add(ret_billionths, &points, POINT);
}

static int choose_format(
	const struct history_request *history, const struct diff_format **ret_format)
{
	*ret_format = NULL;
	if (!history->format && !history->path)
		return 0;
	*ret_format = find_diff_format(history->format, history->path);
	if (*ret_format)
		return 0;
	if (history->format)
		return command_misuse(history->base.command, "-f takes svg, html or txt, not '%s'",
			history->format);
	return command_misuse(history->base.command,
		"the ending of '%s' names no format; choose one with -f: svg, html or txt",
		history->path);
}

static int check_diff(
	struct diff_request *request, const struct diff_format **ret_format, uint64_t *ret_above)
{
	struct history_request *history = &request->history;
	int r;

	if (history->against_count == 0 && !history->incident)
		return command_misuse(history->base.command,
			"diff needs --against, and behind it what to compare with, as --from "
			"yesterday --to today; or --incident, which is compared with the hour "
			"before");
	r = choose_format(history, ret_format);
	if (r != 0)
		return r;
	if (!request->fail_above)
		return 0;
	if (!parse_points(request->fail_above, ret_above))
		return command_misuse(history->base.command,
			"--fail-above takes percentage points, such as 3%%, not '%s'",
			request->fail_above);
	if (*ret_format && strcmp((*ret_format)->name, "txt") != 0)
		return command_misuse(history->base.command,
			"--fail-above needs the table; leave out -f and -o, or choose txt");
	return 0;
}

static int run_diff(void *invocation)
{
	struct diff_request *request = invocation;
	struct history_request *history = &request->history;
	const struct diff_format *format = NULL;
	uint64_t above = UINT64_MAX;
	int r = check_diff(request, &format, &above);

	if (r != 0)
		return r;
	if (request->normalise)
		query_text_add(&history->query, "normalise", request->normalise);
	if (history->is_by_line)
		query_text_add(&history->query, "lines", "1");
	if (history->runtime_frames)
		query_text_add(&history->query, "runtime-frames", history->runtime_frames);
	if (history->group)
		query_text_add(&history->query, "group", history->group);
	r = history_request_check(history);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(diff_formats); i++)
		if (format ? format == &diff_formats[i] : diff_formats[i].path != NULL)
			r = history_request_write(history, diff_formats[i].name,
				history->path	       ? history->path
				: diff_formats[i].path ? diff_formats[i].path
						       : "diff.html");
	if (r != 0 || history->increase <= above)
		return r;
	(void)fprintf(stderr,
		"pilotlight: a function's own share rose by %.2f points, more than --fail-above "
		"%s\n",
		(double)history->increase / POINT, request->fail_above);
	return EXIT_ABOVE;
}

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two parts of the history",
	.synopsis = "[SELECT...] --against SELECT... [OPTION...]",
	.description =
		"Show what takes more time (red) and what takes less (blue) in the first selection "
		"than in the one behind --against, from the history that pilotlightd keeps: a "
		"flame graph, diff.svg, and a table on standard output.",
	.notes = "Examples:\n"
		 "  pilotlight diff --last 1h --unit a.service --against --last 1h --to -1d\n"
		 "  pilotlight diff -f txt --fail-above 3% --last 5min --against --last 5min --to "
		 "-1d\n",
	.options = { history_time_options, history_select_options, diff_options,
		history_socket_options },
	.bytes = sizeof(struct diff_request),
	.prepare = prepare_diff,
	.run = run_diff,
};

/* --- status ----------------------------------------------------------------------------------- */

struct status_request {
	struct history_request history;
	bool has_users;
};

static const struct option_row status_options[] = {
	{ 0, "users", NULL, "Show what each user holds of what users share, and what was refused.",
		OPTION_SET, .offset = offsetof(struct status_request, has_users) },
	{ 0 },
};

static void prepare_status(void *invocation)
{
	history_request_init(invocation, "/api/v1/status");
}

static int run_status(void *invocation)
{
	struct status_request *status = invocation;
	struct history_request *request = &status->history;

	if (status->has_users && !request->base.is_json)
		return status_users_write(request);
	return history_request_write(request, request->base.is_json ? NULL : "text", "-");
}

const struct command status_command = {
	.name = "status",
	.summary = "show how pilotlightd is doing, and what it costs",
	.synopsis = "[OPTION...]",
	.description =
		"Show pilotlightd's rate, cost, memory and history, what was lost and why, and the "
		"processes that generate code. The exit status is 1 if no service answers.",
	.has_json = true,
	.options = { status_options, history_socket_options },
	.bytes = sizeof(struct status_request),
	.prepare = prepare_status,
	.run = run_status,
};
