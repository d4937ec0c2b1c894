/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child/child_request.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum {
	VERSION = 1,
	NUMBER_MIN = CHILD_SOCKET_NUMBER + 1,
	/* Descriptors are parked here while the fixed numbers are filled. */
	SPARE_NUMBER_MIN = CHILD_DESCRIPTOR_NUMBER_MAX + 1,
};

/* Precedes the request. */
struct table {
	uint32_t version;
	uint32_t count; /* of the descriptors, which are in the same order */
	uint8_t numbers[CHILD_DESCRIPTORS_MAX]; /* zeros beyond */
};

/* Room for the descriptors, aligned as a header must be. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int[CHILD_DESCRIPTORS_MAX]))];
};

/* -1: there is none. */
struct descriptors {
	int fds[CHILD_DESCRIPTORS_MAX];
};

static void descriptors_init(struct descriptors *descriptors)
{
	for (size_t i = 0; i < CHILD_DESCRIPTORS_MAX; i++)
		descriptors->fds[i] = -1;
}

static void descriptors_done(struct descriptors *descriptors)
{
	for (size_t i = 0; i < CHILD_DESCRIPTORS_MAX; i++)
		closep(&descriptors->fds[i]);
}

/* --- the owner's side ------------------------------------------------------------------------- */

static void set_control(
	struct msghdr *message, union control *control, const int *fds, size_t count)
{
	memset(control, 0, sizeof(*control));
	control->header.cmsg_level = SOL_SOCKET;
	control->header.cmsg_type = SCM_RIGHTS;
	control->header.cmsg_len = CMSG_LEN(count * sizeof(*fds));
	memcpy(CMSG_DATA(&control->header), fds, count * sizeof(*fds));
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(count * sizeof(*fds));
}

int child_request_send(int socket_fd, const struct child_descriptor *descriptors, size_t count,
	const void *request, size_t request_bytes)
{
	struct table table = { .version = VERSION };
	struct iovec parts[] = { { &table, sizeof(table) }, { (void *)request, request_bytes } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts) };
	int fds[CHILD_DESCRIPTORS_MAX];
	union control control;
	ssize_t size;

	assert(count <= CHILD_DESCRIPTORS_MAX && request_bytes <= CHILD_REQUEST_BYTES_MAX);
	for (size_t i = 0; i < count; i++) {
		assert(descriptors[i].number >= NUMBER_MIN &&
			descriptors[i].number <= CHILD_DESCRIPTOR_NUMBER_MAX);
		if (descriptors[i].fd < 0)
			continue;
		fds[table.count] = descriptors[i].fd;
		table.numbers[table.count++] = (uint8_t)descriptors[i].number;
	}
	if (table.count > 0)
		set_control(&message, &control, fds, table.count);
	do
		size = sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* --- the child's side ------------------------------------------------------------------------- */

/* Gets the descriptors of a message. Returns how many. */
static size_t get_descriptors(const struct msghdr *message, struct descriptors *ret_descriptors)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t bytes;

	/* A socket only receives other kinds if it has asked for them. */
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return 0;
	bytes = header->cmsg_len - CMSG_LEN(0);
	memcpy(ret_descriptors->fds, CMSG_DATA(header), bytes);
	return bytes / sizeof(int);
}

static int check_table(const struct table *table, size_t count)
{
	uint32_t used = 0;

	if (table->version != VERSION || table->count != count)
		return -EPROTO;
	for (size_t i = 0; i < CHILD_DESCRIPTORS_MAX; i++) {
		uint8_t number = table->numbers[i];

		if (i >= count) {
			if (number != 0)
				return -EPROTO;
			continue;
		}
		if (number < NUMBER_MIN || number > CHILD_DESCRIPTOR_NUMBER_MAX ||
			(used & 1U << number))
			return -EPROTO;
		used |= 1U << number;
	}
	return 0;
}

/*
 * Moves the descriptors to spare numbers: they may have arrived at numbers that the table assigns
 * to others.
 */
static int park(struct descriptors *descriptors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int spare = fcntl(descriptors->fds[i], F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);

		/* EINVAL: RLIMIT_NOFILE is below the spare numbers. */
		if (spare < 0)
			return errno == EINVAL ? -EMFILE : -errno;
		(void)close(descriptors->fds[i]);
		descriptors->fds[i] = spare;
	}
	return 0;
}

static int place(struct descriptors *descriptors, const struct table *table)
{
	int r = park(descriptors, table->count);

	for (size_t i = 0; i < table->count && r == 0; i++)
		if (fcntl(table->numbers[i], F_GETFD) >= 0)
			r = -EEXIST;
	for (size_t i = 0; i < table->count && r == 0; i++) {
		if (dup3(descriptors->fds[i], table->numbers[i], O_CLOEXEC) < 0) {
			r = -errno;
			break;
		}
		(void)close(descriptors->fds[i]);
		descriptors->fds[i] = table->numbers[i];
	}
	return r;
}

static int receive(struct table *ret_table, void *ret_request, size_t request_bytes,
	struct descriptors *ret_descriptors)
{
	union control control = { .bytes = { 0 } };
	struct iovec parts[] = { { ret_table, sizeof(*ret_table) },
		{ ret_request, request_bytes } };
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = ARRAY_SIZE(parts),
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	size_t count;
	ssize_t size;

	do
		size = recvmsg(CHILD_SOCKET_NUMBER, &message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	count = get_descriptors(&message, ret_descriptors);
	if (size == 0)
		return -EPIPE;
	if (message.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if ((message.msg_flags & MSG_TRUNC) || (size_t)size != sizeof(*ret_table) + request_bytes)
		return -EPROTO;
	return check_table(ret_table, count);
}

int child_request_receive(void *ret_request, size_t request_bytes)
{
	_cleanup_(descriptors_done) struct descriptors descriptors;
	_cleanup_free_ void *request = malloc(request_bytes + 1);
	struct table table;
	int r;

	_Static_assert(sizeof(union control) == CMSG_LEN(sizeof(int[CHILD_DESCRIPTORS_MAX])),
		"no room for more descriptors than are wanted");
	descriptors_init(&descriptors);
	if (!request)
		return -ENOMEM;
	r = receive(&table, request, request_bytes, &descriptors);
	if (r == 0)
		r = place(&descriptors, &table);
	if (r < 0)
		return r;
	memcpy(ret_request, request, request_bytes);
	descriptors_init(&descriptors);
	return 0;
}
