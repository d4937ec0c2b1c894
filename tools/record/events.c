/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/events.h"

#include "api/event_table.h"
#include "base/cleanup.h"
#include "base/event_source.h"
#include "capture/source_support.h"
#include "client/http_client.h"
#include "client/query_text.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_S = 60, ANSWER_BYTES_MAX = 1 << 20 };

struct events_request {
	struct invocation base;
	const char *socket_path;
	const char *duration, *period; /* NULL: the service's defaults */
	struct query_text query;
};

static const struct option_row socket_options[] = {
	{ 0, "socket", "PATH",
		"Ask the service at PATH ($PILOTLIGHT_SOCKET, or /run/pilotlight/api.sock).",
		OPTION_STRING, .offset = offsetof(struct events_request, socket_path) },
	{ 0 },
};

static void prepare(void *invocation)
{
	struct events_request *request = invocation;

	request->socket_path = http_client_default_socket();
}

/* Prints the answer, without what could deceive a terminal. */
static int print_answer(struct events_request *request, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		if (text || *line) {
			shown_text_string(&request->base.output, line);
			output_char(&request->base.output, '\n');
		}
	return command_flush(&request->base);
}

/* Returns 0 or -errno with a fault. */
static int ask(struct events_request *request, const char *target, bool posts)
{
	const struct http_client_options options = {
		.socket_path = request->socket_path,
		.timeout_s = TIMEOUT_S,
		.limit_bytes = ANSWER_BYTES_MAX - 1,
	};
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	struct output_memory answer = { .limit_bytes = ANSWER_BYTES_MAX };
	struct fault *fault = &request->base.fault;
	struct http_reply reply;
	int r = http_client_new(&options, &client, fault);

	if (r == 0)
		r = posts ? http_client_post(
				    client, target, output_to_memory, &answer, &reply, fault)
			  : http_client_get(
				    client, target, output_to_memory, &answer, &reply, fault);
	if (r == 0)
		r = output_to_memory(&answer, "", 1);
	if (r == 0)
		r = print_answer(request, answer.bytes);
	free(answer.bytes);
	return r;
}

/* Without privileges some of it cannot be known. */
static void find_missing(struct event_table_missing *ret_missing)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (event_source_is_counted(i) ||
			source_support_read(i, false, NULL, NULL, ret_missing->of[i]) < 0)
			ret_missing->of[i][0] = '\0';
}

static int run_list(void *invocation)
{
	struct events_request *request = invocation;
	const char *target =
		request->base.is_json ? "/api/v1/events" : "/api/v1/events?format=text";
	struct event_table_missing missing;
	int r = ask(request, target, false);

	/* The events are known without a service, too. */
	if (r != -ENOENT && r != -ECONNREFUSED && r != -ELIBACC)
		return r;
	request->base.fault = (struct fault){ 0 };
	find_missing(&missing);
	if (request->base.is_json)
		event_table_write_json(NULL, &missing, &request->base.json);
	else
		event_table_write_text(NULL, &missing, &request->base.output);
	return command_flush(&request->base);
}

static int order(struct events_request *request, const char *what)
{
	const char *target;
	int r;

	query_text_init(&request->query, "/api/v1/events");
	query_text_add(&request->query, what, request->base.arguments[0]);
	if (request->duration)
		query_text_add(&request->query, "for", request->duration);
	if (request->period)
		query_text_add(&request->query, "period", request->period);
	r = query_text_finish(&request->query, &target);
	if (r < 0)
		return fault_set(&request->base.fault, r, "the names are too long");
	return ask(request, target, true);
}

static int run_enable(void *invocation)
{
	return order(invocation, "enable");
}

static int run_disable(void *invocation)
{
	return order(invocation, "disable");
}

static const struct option_row enable_options[] = {
	{ 0, "for", "TIME", "Turn it off again after TIME: 10min (the default), 1s to 1d.",
		OPTION_STRING, .offset = offsetof(struct events_request, duration) },
	{ 0, "period", "PERIOD",
		"What a sample stands for, such as 5ms; without it, the service's default.",
		OPTION_STRING, .offset = offsetof(struct events_request, period) },
	{ 0 },
};

static const struct command enable_command = {
	.name = "events enable",
	.summary = "let the service sample an event for a time",
	.synopsis = "NAME[,NAME...] [OPTION...]",
	.description = "Let pilotlightd sample events beside CPU time, for a time, without its "
		       "configuration. AllowEvents= of pilotlight.conf(5) limits which. It takes "
		       "a moment, as a reload does.",
	.options = { enable_options, socket_options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a list of events",
	.bytes = sizeof(struct events_request),
	.prepare = prepare,
	.run = run_enable,
};

static const struct command disable_command = {
	.name = "events disable",
	.summary = "end that before its time",
	.synopsis = "NAME[,NAME...] [OPTION...]",
	.description = "Turn events off that `pilotlight events enable` has turned on.",
	.options = { socket_options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a list of events",
	.bytes = sizeof(struct events_request),
	.prepare = prepare,
	.run = run_disable,
};

static const struct command *const commands[] = { &enable_command, &disable_command, NULL };

const struct command events_command = {
	.name = "events",
	.summary = "list what can be sampled, and turn it on for a time",
	.synopsis = "[OPTION...] | COMMAND ...",
	.description =
		"List the events that -e takes: of `record`, and of the commands that read "
		"the history. A period is what one sample of `record` stands for. CPU time "
		"has a rate instead, and wall is the sum of CPU time, time off CPU and time "
		"waiting for a CPU. `record -e` also takes any event that perf names, such as "
		"cache-misses, any tracepoint, such as sched:sched_process_exec, and "
		"probes of programs, usdt:BINARY:PROVIDER:NAME; so does the service, but for "
		"probes, if its configuration names them. If the service runs, show which it "
		"samples, until when, and what taking the samples has "
		"cost of the machine's CPU time since its start.",
	.commands = commands,
	.options = { socket_options },
	.has_json = true,
	.bytes = sizeof(struct events_request),
	.prepare = prepare,
	.run = run_list,
};
