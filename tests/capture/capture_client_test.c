/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client whose server is the test, which answers before it is asked: numbers are known. */
#include "base/clock.h"
#include "capture/capture_client.h"
#include "capture/capture_socket.h"
#include "tests/capture/capture_messages.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

#define TIMEOUT_NS (NSEC_PER_SEC / 20)

struct setting {
	size_t descriptors;
	int server; /* -1: closed */
	struct capture_client *client;
};

static int set_up(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));
	int pair[2];

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	make_pair(pair);
	setting->server = pair[1];
	assert_int_equal(capture_client_new(pair[0], TIMEOUT_NS, &setting->client), 0);
	*state = setting;
	return 0;
}

static int tear_down(void **state)
{
	struct setting *setting = *state;

	capture_client_free(setting->client);
	if (setting->server >= 0)
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
	int passed[PILOTLIGHT_CAPTURE_FDS];

	for (size_t i = 0; i < PILOTLIGHT_CAPTURE_FDS; i++)
		passed[i] = setting->server;
	assert_int_equal(capture_socket_send(setting->server, answer, size, passed, fds), 0);
}

static void answer(const struct setting *setting, uint64_t number, int32_t result, size_t fds)
{
	const struct pilotlight_capture_answer sent = answer_of(number, result);

	answer_with(setting, &sent, sizeof(sent), fds);
}

/* Returns the error of asking, or the answer's result. Counts and closes the descriptors. */
static int ask(struct setting *setting, size_t expected_fds)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_STATE);
	struct pilotlight_capture_answer got;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	size_t count = 0;
	int r = capture_client_ask(setting->client, &request, &got, fds, &count);

	assert_int_equal(count, expected_fds);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(close(fds[i]), 0);
	return r < 0 ? r : got.result;
}

static void answers_come_back(void **state)
{
	struct setting *setting = *state;
	struct pilotlight_capture_request request;

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
	uint64_t number = 0;

	answer_with(setting, &sent, sizeof(sent) - 1, 1);
	assert_int_equal(ask(setting, 0), -EBADMSG);
	number = 2;
	sent = answer_of(number, 0);
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
	answer(setting, 8, 0, 0);
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

static void a_hung_capture_server_costs_one_timeout(void **state)
{
	struct setting *setting = *state;
	uint64_t before_ns = clock_monotonic_ns();

	assert_int_equal(ask(setting, 0), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - before_ns >= TIMEOUT_NS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(setting, 0), -ETIMEDOUT);
	/* The late answer and its descriptors are dropped; the next request succeeds. */
	answer(setting, 1, 0, 3);
	answer(setting, 2, 5, 0);
	assert_int_equal(ask(setting, 0), 5);
}

static void a_closed_server_is_gone_for_good(void **state)
{
	struct setting *setting = *state;

	(void)close(setting->server);
	setting->server = -1;
	assert_int_equal(ask(setting, 0), -EPIPE);
	assert_int_equal(ask(setting, 0), -EPIPE);
}

static void other_sockets_are_refused(void **state)
{
	struct capture_client *client;
	int pair[2];

	(void)state;
	assert_int_equal(capture_client_new(-1, TIMEOUT_NS, &client), -EBADF);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(capture_client_new(pair[0], TIMEOUT_NS, &client), -EPROTOTYPE);
	fail_allocation(0);
	assert_int_equal(capture_client_new(pair[0], TIMEOUT_NS, &client), -ENOMEM);
	assert_true(allocation_failed());
	(void)close(pair[0]);
	(void)close(pair[1]);
	capture_client_free(NULL);
}

static void a_released_socket_stays_open(void **state)
{
	struct capture_client *client;
	int pair[2];

	(void)state;
	make_pair(pair);
	assert_int_equal(capture_client_new(pair[0], TIMEOUT_NS, &client), 0);
	assert_int_equal(capture_client_release(client), pair[0]);
	capture_client_free(client);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
}

#define CLIENT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLIENT_TEST(answers_come_back),
		CLIENT_TEST(malformed_answers_are_refused),
		CLIENT_TEST(without_room_for_descriptors_none_leak),
		CLIENT_TEST(a_hung_capture_server_costs_one_timeout),
		CLIENT_TEST(a_closed_server_is_gone_for_good),
		cmocka_unit_test(other_sockets_are_refused),
		cmocka_unit_test(a_released_socket_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
