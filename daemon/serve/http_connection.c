/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "serve/http_private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static void describe_inet(struct http_peer *peer, int family, const void *address, in_port_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(family, address, text, sizeof(text)))
		(void)snprintf(peer->address, sizeof(peer->address),
			family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, (unsigned)ntohs(port));
}

/* Leaves user and group -1 and pid 0 if the kernel does not know the peer. */
static void find_peer(struct http_connection *connection)
{
	struct http_peer *peer = &connection->peer;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} address = { .any.sa_family = AF_UNSPEC };
	socklen_t size = sizeof(address);
	struct ucred credentials;

	*peer = (struct http_peer){ .uid = (uid_t)-1, .gid = (gid_t)-1, .address = "unknown" };
	if (getpeername(connection->fd, &address.any, &size) < 0)
		return;
	switch (address.any.sa_family) {
	case AF_UNIX:
		peer->is_local = true;
		(void)snprintf(peer->address, sizeof(peer->address), "unix");
		size = sizeof(credentials);
		if (getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
			return;
		peer->uid = credentials.uid;
		peer->gid = credentials.gid;
		peer->pid = credentials.pid;
		break;
	case AF_INET:
		describe_inet(peer, AF_INET, &address.in.sin_addr, address.in.sin_port);
		break;
	case AF_INET6:
		describe_inet(peer, AF_INET6, &address.in6.sin6_addr, address.in6.sin6_port);
		break;
	default:
		break;
	}
}

/* Returns the length of the address without the port. */
static size_t host_bytes(const char *address)
{
	const char *port = strrchr(address, ':');

	return port ? (size_t)(port - address) : strlen(address);
}

bool http_peer_is_same_user(const struct http_peer *a, const struct http_peer *b)
{
	size_t size = host_bytes(a->address);

	if (a->is_local || b->is_local)
		return a->is_local == b->is_local && a->uid == b->uid;
	return size == host_bytes(b->address) && memcmp(a->address, b->address, size) == 0;
}

const char *http_peer_text(const struct http_peer *peer, char text[HTTP_PEER_TEXT_BYTES])
{
	if (peer->is_local)
		(void)snprintf(text, HTTP_PEER_TEXT_BYTES, "user %u, pid %d", (unsigned)peer->uid,
			(int)peer->pid);
	else
		(void)snprintf(text, HTTP_PEER_TEXT_BYTES, "%s", peer->address);
	return text;
}

/* Returns 0, or the status that refuses a connection beyond a bound. */
static unsigned refusal_of(
	const struct http_server *server, const struct http_connection *candidate)
{
	unsigned all = 0, of_user = 0, room = server->limits.connections;

	for (const struct http_connection *c = server->connections; c; c = c->next)
		if (c->refusal_status == 0) {
			all++;
			of_user += http_peer_is_same_user(&c->peer, &candidate->peer);
		}
	if (of_user >= server->limits.connections_of_user)
		return MHD_HTTP_TOO_MANY_REQUESTS;
	/* Two users at their limits must not shut out the others. */
	if (of_user > 0 || !candidate->peer.is_local)
		room -= room / FIRST_CONNECTIONS_SHARE;
	return all >= room ? MHD_HTTP_SERVICE_UNAVAILABLE : 0;
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
	find_peer(&candidate);
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
	find_peer(connection);
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
