/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker_socket.h"
#include "pilotlight/broker_request.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <time.h>

enum {
	/* The kernel's own limit of error numbers. */
	ERRNO_MAX = 4095,
	/* Timeouts to pause before a hung broker is tried again. */
	PAUSE_TIMEOUTS = 12,
	/* Late answers that one call drops at most. */
	LATE_ANSWERS_MAX = 64,
};

int broker_client_init(struct broker_client *client, int fd, uint64_t timeout_ns)
{
	int r = broker_socket_check(fd);

	if (r < 0)
		return r;
	*client = (struct broker_client){ .fd = fd, .timeout_ns = timeout_ns };
	return 0;
}

void broker_client_done(struct broker_client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
}

static int result_of(const struct pilotlight_broker_answer *answer,
	const struct broker_message *message, size_t fd_count)
{
	size_t count = (size_t)(message->passed_fd >= 0) + (size_t)(message->second_fd >= 0);

	if (answer->result == 0 && message->has_lost_fds && count < fd_count)
		return -EMFILE;
	if (answer->result > 0 || answer->result < -ERRNO_MAX || message->has_lost_fds ||
		count != (answer->result == 0 ? fd_count : 0))
		return -EBADMSG;
	return answer->result;
}

/*
 * Returns 1 and the result of the last request, with its descriptors if that is 0; 0 a late answer
 * was dropped; -EAGAIN no answer has arrived; or -errno.
 */
static int receive_answer(
	struct broker_client *client, int *ret_result, int *ret_fds, size_t fd_count)
{
	struct pilotlight_broker_answer answer;
	struct broker_message message;
	_cleanup_close_ int fd = -1, second_fd = -1;
	int r = broker_socket_receive(
		client->fd, &answer, sizeof(answer), BROKER_SOCKET_FDS_MAX, &message);

	if (r < 0)
		return r;
	fd = message.passed_fd;
	second_fd = message.second_fd;
	if (message.size != sizeof(answer) || answer.version != PILOTLIGHT_BROKER_VERSION ||
		answer.number > client->number)
		return -EBADMSG;
	if (answer.number < client->number)
		return 0;
	r = result_of(&answer, &message, fd_count);
	if (r == 0 && fd_count > 0)
		ret_fds[0] = TAKE_FD(fd);
	if (r == 0 && fd_count > 1)
		ret_fds[1] = TAKE_FD(second_fd);
	*ret_result = r;
	return 1;
}

static int wait_for_message(int fd, uint64_t deadline_ns)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns - now_ns;
	struct timespec left = {
		.tv_sec = (time_t)(left_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(left_ns % NSEC_PER_SEC),
	};

	if (now_ns >= deadline_ns)
		return -ETIMEDOUT;
	if (ppoll(&waited, 1, &left, NULL) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* Returns 0 and the server's result, which may be any -errno; or -errno if there was no answer. */
static int await_answer(
	struct broker_client *client, int *ret_result, int *ret_fds, size_t fd_count)
{
	uint64_t deadline_ns = clock_monotonic_ns() + client->timeout_ns;
	int r;

	for (;;) {
		r = receive_answer(client, ret_result, ret_fds, fd_count);
		if (r > 0)
			return 0;
		if (r < 0 && r != -EAGAIN)
			return r;
		r = wait_for_message(client->fd, deadline_ns);
		if (r < 0)
			return r;
	}
}

/*
 * Drops the answers that have arrived since a timeout. Returns -ETIMEDOUT if the last one is still
 * missing and it is too early to try again.
 */
static int catch_up(struct broker_client *client)
{
	int result, r = 0;

	for (int i = 0; r == 0 && i < LATE_ANSWERS_MAX; i++)
		r = receive_answer(client, &result, NULL, 0);
	if (r < 0 && r != -EAGAIN)
		return r;
	if (r <= 0 && clock_monotonic_ns() < client->retry_ns)
		return -ETIMEDOUT;
	client->is_behind = false;
	return 0;
}

static int exchange(struct broker_client *client, struct pilotlight_broker_request *request,
	int *ret_result, int *ret_fds, size_t fd_count)
{
	int r;

	request->version = PILOTLIGHT_BROKER_VERSION;
	request->number = client->number + 1;
	r = broker_socket_send(client->fd, request, sizeof(*request), -1);
	if (r == 0) {
		client->number++;
		r = await_answer(client, ret_result, ret_fds, fd_count);
	}
	if (r == -ETIMEDOUT || r == -EAGAIN) {
		client->is_behind = true;
		client->retry_ns = clock_monotonic_ns() + PAUSE_TIMEOUTS * client->timeout_ns;
		r = -ETIMEDOUT;
	}
	return r;
}

int broker_client_ask(struct broker_client *client, struct pilotlight_broker_request *request,
	int *ret_fds, size_t fd_count)
{
	int result = 0, r;

	assert(fd_count >= 1 && fd_count <= BROKER_SOCKET_FDS_MAX);
	if (client->fd < 0)
		return -EPIPE;
	r = client->is_behind ? catch_up(client) : 0;
	if (r == 0)
		r = exchange(client, request, &result, ret_fds, fd_count);
	if (r == -EPIPE)
		broker_client_done(client);
	return r < 0 ? r : result;
}
