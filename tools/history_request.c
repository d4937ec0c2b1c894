/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history_request.h"

#include "base/array.h"
#include "client/http_client.h"
#include "tools/exit_status.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the options; "against." stands before those of the other selection. */
static const char *const parameters[] = {
	"against.last",
	"against.from",
	"against.to",
	"against.pid",
	"against.tid",
	"against.comm",
	"against.thread",
	"against.exe",
	"against.unit",
	"against.cgroup",
	"against.container",
	"against.pod",
	"against.slice",
	"against.build-id",
	"against.event",
};

enum { AGAINST_BYTES = sizeof("against.") - 1, PARAMETER_PID = 3 };

void history_request_init(
	struct history_request *request, const char *command, const char *help, const char *path)
{
	request->command = command;
	request->help = help;
	request->socket_path = http_client_default_socket();
	request->path = NULL;
	request->format = NULL;
	request->is_against = false;
	request->selected = 0;
	request->against = 0;
	request->is_quiet = false;
	query_text_init(&request->query, path);
}

enum history_parse history_request_wrong(
	const struct history_request *request, const char *sentence, const char *what)
{
	(void)fprintf(stderr, "pilotlight: %s '%s'; see `pilotlight %s --help`\n", sentence, what,
		request->command);
	return HISTORY_PARSE_WRONG;
}

static enum history_parse select_by(struct history_request *request, size_t parameter)
{
	const char *name = parameters[parameter];

	if (request->is_against)
		request->against++;
	else
		request->selected++;
	query_text_add(&request->query, request->is_against ? name : name + AGAINST_BYTES, optarg);
	return HISTORY_PARSE_RUN;
}

enum history_parse history_request_take(struct history_request *request, int option)
{
	if (option >= HISTORY_OPTION_SELECT &&
		option < HISTORY_OPTION_SELECT + (int)ARRAY_SIZE(parameters))
		return select_by(request, (size_t)(option - HISTORY_OPTION_SELECT));
	switch (option) {
	case 'p':
		return select_by(request, PARAMETER_PID);
	case 'o':
		if (!*optarg)
			return history_request_wrong(request, "-o takes a file's name, not", "");
		request->path = optarg;
		return HISTORY_PARSE_RUN;
	case 'f':
		request->format = optarg;
		return HISTORY_PARSE_RUN;
	case 'q':
		request->is_quiet = true;
		return HISTORY_PARSE_RUN;
	case HISTORY_OPTION_SOCKET:
		request->socket_path = optarg;
		return HISTORY_PARSE_RUN;
	case 'h':
		(void)fputs(request->help, stdout);
		return HISTORY_PARSE_HELP;
	default:
		(void)fprintf(stderr, "pilotlight: see `pilotlight %s --help`\n", request->command);
		return HISTORY_PARSE_WRONG;
	}
}

enum history_parse history_request_check(struct history_request *request, int argc, char **argv)
{
	const char *text;

	if (optind < argc)
		return history_request_wrong(
			request, "all is told by options, and this is none:", argv[optind]);
	if (query_text_finish(&request->query, &text) < 0) {
		(void)fputs("pilotlight: the selection is longer than a request may be; select "
			    "less at once\n",
			stderr);
		return HISTORY_PARSE_WRONG;
	}
	return HISTORY_PARSE_RUN;
}

int history_parse_status(enum history_parse parse)
{
	return parse == HISTORY_PARSE_HELP ? EXIT_SUCCESS : EXIT_USAGE;
}
