/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_commands.h"

#include "export/profile_format.h"
#include "render/difference_svg.h"
#include "render/difference_table.h"
#include "tools/fleet/fleet_request.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TOP_ROWS = 30, NAME_BYTES = 64 };

/* --- flamegraph, report, top, export --- */

/* They are one command with several defaults. */
struct profile_request {
	struct fleet_request fleet;
	const char *path; /* without -o */
	struct profile *profile;
	const struct profile_format *format;
	struct profile_format_options options;
	char title[FLEET_TITLE_BYTES], name[NAME_BYTES];
};

static const struct option_row profile_options[] = {
	{ 'o', "output", "FILE",
		"Write to FILE; its ending (.svg, .folded, .pb.gz, .otlp.gz, .push.pb, "
		".parca, .clickhouse, .html, .json, .txt, .sites) chooses the format. `-` is "
		"standard "
		"output.",
		OPTION_STRING, .offset = offsetof(struct fleet_request, path) },
	{ 'f', "format", "FORMAT",
		"Write svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt or "
		"sites, "
		"whatever the file's ending.",
		OPTION_STRING, .offset = offsetof(struct fleet_request, format) },
	{ 0 },
};

static void prepare_profile(void *invocation, const char *path)
{
	struct profile_request *request = invocation;

	fleet_request_init(&request->fleet);
	request->path = path;
}

static void prepare_flamegraph(void *invocation)
{
	prepare_profile(invocation, "fleet.svg");
}

static void prepare_report(void *invocation)
{
	prepare_profile(invocation, "-");
}

static void prepare_top(void *invocation)
{
	struct profile_request *request = invocation;

	prepare_profile(invocation, "-");
	request->fleet.rows = TOP_ROWS;
}

static void prepare_export(void *invocation)
{
	prepare_profile(invocation, "fleet.pb.gz");
}

static int choose_format(struct profile_request *request, const char **ret_path)
{
	const struct command *command = request->fleet.server.base.command;
	const char *path = request->fleet.path ? request->fleet.path : request->path;
	const char *name = request->fleet.format;

	request->format = name			   ? profile_format_find(name)
			  : strcmp(path, "-") == 0 ? profile_format_find("txt")
						   : profile_format_of_path(path);
	if (!request->format)
		return name ? command_misuse(command, "-f takes %s, not '%s'",
				      profile_format_names(), name)
			    : command_misuse(command,
				      "the ending of '%s' names no format; choose one with -f: %s",
				      path, profile_format_names());
	/* With -f alone the default name has that format's ending. */
	if (name && !request->fleet.path && strcmp(path, "-") != 0) {
		(void)snprintf(
			request->name, sizeof(request->name), "fleet%s", request->format->ending);
		path = request->name;
	}
	if (strcmp(path, "-") == 0 && !request->format->is_text && isatty(STDOUT_FILENO))
		return command_misuse(command,
			"standard output is a terminal, and %s is not text; name a file with -o",
			request->format->name);
	*ret_path = path;
	return 0;
}

static int write_profile(void *context, struct output *output)
{
	const struct profile_request *request = context;

	return request->format->write(request->profile, &request->options, output);
}

static int run_profile(void *invocation)
{
	_cleanup_(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct profile_request *request = invocation;
	struct fleet_request *fleet = &request->fleet;
	const char *path = NULL;
	int r = choose_format(request, &path);

	if (r == 0)
		r = fleet_server_connect(&fleet->server, &client);
	if (r == 0)
		r = fleet_request_read(
			fleet, client, DIFFERENCE_COMPARED, &request->profile, request->title);
	if (r != 0)
		return r;
	request->options = (struct profile_format_options){
		.title = request->title,
		.detail = fleet->is_by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION,
		.rows_max = fleet_request_rows(fleet, path),
	};
	return fleet_request_write(fleet, path, write_profile, request);
}

static void done_profile(void *invocation)
{
	profile_free(((struct profile_request *)invocation)->profile);
}

#define PROFILE_COMMAND                                                                      \
	.options = { fleet_select_options, profile_options, fleet_output_options,            \
		fleet_server_options },                                                      \
	.bytes = sizeof(struct profile_request), .run = run_profile, .done = done_profile,   \
	.synopsis = "--clickhouse URL [SELECT...] [OPTION...]",                              \
	.notes = "Every SELECT option except times may be repeated: any of its values "      \
		 "matches.\nNames may contain *, ? and [...]. What a host pushed counts to " \
		 "the time at which it\nbegins.\n"

const struct command fleet_flamegraph = {
	.name = "fleet flamegraph",
	.summary = "draw a flame graph of a fleet",
	.description = "Draw a flame graph, fleet.svg, of what the hosts of a fleet have pushed to "
		       "ClickHouse.",
	.prepare = prepare_flamegraph,
	PROFILE_COMMAND,
};

const struct command fleet_report = {
	.name = "fleet report",
	.summary = "list the hottest functions of a fleet",
	.description = "List the functions that took the most time on all hosts, on standard "
		       "output.",
	.prepare = prepare_report,
	PROFILE_COMMAND,
};

const struct command fleet_top = {
	.name = "fleet top",
	.summary = "list the 30 hottest functions of a fleet",
	.description = "List the 30 functions that took the most time on all hosts in the last "
		       "minutes: `watch` repeats it.",
	.prepare = prepare_top,
	PROFILE_COMMAND,
};

const struct command fleet_export = {
	.name = "fleet export",
	.summary = "write a profile of a fleet for other programs",
	.description = "Write a pprof profile, fleet.pb.gz, or another format.",
	.prepare = prepare_export,
	PROFILE_COMMAND,
};

/* --- diff --- */

struct diff_request {
	struct fleet_request fleet;
	struct profile *profiles[DIFFERENCE_SIDE_COUNT];
	struct profile_difference difference;
	char titles[DIFFERENCE_SIDE_COUNT][FLEET_TITLE_BYTES];
	size_t rows;
};

static const struct option_row diff_options[] = {
	{ 0, "against", NULL,
		"The options of a selection that follow choose what to compare with. What they do "
		"not say is as in the first selection; \"*\" stands for all.",
		OPTION_SET, .offset = offsetof(struct fleet_request, is_against) },
	{ 'o', "output", "FILE",
		"Write only FILE; its ending (.svg, .txt) chooses the format. `-` is standard "
		"output.",
		OPTION_STRING, .offset = offsetof(struct fleet_request, path) },
	{ 'f', "format", "svg|txt", "Write only this format, whatever the file's ending.",
		OPTION_CHOICE, .offset = offsetof(struct fleet_request, format) },
	{ 0 },
};

static void prepare_diff(void *invocation)
{
	fleet_request_init(invocation);
}

static int write_svg(void *context, struct output *output)
{
	const struct diff_request *request = context;
	const char *const names[] = {
		[DIFFERENCE_BASE] = request->titles[DIFFERENCE_BASE],
		[DIFFERENCE_COMPARED] = request->titles[DIFFERENCE_COMPARED],
	};

	return difference_svg_write(&request->difference, names,
		request->fleet.is_by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION, output);
}

static int write_table(void *context, struct output *output)
{
	const struct diff_request *request = context;
	const char *const names[] = {
		[DIFFERENCE_BASE] = request->titles[DIFFERENCE_BASE],
		[DIFFERENCE_COMPARED] = request->titles[DIFFERENCE_COMPARED],
	};
	int64_t increase;

	return difference_table_write(&request->difference, names,
		request->fleet.is_by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION, request->rows,
		output, &increase);
}

static int read_sides(struct diff_request *request)
{
	_cleanup_(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct fleet_request *fleet = &request->fleet;
	int r = fleet_server_connect(&fleet->server, &client);

	for (enum difference_side i = 0; r == 0 && i < DIFFERENCE_SIDE_COUNT; i++)
		r = fleet_request_read(fleet, client, i, &request->profiles[i], request->titles[i]);
	return r != 0 ? r
		      : profile_difference_init(&request->difference,
				request->profiles[DIFFERENCE_BASE],
				request->profiles[DIFFERENCE_COMPARED], DIFFERENCE_BY_TOTAL,
				&fleet->server.base.fault);
}

static int run_diff(void *invocation)
{
	struct diff_request *request = invocation;
	struct fleet_request *fleet = &request->fleet;
	const struct profile_format *of_path =
		fleet->path && !fleet->format ? profile_format_of_path(fleet->path) : NULL;
	const char *name = fleet->format ? fleet->format : of_path ? of_path->name : NULL;
	const char *path = fleet->path ? fleet->path : "-";
	int r;

	if (fleet->sides[DIFFERENCE_BASE].count == 0)
		return command_misuse(fleet->server.base.command,
			"diff needs --against, and behind it what to compare with, as --from "
			"yesterday --to today");
	if (!name && fleet->path)
		name = strcmp(fleet->path, "-") == 0 ? "txt" : "";
	if (name && strcmp(name, "svg") != 0 && strcmp(name, "txt") != 0)
		return command_misuse(fleet->server.base.command,
			"a difference is svg or txt; choose one with -f");
	request->rows = fleet_request_rows(fleet, path);
	r = read_sides(request);
	if (r == 0 && (!name || strcmp(name, "svg") == 0))
		r = fleet_request_write(fleet, name ? path : "fleet-diff.svg", write_svg, request);
	if (r == 0 && (!name || strcmp(name, "txt") == 0))
		r = fleet_request_write(fleet, path, write_table, request);
	return r;
}

static void done_diff(void *invocation)
{
	struct diff_request *request = invocation;

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		profile_free(request->profiles[i]);
}

const struct command fleet_diff = {
	.name = "fleet diff",
	.summary = "compare two parts of what a fleet has pushed",
	.synopsis = "--clickhouse URL [SELECT...] --against SELECT...",
	.description = "Show what takes a greater share of the time (red) and what a smaller one "
		       "(blue) in "
		       "the first selection than in the one behind --against: a flame graph, "
		       "fleet-diff.svg, and a table on standard output.",
	.notes =
		"Example:\n"
		"  pilotlight fleet diff --clickhouse URL --host 'canary-*' --against --host '*'\n",
	.options = { fleet_select_options, diff_options, fleet_output_options,
		fleet_server_options },
	.bytes = sizeof(struct diff_request),
	.prepare = prepare_diff,
	.run = run_diff,
	.done = done_diff,
};
