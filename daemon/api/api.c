/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include "api/api_private.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { QUERIES_DEFAULT = 2 };

static const uint64_t QUERY_MEMORY_DEFAULT = 96ULL << 20, QUERY_BYTES_DEFAULT = 32ULL << 20,
		      QUERY_TIMEOUT_DEFAULT_NS = 60ULL * NSEC_PER_SEC,
		      SEAL_TIMEOUT_DEFAULT_NS = 5ULL * NSEC_PER_SEC;

/* Without this field pprof(1) shows only the status of an error, not its text. */
#define PPROF_FIELD "X-Go-Pprof"

static const struct http_route routes[] = {
	{ "GET", "/api/v1/profile", route_profile, query_abandon, NULL },
	{ "GET", "/api/v1/diff", route_difference, query_abandon, NULL },
	{ "GET", "/debug/pprof/profile", route_new_profile, query_abandon, PPROF_FIELD },
	{ "GET", "/debug/pprof/", route_pprof_index, NULL, NULL },
	{ "GET", "/api/v1/status", route_status, NULL, NULL },
	{ "GET", "/metrics", route_metrics, NULL, NULL },
	{ "GET", "/", route_index, NULL, NULL },
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

static int copy_options(struct api *api, const struct api_options *options)
{
	api->options = *options;
	set_defaults(&api->options, options->limits ? options->limits : &http_default_limits);
	api->history = strdup(options->history);
	api->symbol_cache = strdup(options->symbol_cache);
	if (!api->history || !api->symbol_cache)
		return -ENOMEM;
	api->options.history = api->history;
	api->options.symbol_cache = api->symbol_cache;
	return 0;
}

static int watch(struct api *api, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Duplicated listeners: api_new() can still fail after the server took its descriptors. */
struct duplicates {
	struct http_listener *listeners; /* owned, with the remaining descriptors */
	size_t count;
};

static void duplicates_done(struct duplicates *duplicates)
{
	for (size_t i = 0; i < duplicates->count; i++)
		(void)close(duplicates->listeners[i].fd);
	free(duplicates->listeners);
}

static int duplicate_listeners(struct duplicates *duplicates, const struct api_options *options)
{
	size_t count = options->listener_count;

	duplicates->listeners = calloc(count ? count : 1, sizeof(*duplicates->listeners));
	if (!duplicates->listeners)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int fd = fcntl(options->listeners[i].fd, F_DUPFD_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		duplicates->listeners[i] =
			(struct http_listener){ fd, options->listeners[i].is_tcp };
		duplicates->count++;
	}
	return 0;
}

static int open_server(struct api *api, const struct api_options *options, struct fault *fault)
{
	_cleanup_(duplicates_done) struct duplicates duplicates = { 0 };
	int r = duplicate_listeners(&duplicates, options);

	if (r < 0)
		return r;
	r = http_server_new(options->limits ? options->limits : &http_default_limits,
		duplicates.listeners, duplicates.count, routes, api, &api->server, fault);
	if (r == 0)
		duplicates.count = 0;
	return r < 0 ? r : watch(api, http_server_poll_fd(api->server));
}

int api_new(const struct api_options *options, struct api **ret_api, struct fault *fault)
{
	_cleanup_(api_freep) struct api *api = calloc(1, sizeof(*api));
	int r;

	assert(options->status && options->request_seal);
	if (!api)
		return fault_set(fault, -ENOMEM, "cannot start the API: out of memory");
	api->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = api->epoll_fd < 0 ? -errno : copy_options(api, options);
	if (r == 0)
		r = open_server(api, options, fault);
	if (r < 0)
		return fault_set(fault, r, "cannot start the API: %s", strerror(-r));
	for (size_t i = 0; i < options->listener_count; i++)
		(void)close(options->listeners[i].fd);
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
	free(api->history);
	free(api->symbol_cache);
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
