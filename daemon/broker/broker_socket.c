/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Room for one descriptor, aligned as a header must be. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
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

/* A side that ends with messages unread resets its other one. */
static int error_of(int error)
{
	return error == ECONNRESET || error == ENOTCONN ? -EPIPE : -error;
}

int broker_socket_send(int fd, const void *bytes, size_t size, int passed_fd)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS } };
	ssize_t sent;

	if (passed_fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(passed_fd));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	do
		sent = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? error_of(errno) : 0;
}

static int passed_fd_of(const struct msghdr *header)
{
	const struct cmsghdr *control = CMSG_FIRSTHDR(header);
	int fd;

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
		control->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

int broker_socket_receive(
	int fd, void *bytes, size_t room, bool takes_fd, struct broker_message *ret_message)
{
	struct iovec part = { .iov_base = bytes, .iov_len = room };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { .bytes = { 0 } };
	ssize_t size;

	if (takes_fd) {
		header.msg_control = &control;
		/* With the space that aligns it the kernel would take it for two. */
		header.msg_controllen = CMSG_LEN(sizeof(int));
	}
	do
		size = recvmsg(fd, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size < 0 ? error_of(errno) : -EPIPE;
	*ret_message = (struct broker_message){
		.size = (size_t)size,
		.passed_fd = takes_fd ? passed_fd_of(&header) : -1,
		.has_lost_fds = header.msg_flags & MSG_CTRUNC,
	};
	return 0;
}
