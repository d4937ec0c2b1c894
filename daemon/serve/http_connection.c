/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "serve/http_private.h"

#include <sys/socket.h>

unsigned http_connections_of_user(const struct http_limits *limits, const struct http_peer *peer)
{
	return http_peer_is_guest(peer) ? limits->connections / GUEST_SHARE + 1
					: limits->connections_of_user;
}

/* Returns 0, or the status that refuses a connection beyond a bound. */
static unsigned refusal_of(
	const struct http_server *server, const struct http_connection *candidate)
{
	unsigned all = 0, of_guests = 0, of_user = 0, room = server->limits.connections;

	for (const struct http_connection *c = server->connections; c; c = c->next)
		if (c->refusal_status == 0) {
			all++;
			of_guests += http_peer_is_guest(&c->peer);
			of_user += http_peer_is_same_user(&c->peer, &candidate->peer);
		}
	if (of_user >= http_connections_of_user(&server->limits, &candidate->peer))
		return MHD_HTTP_TOO_MANY_REQUESTS;
	/* Any number of them must not shut out users who may see everything. */
	if (http_peer_is_guest(&candidate->peer) && of_guests >= (room + 1) / GUESTS_SHARE)
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	/* Two users at their limits must not shut out the others. */
	if (of_user > 0 || !candidate->peer.is_local)
		room -= room / FIRST_CONNECTIONS_SHARE;
	return all >= room ? MHD_HTTP_SERVICE_UNAVAILABLE : 0;
}

size_t http_connections_guest_bytes(const struct http_server *server)
{
	size_t bytes = 0;

	for (const struct http_connection *c = server->connections; c; c = c->next)
		bytes += http_peer_is_guest(&c->peer) ? c->answer_bytes : 0;
	return bytes;
}

size_t http_connection_user_bytes(const struct http_connection *connection)
{
	size_t bytes = 0;

	for (const struct http_connection *c = connection->server->connections; c; c = c->next)
		if (http_peer_is_same_user(&c->peer, &connection->peer))
			bytes += c->answer_bytes;
	return bytes;
}

static unsigned refused_now(const struct http_server *server)
{
	unsigned count = 0;

	for (const struct http_connection *c = server->connections; c; c = c->next)
		count += c->refusal_status != 0;
	return count;
}

unsigned http_connection_refusal(const struct http_server *server, int fd)
{
	struct http_connection candidate = { .fd = fd };

	if (refused_now(server) < REFUSALS_MAX)
		return 0;
	http_peer_find(server, fd, &candidate.peer);
	return refusal_of(server, &candidate);
}

/* Returns NULL if out of memory; the connection then ends with its first request. */
static struct http_connection *connection_new(
	struct http_server *server, struct MHD_Connection *handle)
{
	struct http_connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->server = server;
	connection->handle = handle;
	connection->fd = microhttpd()
				 ->get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)
				 ->connect_fd;
	http_peer_find(server, connection->fd, &connection->peer);
	connection->refusal_status = refusal_of(server, connection);
	http_connection_allow(connection,
		connection->refusal_status ? REFUSAL_TIMEOUT_S : server->limits.head_timeout_s);
	connection->next = server->connections;
	if (connection->next)
		connection->next->previous = connection;
	server->connections = connection;
	server->counters.connections++;
	server->counters.connections_refused += connection->refusal_status != 0;
	server->counters.open++;
	return connection;
}

static void connection_free(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	if (connection->previous)
		connection->previous->next = connection->next;
	else
		server->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	server->counters.open--;
	free(connection);
}

void http_connection_notify(void *context, struct MHD_Connection *handle, void **connection,
	enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*connection = connection_new(context, handle);
	} else if (*connection) {
		connection_free(*connection);
		*connection = NULL;
	}
}

void http_connection_allow(struct http_connection *connection, unsigned seconds)
{
	connection->deadline_ns =
		seconds == 0 ? UINT64_MAX : clock_monotonic_ns() + (uint64_t)seconds * NSEC_PER_SEC;
}

void http_connections_cut(struct http_server *server, uint64_t now_ns)
{
	for (struct http_connection *c = server->connections; c; c = c->next) {
		if (c->deadline_ns > now_ns)
			continue;
		/* libmicrohttpd owns the socket, and closes it when it notices the shutdown. */
		(void)shutdown(c->fd, SHUT_RDWR);
		c->deadline_ns = UINT64_MAX;
		server->counters.timeouts += !c->is_between_requests;
	}
}
