/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and answers. broker_server_children_test.c covers the children. */
#include "base/cleanup.h"
#include "tests/broker/server_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

static void requests_are_answered_and_counted(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pollfd waited = { .fd = broker_server_poll_fd(setting->server), .events = POLLIN };
	struct pilotlight_broker_answer answer;
	char text[16] = "";
	int fd;

	run(setting);
	assert_no_answer(setting);
	assert_int_equal(poll(&waited, 1, 0), 0);
	ask(setting, 7, 77);
	ask(setting, UINT64_MAX, 78);
	assert_int_equal(poll(&waited, 1, 0), 1);
	run(setting);
	assert_int_equal(poll(&waited, 1, 0), 0);

	assert_true(take_answer(setting, &answer, &fd));
	assert_int_equal(answer.number, 7);
	assert_int_equal(answer.result, 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 9);
	assert_string_equal(text, "the maps\n");
	assert_int_equal(close(fd), 0);
	assert_answered(setting, UINT64_MAX, -ESRCH);
	assert_no_answer(setting);
	assert_counted(setting, 1, 1);
	assert_int_equal(counters->opened[PILOTLIGHT_BROKER_MAPS], 1);
	assert_int_equal(counters->refused[PILOTLIGHT_BROKER_MAPS], 1);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_GONE], 1);
	assert_int_equal(counters->answers_dropped, 0);
}

static void refusals_are_counted_by_reason(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pilotlight_broker_request request = request_of(1, 0);

	request.operation = PILOTLIGHT_BROKER_PATH;
	request.has_path = 1;
	strcpy(request.path, "/no/such/file");
	send_message(setting->client, &request, sizeof(request), -1, 0);
	strcpy(request.path, "not-absolute");
	request.number = 2;
	memset(request.path + strlen(request.path), 0, 4);
	send_message(setting->client, &request, sizeof(request), -1, 0);
	run(setting);
	assert_answered(setting, 1, -ENOENT);
	assert_answered(setting, 2, -EINVAL);
	assert_counted(setting, 0, 2);
	assert_int_equal(counters->refused[PILOTLIGHT_BROKER_PATH], 2);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_MISSING], 1);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_UNFIT], 1);
}

static void messages_of_another_size_are_malformed(void **state)
{
	static const size_t sizes[] = { 1, 15, 16, 79, 80,
		sizeof(struct pilotlight_broker_request) - 1,
		sizeof(struct pilotlight_broker_request) + 1,
		2 * sizeof(struct pilotlight_broker_request), 32768 };
	struct pilotlight_broker_request request = request_of(7, 77);
	struct setting *setting = *state;
	uint8_t *bytes = calloc(1, 32768);
	size_t count = sizeof(sizes) / sizeof(sizes[0]);

	assert_non_null(bytes);
	memcpy(bytes, &request, sizeof(request));
	for (size_t i = 0; i < count; i++) {
		send_message(setting->client, bytes, sizes[i], -1, 0);
		run(setting);
		assert_answered(setting, 0, -EBADMSG);
	}
	assert_counted(setting, 0, count);
	assert_int_equal(broker_server_counters(setting->server)->refused[0], count);
	assert_int_equal(
		broker_server_counters(setting->server)->refusals[BROKER_REFUSAL_SIZE], count);
	free(bytes);
	ask(setting, 8, 77);
	run(setting);
	assert_answered(setting, 8, 0);
}

static void garbage_is_malformed(void **state)
{
	struct pilotlight_broker_request request = request_of(7, 77);
	struct setting *setting = *state;
	uint64_t random = 88172645463325252ULL, count = 0;

	/* Every byte but those of the number, the start time and the pid means something. */
	for (size_t i = 0; i < sizeof(request); i++) {
		if ((i >= 8 && i < 24) || (i >= 40 && i < 44))
			continue;
		((uint8_t *)&request)[i] ^= 0x40;
		send_message(setting->client, &request, sizeof(request), -1, 0);
		((uint8_t *)&request)[i] ^= 0x40;
		run(setting);
		assert_answered(setting, 7, -EBADMSG);
		count++;
	}
	for (int i = 0; i < 64; i++) {
		for (size_t j = 0; j + 8 <= sizeof(request); j += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy((uint8_t *)&request + j, &random, 8);
		}
		send_message(setting->client, &request, sizeof(request), -1, 0);
		run(setting);
		assert_answered(setting, request.number, -EBADMSG);
		count++;
	}
	assert_counted(setting, 0, count);
	assert_int_equal(
		broker_server_counters(setting->server)->refusals[BROKER_REFUSAL_FIELD], count);
}

static void descriptors_of_clients_are_not_received(void **state)
{
	const struct pilotlight_broker_request request = request_of(7, 77);
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	int pipe_fds[2], next;
	char byte;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	next = next_descriptor();
	send_message(setting->client, &request, sizeof(request), pipe_fds[1], 1);
	send_message(setting->client, &request, sizeof(request), pipe_fds[1], PASSED_FDS_MAX);
	send_message(setting->client, &request, 1, pipe_fds[1], 1);
	run(setting);
	assert_answered(setting, 7, -EBADMSG);
	assert_answered(setting, 7, -EBADMSG);
	assert_answered(setting, 0, -EBADMSG);
	assert_counted(setting, 0, 3);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_DESCRIPTOR], 2);
	assert_int_equal(counters->refusals[BROKER_REFUSAL_SIZE], 1);
	assert_int_equal(next_descriptor(), next);
	/* The pipe's other end is closed. */
	assert_int_equal(close(pipe_fds[1]), 0);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	assert_int_equal(close(pipe_fds[0]), 0);
}

static void the_server_never_waits_for_a_client_to_read(void **state)
{
	struct setting *setting = *state;
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pilotlight_broker_answer answer;
	uint64_t asked = 0, answered = 0;
	int fd;

	while (counters->answers_dropped == 0) {
		assert_true(asked < 100000);
		ask(setting, ++asked, 77);
		run(setting);
	}
	ask(setting, ++asked, 78);
	run(setting);
	assert_counted(setting, asked - 1, 1);
	assert_true(counters->answers_dropped >= 1);
	while (take_answer(setting, &answer, &fd)) {
		assert_int_equal(answer.number, ++answered);
		assert_int_equal(close(fd), 0);
	}
	assert_int_equal(answered, asked - counters->answers_dropped);
	ask(setting, ++asked, 77);
	run(setting);
	assert_answered(setting, asked, 0);
}

static void one_run_serves_a_bounded_number_of_requests(void **state)
{
	struct setting *setting = *state;
	struct pilotlight_broker_answer answer;
	int fd, served = 0;

	for (uint64_t number = 1; number <= 20; number++)
		ask(setting, number, 78);
	run(setting);
	while (take_answer(setting, &answer, &fd))
		served++;
	assert_true(served > 0 && served < 20);
	while (served < 20) {
		run(setting);
		while (take_answer(setting, &answer, &fd))
			served++;
	}
	assert_counted(setting, 0, 20);
}

static void a_closed_client_is_reported(void **state)
{
	struct setting *setting = *state;

	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
	assert_counted(setting, 0, 0);
}

/* The answer is not delivered, and its descriptors are closed. */
static void a_client_that_closes_during_a_request_is_reported(void **state)
{
	struct setting *setting = *state;

	ask(setting, 1, 77);
	run(setting);
	ask(setting, 2, 77);
	hang_up(setting);
	assert_int_equal(broker_server_run(setting->server), -EPIPE);
}

static void without_descriptors_requests_are_refused(void **state)
{
	struct setting *setting = *state;
	struct rlimit before = limit_descriptors(0);
	struct rlimit limit = before;
	rlim_t none;

	ask(setting, 1, 77);
	run(setting);
	assert_answered(setting, 1, -EMFILE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit.rlim_cur;
	/* The process's folder, and no file of it. */
	limit.rlim_cur = none + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ask(setting, 2, 77);
	run(setting);
	assert_answered(setting, 2, -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	ask(setting, 3, 77);
	run(setting);
	assert_answered(setting, 3, 0);
	assert_counted(setting, 1, 2);
	assert_int_equal(
		broker_server_counters(setting->server)->refusals[BROKER_REFUSAL_EXHAUSTED], 2);
}

/* Without privileges, since those may have any number on their way. Returns 0: it was refused. */
static int exhaust_descriptors_on_their_way(struct setting *setting)
{
	const struct broker_server_counters *counters = broker_server_counters(setting->server);
	struct pilotlight_broker_answer answer = { .result = 0 };
	uint64_t asked = 0;
	int fd = -1;

	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		return 1;
	(void)limit_descriptors(4);
	while (asked < 200 && counters->refusals[BROKER_REFUSAL_EXHAUSTED] == 0) {
		ask(setting, ++asked, 77);
		run(setting);
	}
	if (counters->refusals[BROKER_REFUSAL_EXHAUSTED] != 1 || counters->answers_dropped != 0 ||
		counters->opened[PILOTLIGHT_BROKER_MAPS] != asked - 1)
		return 2;
	while (take_answer(setting, &answer, &fd))
		if (fd >= 0)
			(void)close(fd);
	if (answer.number != asked || answer.result != -ETOOMANYREFS)
		return 3;
	ask(setting, ++asked, 77);
	run(setting);
	assert_answered(setting, asked, 0);
	return 0;
}

static void too_many_descriptors_in_flight_are_reported(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(exhaust_descriptors_on_their_way(*state));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1) {
		print_message("skipped: no other user can be\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void other_kinds_of_sockets_are_refused(void **state)
{
	struct broker_server *server = NULL;
	int stream[2], file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(broker_server_new(-1, NULL, &server), -EBADF);
	assert_int_equal(broker_server_new(file, NULL, &server), -ENOTSOCK);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
	assert_int_equal(broker_server_new(stream[0], NULL, &server), -EPROTOTYPE);
	assert_null(server);
	assert_int_equal(close(file), 0);
	assert_int_equal(close(stream[0]), 0);
	assert_int_equal(close(stream[1]), 0);
}

static void failing_allocations_are_reported(void **state)
{
	struct broker_server *server = NULL;
	int pair[2], r;
	size_t n;

	make_pair(pair);
	for (n = 0;; n++) {
		fail_allocation(n);
		r = broker_server_new(pair[0], NULL, &server);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(server);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 4);
	broker_server_free(server);
	broker_server_free(NULL);
	/* It was taken. */
	assert_int_equal(fcntl(pair[0], F_GETFD), -1);
	assert_int_equal(close(pair[1]), 0);
}

/* Once it is there, the server allocates nothing. */
static void serving_takes_no_memory(void **state)
{
	struct setting *setting = *state;

	fail_allocation(0);
	ask(setting, 1, 77);
	run(setting);
	assert_answered(setting, 1, 0);
	assert_false(allocation_failed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(requests_are_answered_and_counted),
		WITH_SERVER(refusals_are_counted_by_reason),
		WITH_SERVER(messages_of_another_size_are_malformed),
		WITH_SERVER(garbage_is_malformed),
		WITH_SERVER(descriptors_of_clients_are_not_received),
		WITH_SERVER(the_server_never_waits_for_a_client_to_read),
		WITH_SERVER(one_run_serves_a_bounded_number_of_requests),
		WITH_SERVER(a_closed_client_is_reported),
		WITH_SERVER(a_client_that_closes_during_a_request_is_reported),
		WITH_SERVER(without_descriptors_requests_are_refused),
		WITH_SERVER(too_many_descriptors_in_flight_are_reported),
		cmocka_unit_test(other_kinds_of_sockets_are_refused),
		cmocka_unit_test(failing_allocations_are_reported),
		WITH_SERVER(serving_takes_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
