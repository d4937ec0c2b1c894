/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_servers.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "broker/broker_server.h"
#include "broker/request_rate.h"
#include "capture/capture_server.h"
#include "capture/libbpf_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BROKER, CAPTURE };

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	/* If the limit stays too low, the open that exceeds it reports the error. */
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int engine_servers_init(
	struct engine_servers *servers, const struct engine_servers_options *options)
{
	int r;

	*servers = (struct engine_servers){ .options = *options };
	raise_descriptor_limit();
	libbpf_log_set_up();
	if (!options->has_unlimited_requests) {
		r = request_rate_new(&servers->request_rate);
		if (r < 0)
			return r;
	}
	r = capture_server_new(getenv("PILOTLIGHT_EVENT_SOCKET"), &servers->capture);
	if (r == 0 && options->grant)
		capture_server_grant(servers->capture, options->grant);
	return r;
}

void engine_servers_done(struct engine_servers *servers)
{
	engine_servers_disconnect(servers);
	engine_servers_configure(servers, 0);
	capture_server_free(TAKE_PTR(servers->capture));
	request_rate_free(TAKE_PTR(servers->request_rate));
}

void engine_servers_limit(struct engine_servers *servers, const struct capture_limits *limits)
{
	capture_server_limit(servers->capture, limits);
}

void engine_servers_configure(struct engine_servers *servers, int config_fd)
{
	if (servers->config_fd > 0)
		(void)close(servers->config_fd);
	servers->config_fd = config_fd;
}

void engine_servers_choose(struct engine_servers *servers, const struct cgroup_choice *choice)
{
	capture_server_choose(servers->capture, choice);
}

void engine_servers_disconnect(struct engine_servers *servers)
{
	broker_server_free(TAKE_PTR(servers->broker));
	servers->has_capture_socket = servers->has_warned = servers->has_warned_of_fetches = false;
}

int engine_servers_connect(struct engine_servers *servers, int *broker_fd, int *capture_fd)
{
	const struct broker_options options = {
		.request_timeout_ns = BROKER_REQUEST_TIMEOUT_NS,
		.opens_closed_folders = servers->options.opens_closed_folders,
		.request_rate = servers->request_rate,
		.lost_openers = &servers->lost_openers,
		.fetch_socket = getenv("PILOTLIGHT_FETCH_SOCKET"),
		.send_socket = getenv("PILOTLIGHT_SEND_SOCKET"),
		.config_fd = servers->config_fd,
	};
	int r;

	engine_servers_disconnect(servers);
	r = broker_server_new(*broker_fd, &options, &servers->broker);
	if (r < 0)
		return r;
	*broker_fd = -1;
	r = capture_server_connect(servers->capture, *capture_fd);
	if (r < 0)
		return r;
	*capture_fd = -1;
	servers->has_capture_socket = true;
	return 0;
}

void engine_servers_fill_pollfds(
	const struct engine_servers *servers, struct pollfd fds[ENGINE_SERVERS])
{
	fds[BROKER] = (struct pollfd){
		.fd = servers->broker ? broker_server_poll_fd(servers->broker) : -1,
		.events = POLLIN,
	};
	fds[CAPTURE] = (struct pollfd){
		.fd = servers->has_capture_socket ? capture_server_poll_fd(servers->capture) : -1,
		.events = POLLIN,
	};
}

/* Logs each once an engine: further ones have the same cause. */
static void warn_of_requests(struct engine_servers *servers)
{
	const struct broker_server_counters *counters = broker_server_counters(servers->broker);

	if (!servers->has_warned && counters->refusals[BROKER_REFUSAL_LATE] > 0) {
		servers->has_warned = true;
		log_warning("a file system does not answer; code in its files stays unsymbolized");
	}
	if (!servers->has_warned_of_fetches &&
		counters->children.without_service[BROKER_CHILD_SYMBOL_FETCH] > 0) {
		servers->has_warned_of_fetches = true;
		log_warning("cannot ask debuginfod servers: nothing listens at %s; run `systemctl "
			    "enable --now pilotlight-fetch.socket`",
			getenv("PILOTLIGHT_FETCH_SOCKET"));
	}
}

/* Logs once: the bucket may run dry often. */
static void warn_of_rate(struct engine_servers *servers)
{
	if (servers->has_warned_of_rate || !servers->request_rate ||
		servers->request_rate->refused == 0)
		return;
	servers->has_warned_of_rate = true;
	log_warning("the engine requests more than %d files a second; refusing the excess, whose "
		    "code stays unsymbolized",
		REQUEST_RATE_PER_S);
}

void engine_servers_handle(struct engine_servers *servers, const struct pollfd fds[ENGINE_SERVERS])
{
	int r;

	if (fds[BROKER].revents && servers->broker) {
		r = broker_server_run(servers->broker);
		warn_of_requests(servers);
		warn_of_rate(servers);
		if (r < 0 && r != -EPIPE)
			log_error("cannot receive the engine's requests for files: %s; ignoring "
				  "further ones",
				strerror(-r));
		if (r < 0)
			broker_server_free(TAKE_PTR(servers->broker));
	}
	if (fds[CAPTURE].revents && servers->has_capture_socket) {
		r = capture_server_run(servers->capture);
		if (r < 0 && r != -EPIPE)
			log_error("cannot receive the engine's requests to capture: %s; ignoring "
				  "further ones",
				strerror(-r));
		if (r < 0)
			servers->has_capture_socket = false;
	}
}
