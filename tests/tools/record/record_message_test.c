/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_message.h"

#include "base/array.h"
#include "broker/broker_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int fds[2];

static int open_pair(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds);
}

static int close_pair(void **state)
{
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return 0;
}

static void end(int i)
{
	(void)close(fds[i]);
	fds[i] = -1;
}

static void messages_arrive_in_order(void **state)
{
	struct record_message message = { .type = RECORD_SAMPLED, .number = -EIO }, heard;

	assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EAGAIN);
	assert_int_equal(record_message_send(fds[0], &message, -1), 0);
	message =
		(struct record_message){ .type = RECORD_SUMMARIZE, .cpu_ns = 5, .memory_bytes = 6 };
	assert_int_equal(record_message_send(fds[0], &message, -1), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), 0);
	assert_int_equal(heard.type, RECORD_SAMPLED);
	assert_int_equal(heard.number, -EIO);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), 0);
	assert_memory_equal(&heard, &message, sizeof(heard));
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EAGAIN);
}

static void a_descriptor_arrives_with_its_message(void **state)
{
	const struct record_message message = { .type = RECORD_WRITE };
	struct record_message heard;
	int pipe_fds[2], fd = -2;
	char byte;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(record_message_send(fds[0], &message, pipe_fds[1]), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, &fd), 0);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	(void)close(fd);
	assert_int_equal(record_message_send(fds[0], &message, -1), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, &fd), 0);
	assert_int_equal(fd, -1);

	/* Refused, it is closed: the pipe ends with its other writers. */
	assert_int_equal(record_message_send(fds[0], &message, pipe_fds[1]), 0);
	(void)close(pipe_fds[1]);
	(void)record_message_receive(fds[1], &heard, NULL);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	(void)close(pipe_fds[0]);
}

static void invalid_messages_are_refused(void **state)
{
	const struct record_message cases[] = {
		{ .type = 0 },
		{ .type = RECORD_MESSAGE_TYPES },
		{ .type = UINT32_MAX },
		{ .type = RECORD_WRITTEN, .number = -4096 },
		{ .type = RECORD_WRITTEN, .number = INT32_MIN },
	};
	const struct record_message good = { .type = RECORD_STOP };
	char bytes[sizeof(good) + 1] = { RECORD_STOP };
	struct record_message heard;

	memset(&heard, 0x55, sizeof(heard));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(record_message_send(fds[0], &cases[i], -1), 0);
		assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EBADMSG);
	}
	assert_int_equal(broker_socket_send(fds[0], bytes, sizeof(bytes), NULL, 0), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EBADMSG);
	assert_int_equal(broker_socket_send(fds[0], bytes, sizeof(good) - 1, NULL, 0), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EBADMSG);
	assert_int_equal(heard.type, 0x55555555);
	assert_int_equal(record_message_send(fds[0], &good, -1), 0);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), 0);
}

static void the_end_follows_the_last_message(void **state)
{
	const struct record_message unheard = { .type = RECORD_STOP };
	const struct record_message last = { .type = RECORD_FAILED };
	struct record_message heard;

	/* The kernel tells of words that were not heard before it hands out those that were said.
	 */
	assert_int_equal(record_message_send(fds[1], &unheard, -1), 0);
	assert_int_equal(record_message_send(fds[0], &last, -1), 0);
	end(0);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), 0);
	assert_int_equal(heard.type, RECORD_FAILED);
	assert_int_equal(record_message_receive(fds[1], &heard, NULL), -EPIPE);
	assert_int_equal(record_message_send(fds[1], &unheard, -1), -EPIPE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_arrive_in_order),
		TEST(a_descriptor_arrives_with_its_message),
		TEST(invalid_messages_are_refused),
		TEST(the_end_follows_the_last_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
