/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_socket.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Aligned as a header must be. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * PILOTLIGHT_CAPTURE_FDS)];
};

/* A peer that ends with unread messages resets the connection. */
static int error_of(int error)
{
	return error == ECONNRESET || error == ENOTCONN ? -EPIPE : -error;
}

int capture_socket_send(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { .bytes = { 0 } };
	ssize_t sent;

	assert(count <= PILOTLIGHT_CAPTURE_FDS);
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

static void get_fds(const struct msghdr *header, struct capture_message *message)
{
	const struct cmsghdr *control = CMSG_FIRSTHDR(header);
	size_t bytes;

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
		control->cmsg_len < CMSG_LEN(0))
		return;
	bytes = control->cmsg_len - CMSG_LEN(0);
	if (bytes > sizeof(message->fds))
		bytes = sizeof(message->fds);
	message->fd_count = bytes / sizeof(int);
	memcpy(message->fds, CMSG_DATA(control), message->fd_count * sizeof(int));
}

int capture_socket_receive(int fd, void *bytes, size_t room, struct capture_message *ret_message)
{
	struct iovec part = { .iov_base = bytes, .iov_len = room };
	union control control = { .bytes = { 0 } };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		/*
		 * CMSG_SPACE() includes padding in which the kernel would deliver another
		 * descriptor.
		 */
		.msg_controllen = CMSG_LEN(sizeof(int) * PILOTLIGHT_CAPTURE_FDS),
	};
	struct capture_message message = { 0 };
	ssize_t size;

	do
		size = recvmsg(fd, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size < 0 ? error_of(errno) : -EPIPE;
	message.size = (size_t)size;
	message.has_lost_fds = header.msg_flags & MSG_CTRUNC;
	get_fds(&header, &message);
	*ret_message = message;
	return 0;
}

void capture_message_close(struct capture_message *message)
{
	for (size_t i = 0; i < message->fd_count; i++)
		(void)close(message->fds[i]);
	message->fd_count = 0;
}
