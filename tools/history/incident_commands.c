/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/incident_commands.h"

#include "tools/history/history_request.h"

#define COMPARED_ROWS "10"

static void prepare_incidents(void *invocation)
{
	history_request_init(invocation, "/api/v1/incidents");
}

/* What has changed since the hour before: what is most unusual comes first. */
static int write_comparison(struct history_request *request, const char *number)
{
	query_text_init(&request->query, "/api/v1/diff");
	query_text_add(&request->query, "incident", number);
	query_text_add(&request->query, "rows", COMPARED_ROWS);
	return history_request_write(request, "txt", "-");
}

static int run_incidents(void *invocation)
{
	struct history_request *request = invocation;
	const char *number = request->base.argument_count > 0 ? request->base.arguments[0] : NULL;
	int r;

	if (number)
		query_text_add(&request->query, "incident", number);
	r = history_request_write(request, request->base.is_json ? "json" : "txt", "-");
	return r != 0 || !number || request->base.is_json ? r : write_comparison(request, number);
}

const struct command incidents_command = {
	.name = "incidents",
	.summary = "list the incidents of the history",
	.synopsis = "[OPTION...] [NUMBER]",
	.description =
		"List the moments that a threshold of pilotlight.conf or a user has noted: number, "
		"time, cause and text. The windows around them keep their time resolution. With "
		"NUMBER: this one, and what took more time then than in the hour before. "
		"`pilotlight "
		"flamegraph --incident NUMBER` and `pilotlight diff --incident NUMBER` draw it.",
	.has_json = true,
	.options = { history_socket_options },
	.arguments_max = 1,
	.argument = "an incident's number",
	.bytes = sizeof(struct history_request),
	.prepare = prepare_incidents,
	.run = run_incidents,
};

static void prepare_incident(void *invocation)
{
	history_request_init(invocation, "/api/v1/incident");
}

static int run_incident(void *invocation)
{
	struct history_request *request = invocation;

	query_text_add(&request->query, "text", request->base.arguments[0]);
	return history_request_write(request, NULL, "-");
}

const struct command incident_command = {
	.name = "incident",
	.summary = "note that something happens now",
	.synopsis = "[OPTION...] TEXT",
	.description = "Note an incident, such as a deployment or an alert, in the history.",
	.notes = "Example: pilotlight incident \"deploy 42\"",
	.options = { history_socket_options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a text",
	.bytes = sizeof(struct history_request),
	.prepare = prepare_incident,
	.run = run_incident,
};
