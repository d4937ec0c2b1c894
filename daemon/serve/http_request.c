/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "base/utf8.h"
#include "serve/http_private.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

enum { BODY_BYTES_MAX = 4 << 20, BODY_DIGITS_MAX = 8 };

const char *http_request_parameter(const struct http_request *request, const char *name)
{
	const struct http_target *target = &request->target;

	for (unsigned i = 0; i < target->parameter_count; i++)
		if (strcmp(target->parameters[i].name, name) == 0)
			return target->parameters[i].value;
	return NULL;
}

int http_request_each(
	const struct http_request *request, http_parameter_function function, void *context)
{
	const struct http_target *target = &request->target;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < target->parameter_count; i++)
		r = function(context, target->parameters[i].name, target->parameters[i].value);
	return r;
}

/* "gzip, deflate", but not "gzip;q=0". Whoever takes gzip takes it with any other weight. */
bool http_request_accepts_gzip(const struct http_request *request)
{
	const char *accepted = microhttpd()->lookup_connection_value(
		request->connection->handle, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
	const char *gzip = accepted ? strcasestr(accepted, "gzip") : NULL;

	if (!gzip)
		return false;
	gzip += strlen("gzip");
	gzip += strspn(gzip, " ;");
	return strncasecmp(gzip, "q=0", 3) != 0 || gzip[3] == '.';
}

void http_request_peer(const struct http_request *request, struct http_peer *ret_peer)
{
	*ret_peer = request->connection->peer;
}

bool http_request_is_gone(const struct http_request *request)
{
	/* A client that has shut down only its writing side still waits for its answer. */
	struct pollfd fd = { .fd = request->connection->fd };

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLERR));
}

void *http_request_log(void *context, const char *target, struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		microhttpd()->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_server *server = context;
	struct http_request *request;

	if (!info || !info->socket_context)
		return NULL;
	request = calloc(1, sizeof(*request));
	if (!request)
		return NULL;
	request->server = server;
	request->connection = info->socket_context;
	request->connection->is_between_requests = false;
	request->target_error = http_target_parse(target, &request->target);
	server->counters.requests++;
	return request;
}

static const char *body_length(struct MHD_Connection *handle)
{
	return microhttpd()->lookup_connection_value(
		handle, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
}

static bool has_encoded_body(struct MHD_Connection *handle)
{
	return microhttpd()->lookup_connection_value(
		handle, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

static bool has_body(struct MHD_Connection *handle)
{
	const char *length = body_length(handle);

	return (length && strspn(length, "0") != strlen(length)) || has_encoded_body(handle);
}

static const struct http_route *route_of(const struct http_request *request, const char *method)
{
	const struct http_route *route = request->server->routes;

	while (route->path && (strcmp(route->path, request->target.path) != 0 ||
				      strcmp(route->method, method) != 0))
		route++;
	return route->path ? route : NULL;
}

/* Its time is bounded as that of the head is. */
static bool discards_body(
	const struct http_request *request, struct MHD_Connection *handle, const char *method)
{
	const struct http_route *route = route_of(request, method);
	const char *length = body_length(handle);

	return route && strcmp(route->method, MHD_HTTP_METHOD_POST) == 0 && length &&
	       !has_encoded_body(handle) && strlen(length) <= BODY_DIGITS_MAX &&
	       strtoull(length, NULL, 10) <= BODY_BYTES_MAX;
}

static void refuse_connection(struct http_request *request)
{
	const struct http_limits *limits = &request->server->limits;

	if (request->connection->refusal_status == MHD_HTTP_TOO_MANY_REQUESTS)
		http_answer_refusal(request, MHD_HTTP_TOO_MANY_REQUESTS, NULL,
			"Too many connections: one user may have %u. Close some of yours.",
			http_connections_of_user(limits, &request->connection->peer));
	else
		http_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
			"Too many connections: the service accepts %u. Try again later.",
			limits->connections);
}

static void refuse_target(struct http_request *request)
{
	if (request->target_error == -E2BIG)
		http_answer_refusal(request, MHD_HTTP_BAD_REQUEST, NULL,
			"Too many parameters: the query has more than %d. Use fewer.",
			HTTP_PARAMETERS_MAX);
	else if (request->target_error == -EILSEQ)
		http_answer_refusal(request, MHD_HTTP_BAD_REQUEST, NULL,
			"Bad request target: it is not percent-encoded UTF-8. Encode it.");
	else
		http_answer_refusal(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
			"Out of memory. Try again later.");
}

static enum MHD_Result note_field(
	void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	http_access_add(context, name, value);
	return MHD_YES;
}

static void refuse_token(struct http_request *request, bool has_other)
{
	const struct http_field field = { MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		has_other ? "Bearer realm=\"pilotlight\", error=\"invalid_token\""
			  : "Bearer realm=\"pilotlight\"" };

	http_answer_refusal(request, MHD_HTTP_UNAUTHORIZED, &field,
		"%s token. Send 'Authorization: Bearer TOKEN' with the token in BearerTokenFile= "
		"of pilotlight.conf(5).",
		has_other ? "Wrong" : "No");
}

static void refuse_user(struct http_request *request)
{
	http_answer_refusal(request, MHD_HTTP_FORBIDDEN, NULL,
		"Only root and the group of the socket may ask. Ask an administrator to add you to "
		"it (usermod -aG pilotlight USER), or to set SelfAccess=yes in [Api] of "
		"pilotlight.conf(5).");
}

/* A browser cannot send a token with the address that its user types. */
static bool needs_no_token(const struct http_request *request)
{
	const char *path = request->server->access.open_path;

	return path && strcmp(path, request->target.path) == 0;
}

/* Refuses pages of other sites and, on TCP, strangers. */
static void refuse_stranger(struct http_request *request, struct MHD_Connection *handle)
{
	struct http_access_request asked = { .is_local = request->connection->peer.is_local };
	const struct http_access *access = &request->server->access;

	(void)microhttpd()->get_connection_values(handle, MHD_HEADER_KIND, note_field, &asked);
	switch (http_access_check(access, &asked)) {
	case HTTP_ACCESS_ALLOWED:
		return;
	case HTTP_ACCESS_TWICE:
		http_answer_refusal(request, MHD_HTTP_BAD_REQUEST, NULL,
			"A header field is there twice: Host, Origin, Sec-Fetch-* or "
			"Authorization. Send it once.");
		return;
	case HTTP_ACCESS_NO_HOST:
		http_answer_refusal(request, MHD_HTTP_BAD_REQUEST, NULL,
			"No header field Host. Send the address of the service in it.");
		return;
	case HTTP_ACCESS_OTHER_HOST:
		http_answer_refusal(request, MHD_HTTP_FORBIDDEN, NULL,
			"Host '%.200s' refused, since a hostile site could have that name. Use an "
			"address, or add the name to HostNames= in [Api] of pilotlight.conf(5).",
			asked.values[HTTP_ACCESS_HOST]);
		return;
	case HTTP_ACCESS_OTHER_ORIGIN:
		http_answer_refusal(request, MHD_HTTP_FORBIDDEN, NULL,
			"Request of another site's page refused. Open the address itself.");
		return;
	case HTTP_ACCESS_CLOSED:
		http_answer_refusal(
			request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "%s", access->refusal);
		return;
	case HTTP_ACCESS_NO_TOKEN:
		if (!needs_no_token(request))
			refuse_token(request, false);
		return;
	case HTTP_ACCESS_OTHER_TOKEN:
		refuse_token(request, true);
		return;
	}
}

/* Refuses a request before the search for a route. Returns whether it has answered. */
static bool refuse(struct http_request *request, struct MHD_Connection *handle, const char *method)
{
	const union MHD_ConnectionInfo *head =
		microhttpd()->get_connection_info(handle, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t head_bytes = request->server->limits.head_bytes;

	if (request->connection->refusal_status != 0)
		refuse_connection(request);
	else if (request->connection->peer.access == HTTP_PEER_STRANGER)
		refuse_user(request);
	else if (request->target_error < 0)
		refuse_target(request);
	else if (head && head->header_size > head_bytes)
		http_answer_refusal(request, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, NULL,
			"Request too long: its head has more than %zu bytes. Use fewer parameters "
			"or headers.",
			head_bytes);
	else if (has_body(handle) && !discards_body(request, handle, method))
		http_answer_refusal(request, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
			"Request body not accepted. Put parameters in the query string.");
	else
		refuse_stranger(request, handle);
	return request->is_answered;
}

static void refuse_method(struct http_request *request, const struct http_route *route)
{
	const struct http_field allow = { MHD_HTTP_HEADER_ALLOW,
		strcmp(route->method, MHD_HTTP_METHOD_GET) == 0 ? "GET, HEAD" : route->method };

	http_answer_refusal(request, MHD_HTTP_METHOD_NOT_ALLOWED, &allow,
		"Method not allowed on '%s'. Use %s.", route->path, route->method);
}

/* What is not known to be for guests is not, whether it exists or not. */
static void refuse_guest(struct http_request *request)
{
	http_answer_text(request, MHD_HTTP_FORBIDDEN,
		"'%.200s' is for root and the group of the socket, since it tells of other users. "
		"Ask an administrator to add you to that group (usermod -aG pilotlight USER). "
		"Of your own processes, GET / lists what you may ask.",
		request->target.path);
}

static void find_route(struct http_request *request, const char *method)
{
	const struct http_server *server = request->server;
	bool is_guest = http_peer_is_guest(&request->connection->peer);
	const struct http_route *other = NULL;
	bool is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

	if (is_head)
		method = MHD_HTTP_METHOD_GET;
	for (const struct http_route *route = server->routes; route->path; route++) {
		if (strcmp(route->path, request->target.path) != 0 ||
			(is_guest && !route->is_for_guests))
			continue;
		if (strcmp(route->method, method) == 0) {
			request->route = route;
			route->function(server->context, request);
			return;
		}
		other = route;
	}
	if (other)
		refuse_method(request, other);
	else if (is_guest)
		refuse_guest(request);
	else
		http_answer_text(request, MHD_HTTP_NOT_FOUND,
			"No such path: '%.200s'. GET / lists all paths.", request->target.path);
}

/*
 * Watches for the client's end, as libmicrohttpd ignores suspended connections. If epoll_ctl() runs
 * out of memory, the server notices the end when it sends the answer.
 */
static void watch_connection(struct http_request *request)
{
	struct epoll_event event = { .events = EPOLLONESHOT, .data.u64 = (uintptr_t)request };

	if (request->route && request->route->gone)
		(void)epoll_ctl(
			request->server->epoll_fd, EPOLL_CTL_ADD, request->connection->fd, &event);
}

static void unwatch_connection(struct http_request *request)
{
	if (request->route && request->route->gone)
		(void)epoll_ctl(
			request->server->epoll_fd, EPOLL_CTL_DEL, request->connection->fd, NULL);
}

void http_request_notify_gone(struct http_server *server, const void *key)
{
	for (struct http_request *request = server->suspended; request; request = request->next)
		if (request == key && !request->is_answered) {
			request->route->gone(server->context, request);
			return;
		}
}

static void suspend(struct http_request *request)
{
	struct http_server *server = request->server;

	request->is_suspended = true;
	request->next = server->suspended;
	if (request->next)
		request->next->previous = request;
	server->suspended = request;
	watch_connection(request);
	microhttpd()->suspend_connection(request->connection->handle);
}

static void unlink_suspended(struct http_request *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	unwatch_connection(request);
	if (request->previous)
		request->previous->next = request->next;
	else
		request->server->suspended = request->next;
	if (request->next)
		request->next->previous = request->previous;
	request->previous = request->next = NULL;
}

static void log_answer(const struct http_request *request)
{
	char path[UTF8_CLEAN_BYTES] = "", peer[HTTP_PEER_TEXT_BYTES];

	if (request->target.path)
		(void)utf8_clean(path, request->target.path, strlen(request->target.path));
	log_debug("'%s' for %s: status %u, %zu bytes", path,
		http_peer_text(&request->connection->peer, peer), request->status,
		request->answer_bytes);
}

/*
 * The status that is sent. Browsers report each one from 400 on as an error of the page, however
 * well it handles it, so a page may ask for 200, with the true one in a field.
 */
static unsigned sent_status(const struct http_request *request, struct MHD_Connection *handle,
	struct MHD_Response *response)
{
	const char *wanted =
		microhttpd()->lookup_connection_value(handle, MHD_HEADER_KIND, HTTP_STATUS_FIELD);
	char text[16];

	if (request->status < MHD_HTTP_BAD_REQUEST || !wanted || strcmp(wanted, "200") != 0)
		return request->status;
	(void)snprintf(text, sizeof(text), "%u", request->status);
	return microhttpd()->add_response_header(response, HTTP_STATUS_FIELD, text) == MHD_YES
		       ? MHD_HTTP_OK
		       : request->status;
}

/* Returns MHD_NO, which closes the connection, if there was no memory for an answer. */
static enum MHD_Result send_answer(struct http_request *request, struct MHD_Connection *handle)
{
	const struct http_limits *limits = &request->server->limits;
	struct MHD_Response *response = TAKE_PTR(request->response);
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	http_connection_allow(request->connection,
		limits->idle_timeout_s + (unsigned)(request->answer_bytes / LEAST_BYTES_PER_S) + 1);
	(void)microhttpd()->set_connection_option(
		handle, MHD_CONNECTION_OPTION_TIMEOUT, limits->idle_timeout_s);
	queued = microhttpd()->queue_response(
		handle, sent_status(request, handle, response), response);
	microhttpd()->destroy_response(response);
	if (queued == MHD_YES && request->status / 100 < 6)
		request->server->counters.statuses[request->status / 100]++;
	log_answer(request);
	return queued;
}

/*
 * libmicrohttpd calls this with the head of a request, again when the request is complete, and once
 * more after a suspension. An answer in the first call closes the connection.
 */
enum MHD_Result http_request_handle(void *server, struct MHD_Connection *handle, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **context)
{
	struct http_request *request = *context;

	(void)server;
	(void)url;
	(void)version;
	(void)upload;
	if (!request)
		return MHD_NO;
	if (!request->is_begun) {
		request->is_begun = true;
		return refuse(request, handle, method) ? send_answer(request, handle) : MHD_YES;
	}
	if (request->is_suspended) {
		assert(request->is_answered);
		unlink_suspended(request);
		return send_answer(request, handle);
	}
	/* Part of a body that the route discards. */
	if (*upload_size > 0) {
		*upload_size = 0;
		return MHD_YES;
	}
	http_connection_allow(request->connection, 0);
	find_route(request, method);
	if (request->is_answered)
		return send_answer(request, handle);
	suspend(request);
	return MHD_YES;
}

void http_request_complete(void *context, struct MHD_Connection *handle, void **slot,
	enum MHD_RequestTerminationCode code)
{
	struct http_server *server = context;
	struct http_request *request = *slot;

	if (!request)
		return;
	*slot = NULL;
	server->counters.timeouts += code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;
	(void)microhttpd()->set_connection_option(handle, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
	http_connection_allow(request->connection, server->limits.head_timeout_s);
	request->connection->is_between_requests = true;
	request->connection->answer_bytes = 0;
	unlink_suspended(request);
	if (request->response)
		microhttpd()->destroy_response(request->response);
	http_target_done(&request->target);
	free(request);
}

void http_requests_resume(struct http_server *server)
{
	for (struct http_request *request = server->suspended; request; request = request->next)
		if (!request->is_answered)
			microhttpd()->resume_connection(request->connection->handle);
}
