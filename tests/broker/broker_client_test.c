/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test is the server. It sends answers in advance, so that no test waits, except for answers
 * that never come.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker_client.h"
#include "pilotlight/broker_request.h"
#include "tests/broker/broker_messages.h"
#include "tests/broker/served_broker.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_NS	 (60 * (uint64_t)NSEC_PER_SEC)
#define SHORT_NS 1000000ULL

struct setting {
	size_t descriptors;	     /* that were open before */
	int file;		     /* to be passed */
	int server;		     /* the other end of the client's socket; -1: closed */
	struct broker_client client; /* of the test, unless it has a broker */
	struct broker *broker;
};

static int set_up_with(void **state, bool has_broker)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	int pair[2];

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	make_pair(pair);
	setting->file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(setting->file >= 0);
	setting->server = pair[1];
	setting->client.fd = -1;
	if (has_broker)
		assert_int_equal(broker_connect(pair[0], &setting->broker), 0);
	else
		assert_int_equal(broker_client_init(&setting->client, pair[0], LONG_NS), 0);
	*state = setting;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, false);
}

static int set_up_broker(void **state)
{
	return set_up_with(state, true);
}

static void hang_up(struct setting *setting)
{
	assert_int_equal(close(setting->server), 0);
	setting->server = -1;
}

/* Whatever was passed, nothing is left of it. */
static int tear_down(void **state)
{
	struct setting *setting = *state;

	broker_client_done(&setting->client);
	broker_free(setting->broker);
	if (setting->server >= 0)
		hang_up(setting);
	assert_int_equal(close(setting->file), 0);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static void answer(struct setting *setting, uint64_t number, int result, size_t fds)
{
	const struct pilotlight_broker_answer sent = {
		.version = PILOTLIGHT_BROKER_VERSION,
		.result = result,
		.number = number,
	};

	send_message(setting->server, &sent, sizeof(sent), setting->file, fds);
}

/* Returns the error of asking, or the answer's result with at most one descriptor. */
static int ask(struct setting *setting, int *ret_fd)
{
	const struct broker_process process = { .pid = 77 };
	struct pilotlight_broker_request request = {
		.operation = PILOTLIGHT_BROKER_MAPS,
		.pid = 77,
	};
	struct pilotlight_broker_answer got;
	const struct broker_exchange exchange = {
		.version = PILOTLIGHT_BROKER_VERSION,
		.timeouts = 1,
		.request = &request,
		.answer = &got,
		.request_bytes = sizeof(request),
		.answer_bytes = sizeof(got),
	};
	struct broker_message message;
	int r;

	if (setting->broker)
		return broker_open_maps(setting->broker, &process, ret_fd);
	r = broker_client_ask(&setting->client, &exchange, &message);
	if (r < 0)
		return r;
	assert_true(message.fd_count <= 1);
	if (message.fd_count == 1)
		*ret_fd = message.fds[0];
	return got.result;
}

static void assert_asks(struct setting *setting, int result)
{
	int fd = -7;

	assert_int_equal(ask(setting, &fd), result);
	assert_int_equal(fd, -7);
}

static void assert_opens(struct setting *setting)
{
	int fd = -7;

	assert_int_equal(ask(setting, &fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(fd), 0);
}

/* The number of the next request that the server has, 0: there is none. */
static uint64_t take_request(struct setting *setting)
{
	struct pilotlight_broker_request request;
	ssize_t size = recv(setting->server, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0)
		return 0;
	assert_int_equal(size, sizeof(request));
	assert_int_equal(request.version, PILOTLIGHT_BROKER_VERSION);
	assert_int_equal(request.operation, PILOTLIGHT_BROKER_MAPS);
	assert_int_equal(request.pid, 77);
	return request.number;
}

static void answers_are_returned_unchanged(void **state)
{
	struct setting *setting = *state;

	answer(setting, 1, 0, 1);
	assert_opens(setting);
	answer(setting, 2, -ENOENT, 0);
	assert_asks(setting, -ENOENT);
	answer(setting, 3, -4095, 0);
	assert_asks(setting, -4095);
	for (uint64_t number = 1; number <= 3; number++)
		assert_int_equal(take_request(setting), number);
	assert_int_equal(take_request(setting), 0);
}

/* An error of the broker is not an error of the connection. */
static void errors_of_the_broker_do_not_end_it(void **state)
{
	static const int errors[] = { -EPIPE, -ETIMEDOUT, -EAGAIN, -EMFILE, -EBADMSG };
	struct setting *setting = *state;

	for (uint64_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		answer(setting, i + 1, errors[i], 0);
		assert_asks(setting, errors[i]);
		assert_false(setting->client.is_behind);
	}
	answer(setting, sizeof(errors) / sizeof(errors[0]) + 1, 0, 1);
	assert_opens(setting);
}

static void malformed_answers_are_refused(void **state)
{
	static const struct {
		int result;
		size_t fds;
	} cases[] = { { 0, 0 }, { 0, 2 }, { 0, PASSED_FDS_MAX }, { -ENOENT, 1 },
		{ -ENOENT, PASSED_FDS_MAX }, { 1, 0 }, { 1, 1 }, { INT32_MAX, 0 }, { -4096, 0 },
		{ INT32_MIN, 0 } };
	struct setting *setting = *state;
	uint64_t number = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer(setting, ++number, cases[i].result, cases[i].fds);
		assert_asks(setting, -EBADMSG);
	}
	answer(setting, ++number, 0, 1);
	assert_opens(setting);
}

static int start_child(struct setting *setting, int ret_fds[2])
{
	return broker_start_child(setting->broker, BROKER_CHILD_ANSWER, &ret_fds[0], &ret_fds[1]);
}

static void two_descriptors_arrive_if_two_are_expected(void **state)
{
	static const struct {
		int result;
		size_t fds;
	} refused[] = { { 0, 0 }, { 0, 1 }, { 0, 3 }, { -EAGAIN, 1 }, { -EAGAIN, 2 } };
	struct setting *setting = *state;
	int fds[2] = { -7, -7 };
	uint64_t number = 0;
	struct rlimit before;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		answer(setting, ++number, refused[i].result, refused[i].fds);
		assert_int_equal(start_child(setting, fds), -EBADMSG);
	}
	answer(setting, ++number, -EAGAIN, 0);
	assert_int_equal(start_child(setting, fds), -EAGAIN);
	/* With room for one of them. */
	before = limit_descriptors(1);
	answer(setting, ++number, 0, 2);
	assert_int_equal(start_child(setting, fds), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fds[0], -7);
	assert_int_equal(fds[1], -7);

	answer(setting, ++number, 0, 2);
	assert_int_equal(start_child(setting, fds), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(close(fds[i]), 0);
	}
}

static void messages_of_another_size_or_version_are_refused(void **state)
{
	struct setting *setting = *state;
	struct pilotlight_broker_answer sent = {
		.version = PILOTLIGHT_BROKER_VERSION + 1,
		.number = 1,
	};
	uint8_t bytes[4 * sizeof(sent)];

	send_message(setting->server, &sent, sizeof(sent), setting->file, 1);
	assert_asks(setting, -EBADMSG);
	memset(bytes, 0xa5, sizeof(bytes));
	for (size_t size = 1; size <= sizeof(bytes); size++) {
		send_message(setting->server, bytes, size, setting->file, 1);
		assert_asks(setting, -EBADMSG);
		/* They would fill the socket. */
		assert_true(take_request(setting) > 0);
	}
	sent = (struct pilotlight_broker_answer){
		.version = PILOTLIGHT_BROKER_VERSION,
		.number = setting->client.number + 1,
	};
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &sent, sizeof(sent));
	send_message(setting->server, bytes, sizeof(sent) - 1, setting->file, 1);
	assert_asks(setting, -EBADMSG);
	sent.number++;
	memcpy(bytes, &sent, sizeof(sent));
	send_message(setting->server, bytes, sizeof(sent) + 1, setting->file, 1);
	assert_asks(setting, -EBADMSG);
	answer(setting, setting->client.number + 1, 0, 1);
	assert_opens(setting);
}

static void answers_are_matched_by_number(void **state)
{
	struct setting *setting = *state;

	/* The number of a request that was not sent yet. */
	answer(setting, 2, 0, 1);
	assert_asks(setting, -EBADMSG);
	answer(setting, UINT64_MAX, 0, 1);
	assert_asks(setting, -EBADMSG);
	/* Late, and dropped with their descriptors, whatever else is wrong with them. */
	answer(setting, 0, -EBADMSG, 0);
	answer(setting, 1, 0, 1);
	answer(setting, 1, 7, 2);
	answer(setting, 2, -ENOENT, 1);
	answer(setting, 3, 0, 1);
	assert_opens(setting);
	assert_int_equal(setting->client.number, 3);
}

static void a_hung_server_costs_one_timeout(void **state)
{
	struct setting *setting = *state;

	setting->client.timeout_ns = SHORT_NS;
	assert_asks(setting, -ETIMEDOUT);
	setting->client.timeout_ns = LONG_NS;
	setting->client.retry_ns = UINT64_MAX;
	for (int i = 0; i < 3; i++)
		assert_asks(setting, -ETIMEDOUT);
	assert_int_equal(take_request(setting), 1);
	assert_int_equal(take_request(setting), 0);

	answer(setting, 1, 0, 1);
	answer(setting, 2, 0, 1);
	assert_opens(setting);
	assert_int_equal(take_request(setting), 2);
	assert_false(setting->client.is_behind);
}

static void a_hung_server_is_retried_after_a_pause(void **state)
{
	struct setting *setting = *state;

	setting->client.timeout_ns = SHORT_NS;
	assert_asks(setting, -ETIMEDOUT);
	assert_true(setting->client.retry_ns > SHORT_NS);
	for (uint64_t number = 2; number < 5; number++) {
		setting->client.retry_ns = 0;
		assert_asks(setting, -ETIMEDOUT);
		assert_int_equal(setting->client.number, number);
	}
	for (uint64_t number = 1; number < 5; number++)
		answer(setting, number, 0, 1);
	answer(setting, 5, 0, 1);
	setting->client.timeout_ns = LONG_NS;
	setting->client.retry_ns = UINT64_MAX;
	assert_opens(setting);
}

static bool has_answers(struct setting *setting)
{
	struct pollfd waited = { .fd = setting->client.fd, .events = POLLIN };

	return poll(&waited, 1, 0) == 1;
}

/* Only as many late answers are dropped at a time as a sound server could owe. */
static void late_answers_dropped_per_call_are_bounded(void **state)
{
	struct setting *setting = *state;
	int flood = 0;

	answer(setting, 1, -ENOENT, 0);
	assert_asks(setting, -ENOENT);
	setting->client.timeout_ns = SHORT_NS;
	assert_asks(setting, -ETIMEDOUT);
	setting->client.retry_ns = UINT64_MAX;
	for (; flood < 100; flood++)
		answer(setting, 1, 0, 1);
	assert_asks(setting, -ETIMEDOUT);
	assert_true(has_answers(setting));
	assert_asks(setting, -ETIMEDOUT);
	assert_false(has_answers(setting));
	answer(setting, 2, 0, 1);
	answer(setting, 3, 0, 1);
	setting->client.timeout_ns = LONG_NS;
	assert_opens(setting);
}

static void a_server_that_does_not_receive_times_out(void **state)
{
	struct setting *setting = *state;
	uint64_t number = 0, sent;
	int bytes = 1;

	assert_int_equal(
		setsockopt(setting->client.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	setting->client.timeout_ns = SHORT_NS;
	do {
		sent = setting->client.number;
		setting->client.retry_ns = 0;
		assert_asks(setting, -ETIMEDOUT);
		assert_true(sent < 100);
	} while (setting->client.number > sent);
	while (number < sent)
		assert_int_equal(take_request(setting), ++number);
	assert_int_equal(take_request(setting), 0);
	answer(setting, sent, 0, 1);
	answer(setting, sent + 1, 0, 1);
	setting->client.timeout_ns = LONG_NS;
	assert_opens(setting);
}

static void a_closed_server_is_reported(void **state)
{
	struct setting *setting = *state;

	hang_up(setting);
	assert_asks(setting, -EPIPE);
	assert_true(setting->client.is_gone);
	assert_asks(setting, -EPIPE);
}

static void a_server_that_closes_during_a_request_is_reported(void **state)
{
	struct setting *setting = *state;

	setting->client.timeout_ns = SHORT_NS;
	assert_asks(setting, -ETIMEDOUT);
	/* With that request unread, and an answer that was never taken. */
	answer(setting, 1, 0, 1);
	hang_up(setting);
	assert_asks(setting, -EPIPE);
	assert_true(setting->client.is_gone);
	assert_asks(setting, -EPIPE);
}

/* In a process of its own: takes one request, and ends without a word or hangs. */
static pid_t start_server(struct setting *setting, bool does_hang)
{
	struct pilotlight_broker_request request;
	pid_t server = fork();

	assert_true(server >= 0);
	if (server > 0) {
		hang_up(setting);
		return server;
	}
	broker_client_done(&setting->client);
	if (recv(setting->server, &request, sizeof(request), 0) != sizeof(request))
		_exit(1);
	while (does_hang)
		(void)pause();
	_exit(0);
}

static void a_server_that_dies_during_a_request_is_reported(void **state)
{
	struct setting *setting = *state;
	pid_t server = start_server(setting, false);
	int status;

	assert_asks(setting, -EPIPE);
	assert_int_equal(waitpid(server, &status, 0), server);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_stopped_server_costs_one_timeout(void **state)
{
	struct setting *setting = *state;
	pid_t server = start_server(setting, true);

	setting->client.timeout_ns = SHORT_NS;
	assert_asks(setting, -ETIMEDOUT);
	setting->client.timeout_ns = LONG_NS;
	setting->client.retry_ns = UINT64_MAX;
	assert_asks(setting, -ETIMEDOUT);
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, NULL, 0), server);
	assert_asks(setting, -EPIPE);
}

static void without_room_for_a_descriptor_none_leaks(void **state)
{
	struct setting *setting = *state;
	struct rlimit before = limit_descriptors(0);

	answer(setting, 1, 0, 1);
	assert_asks(setting, -EMFILE);
	answer(setting, 2, -ENOENT, 0);
	assert_asks(setting, -ENOENT);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	answer(setting, 3, 0, 1);
	assert_opens(setting);
}

static void connection_errors_reach_the_caller(void **state)
{
	struct setting *setting = *state;
	int fd = -7;

	hang_up(setting);
	assert_asks(setting, -EPIPE);
	assert_int_equal(broker_open_path(setting->broker, "/bin", &fd), -EPIPE);
	assert_int_equal(fd, -7);
}

static void other_kinds_of_sockets_are_refused(void **state)
{
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC), udp, stream[2];
	struct broker *broker = NULL;

	assert_int_equal(broker_connect(file, &broker), -ENOTSOCK);
	assert_int_equal(broker_connect(-1, &broker), -EBADF);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
	assert_int_equal(broker_connect(stream[0], &broker), -EPROTOTYPE);
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (udp >= 0) {
		assert_int_equal(broker_connect(udp, &broker), -EPROTOTYPE);
		assert_int_equal(close(udp), 0);
	}
	assert_null(broker);
	/* They are the caller's still. */
	assert_int_equal(close(file), 0);
	assert_int_equal(close(stream[0]), 0);
	assert_int_equal(close(stream[1]), 0);
}

static void failing_allocations_are_reported(void **state)
{
	struct broker *broker = NULL;
	int pair[2], r;
	size_t n;

	make_pair(pair);
	for (n = 0;; n++) {
		fail_allocation(n);
		r = broker_connect(pair[0], &broker);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(broker);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 1);
	broker_free(broker);
	/* It was taken. */
	assert_int_equal(fcntl(pair[0], F_GETFD), -1);
	assert_int_equal(close(pair[1]), 0);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_BROKER(test) cmocka_unit_test_setup_teardown(test, set_up_broker, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BROKER(answers_are_returned_unchanged),
		WITH_CLIENT(errors_of_the_broker_do_not_end_it),
		WITH_BROKER(malformed_answers_are_refused),
		WITH_BROKER(two_descriptors_arrive_if_two_are_expected),
		WITH_CLIENT(messages_of_another_size_or_version_are_refused),
		WITH_CLIENT(answers_are_matched_by_number),
		WITH_CLIENT(a_hung_server_costs_one_timeout),
		WITH_CLIENT(a_hung_server_is_retried_after_a_pause),
		WITH_CLIENT(late_answers_dropped_per_call_are_bounded),
		WITH_CLIENT(a_server_that_does_not_receive_times_out),
		WITH_CLIENT(a_closed_server_is_reported),
		WITH_CLIENT(a_server_that_closes_during_a_request_is_reported),
		WITH_CLIENT(a_server_that_dies_during_a_request_is_reported),
		WITH_CLIENT(a_stopped_server_costs_one_timeout),
		WITH_BROKER(without_room_for_a_descriptor_none_leaks),
		WITH_BROKER(connection_errors_reach_the_caller),
		cmocka_unit_test(other_kinds_of_sockets_are_refused),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
