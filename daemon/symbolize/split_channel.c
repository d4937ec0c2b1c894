/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/split_channel.h"

#include "base/cleanup.h"
#include "pilotlight/symbol_worker.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* In one call: an honest worker waits for each reply, and the engine has other work. */
enum { SERVED_MAX = 4 };

int split_channel_open(struct split_channel *ret_channel, int epoll_fd, int *ret_worker_fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	_cleanup_close_ int fd = -1, worker_fd = -1;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	fd = sockets[0];
	worker_fd = sockets[1];
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	*ret_channel = (struct split_channel){
		.fd = TAKE_FD(fd),
		.requests_left = SPLIT_CHANNEL_REQUESTS_MAX,
	};
	*ret_worker_fd = TAKE_FD(worker_fd);
	return 0;
}

void split_channel_done(struct split_channel *channel)
{
	if (channel->fd >= 0)
		(void)close(channel->fd);
	*channel = (struct split_channel){ .fd = -1 };
}

/* Room for one descriptor; CMSG_SPACE() may have room for two. */
struct packet {
	struct pilotlight_split_reply reply;
	struct iovec bytes;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message;
};

static void packet_init(struct packet *packet)
{
	memset(packet, 0, sizeof(*packet));
	packet->bytes = (struct iovec){ &packet->reply, sizeof(packet->reply) };
	packet->message.msg_iov = &packet->bytes;
	packet->message.msg_iovlen = 1;
}

/* Sends `fd` if there is no error. */
static int send_reply(int socket_fd, int error, int fd)
{
	struct packet packet;
	struct cmsghdr *header;
	ssize_t size;

	packet_init(&packet);
	packet.reply.error = error;
	if (error == 0) {
		packet.message.msg_control = packet.control;
		packet.message.msg_controllen = sizeof(packet.control);
		header = CMSG_FIRSTHDR(&packet.message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	do
		size = sendmsg(socket_fd, &packet.message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : 0;
}

/* Returns 0; -EAGAIN: no request now; another -errno: close the socket. */
static int receive_path(int socket_fd, char path[PILOTLIGHT_WORKER_PATH_BYTES_MAX + 1])
{
	const size_t bytes_max = PILOTLIGHT_WORKER_PATH_BYTES_MAX;
	ssize_t size;

	/* recv() takes no descriptors, so the kernel closes any that come with it. */
	do
		size = recv(socket_fd, path, bytes_max, MSG_DONTWAIT | MSG_TRUNC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if (size == 0 || (size_t)size > bytes_max || memchr(path, '\0', (size_t)size))
		return -EPROTO;
	path[size] = '\0';
	return 0;
}

static int serve_one(
	struct split_channel *channel, split_file_opener *open, void *context, void *job)
{
	char path[PILOTLIGHT_WORKER_PATH_BYTES_MAX + 1];
	_cleanup_close_ int fd = -1;
	int r = receive_path(channel->fd, path);

	if (r < 0)
		return r;
	r = -E2BIG;
	if (channel->requests_left > 0) {
		channel->requests_left--;
		r = open(context, job, path, &fd);
	}
	/* A worker that does not read its replies is disconnected. */
	r = send_reply(channel->fd, r, fd);
	return r == -EAGAIN ? -EPROTO : r;
}

void split_channel_serve(
	struct split_channel *channel, split_file_opener *open, void *context, void *job)
{
	int r = 0;

	for (int i = 0; i < SERVED_MAX && r == 0 && channel->fd >= 0; i++)
		r = serve_one(channel, open, context, job);
	if (r < 0 && r != -EAGAIN)
		split_channel_done(channel);
}

static int received_fd(struct packet *packet)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(&packet->message);
	int fd;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		header->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static int receive_reply(int *ret_fd)
{
	struct packet packet;
	ssize_t size;
	int fd;

	packet_init(&packet);
	packet.message.msg_control = packet.control;
	packet.message.msg_controllen = CMSG_LEN(sizeof(int));
	do
		size = recvmsg(PILOTLIGHT_WORKER_SPLIT_FD, &packet.message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if (size != sizeof(packet.reply))
		return -EPROTO;
	if (packet.reply.error != 0)
		return packet.reply.error < 0 ? packet.reply.error : -EPROTO;
	fd = received_fd(&packet);
	if (fd < 0)
		return -EPROTO;
	*ret_fd = fd;
	return 0;
}

int split_channel_ask(void *context, const char *path, int *ret_fd)
{
	size_t length = strlen(path);
	ssize_t size;

	(void)context;
	if (length == 0 || length > PILOTLIGHT_WORKER_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	do
		size = send(PILOTLIGHT_WORKER_SPLIT_FD, path, length, MSG_NOSIGNAL);
	while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : receive_reply(ret_fd);
}
