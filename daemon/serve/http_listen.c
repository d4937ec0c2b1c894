/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "config/address.h"
#include "serve/http_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

struct http_listener http_listener_of(int fd)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_un un;
	} address = { .any.ss_family = AF_UNSPEC };
	struct http_listener listener = { .fd = fd, .owner = (uid_t)-1, .group = (gid_t)-1 };
	char path[sizeof(address.un.sun_path) + 1];
	socklen_t size = sizeof(address);
	struct stat status;

	(void)getsockname(fd, (struct sockaddr *)&address, &size);
	listener.is_tcp = address.any.ss_family != AF_UNIX;
	if (listener.is_tcp)
		return listener;
	/* An abstract address begins with a NUL, so it finds no file. */
	(void)snprintf(
		path, sizeof(path), "%.*s", (int)sizeof(address.un.sun_path), address.un.sun_path);
	if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode))
		return listener;
	listener.owner = status.st_uid;
	listener.group = status.st_gid;
	listener.is_public = (status.st_mode & S_IWOTH) != 0;
	return listener;
}

/* Returns 0 if no process listens; -EADDRINUSE if one does, or if the file is not a socket. */
static int check_that_dead(const struct sockaddr_un *address, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (lstat(address->sun_path, &status) < 0)
		return fault_set(
			fault, -errno, "cannot check '%s': %s", address->sun_path, strerror(errno));
	if (!S_ISSOCK(status.st_mode))
		return fault_set(fault, -EADDRINUSE,
			"'%s' exists and is not a socket: remove it, or set another path",
			address->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fault_set(fault, -errno, "cannot create a socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
		errno != ECONNREFUSED)
		return fault_set(fault, -EADDRINUSE,
			"another process listens on '%s': is the service running already?",
			address->sun_path);
	return 0;
}

static int bind_unix(int fd, const struct sockaddr_un *address, struct fault *fault)
{
	const struct sockaddr *any = (const struct sockaddr *)address;
	int r;

	if (bind(fd, any, sizeof(*address)) == 0)
		return 0;
	if (errno == EADDRINUSE) {
		r = check_that_dead(address, fault);
		if (r < 0)
			return r;
		if (unlink(address->sun_path) == 0 && bind(fd, any, sizeof(*address)) == 0)
			return 0;
	}
	return fault_set(fault, -errno, "cannot create a socket at '%s': %s", address->sun_path,
		strerror(errno));
}

int http_listen_unix(const char *path, mode_t mode, gid_t gid, struct http_listener *ret_listener,
	struct fault *fault)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return fault_set(fault, -ENAMETOOLONG,
			"socket path '%.200s' is too long: use at most %zu bytes", path,
			sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The file inherits the socket's mode, so other users can never open it, even briefly. */
	if (fd < 0 || fchmod(fd, mode) < 0)
		return fault_set(fault, -errno, "cannot create a socket: %s", strerror(errno));
	r = bind_unix(fd, &address, fault);
	if (r < 0)
		return r;
	if ((gid != (gid_t)-1 && lchown(path, (uid_t)-1, gid) < 0) || chmod(path, mode) < 0 ||
		listen(fd, BACKLOG) < 0) {
		r = -errno;
		(void)unlink(path);
		return fault_set(fault, r, "cannot give socket '%s' to group %u: %s", path,
			(unsigned)gid, strerror(-r));
	}
	*ret_listener = http_listener_of(TAKE_FD(fd));
	return 0;
}

void http_unlisten_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* Another service may have begun there. */
	if (check_that_dead(&address, NULL) == 0)
		(void)unlink(path);
}

int http_listen_tcp(const char *text, struct http_listener *ret_listener, struct fault *fault)
{
	static const int on = 1;
	_cleanup_close_ int fd = -1;
	struct address address;
	int r = address_parse(text, &address, fault);

	if (r < 0)
		return r;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return fault_set(fault, -errno, "cannot create a socket: %s", strerror(errno));
	/* "[::]" covers IPv6 only; IPv4 needs its own address. */
	if (address.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, &address.any, address.size) < 0 || listen(fd, BACKLOG) < 0)
		return fault_set(fault, -errno, "cannot listen on '%s': %s", text, strerror(errno));
	*ret_listener = http_listener_of(TAKE_FD(fd));
	return 0;
}
