/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_client.h"

#include "base/clock.h"
#include "broker/broker_socket.h"
#include "capture/capture_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum {
	/* The kernel's own limit of error numbers. */
	ERRNO_MAX = 4095,
	/* Loading the programs takes the kernel about a second, and many on a busy machine. */
	OPEN_TIMEOUTS = 12,
	/* Timeouts to pause before a hung broker is tried again. */
	PAUSE_TIMEOUTS = 12,
	/* Late answers that one call drops at most. */
	LATE_ANSWERS_MAX = 64,
};

struct capture_client {
	int fd; /* -1: released */
	bool is_gone;
	uint64_t timeout_ns;
	uint64_t number;   /* number of the last request that was sent */
	bool is_behind;	   /* that request timed out and is still unanswered */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: try again from this time on */
};

int capture_client_new(int fd, uint64_t timeout_ns, struct capture_client **ret_client)
{
	_cleanup_free_ struct capture_client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return -ENOMEM;
	r = broker_socket_check(fd);
	if (r < 0)
		return r;
	client->fd = fd;
	client->timeout_ns = timeout_ns;
	*ret_client = TAKE_PTR(client);
	return 0;
}

void capture_client_free(struct capture_client *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		(void)close(client->fd);
	free(client);
}

int capture_client_release(struct capture_client *client)
{
	return TAKE_FD(client->fd);
}

static int check_answer(const struct capture_client *client,
	const struct pilotlight_capture_answer *answer, const struct capture_message *message)
{
	if (message->size != sizeof(*answer) || answer->version != PILOTLIGHT_CAPTURE_VERSION ||
		answer->number > client->number || answer->result < -ERRNO_MAX ||
		(answer->result < 0 && message->fd_count > 0) ||
		!memchr(answer->fault, '\0', sizeof(answer->fault)) ||
		!memchr(answer->state.event, '\0', sizeof(answer->state.event)))
		return -EBADMSG;
	return message->has_lost_fds ? -EMFILE : 0;
}

/*
 * Returns 1 and the answer to the last request; 0 a late answer was dropped; -EAGAIN no answer has
 * arrived; or -errno.
 */
static int receive_answer(struct capture_client *client,
	struct pilotlight_capture_answer *ret_answer, struct capture_message *ret_message)
{
	struct pilotlight_capture_answer answer;
	struct capture_message message;
	int r = capture_socket_receive(client->fd, &answer, sizeof(answer), &message);

	if (r < 0)
		return r;
	r = check_answer(client, &answer, &message);
	if (r < 0 || answer.number < client->number) {
		capture_message_close(&message);
		return r;
	}
	*ret_answer = answer;
	*ret_message = message;
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

static int await_answer(struct capture_client *client, uint64_t timeout_ns,
	struct pilotlight_capture_answer *ret_answer, struct capture_message *ret_message)
{
	uint64_t deadline_ns = clock_monotonic_ns() + timeout_ns;
	int r;

	for (;;) {
		r = receive_answer(client, ret_answer, ret_message);
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
static int catch_up(struct capture_client *client)
{
	int r = 0;

	for (int i = 0; r == 0 && i < LATE_ANSWERS_MAX; i++) {
		struct pilotlight_capture_answer answer;
		struct capture_message message;

		r = receive_answer(client, &answer, &message);
		if (r > 0)
			capture_message_close(&message);
	}
	if (r < 0 && r != -EAGAIN)
		return r;
	if (r <= 0 && clock_monotonic_ns() < client->retry_ns)
		return -ETIMEDOUT;
	client->is_behind = false;
	return 0;
}

static int exchange(struct capture_client *client, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, struct capture_message *ret_message)
{
	bool is_open = request->operation == PILOTLIGHT_CAPTURE_OPEN;
	int r;

	request->version = PILOTLIGHT_CAPTURE_VERSION;
	request->number = client->number + 1;
	r = broker_socket_send(client->fd, request, sizeof(*request), -1);
	if (r == 0) {
		client->number++;
		r = await_answer(client,
			is_open ? OPEN_TIMEOUTS * client->timeout_ns : client->timeout_ns,
			ret_answer, ret_message);
	}
	if (r == -ETIMEDOUT || r == -EAGAIN) {
		client->is_behind = true;
		client->retry_ns = clock_monotonic_ns() + PAUSE_TIMEOUTS * client->timeout_ns;
		r = -ETIMEDOUT;
	}
	return r;
}

int capture_client_ask(struct capture_client *client, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count)
{
	struct capture_message message;
	int r;

	if (client->is_gone)
		return -EPIPE;
	r = client->is_behind ? catch_up(client) : 0;
	if (r == 0)
		r = exchange(client, request, ret_answer, &message);
	if (r == -EPIPE)
		client->is_gone = true;
	if (r < 0)
		return r;
	memcpy(fds, message.fds, message.fd_count * sizeof(*fds));
	*ret_count = message.fd_count;
	return 0;
}
