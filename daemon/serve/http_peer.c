/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a client is, and what it may see. */
#include "base/cleanup.h"
#include "serve/http_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Is the peer a member of the group? If that cannot be told, it is not. */
static bool has_group(int fd, const struct ucred *credentials, gid_t group)
{
	_cleanup_free_ gid_t *groups = NULL;
	socklen_t size = 0;

	if (credentials->gid == group)
		return true;
	/* The first call says how many there are. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
		return false;
	groups = malloc(size);
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* Does not trust the mode of the socket: it may let everybody connect. */
static enum http_peer_access access_of(
	const struct http_server *server, int fd, const struct ucred *credentials)
{
	uid_t uid = credentials->uid;

	if (uid == 0 || uid == geteuid())
		return HTTP_PEER_ALL;
	for (size_t i = 0; i < server->listener_count; i++) {
		const struct http_listener *listener = &server->listeners[i];

		if (listener->is_tcp)
			continue;
		if ((listener->owner != (uid_t)-1 && listener->owner == uid) ||
			(listener->group != (gid_t)-1 &&
				has_group(fd, credentials, listener->group)))
			return HTTP_PEER_ALL;
	}
	return server->access.allows_self ? HTTP_PEER_SELF : HTTP_PEER_STRANGER;
}

static void describe_inet(struct http_peer *peer, int family, const void *address, in_port_t port)
{
	char text[INET6_ADDRSTRLEN];

	peer->access = HTTP_PEER_ALL;
	if (inet_ntop(family, address, text, sizeof(text)))
		(void)snprintf(peer->address, sizeof(peer->address),
			family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, (unsigned)ntohs(port));
}

void http_peer_find(const struct http_server *server, int fd, struct http_peer *peer)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} address = { .any.sa_family = AF_UNSPEC };
	socklen_t size = sizeof(address);
	struct ucred credentials;

	*peer = (struct http_peer){ .uid = (uid_t)-1, .gid = (gid_t)-1, .address = "unknown" };
	if (getpeername(fd, &address.any, &size) < 0)
		return;
	switch (address.any.sa_family) {
	case AF_UNIX:
		peer->is_local = true;
		(void)snprintf(peer->address, sizeof(peer->address), "unix");
		size = sizeof(credentials);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
			return;
		peer->uid = credentials.uid;
		peer->gid = credentials.gid;
		peer->pid = credentials.pid;
		peer->access = access_of(server, fd, &credentials);
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
