/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/status_users.h"

#include "base/output.h"
#include "client/http_client.h"
#include "tools/shown_text.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES_MAX = 1 << 20, TIMEOUT_S = 60 };

/* "user 1000" becomes "alice (user 1000)". */
static void print_line(struct output *output, const char *line)
{
	const struct passwd *user = NULL;
	uint32_t id;

	if (sscanf(line, "user %" SCNu32, &id) == 1)
		user = getpwuid(id);
	if (user) {
		shown_text_string(output, user->pw_name);
		output_string(output, " (");
	}
	shown_text_string(output, line);
	output_string(output, user ? ")\n" : "\n");
}

static void print(struct output *output, char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		print_line(output, line);
}

int status_users_write(struct history_request *request)
{
	const struct http_client_options options = {
		.socket_path = request->socket_path,
		.timeout_s = TIMEOUT_S,
		.limit_bytes = ANSWER_BYTES_MAX - 1,
	};
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	struct output_memory answer = { .limit_bytes = ANSWER_BYTES_MAX };
	struct http_reply reply;
	int r = http_client_new(&options, &client, &request->base.fault);

	if (r == 0)
		r = http_client_get(client, "/api/v1/status?format=users", output_to_memory,
			&answer, &reply, &request->base.fault);
	if (r == 0)
		r = output_to_memory(&answer, "", 1);
	if (r == 0)
		print(&request->base.output, answer.bytes);
	free(answer.bytes);
	return r < 0 ? r : command_flush(&request->base);
}
