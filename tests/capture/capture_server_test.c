/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test is the client of a server in its own process. The kernel test covers what the server
 * opens.
 */
#include "broker/broker_socket.h"
#include "capture/capture_server.h"
#include "tests/capture/capture_messages.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <poll.h>

struct setting {
	size_t descriptors;
	int client; /* -1: closed */
	struct capture_server *server;
};

static int set_up(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	int pair[2];

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	make_pair(pair);
	setting->client = pair[0];
	assert_int_equal(capture_server_new(NULL, &setting->server), 0);
	assert_int_equal(capture_server_connect(setting->server, pair[1]), 0);
	*state = setting;
	return 0;
}

static int tear_down(void **state)
{
	struct setting *setting = *state;

	capture_server_free(setting->server);
	if (setting->client >= 0)
		(void)close(setting->client);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static bool has_work(const struct setting *setting)
{
	struct pollfd waited = { .fd = capture_server_poll_fd(setting->server), .events = POLLIN };

	return poll(&waited, 1, 0) == 1;
}

/* Sends bytes with as many descriptors, and returns the result that is answered. */
static int ask(struct setting *setting, const void *bytes, size_t size, size_t fds)
{
	int passed[PILOTLIGHT_CAPTURE_FDS];
	struct pilotlight_capture_answer answer;
	struct broker_message message;

	for (size_t i = 0; i < PILOTLIGHT_CAPTURE_FDS; i++)
		passed[i] = setting->client;
	assert_int_equal(broker_socket_send(setting->client, bytes, size, passed, fds), 0);
	assert_true(has_work(setting));
	assert_int_equal(capture_server_run(setting->server), 0);
	assert_false(has_work(setting));
	assert_int_equal(broker_socket_receive(setting->client, &answer, sizeof(answer),
				 BROKER_SOCKET_FDS_MAX, &message),
		0);
	assert_int_equal(message.size, sizeof(answer));
	assert_int_equal(message.fd_count, 0);
	assert_int_equal(answer.version, PILOTLIGHT_CAPTURE_VERSION);
	if (size == sizeof(struct pilotlight_capture_request))
		assert_int_equal(answer.number, 7);
	return answer.result;
}

static void requests_are_answered(void **state)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);

	assert_int_equal(ask(*state, &request, sizeof(request), 0), -ENXIO);
	request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	request.rate_hz = 0;
	assert_int_equal(ask(*state, &request, sizeof(request), 0), -EINVAL);
}

static void malformed_requests_are_refused_without_leaks(void **state)
{
	struct pilotlight_capture_request requests[2] = { request_of(PILOTLIGHT_CAPTURE_STATE),
		request_of(PILOTLIGHT_CAPTURE_STATE) };
	size_t before = open_descriptors();

	assert_int_equal(ask(*state, requests, sizeof(requests[0]) - 1, 0), -EBADMSG);
	assert_int_equal(ask(*state, requests, sizeof(requests), 0), -EBADMSG);
	assert_int_equal(ask(*state, requests, 1, 0), -EBADMSG);
	assert_int_equal(ask(*state, requests, sizeof(requests[0]), 1), -EBADMSG);
	assert_int_equal(
		ask(*state, requests, sizeof(requests[0]), PILOTLIGHT_CAPTURE_FDS), -EBADMSG);
	requests[0].is_sparing = 1; /* not used by that operation */
	assert_int_equal(ask(*state, requests, sizeof(requests[0]), 0), -EBADMSG);
	assert_int_equal(open_descriptors(), before);
}

static void unread_answers_are_dropped(void **state)
{
	struct setting *setting = *state;
	const struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);

	for (int i = 0; i < 2000; i++) {
		assert_int_equal(
			broker_socket_send(setting->client, &request, sizeof(request), NULL, 0), 0);
		assert_int_equal(capture_server_run(setting->server), 0);
	}
	assert_false(has_work(setting));
}

static void one_run_serves_one_request(void **state)
{
	struct setting *setting = *state;
	const struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);

	for (int i = 0; i < 3; i++)
		assert_int_equal(
			broker_socket_send(setting->client, &request, sizeof(request), NULL, 0), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(has_work(setting));
		assert_int_equal(capture_server_run(setting->server), 0);
	}
	assert_false(has_work(setting));
}

static void clients_can_follow_each_other(void **state)
{
	struct setting *setting = *state;
	const struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);
	int pair[2], byte;

	(void)close(setting->client);
	assert_true(has_work(setting));
	assert_int_equal(capture_server_run(setting->server), -EPIPE);
	assert_false(has_work(setting));
	assert_int_equal(capture_server_run(setting->server), 0);
	make_pair(pair);
	assert_int_equal(capture_server_connect(setting->server, pair[1]), 0);
	setting->client = pair[0];
	assert_int_equal(ask(setting, &request, sizeof(request), 0), -ENXIO);
	/* Also if the previous client is still there. */
	make_pair(pair);
	assert_int_equal(capture_server_connect(setting->server, pair[1]), 0);
	assert_int_equal(recv(setting->client, &byte, sizeof(byte), MSG_DONTWAIT), 0);
	(void)close(setting->client);
	setting->client = pair[0];
	assert_int_equal(ask(setting, &request, sizeof(request), 0), -ENXIO);
}

static void other_sockets_are_refused(void **state)
{
	struct setting *setting = *state;
	const struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);
	int pair[2];

	assert_int_equal(capture_server_connect(setting->server, -1), -EBADF);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(capture_server_connect(setting->server, pair[0]), -EPROTOTYPE);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(ask(setting, &request, sizeof(request), 0), -ENXIO);
}

static void failing_allocations_make_no_server(void **state)
{
	struct capture_server *server = NULL;
	struct rlimit limit;
	int r;

	fail_allocation(0);
	assert_int_equal(capture_server_new(NULL, &server), -ENOMEM);
	assert_true(allocation_failed());
	limit = limit_descriptors(0);
	r = capture_server_new(NULL, &server);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, -EMFILE);
	assert_null(server);
	capture_server_free(NULL);
}

#define SERVER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(requests_are_answered),
		SERVER_TEST(malformed_requests_are_refused_without_leaks),
		SERVER_TEST(unread_answers_are_dropped),
		SERVER_TEST(one_run_serves_one_request),
		SERVER_TEST(clients_can_follow_each_other),
		SERVER_TEST(other_sockets_are_refused),
		cmocka_unit_test(failing_allocations_make_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
