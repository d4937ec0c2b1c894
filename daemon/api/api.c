/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include "api/api_private.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { QUERIES_DEFAULT = 2 };

static const uint64_t QUERY_MEMORY_DEFAULT = 96ULL << 20, QUERY_BYTES_DEFAULT = 32ULL << 20,
		      QUERY_TIMEOUT_DEFAULT_NS = 60ULL * NSEC_PER_SEC,
		      SEAL_TIMEOUT_DEFAULT_NS = 5ULL * NSEC_PER_SEC;

/* Without this field pprof(1) shows only the status of an error, not its text. */
#define PPROF_FIELD "X-Go-Pprof"

/*
 * Guests see what is their own. A new profile is not for them: it ends windows early, and many of
 * them would make the history larger for all.
 */
static const struct http_route routes[] = {
	{ "GET", "/api/v1/profile", route_profile, query_abandon, NULL, true },
	{ "GET", "/api/v1/diff", route_difference, query_abandon, NULL, true },
	{ "GET", "/api/v1/heatmap", route_heatmap, query_abandon, NULL, true },
	{ "GET", "/api/v1/timeline", route_timeline, query_abandon, NULL, false },
	{ "GET", "/api/v1/incidents", route_incidents, query_abandon, NULL, false },
	{ "GET", "/api/v1/incident", route_incident, NULL, NULL, false },
	{ "GET", "/ui", route_page, NULL, NULL, true },
	{ "GET", "/debug/pprof/profile", route_new_profile, query_abandon, PPROF_FIELD, false },
	{ "GET", "/debug/pprof/symbol", route_pprof_symbol, NULL, NULL, false },
	{ "POST", "/debug/pprof/symbol", route_pprof_symbol, NULL, NULL, false },
	{ "GET", "/debug/pprof/", route_pprof_index, NULL, NULL, false },
	{ "GET", "/api/v1/status", route_status, NULL, NULL, false },
	{ "GET", "/api/v1/events", route_events, NULL, NULL, false },
	{ "POST", "/api/v1/events", route_order_events, NULL, NULL, false },
	{ "GET", "/metrics", route_metrics, NULL, NULL, false },
	{ "GET", "/", route_index, NULL, NULL, true },
	{ 0 },
};

static void set_defaults(struct api_options *options, const struct http_limits *limits)
{
	if (options->queries_max == 0)
		options->queries_max = QUERIES_DEFAULT;
	if (options->query_memory_bytes == 0)
		options->query_memory_bytes = QUERY_MEMORY_DEFAULT;
	if (options->query_bytes == 0)
		options->query_bytes = QUERY_BYTES_DEFAULT;
	/* The server cannot send a larger answer. */
	if (options->query_bytes > limits->answer_bytes / 2)
		options->query_bytes = limits->answer_bytes / 2;
	if (options->query_timeout_ns == 0)
		options->query_timeout_ns = QUERY_TIMEOUT_DEFAULT_NS;
	if (options->seal_timeout_ns == 0)
		options->seal_timeout_ns = SEAL_TIMEOUT_DEFAULT_NS;
}

static int open_api(struct api *api, const struct api_options *options, struct fault *fault)
{
	const struct http_limits *limits = options->limits ? options->limits : &http_default_limits;
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	api->options = *options;
	set_defaults(&api->options, limits);
	api->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (api->epoll_fd < 0)
		return -errno;
	r = http_server_new(limits, options->listeners, options->listener_count, routes, api,
		&api->server, fault);
	if (r < 0)
		return r;
	/* The page has no data, and asks its user for the token. */
	api->options.access.open_path = "/ui";
	http_server_set_access(api->server, &api->options.access);
	return epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, http_server_poll_fd(api->server), &event) < 0
		       ? -errno
		       : 0;
}

int api_new(const struct api_options *options, struct api **ret_api, struct fault *fault)
{
	_cleanup_(api_freep) struct api *api = calloc(1, sizeof(*api));
	int r;

	assert(options->status && options->request_seal && options->order_events);
	if (!api)
		return fault_set(fault, -ENOMEM, "cannot start the API: out of memory");
	r = open_api(api, options, fault);
	if (r < 0)
		return fault_set(fault, r, "cannot start the API: %s", strerror(-r));
	*ret_api = TAKE_PTR(api);
	return 0;
}

void api_free(struct api *api)
{
	if (!api)
		return;
	queries_free(api);
	http_server_free(api->server);
	if (api->epoll_fd >= 0)
		(void)close(api->epoll_fd);
	free(api);
}

void api_sealed(struct api *api, uint64_t until_ns)
{
	api->sealed_ns = until_ns;
}

int api_poll_fd(const struct api *api)
{
	return api->epoll_fd;
}

uint64_t api_timeout_ns(const struct api *api)
{
	uint64_t timeout_ns = http_server_timeout_ns(api->server);
	uint64_t now_ns = clock_monotonic_ns(), next_ns = queries_next_ns(api);

	if (next_ns == UINT64_MAX)
		return timeout_ns;
	next_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	return next_ns < timeout_ns ? next_ns : timeout_ns;
}

int api_run(struct api *api)
{
	int r = http_server_run(api->server);

	queries_run(api);
	return r;
}

void api_counters(const struct api *api, struct http_counters *ret_counters)
{
	http_server_counters(api->server, ret_counters);
}
