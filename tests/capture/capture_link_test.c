/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A link whose server is the test, which answers before it is asked: numbers are known.
 * broker_client_test.c covers timeouts and servers that are gone.
 */
#include "capture/capture_link.h"

#include "broker/broker_socket.h"
#include "tests/capture/capture_messages.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

struct setting {
	size_t descriptors;
	int server;
	struct capture_link *link;
};

static int set_up(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	int pair[2];

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	make_pair(pair);
	setting->server = pair[1];
	assert_int_equal(capture_link_connect(pair[0], &setting->link), 0);
	*state = setting;
	return 0;
}

static int tear_down(void **state)
{
	struct setting *setting = *state;

	capture_link_free(setting->link);
	(void)close(setting->server);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static struct pilotlight_capture_answer answer_of(uint64_t number, int32_t result)
{
	struct pilotlight_capture_answer answer;

	memset(&answer, 0, sizeof(answer));
	answer.version = PILOTLIGHT_CAPTURE_VERSION;
	answer.number = number;
	answer.result = result;
	return answer;
}

static void answer_with(const struct setting *setting,
	const struct pilotlight_capture_answer *answer, size_t size, size_t fds)
{
	int passed[BROKER_SOCKET_FDS_MAX];

	for (size_t i = 0; i < BROKER_SOCKET_FDS_MAX; i++)
		passed[i] = setting->server;
	assert_int_equal(broker_socket_send(setting->server, answer, size, passed, fds), 0);
}

static void answer(const struct setting *setting, uint64_t number, int32_t result, size_t fds)
{
	const struct pilotlight_capture_answer sent = answer_of(number, result);

	answer_with(setting, &sent, sizeof(sent), fds);
}

/* Returns the answer's result. Counts and closes the descriptors. */
static int ask(struct setting *setting, size_t expected_fds)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);
	struct pilotlight_capture_answer got;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	size_t count = 0;
	int r = capture_link_ask(setting->link, &request, &got, fds, &count);

	assert_int_equal(count, expected_fds);
	capture_link_close_fds(fds, count);
	return r;
}

static void answers_come_back(void **state)
{
	struct setting *setting = *state;
	struct pilotlight_capture_request request;

	assert_false(capture_link_is_here(setting->link));
	answer(setting, 1, 4, 0);
	assert_int_equal(ask(setting, 0), 4);
	assert_int_equal(
		recv(setting->server, &request, sizeof(request), MSG_DONTWAIT), sizeof(request));
	assert_int_equal(request.version, PILOTLIGHT_CAPTURE_VERSION);
	assert_int_equal(request.number, 1);
	answer(setting, 2, 0, PILOTLIGHT_CAPTURE_FDS);
	assert_int_equal(ask(setting, PILOTLIGHT_CAPTURE_FDS), 0);
	answer(setting, 3, -ENOENT, 0);
	assert_int_equal(ask(setting, 0), -ENOENT);
}

static void malformed_answers_are_refused(void **state)
{
	struct setting *setting = *state;
	struct pilotlight_capture_answer sent = answer_of(1, 0);

	answer_with(setting, &sent, sizeof(sent) - 1, 1);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	sent = answer_of(2, 0);
	sent.version++;
	answer_with(setting, &sent, sizeof(sent), 2);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	answer(setting, 99, 0, 0);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	answer(setting, 4, -5000, 0);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	answer(setting, 5, -EPERM, 3);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	sent = answer_of(6, 0);
	memset(sent.fault, 'x', sizeof(sent.fault));
	answer_with(setting, &sent, sizeof(sent), 0);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	sent = answer_of(7, 0);
	memset(sent.state.event, 'x', sizeof(sent.state.event));
	answer_with(setting, &sent, sizeof(sent), 0);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	answer(setting, 8, 0, PILOTLIGHT_CAPTURE_FDS + 1);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	answer(setting, 9, 0, 0);
	assert_int_equal(ask(setting, 0), 0);
}

static void without_room_for_descriptors_none_leak(void **state)
{
	struct setting *setting = *state;
	struct rlimit limit;
	int r;

	answer(setting, 1, 0, 5);
	limit = limit_descriptors(2);
	r = ask(setting, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, -EMFILE);
}

static void other_sockets_are_refused(void **state)
{
	struct capture_link *link;
	int pair[2];

	assert_int_equal(capture_link_connect(-1, &link), -EBADF);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(capture_link_connect(pair[0], &link), -EPROTOTYPE);
	fail_allocation(0);
	assert_int_equal(capture_link_connect(pair[0], &link), -ENOMEM);
	assert_true(allocation_failed());
	(void)close(pair[0]);
	(void)close(pair[1]);
	capture_link_free(NULL);
}

static void a_released_socket_stays_open(void **state)
{
	struct capture_link *link;
	int pair[2];

	make_pair(pair);
	assert_int_equal(capture_link_connect(pair[0], &link), 0);
	capture_link_release(link);
	capture_link_free(link);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
}

static void a_closed_broker_is_reported(void **state)
{
	const struct capture_settings settings = { .rate_hz = 99, .map_budget_bytes = 4 << 20 };
	struct fault fault = { 0 };
	struct capture *capture;
	int pair[2];

	make_pair(pair);
	(void)close(pair[1]);
	assert_int_equal(capture_connect(pair[0], &settings, &capture, &fault), -EPIPE);
	assert_non_null(strstr(fault.text, "broker"));
	assert_int_equal(close(pair[0]), 0);
	fault.text[0] = '\0';
	assert_int_equal(capture_connect(-1, &settings, &capture, &fault), -EBADF);
	assert_true(strlen(fault.text) > 0);
}

#define LINK_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(answers_come_back),
		LINK_TEST(malformed_answers_are_refused),
		LINK_TEST(without_room_for_descriptors_none_leak),
		cmocka_unit_test(other_sockets_are_refused),
		cmocka_unit_test(a_closed_broker_is_reported),
		cmocka_unit_test(a_released_socket_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
