/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api_private.h"
#include "base/output.h"
#include "page/page_html.h"

#include <errno.h>
#include <string.h>

enum { REPORT_BYTES_MAX = 1 << 20 };

static void fill_report(struct api *api, struct report *report)
{
	api->options.status(api->options.context, &report->service);
	http_server_counters(api->server, &report->http);
	report->queries = api->queries;
	for (const struct query *t = api->first; t; t = t->next)
		if (t->state == QUERY_RUNNING)
			report->queries.running++;
		else
			report->queries.waiting++;
}

static int write_report(struct api *api, report_function function, struct output_memory *memory)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	_cleanup_free_ struct report *report = calloc(1, sizeof(*report));

	if (!output || !report)
		return -ENOMEM;
	fill_report(api, report);
	output_init(output, output_to_memory, memory);
	function(report, output);
	return output_finish(output);
}

void answer_report(struct api *api, struct http_request *request, report_function function,
	const char *content_type)
{
	struct output_memory memory = { .limit_bytes = REPORT_BYTES_MAX };
	struct http_answer answer = { .status = 200, .content_type = content_type };

	if (write_report(api, function, &memory) < 0) {
		free(memory.bytes);
		http_answer_text(request, 503, "Out of memory. Try again later.");
		return;
	}
	answer.body = memory.bytes;
	answer.size = memory.size;
	http_answer(request, &answer);
}

void route_status(void *api, struct http_request *request)
{
	static const char *const known[] = { "format", NULL };
	const char *format = http_request_parameter(request, "format");
	const char *unknown = parameter_find_unknown(request, known);

	if (unknown)
		http_answer_text(request, 400,
			"Unknown parameter '%.100s' of '/api/v1/status'. The only parameter is "
			"'format'.",
			unknown);
	else if (!format || strcmp(format, "json") == 0)
		answer_report(api, request, report_write_json, "application/json");
	else if (strcmp(format, "text") == 0)
		answer_report(api, request, report_write_text, "text/plain; charset=utf-8");
	else if (strcmp(format, "users") == 0)
		answer_report(api, request, report_write_users, "text/plain; charset=utf-8");
	else
		http_answer_text(request, 400,
			"Unknown format '%.100s'. Use 'json', 'text' or 'users'.", format);
}

void route_metrics(void *api, struct http_request *request)
{
	answer_report(
		api, request, report_write_metrics, "text/plain; version=0.0.4; charset=utf-8");
}

void route_index(void *api, struct http_request *request)
{
	struct http_peer peer;

	(void)api;
	http_request_peer(request, &peer);
	if (http_peer_is_guest(&peer)) {
		http_answer_text(request, 200,
			"pilotlightd, an always-on profiler. See pilotlightd(8). You may ask for "
			"profiles of your own processes:\n\nGET "
			"/api/v1/profile?last=10min&format=svg\nGET "
			"/api/v1/diff?last=10min&against.from=yesterday&against.last=10min\n");
		return;
	}
	http_answer_text(request, 200,
		"pilotlightd, an always-on profiler. See pilotlightd(8). Examples:\n\nGET "
		"/api/v1/profile?last=10min&unit=nginx.service&format=svg\n    a profile from the "
		"history\nGET /api/v1/diff?last=10min&against.from=yesterday&against.last=10min\n  "
		"  the difference between two profiles\nGET /debug/pprof/profile?seconds=30\n    a "
		"new profile, for pprof and scrapers\nGET /ui\n    a page to look at the "
		"history\nGET /api/v1/status, "
		"/api/v1/status?format=text\n    the status of the service\nGET "
		"/api/v1/events?format=text\n    the events, and which are on\nPOST "
		"/api/v1/events?enable=offcpu&for=10min, /api/v1/events?disable=offcpu\n    turns "
		"an event on for a time, or off\nGET /metrics\n    "
		"metrics for Prometheus\n");
}

void route_page(void *api, struct http_request *request)
{
	struct output_memory memory = { .limit_bytes = SIZE_MAX };
	char policy[PAGE_POLICY_BYTES];
	struct http_answer answer = {
		.status = 200,
		.content_type = "text/html; charset=utf-8",
		.content_policy = page_policy_format(true, policy),
	};
	_cleanup_free_ struct output *output = malloc(sizeof(*output));

	(void)api;
	if (output) {
		output_init(output, output_to_memory, &memory);
		page_write(output);
	}
	if (!output || output_finish(output) < 0) {
		free(memory.bytes);
		http_answer_text(request, 503, "Out of memory. Try again later.");
		return;
	}
	answer.body = memory.bytes;
	answer.size = memory.size;
	http_answer(request, &answer);
}

/*
 * pprof(1) sends the addresses without names here. The profile has all names that are known, so the
 * answer is that there are no more; an error would be shown to the user.
 */
void route_pprof_symbol(void *api, struct http_request *request)
{
	(void)api;
	http_answer_text(request, 200, "num_symbols: 0");
}

void route_pprof_index(void *api, struct http_request *request)
{
	(void)api;
	http_answer_text(request, 200,
		"/debug/pprof/\n\nprofile: CPU profile of the whole machine. The parameter "
		"'seconds' sets its length; the default is 30.\n");
}
