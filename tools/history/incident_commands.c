/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/incident_commands.h"

#include "tools/history/history_request.h"

static void prepare_incidents(void *invocation)
{
	history_request_init(invocation, "/api/v1/incidents");
}

static int run_incidents(void *invocation)
{
	struct history_request *request = invocation;

	return history_request_write(request, request->base.is_json ? "json" : "txt", "-");
}

const struct command incidents_command = {
	.name = "incidents",
	.summary = "list the incidents of the history",
	.synopsis = "[OPTION...]",
	.description =
		"List the moments that a threshold of pilotlight.conf or a user has noted: number, "
		"time, cause and text. The windows around them keep their time resolution. Look at "
		"one "
		"with `pilotlight flamegraph --incident NUMBER`, or compare it with the hour "
		"before by "
		"`pilotlight diff --incident NUMBER`.",
	.has_json = true,
	.options = { history_socket_options },
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
