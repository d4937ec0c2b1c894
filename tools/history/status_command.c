/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/status_command.h"

#include "tools/command.h"
#include "tools/history/history_answer.h"
#include "tools/history/history_request.h"

#include <getopt.h>
#include <stdlib.h>

enum { OPTION_JSON = HISTORY_OPTION_OWN };

static const char help[] =
	"usage: pilotlight status [--json] [--socket PATH]\n"
	"\n"
	"How pilotlightd is: rate, cost, memory, history, what was lost and why, names,\n"
	"processes that generate code.\n"
	"\n"
	"  --json             the same for programs\n" HISTORY_HELP_ASK "\n"
	"Exits with 1 where there is no service that answers.\n";

static enum history_parse parse(int argc, char **argv, struct history_request *request)
{
	static const struct option long_options[] = {
		HISTORY_OPTIONS_ASK,
		{ "json", no_argument, NULL, OPTION_JSON },
		{ 0 },
	};
	bool is_json = false;
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		enum history_parse r = HISTORY_PARSE_RUN;

		if (option == OPTION_JSON)
			is_json = true;
		else
			r = history_request_take(request, option);
		if (r != HISTORY_PARSE_RUN)
			return r;
	}
	if (!is_json)
		query_text_add(&request->query, "format", "text");
	return history_request_check(request, argc, argv);
}

int status_main(int argc, char **argv)
{
	struct history_request request;
	struct history_answer answer = { .path = "-" };
	struct fault fault = { 0 };
	enum history_parse parsed;
	int r;

	history_request_init(&request, "status", help, "/api/v1/status");
	parsed = parse(argc, argv, &request);
	if (parsed != HISTORY_PARSE_RUN)
		return history_parse_status(parsed);
	answer.socket_path = request.socket_path;
	answer.target = request.query.text;
	r = history_answer_write(&answer, &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}
