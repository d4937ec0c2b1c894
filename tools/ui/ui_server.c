/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/ui/ui_server.h"

#include "base/output.h"
#include "client/query_text.h"
#include "page/page_html.h"
#include "serve/http_server.h"
#include "tools/ui/ui_passes.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
	SECRET_RANDOM_BYTES = 16,
	SECRET_BYTES = 2 * SECRET_RANDOM_BYTES + 1,
	PAGE_BYTES_MAX = 1 << 20,
	IDLE_SECONDS_MAX = 20,
};

struct ui_server {
	struct http_server *http;
	struct ui_passes *passes;
	char secret[SECRET_BYTES];
	char address[UI_ADDRESS_BYTES];
};

/* --- what is served --------------------------------------------------------------------------- */

/* In a time that does not depend on how much of it is right. */
static bool is_secret(const struct ui_server *server, const char *text)
{
	unsigned char difference = 0;

	if (!text || strlen(text) != SECRET_BYTES - 1)
		return false;
	for (size_t i = 0; i < SECRET_BYTES - 1; i++)
		difference |= (unsigned char)(text[i] ^ server->secret[i]);
	return difference == 0;
}

static void serve_page(void *context, struct http_request *request)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct output_memory memory = { .limit_bytes = PAGE_BYTES_MAX };
	struct http_answer answer = { .status = 200, .content_type = "text/html; charset=utf-8" };
	char policy[PAGE_POLICY_BYTES];

	(void)context;
	if (output) {
		output_init(output, output_to_memory, &memory);
		page_write(output);
	}
	if (output && output_finish(output) == 0) {
		answer.content_policy = page_policy_format(true, policy);
		answer.body = TAKE_PTR(memory.bytes);
		answer.size = memory.size;
		http_answer(request, &answer);
	} else {
		http_answer_text(request, 503, "Out of memory. Try again later.");
	}
	free(memory.bytes);
}

/* All parameters but the secret. */
static int add_parameter(void *context, const char *name, const char *value)
{
	if (strcmp(name, "key") != 0)
		query_text_add(context, name, value);
	return 0;
}

static void pass_on(struct ui_server *server, struct http_request *request, const char *path)
{
	_cleanup_free_ struct query_text *query = NULL;
	const char *target;

	if (!is_secret(server, http_request_parameter(request, "key"))) {
		http_answer_text(request, 403,
			"Not allowed: open the address that `pilotlight ui` has printed.");
		return;
	}
	query = malloc(sizeof(*query));
	if (!query) {
		http_answer_text(request, 503, "Out of memory. Try again later.");
		return;
	}
	query_text_init(query, path);
	(void)http_request_each(request, add_parameter, query);
	if (query_text_finish(query, &target) < 0)
		http_answer_text(request, 414, "The request is too long.");
	else
		ui_passes_add(server->passes, request, target);
}

static void abandon(void *context, struct http_request *request)
{
	struct ui_server *server = context;

	ui_passes_abandon(server->passes, request);
}

static void pass_profile(void *context, struct http_request *request)
{
	pass_on(context, request, "/api/v1/profile");
}

static void pass_heatmap(void *context, struct http_request *request)
{
	pass_on(context, request, "/api/v1/heatmap");
}

static void pass_timeline(void *context, struct http_request *request)
{
	pass_on(context, request, "/api/v1/timeline");
}

static const struct http_route routes[] = {
	{ "GET", "/", serve_page, NULL, NULL, true },
	{ "GET", "/api/v1/profile", pass_profile, abandon, NULL, true },
	{ "GET", "/api/v1/timeline", pass_timeline, abandon, NULL, true },
	{ "GET", "/api/v1/heatmap", pass_heatmap, abandon, NULL, true },
	{ 0 },
};

/* --- the server ------------------------------------------------------------------------------- */

static int make_secret(struct ui_server *server, struct fault *fault)
{
	unsigned char random[SECRET_RANDOM_BYTES];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return fault_set(fault, -EIO,
			"cannot make a secret: the kernel gives no random "
			"bytes");
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(server->secret + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int listen_at(struct ui_server *server, uint16_t port, struct fault *fault)
{
	struct http_limits limits = http_default_limits;
	struct http_listener listener;
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	char text[32];
	int r;

	/* For HTTP all local browsers are one user. What one does not read is gone soon, and leaves
	 * the others room for the longest answer. */
	limits.idle_timeout_s = IDLE_SECONDS_MAX;
	limits.answer_bytes = 4 * UI_PASS_BYTES;
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	r = http_listen_tcp(text, &listener, fault);
	if (r < 0)
		return r;
	if (getsockname(listener.fd, (struct sockaddr *)&address, &size) == 0) {
		(void)snprintf(server->address, sizeof(server->address),
			"http://127.0.0.1:%u/#key=%s", ntohs(address.sin_port), server->secret);
		r = http_server_new(&limits, &listener, 1, routes, server, &server->http, fault);
	} else {
		r = fault_set(fault, -errno, "cannot listen on %s: %s", text, strerror(errno));
	}
	if (r < 0)
		(void)close(listener.fd);
	return r;
}

int ui_server_new(
	const char *socket_path, uint16_t port, struct ui_server **ret_server, struct fault *fault)
{
	_cleanup_(ui_server_freep) struct ui_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return fault_set(fault, -ENOMEM, "cannot serve the page: out of memory");
	r = ui_passes_new(socket_path, &server->passes, fault);
	if (r == 0)
		r = make_secret(server, fault);
	if (r == 0)
		r = listen_at(server, port, fault);
	if (r == 0)
		*ret_server = TAKE_PTR(server);
	return r;
}

void ui_server_free(struct ui_server *server)
{
	if (!server)
		return;
	ui_passes_free(server->passes);
	http_server_free(server->http);
	free(server);
}

const char *ui_server_address(const struct ui_server *server)
{
	return server->address;
}

static int timeout_ms(const struct ui_server *server)
{
	uint64_t ms = http_server_timeout_ns(server->http) / 1000000;

	return ms < INT_MAX ? (int)ms + 1 : -1;
}

int ui_server_run(struct ui_server *server, int stop_fd, struct fault *fault)
{
	struct pollfd polled[] = {
		{ .fd = http_server_poll_fd(server->http), .events = POLLIN },
		{ .fd = ui_passes_poll_fd(server->passes), .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
	};

	for (;;) {
		int r = poll(polled, 3, timeout_ms(server));

		if (r < 0 && errno != EINTR)
			return fault_set(
				fault, -errno, "cannot wait for requests: %s", strerror(errno));
		if (polled[2].revents)
			return 0;
		if (polled[1].revents)
			ui_passes_run(server->passes);
		r = http_server_run(server->http);
		if (r < 0)
			return fault_set(fault, r, "cannot serve the page: %s", strerror(-r));
	}
}
