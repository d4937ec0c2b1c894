/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the events, and turns them on for a time. */
#include "api/api_private.h"
#include "api/event_table.h"
#include "base/array.h"
#include "base/event_source.h"
#include "base/output.h"
#include "base/time_text.h"
#include "capture/event_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOR_NS_DEFAULT (10ULL * 60 * 1000000000)

static void write_text(const struct report *report, struct output *output)
{
	event_table_write_text(&report->service, NULL, output);
}

static void write_json(const struct report *report, struct output *output)
{
	struct json json;

	json_init(&json, output);
	event_table_write_json(&report->service, NULL, &json);
}

void route_events(void *api, struct http_request *request)
{
	static const char *const known[] = { "format", NULL };
	const char *format = http_request_parameter(request, "format");
	const char *unknown = parameter_find_unknown(request, known);

	if (unknown)
		http_answer_text(request, 400,
			"Unknown parameter '%.100s' of GET '/api/v1/events'. The only parameter is "
			"'format'.",
			unknown);
	else if (!format || strcmp(format, "json") == 0)
		answer_report(api, request, write_json, "application/jsonl");
	else if (strcmp(format, "text") == 0)
		answer_report(api, request, write_text, "text/plain; charset=utf-8");
	else
		http_answer_text(
			request, 400, "Unknown format '%.100s'. Use 'json' or 'text'.", format);
}

/* Digits and, for bytes, K, M or G; or a duration. The sources have the same unit. */
static bool parse_period(const char *text, enum event_unit unit, uint64_t *ret_period)
{
	char *end;

	if (unit == EVENT_UNIT_TIME)
		return time_text_parse_duration(text, ret_period, NULL) == 0 && *ret_period > 0;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_period = strtoull(text, &end, 10);
	for (const char *units = "KMG"; unit == EVENT_UNIT_BYTES && *end && *units; units++) {
		if (__builtin_mul_overflow(*ret_period, 1024, ret_period))
			return false;
		if (*end == *units) {
			end++;
			break;
		}
	}
	return errno == 0 && !*end && *ret_period > 0;
}

/* A source with the unit that all have; NULL: they have several. */
static const struct event_source *common_unit(const struct api_event_order *order)
{
	const struct event_source *first = NULL;
	uint32_t sources = order->sources;

	sources |= order->counted_count > 0 ? 1U << PILOTLIGHT_SOURCE_COUNTED : 0;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(sources & 1U << i))
			continue;
		if (first && event_source_unit(first) != event_source_unit(&event_sources[i]))
			return NULL;
		first = &event_sources[i];
	}
	return first;
}

/* Returns whether the order is valid; if not, the request is answered. */
static bool parse_times(struct http_request *request, struct api_event_order *order)
{
	const char *duration = http_request_parameter(request, "for");
	const char *period = http_request_parameter(request, "period");
	const struct event_source *source = common_unit(order);

	order->for_ns = FOR_NS_DEFAULT;
	if (!order->is_on && (duration || period)) {
		http_answer_text(request, 400, "'for' and 'period' go with 'enable' alone.");
		return false;
	}
	if (duration && time_text_parse_duration(duration, &order->for_ns, NULL) < 0) {
		http_answer_text(request, 400,
			"'%.100s' is not a duration. Use a number and s, min or h, such as 10min.",
			duration);
		return false;
	}
	if (period && !source) {
		http_answer_text(request, 400,
			"One period cannot be for events of several units. Turn each on alone.");
		return false;
	}
	if (period && !parse_period(period, event_source_unit(source), &order->period)) {
		http_answer_text(request, 400,
			"'%.100s' is not a period. Use a number of %s, or a duration where these "
			"are nanoseconds.",
			period, source->unit);
		return false;
	}
	return true;
}

/* Returns whether it is an event, and there is room for it. */
static bool add_name(struct api_event_order *order, const char *name)
{
	struct pilotlight_counted_event event;
	const char *unknown;
	uint64_t period;
	uint32_t sources;

	if (event_source_parse_set(name, ",", &sources, &unknown)) {
		order->sources |= sources;
		return true;
	}
	if (order->counted_count == ARRAY_SIZE(order->counted) ||
		event_name_find(name, EVENT_NAME_PMU, &event, &period, NULL) < 0)
		return false;
	order->counted[order->counted_count++] = event;
	return true;
}

/* Returns whether all names are valid; if not, the request is answered. */
static bool parse_names(
	struct http_request *request, const char *text, struct api_event_order *order)
{
	char name[PILOTLIGHT_EVENT_NAME_BYTES];

	for (text += strspn(text, ","); *text; text += strspn(text, ",")) {
		size_t size = strcspn(text, ",");

		(void)snprintf(name, sizeof(name), "%.*s", (int)size, text);
		if (size >= sizeof(name) || !add_name(order, name)) {
			http_answer_text(request, 400,
				"Unknown event '%s', or one too many. GET /api/v1/events lists the "
				"events; of perf's at most %d can be on.",
				name, PILOTLIGHT_COUNTED_EVENTS);
			return false;
		}
		text += size;
	}
	return true;
}

static bool parse_order(struct http_request *request, struct api_event_order *ret_order)
{
	static const char *const known[] = { "enable", "disable", "for", "period", NULL };
	const char *enabled = http_request_parameter(request, "enable");
	const char *disabled = http_request_parameter(request, "disable");
	struct api_event_order order = { .is_on = enabled != NULL };
	const char *unknown = parameter_find_unknown(request, known);

	if (unknown) {
		http_answer_text(request, 400,
			"Unknown parameter '%.100s' of POST '/api/v1/events'. Use 'enable', "
			"'disable', 'for' and 'period'.",
			unknown);
		return false;
	}
	if (!enabled == !disabled) {
		http_answer_text(request, 400,
			"Use either 'enable' or 'disable', with names of events such as "
			"'offcpu,runqueue'.");
		return false;
	}
	if (!parse_names(request, enabled ? enabled : disabled, &order) ||
		!parse_times(request, &order))
		return false;
	*ret_order = order;
	return true;
}

static unsigned status_of(int error)
{
	return error == -EPERM ? 403 : error == -EINVAL ? 400 : 503;
}

/* The guests' check is the route's. */
void route_order_events(void *context, struct http_request *request)
{
	struct api *api = context;
	struct api_event_order order;
	struct fault fault = { 0 };
	struct http_peer peer;
	int r;

	http_request_peer(request, &peer);
	if (!peer.is_local && !api->options.access.token) {
		http_answer_text(request, 403,
			"Turning events on or off over TCP needs a token. Ask on the "
			"socket, or set BearerTokenFile= in [Api] of pilotlight.conf(5).");
		return;
	}
	if (!parse_order(request, &order))
		return;
	r = api->options.order_events(api->options.context, &order, &fault);
	if (r < 0)
		http_answer_text(request, status_of(r), "%s.",
			fault.text[0] ? fault.text : "Out of memory: try again later");
	else
		answer_report(api, request, write_text, "text/plain; charset=utf-8");
}
