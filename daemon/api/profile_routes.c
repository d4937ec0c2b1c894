/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api_private.h"
#include "base/clock.h"
#include "base/time_text.h"

#include <errno.h>
#include <string.h>

enum {
	SECONDS_DEFAULT = 30, /* as Go's net/http/pprof has it */
	SECONDS_MAX = 600,
};

static const uint64_t DAY_NS = 86400ULL * NSEC_PER_SEC;

/* Returns whether the parameters are valid. If not, it has answered the request. */
static bool read_parameters(struct api *api, struct http_request *request, const char *path,
	enum parameter_route route, struct parameter_list *list)
{
	const char *unknown;
	int r;

	if (!*api->options.history) {
		query_refuse(api, request, path, 404,
			"No history: this service does not keep one. Set Enabled=yes in [History] "
			"of pilotlight.conf, or use 'pilotlight record'.");
		return false;
	}
	r = parameter_list_read(list, route, request, &unknown);
	if (r == -EINVAL)
		query_refuse(api, request, path, 400,
			"Unknown parameter '%.100s' of '%s'. See pilotlightd(8) for the "
			"parameters.",
			unknown, path);
	else if (r == -E2BIG)
		query_refuse(api, request, path, 400,
			"Query too long: its parameters have more than %d bytes. Select less at a "
			"time.",
			ANSWER_PARAMETERS_BYTES);
	else if (r < 0)
		query_refuse(api, request, path, 503, "Out of memory. Try again later.");
	return r == 0;
}

/*
 * Returns whether the history already reaches this time. Only absolute times count, which mean the
 * same on every day. The query process interprets times relative to "from" or to now.
 */
static bool is_sealed_time(const struct api *api, const char *text)
{
	uint64_t now_ns = clock_realtime_ns(), time_ns, other_ns;

	return text && time_text_parse(text, now_ns, &time_ns, NULL) == 0 &&
	       time_text_parse(text, now_ns - DAY_NS, &other_ns, NULL) == 0 &&
	       time_ns == other_ns && time_ns <= api->sealed_ns && time_ns <= now_ns;
}

/* A guest does not end the open window, and gets the history as it is. */
static bool is_of_guest(const struct http_request *request)
{
	struct http_peer peer;

	http_request_peer(request, &peer);
	return http_peer_is_guest(&peer);
}

static void add_history_query(struct api *api, struct http_request *request,
	enum parameter_route route, struct query_options *options)
{
	_cleanup_(parameter_list_done) struct parameter_list parameters = { 0 };

	options->is_sealed |= is_of_guest(request);
	if (read_parameters(api, request, options->path, route, &parameters))
		query_add(api, request, options, &parameters);
}

void route_profile(void *context, struct http_request *request)
{
	/* A long time is not worth ending a window for, and a page is drawn sooner without. */
	const char *fresh = http_request_parameter(request, "fresh");
	struct api *api = context;
	struct query_options options = {
		.path = "/api/v1/profile",
		.kind = ANSWER_PROFILE,
		.is_sealed = is_sealed_time(api, http_request_parameter(request, "to")) || fresh,
	};

	if (fresh && strcmp(fresh, "no") != 0) {
		query_refuse(api, request, options.path, 400, "'fresh' is no, or missing.");
		return;
	}
	add_history_query(api, request, PARAMETERS_PROFILE, &options);
}

void route_difference(void *context, struct http_request *request)
{
	struct api *api = context;
	struct query_options options = {
		.path = "/api/v1/diff",
		.kind = ANSWER_DIFFERENCE,
		.is_sealed = is_sealed_time(api, http_request_parameter(request, "to")) &&
			     is_sealed_time(api, http_request_parameter(request, "against.to")),
	};

	add_history_query(api, request, PARAMETERS_DIFFERENCE, &options);
}

void route_heatmap(void *context, struct http_request *request)
{
	struct api *api = context;
	struct query_options options = {
		.path = "/api/v1/heatmap",
		.kind = ANSWER_HEATMAP,
		.is_sealed = is_sealed_time(api, http_request_parameter(request, "to")),
	};

	add_history_query(api, request, PARAMETERS_HEATMAP, &options);
}

/* What happens now is not worth ending a window for. */
void route_timeline(void *context, struct http_request *request)
{
	struct query_options options = {
		.path = "/api/v1/timeline",
		.kind = ANSWER_TIMELINE,
		.is_sealed = true,
	};

	add_history_query(context, request, PARAMETERS_TIMELINE, &options);
}

void route_incidents(void *context, struct http_request *request)
{
	struct query_options options = {
		.path = "/api/v1/incidents",
		.kind = ANSWER_INCIDENTS,
		.is_sealed = true,
	};

	add_history_query(context, request, PARAMETERS_INCIDENTS, &options);
}

/*
 * It changes something, so it is for local users: no page in a browser can ask the unix socket.
 */
void route_incident(void *context, struct http_request *request)
{
	static const char path[] = "/api/v1/incident";
	static const char *const known[] = { "text", NULL };
	const char *text = http_request_parameter(request, "text");
	const char *unknown = parameter_find_unknown(request, known);
	struct api *api = context;
	struct http_peer peer;
	int r;

	http_request_peer(request, &peer);
	if (!peer.is_local) {
		query_refuse(api, request, path, 403,
			"Only local users may note an incident, on the service's socket.");
		return;
	}
	if (unknown) {
		query_refuse(api, request, path, 400,
			"Unknown parameter '%.100s' of '%s'. The only parameter is 'text'.",
			unknown, path);
		return;
	}
	if (!text || !*text) {
		query_refuse(
			api, request, path, 400, "Missing parameter 'text': say what happened.");
		return;
	}
	r = api->options.note_incident ? api->options.note_incident(api->options.context, text)
				       : -EOPNOTSUPP;
	if (r == -EBUSY)
		query_refuse(api, request, path, 503,
			"Too many incidents were noted just now. Try again in some seconds.");
	else if (r < 0)
		query_refuse(api, request, path, 404,
			"No history: this service does not keep one, and so no incidents.");
	else
		http_answer_text(request, 200,
			"Noted. `pilotlight incidents` shows it once its window is written.\n");
}

/* NULL selects the default. Returns whether the number is valid. */
static bool parse_seconds(const char *text, unsigned *ret_seconds)
{
	unsigned seconds = 0;

	if (!text) {
		*ret_seconds = SECONDS_DEFAULT;
		return true;
	}
	if (!*text || strspn(text, "0123456789") != strlen(text))
		return false;
	for (; *text && seconds <= SECONDS_MAX; text++)
		seconds = seconds * 10 + (unsigned)(*text - '0');
	if (seconds < 1 || seconds > SECONDS_MAX)
		return false;
	*ret_seconds = seconds;
	return true;
}

void route_new_profile(void *context, struct http_request *request)
{
	_cleanup_(parameter_list_done) struct parameter_list parameters = { 0 };
	struct query_options options = {
		.path = "/debug/pprof/profile",
		.kind = ANSWER_PROFILE,
	};
	struct api *api = context;
	unsigned seconds;

	if (!parse_seconds(http_request_parameter(request, "seconds"), &seconds)) {
		query_refuse(api, request, options.path, 400,
			"Invalid value of 'seconds'. Use a whole number from 1 to %d.",
			SECONDS_MAX);
		return;
	}
	options.duration_ns = (uint64_t)seconds * NSEC_PER_SEC;
	if (!read_parameters(api, request, options.path, PARAMETERS_NEW_PROFILE, &parameters))
		return;
	/* Collectors store a series for each set of labels, so the default has only services. */
	if (!http_request_parameter(request, "labels") &&
		parameter_list_add(&parameters, "labels", "service") < 0)
		query_refuse(api, request, options.path, 503, "Out of memory. Try again later.");
	else
		query_add(api, request, &options, &parameters);
}
