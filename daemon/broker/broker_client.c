/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "pilotlight/broker_request.h"
#include "pilotlight/capture_message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum {
	/* The kernel's own limit of error numbers. */
	ERRNO_MAX = 4095,
	/* Timeouts to pause before a hung broker is tried again. */
	PAUSE_TIMEOUTS = 12,
	/* Late answers that one call drops at most. */
	LATE_ANSWERS_MAX = 64,
};

/* The start of every request; of an answer it is struct pilotlight_broker_answer. */
struct head {
	uint32_t version, operation;
	uint64_t number;
};

#define HAS_HEAD(type, head, second)                                               \
	_Static_assert(offsetof(type, version) == offsetof(head, version) &&       \
			       offsetof(type, second) == offsetof(head, second) && \
			       offsetof(type, number) == offsetof(head, number),   \
		"the messages begin alike")
HAS_HEAD(struct pilotlight_broker_request, struct head, operation);
HAS_HEAD(struct pilotlight_capture_request, struct head, operation);
HAS_HEAD(struct pilotlight_capture_answer, struct pilotlight_broker_answer, result);

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
	closep(&client->fd);
	client->fd = -1;
}

/* Returns 1: the answer to the last request; 0: a late answer to an earlier one; or -EBADMSG. */
static int check_number(const struct broker_client *client, const struct broker_exchange *exchange,
	const struct broker_message *message)
{
	struct pilotlight_broker_answer head;

	if (message->size != exchange->answer_bytes)
		return -EBADMSG;
	memcpy(&head, exchange->answer, sizeof(head));
	if (head.version != exchange->version || head.number > client->number)
		return -EBADMSG;
	return head.number == client->number;
}

/*
 * Returns 1 and the answer to the last request; 0 a late answer was dropped; -EAGAIN no answer has
 * arrived; or -errno.
 */
static int receive_answer(const struct broker_client *client,
	const struct broker_exchange *exchange, struct broker_message *ret_message)
{
	int r = broker_socket_receive(client->fd, exchange->answer, exchange->answer_bytes,
		BROKER_SOCKET_FDS_MAX, ret_message);

	if (r < 0)
		return r;
	r = check_number(client, exchange, ret_message);
	if (r <= 0)
		broker_message_close(ret_message);
	return r;
}

/* Checks what is the same for all answers. */
static int check_answer(
	const struct broker_exchange *exchange, const struct broker_message *message)
{
	struct pilotlight_broker_answer head;

	memcpy(&head, exchange->answer, sizeof(head));
	if (head.result < -ERRNO_MAX ||
		(head.result < 0 && (message->fd_count > 0 || message->has_lost_fds)))
		return -EBADMSG;
	return message->has_lost_fds ? -EMFILE : 0;
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

static int await_answer(const struct broker_client *client, const struct broker_exchange *exchange,
	struct broker_message *ret_message)
{
	uint64_t deadline_ns = clock_monotonic_ns() + exchange->timeouts * client->timeout_ns;
	int r;

	for (;;) {
		r = receive_answer(client, exchange, ret_message);
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
static int catch_up(struct broker_client *client, const struct broker_exchange *exchange)
{
	struct broker_message message;
	int r = 0;

	for (int i = 0; r == 0 && i < LATE_ANSWERS_MAX; i++) {
		r = receive_answer(client, exchange, &message);
		if (r > 0)
			broker_message_close(&message);
	}
	if (r < 0 && r != -EAGAIN)
		return r;
	if (r <= 0 && clock_monotonic_ns() < client->retry_ns)
		return -ETIMEDOUT;
	client->is_behind = false;
	return 0;
}

static int send_and_await(struct broker_client *client, const struct broker_exchange *exchange,
	struct broker_message *ret_message)
{
	struct head head;
	int r;

	memcpy(&head, exchange->request, sizeof(head));
	head.version = exchange->version;
	head.number = client->number + 1;
	memcpy(exchange->request, &head, sizeof(head));
	r = broker_socket_send(client->fd, exchange->request, exchange->request_bytes, NULL, 0);
	if (r == 0) {
		client->number++;
		r = await_answer(client, exchange, ret_message);
	}
	if (r == -ETIMEDOUT || r == -EAGAIN) {
		client->is_behind = true;
		client->retry_ns = clock_monotonic_ns() + PAUSE_TIMEOUTS * client->timeout_ns;
		r = -ETIMEDOUT;
	}
	return r;
}

int broker_client_ask(struct broker_client *client, const struct broker_exchange *exchange,
	struct broker_message *ret_message)
{
	int r;

	if (client->is_gone)
		return -EPIPE;
	r = client->is_behind ? catch_up(client, exchange) : 0;
	if (r == 0)
		r = send_and_await(client, exchange, ret_message);
	client->is_gone = r == -EPIPE;
	if (r < 0)
		return r;
	r = check_answer(exchange, ret_message);
	if (r < 0)
		broker_message_close(ret_message);
	return r;
}
