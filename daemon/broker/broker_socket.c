/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_socket.h"

#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Room for all descriptors, aligned as a header must be. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int[BROKER_SOCKET_FDS_MAX]))];
};

static int get_option(int fd, int name, int *ret_value)
{
	socklen_t size = sizeof(*ret_value);

	return getsockopt(fd, SOL_SOCKET, name, ret_value, &size) < 0 ? -errno : 0;
}

int broker_socket_check(int fd)
{
	int domain = 0, type = 0;
	int r = get_option(fd, SO_DOMAIN, &domain);

	if (r == 0)
		r = get_option(fd, SO_TYPE, &type);
	if (r < 0)
		return r;
	return domain == AF_UNIX && type == SOCK_SEQPACKET ? 0 : -EPROTOTYPE;
}

int broker_socket_connect(const char *path, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ENOENT || errno == ECONNREFUSED ? -ENETDOWN : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* A peer that ends with unread messages resets the connection. */
static int error_of(int error)
{
	return error == ECONNRESET || error == ENOTCONN ? -EPIPE : -error;
}

int broker_socket_send(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { .bytes = { 0 } };
	ssize_t sent;

	assert(count <= BROKER_SOCKET_FDS_MAX);
	if (count > 0) {
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	do
		sent = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? error_of(errno) : 0;
}

int broker_socket_send_answer(
	int fd, const void *answer, size_t size, int32_t *result, const int *fds, size_t count)
{
	int r = broker_socket_send(fd, answer, size, fds, count);

	if (r == 0 || r == -EPIPE || r == -EAGAIN || count == 0)
		return r;
	*result = r;
	return broker_socket_send(fd, answer, size, NULL, 0);
}

static void get_fds(const struct msghdr *header, struct broker_message *message)
{
	const struct cmsghdr *control = CMSG_FIRSTHDR(header);

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
		return;
	/* The kernel delivers no more than the buffer holds. */
	message->fd_count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(message->fds, CMSG_DATA(control), message->fd_count * sizeof(int));
}

static int receive(int fd, void *bytes, size_t room, size_t fds_max, int flags,
	struct broker_message *ret_message)
{
	struct iovec part = { .iov_base = bytes, .iov_len = room };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { .bytes = { 0 } };
	struct broker_message message;
	ssize_t size;

	assert(fds_max <= BROKER_SOCKET_FDS_MAX);
	if (fds_max > 0) {
		header.msg_control = &control;
		/*
		 * CMSG_SPACE() includes padding in which the kernel would deliver another
		 * descriptor.
		 */
		header.msg_controllen = CMSG_LEN(fds_max * sizeof(int));
	}
	do
		size = recvmsg(fd, &header, flags | MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return error_of(errno);
	message = (struct broker_message){
		.size = (size_t)size,
		.has_lost_fds = header.msg_flags & MSG_CTRUNC,
	};
	get_fds(&header, &message);
	/* An empty message looks like the end, but can carry descriptors. */
	if (size == 0) {
		broker_message_close(&message);
		return -EPIPE;
	}
	*ret_message = message;
	return 0;
}

int broker_socket_receive(
	int fd, void *bytes, size_t room, size_t fds_max, struct broker_message *ret_message)
{
	return receive(fd, bytes, room, fds_max, 0, ret_message);
}

int broker_socket_peek(int fd, void *bytes, size_t room, struct broker_message *ret_message)
{
	return receive(fd, bytes, room, 0, MSG_PEEK, ret_message);
}

void broker_message_close(struct broker_message *message)
{
	for (size_t i = 0; i < message->fd_count; i++)
		(void)close(message->fds[i]);
	message->fd_count = 0;
}
