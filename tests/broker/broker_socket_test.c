/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_socket.h"

#include "tests/harness/descriptors.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

static int pair[2];

static int set_up(void **state)
{
	make_pair(pair);
	return 0;
}

static int tear_down(void **state)
{
	(void)close(pair[0]);
	if (pair[1] >= 0)
		(void)close(pair[1]);
	return 0;
}

static int receive(int fd, char *text, size_t room, struct broker_message *ret_message)
{
	return broker_socket_receive(fd, text, room, BROKER_SOCKET_FDS_MAX, ret_message);
}

static ino_t inode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_ino;
}

static void descriptors_arrive_in_order(void **state)
{
	static const size_t counts[] = { 0, 1, 2, BROKER_SOCKET_FDS_MAX };
	size_t before = open_descriptors();
	struct broker_message message;
	char text[8];

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		int fds[BROKER_SOCKET_FDS_MAX];

		for (size_t i = 0; i < BROKER_SOCKET_FDS_MAX; i++)
			fds[i] = pair[i % 2];
		assert_int_equal(broker_socket_send(pair[0], "hello", 6, fds, counts[c]), 0);
		assert_int_equal(receive(pair[1], text, sizeof(text), &message), 0);
		assert_int_equal(message.size, 6);
		assert_string_equal(text, "hello");
		assert_int_equal(message.fd_count, counts[c]);
		assert_false(message.has_lost_fds);
		for (size_t i = 0; i < counts[c]; i++) {
			assert_int_equal(inode_of(message.fds[i]), inode_of(pair[i % 2]));
			assert_true(fcntl(message.fds[i], F_GETFD) & FD_CLOEXEC);
		}
		broker_message_close(&message);
		broker_message_close(&message);
	}
	assert_int_equal(open_descriptors(), before);
}

static void descriptors_without_a_number_are_lost(void **state)
{
	size_t before = open_descriptors();
	struct broker_message message;
	int fds[4] = { pair[0], pair[0], pair[0], pair[0] };
	struct rlimit limit;
	char text[8];

	assert_int_equal(broker_socket_send(pair[0], "x", 1, fds, 4), 0);
	limit = limit_descriptors(2);
	assert_int_equal(receive(pair[1], text, sizeof(text), &message), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(message.has_lost_fds);
	assert_int_equal(message.fd_count, 2);
	broker_message_close(&message);
	assert_int_equal(open_descriptors(), before);
}

static void a_long_message_reports_its_size(void **state)
{
	struct broker_message message;
	char text[2];

	assert_int_equal(broker_socket_send(pair[0], "hello", 6, NULL, 0), 0);
	assert_int_equal(receive(pair[1], text, sizeof(text), &message), 0);
	assert_int_equal(message.size, 6);
}

/* It looks like the end of the connection. */
static void an_empty_message_leaves_no_descriptor(void **state)
{
	size_t before = open_descriptors();
	struct broker_message message;
	char text[2];

	assert_int_equal(broker_socket_send(pair[0], "", 0, pair, 2), 0);
	assert_int_equal(receive(pair[1], text, sizeof(text), &message), -EPIPE);
	assert_int_equal(open_descriptors(), before);
}

static void polling_never_blocks(void **state)
{
	struct broker_message message;
	char text[2];
	int r = 0;

	assert_int_equal(receive(pair[1], text, sizeof(text), &message), -EAGAIN);
	for (int i = 0; r == 0 && i < 1 << 20; i++)
		r = broker_socket_send(pair[0], "x", 1, NULL, 0);
	assert_int_equal(r, -EAGAIN);
	(void)close(pair[1]);
	pair[1] = -1;
	assert_int_equal(broker_socket_send(pair[0], "x", 1, NULL, 0), -EPIPE);
	assert_int_equal(receive(pair[0], text, sizeof(text), &message), -EPIPE);
}

#define PAIR_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(descriptors_arrive_in_order),
		PAIR_TEST(descriptors_without_a_number_are_lost),
		PAIR_TEST(a_long_message_reports_its_size),
		PAIR_TEST(an_empty_message_leaves_no_descriptor),
		PAIR_TEST(polling_never_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
