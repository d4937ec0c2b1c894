/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_request.h"

#include "base/array.h"
#include "base/clock.h"
#include "client/http_client.h"
#include "query/selection.h"
#include "tools/exit_status.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
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

enum { AGAINST_BYTES = sizeof("against.") - 1, PARAMETER_PID = HISTORY_TIMES, TIME_BYTES = 40 };

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
	memset(request->times, 0, sizeof(request->times));
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

static const char *parameter_name(size_t parameter, bool is_against)
{
	return is_against ? parameters[parameter] : parameters[parameter] + AGAINST_BYTES;
}

static enum history_parse take_time(struct history_request *request, enum history_time time)
{
	const char **taken = &request->times[request->is_against][time];

	if (*taken)
		return history_request_wrong(
			request, "given twice, and once will do:", parameter_name(time, false));
	*taken = optarg;
	return HISTORY_PARSE_RUN;
}

static enum history_parse select_by(struct history_request *request, size_t parameter)
{
	enum history_parse r = HISTORY_PARSE_RUN;

	if (request->is_against)
		request->against++;
	else
		request->selected++;
	if (parameter < HISTORY_TIMES)
		r = take_time(request, (enum history_time)parameter);
	/* These two are understood together, once all is there. */
	if (parameter != HISTORY_TIME_FROM && parameter != HISTORY_TIME_TO)
		query_text_add(
			&request->query, parameter_name(parameter, request->is_against), optarg);
	return r;
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

/* What the service would make of them, were it in our zone. */
static int read_times(
	const char *const *times, uint64_t *ret_start_ns, uint64_t *ret_end_ns, struct fault *fault)
{
	_cleanup_(selection_freep) struct selection *selection = NULL;
	struct store_selection period;
	int r = selection_new(&selection);

	for (enum history_time i = 0; r == 0 && i < HISTORY_TIMES; i++)
		if (times[i])
			r = selection_add(selection, parameter_name(i, false), times[i], fault);
	if (r == 0)
		r = selection_finish(selection, clock_realtime_ns(), fault);
	if (r < 0)
		return r;
	selection_store(selection, &period);
	*ret_start_ns = period.start_ns;
	*ret_end_ns = period.end_ns;
	return 0;
}

static void add_time(
	struct history_request *request, enum history_time time, bool is_against, uint64_t ns)
{
	char text[TIME_BYTES];

	if (!request->times[is_against][time])
		return;
	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, ns / NSEC_PER_SEC,
		ns % NSEC_PER_SEC);
	query_text_add(&request->query, parameter_name(time, is_against), text);
}

static enum history_parse add_times(struct history_request *request, bool is_against)
{
	const char *const *times = request->times[is_against];
	uint64_t start_ns, end_ns;
	struct fault fault = { 0 };
	int r;

	/* Durations are the same everywhere. */
	if (!times[HISTORY_TIME_FROM] && !times[HISTORY_TIME_TO])
		return HISTORY_PARSE_RUN;
	r = read_times(times, &start_ns, &end_ns, &fault);
	if (r == -ENOMEM) {
		(void)fputs("pilotlight: no memory for the selection\n", stderr);
		return HISTORY_PARSE_FAILED;
	}
	if (r < 0) {
		(void)fprintf(stderr, "pilotlight: %s; see `pilotlight %s --help`\n", fault.text,
			request->command);
		return HISTORY_PARSE_WRONG;
	}
	add_time(request, HISTORY_TIME_FROM, is_against, start_ns);
	add_time(request, HISTORY_TIME_TO, is_against, end_ns);
	return HISTORY_PARSE_RUN;
}

enum history_parse history_request_check(struct history_request *request, int argc, char **argv)
{
	const char *text;

	if (optind < argc)
		return history_request_wrong(
			request, "all is told by options, and this is none:", argv[optind]);
	for (int side = 0; side < 2; side++) {
		enum history_parse r = add_times(request, side == 1);

		if (r != HISTORY_PARSE_RUN)
			return r;
	}
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
	if (parse == HISTORY_PARSE_HELP)
		return EXIT_SUCCESS;
	return parse == HISTORY_PARSE_FAILED ? EXIT_FAILURE : EXIT_USAGE;
}
