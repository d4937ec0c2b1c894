/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The children that a server starts for its client. This program is the child, too. */
#include "tests/broker/server_fixture.h"

#include <errno.h>
#include <unistd.h>

static void ask_for_child(struct setting *setting, uint64_t number, uint32_t kind)
{
	struct pilotlight_broker_request request = request_of(number, 0);

	request.operation = PILOTLIGHT_BROKER_START_CHILD;
	request.file = kind;
	send_message(setting->client, &request, sizeof(request), -1, 0);
	run(setting);
}

/* Takes the two descriptors of an answer. */
static void take_child(struct setting *setting, int ret_fds[2])
{
	struct pilotlight_broker_answer answer;
	struct broker_message message;

	assert_true(take_message(setting, &answer, &message));
	assert_int_equal(answer.result, 0);
	assert_int_equal(message.fd_count, 2);
	memcpy(ret_fds, message.fds, sizeof(int[2]));
}

static void wait_for_server(struct setting *setting)
{
	struct pollfd waited = { .fd = broker_server_poll_fd(setting->server), .events = POLLIN };

	assert_int_equal(poll(&waited, 1, -1), 1);
	run(setting);
}

static void children_are_started_and_counted(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pilotlight_child_end end;
	int fds[2];

	ask_for_child(setting, 1, BROKER_CHILD_ANSWER);
	take_child(setting, fds);
	assert_int_equal(counters->children.started, 1);
	/* It exits with the status that was sent. */
	send_message(fds[0], "7", 1, -1, 0);
	while (recv(fds[1], &end, sizeof(end), MSG_DONTWAIT) < 0)
		wait_for_server(setting);
	assert_int_equal(end.exit_status, '7');
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	ask_for_child(setting, 2, BROKER_CHILDREN);
	assert_answered(setting, 2, -EINVAL);
	assert_counted(setting, 1, 1);
	assert_int_equal(counters->opened[PILOTLIGHT_BROKER_START_CHILD], 1);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_UNFIT], 1);
	assert_int_equal(counters->children.refused, 1);
	assert_int_equal(counters->children.killed, 0);
}

static void the_limit_of_children_is_enforced(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	int fds[BROKER_CHILDREN_MAX][2];

	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++) {
		ask_for_child(setting, i, BROKER_CHILD_SYMBOL_WORKER);
		take_child(setting, fds[i]);
	}
	ask_for_child(setting, 99, BROKER_CHILD_SYMBOL_WORKER);
	assert_answered(setting, 99, -EAGAIN);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_EXHAUSTED], 1);
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++) {
		assert_int_equal(close(fds[i][0]), 0);
		assert_int_equal(close(fds[i][1]), 0);
	}
	while (counters->children.killed < BROKER_CHILDREN_MAX)
		wait_for_server(setting);
}

/* A client that is gone is one whose children are gone, too: tear_down() finds none. */
static void children_end_with_the_client(void **state)
{
	struct setting *setting = *state;

	ask_for_child(setting, 1, BROKER_CHILD_SYMBOL_WORKER);
	ask_for_child(setting, 2, BROKER_CHILD_SYMBOL_FETCH);
	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
}

/* The client did not receive its descriptors, so it was killed. */
static void a_child_whose_answer_is_dropped_is_killed(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pilotlight_broker_answer answer;
	uint64_t asked = 0;
	int fd;

	while (counters->answers_dropped == 0) {
		ask(setting, ++asked, 78);
		run(setting);
	}
	ask_for_child(setting, ++asked, BROKER_CHILD_ANSWER);
	assert_int_equal(counters->children.started, 1);
	while (counters->children.killed == 0)
		wait_for_server(setting);
	while (take_answer(setting, &answer, &fd))
		assert_true(answer.number < asked);
}

/* A child of the server: it exits with the status that it is sent. Without one it waits for the
 * server to kill it, but not forever. */
static int child_role(void)
{
	char status = 99;

	if (recv(3, &status, 1, 0) != 1)
		(void)sleep(60);
	return status;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(children_are_started_and_counted),
		WITH_SERVER(the_limit_of_children_is_enforced),
		WITH_SERVER(children_end_with_the_client),
		WITH_SERVER(a_child_whose_answer_is_dropped_is_killed),
	};

	(void)argv;
	if (argc > 1)
		return child_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
