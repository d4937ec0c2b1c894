/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The front's side, with engines that send what a test needs. */
#include "tools/record/record_link.h"

#include "base/cleanup.h"
#include "broker/broker.h"
#include "capture/capture_probe.h"
#include "tests/capture/capture_messages.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static const struct capture_grant no_grant;

static struct record_link fork_link(int (*run)(const void *context), const void *context)
{
	struct record_link link;

	record_link_init(&link);
	assert_int_equal(record_link_start(&link, run, context, NULL), 0);
	assert_true(link.pid > 0);
	return link;
}

static struct record_link start(int (*run)(const void *context))
{
	struct record_link link = fork_link(run, NULL);

	assert_int_equal(record_link_connect(&link, &no_grant, NULL), 0);
	return link;
}

static void end(struct record_link *link)
{
	record_link_done(link);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static int exit_with(const void *status)
{
	return *(const int *)status;
}

static int die_of(const void *number)
{
	(void)signal(*(const int *)number, SIG_DFL);
	(void)raise(*(const int *)number);
	return 0;
}

static int wait_for_ever(const void *context)
{
	do
		(void)pause();
	while (true);
	return 0;
}

/* Sends on each of the sockets its number, if nothing else is open. */
static int send_numbers(const void *context)
{
	static const int numbers[] = { RECORD_BROKER_FD, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };
	char byte;

	for (int fd = RECORD_MESSAGE_FD + 1; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	if (read(STDIN_FILENO, &byte, 1) != 0)
		return 2;
	for (size_t i = 0; i < 3; i++) {
		byte = (char)numbers[i];
		if (!(fcntl(numbers[i], F_GETFD) & FD_CLOEXEC) ||
			send(numbers[i], &byte, 1, 0) != 1)
			return 3;
	}
	return 0;
}

/* It closes its sockets and does not end. */
static int close_and_wait(const void *context)
{
	(void)close(RECORD_BROKER_FD);
	(void)close(RECORD_CAPTURE_FD);
	(void)close(RECORD_MESSAGE_FD);
	return wait_for_ever(context);
}

static void the_engine_has_its_sockets_and_no_more(void **state)
{
	int filler[4], secret = open("/proc/self/stat", O_RDONLY);
	char bytes[3];

	/* The sockets' first numbers may be any, as where our caller closed its standard streams.
	 */
	for (int shift = 0; shift < 4; shift++) {
		struct record_link link = fork_link(send_numbers, NULL);
		const int fds[] = { link.broker_fd, link.capture_fd, link.message_fd };

		for (int i = 0; i < 3; i++) {
			assert_int_equal(recv(fds[i], &bytes[i], 1, 0), 1);
			assert_int_equal(bytes[i], RECORD_BROKER_FD + i);
		}
		/* This side has no copy of the other ends. */
		assert_int_equal(recv(link.broker_fd, &bytes[0], 1, 0), 0);
		end(&link);
		filler[shift] = open("/dev/null", O_RDONLY);
	}
	for (int i = 0; i < 4; i++)
		(void)close(filler[i]);
	(void)close(secret);
}

static void the_engine_has_a_higher_priority(void **state)
{
	struct record_link link = fork_link(wait_for_ever, NULL);
	int own = getpriority(PRIO_PROCESS, 0), of_engine = own - 10 < -20 ? -20 : own - 10;

	/* Without the privilege it keeps ours. */
	if (setpriority(PRIO_PROCESS, (id_t)link.pid, of_engine) < 0)
		of_engine = own;
	end(&link);
	link = fork_link(wait_for_ever, NULL);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)link.pid), of_engine);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
	end(&link);
}

static void the_end_of_the_engine_is_reported(void **state)
{
	static const struct {
		int (*run)(const void *context);
		int context;
		bool is_ignored; /* the kernel keeps no status of children */
		int result;
		const char *text;
	} cases[] = {
		{ exit_with, 0, false, -EPROTO, "has ended" },
		{ exit_with, 3, false, -ECHILD, "status 3" },
		{ exit_with, 3, true, -EPROTO, "has ended" },
		{ die_of, SIGKILL, false, -ECHILD, "signal 9 (Killed)" },
		{ die_of, SIGSYS, false, -ECHILD, "signal 31 (Bad system call)" },
		{ close_and_wait, 0, false, -ECHILD, "signal 9 (Killed)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_message message;
		struct fault fault = { 0 };
		struct record_link link;

		(void)signal(SIGCHLD, cases[i].is_ignored ? SIG_IGN : SIG_DFL);
		link = fork_link(cases[i].run, &cases[i].context);
		assert_int_equal(record_link_connect(&link, &no_grant, NULL), 0);
		assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLING, &message, &fault),
			cases[i].result);
		assert_non_null(strstr(fault.text, cases[i].text));
		assert_int_equal(link.pid, 0);
		end(&link);
	}
	(void)signal(SIGCHLD, SIG_DFL);
}

static void a_living_engine_is_killed(void **state)
{
	struct record_link link = fork_link(wait_for_ever, NULL);

	end(&link);
	record_link_init(&link);
	record_link_done(&link);
}

static void send_type(enum record_message_type type)
{
	const struct record_message message = { .type = type, .number = -EIO };

	(void)record_message_send(RECORD_MESSAGE_FD, &message, -1);
}

static bool receives(enum record_message_type type)
{
	struct pollfd fd = { .fd = RECORD_MESSAGE_FD, .events = POLLIN };
	struct record_message message;

	return poll(&fd, 1, -1) == 1 &&
	       record_message_receive(RECORD_MESSAGE_FD, &message, NULL) == 0 &&
	       message.type == type;
}

/* Asks the broker for a file before it sends anything; any answer will do. */
static int ask_broker(const void *context)
{
	_cleanup_close_ int fd = -1;
	struct broker *broker;
	int r;

	if (!receives(RECORD_OPEN) || broker_connect(RECORD_BROKER_FD, &broker) < 0)
		return EXIT_FAILURE;
	r = broker_open_kernel_file(broker, BROKER_KERNEL_NOTES, &fd);
	if (r == -EPIPE || r == -ETIMEDOUT || r == -EBADMSG)
		return EXIT_FAILURE;
	send_type(RECORD_PREPARED);
	if (!receives(RECORD_START))
		return EXIT_FAILURE;
	send_type(RECORD_SAMPLED);
	broker_free(broker);
	return EXIT_SUCCESS;
}

static void the_engine_is_served_during_a_wait(void **state)
{
	struct record_link link = start(ask_broker);
	struct record_message message;

	assert_int_equal(record_link_send_type(&link, RECORD_OPEN), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_PREPARED, &message, NULL), 0);
	assert_int_equal(record_link_send_type(&link, RECORD_START), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLED, &message, NULL), 0);
	assert_int_equal(message.number, -EIO);
	assert_int_equal(record_link_finish(&link, NULL), 0);
	assert_int_equal(link.pid, 0);
	end(&link);
}

/* Asks to sample what programs hold of all processes, and reports the answer. */
static int ask_for_heaps(const void *context)
{
	struct pilotlight_capture_request request = request_of(PILOTLIGHT_CAPTURE_OPEN);
	struct pollfd fd = { .fd = RECORD_CAPTURE_FD, .events = POLLIN };
	struct record_message message = { .type = RECORD_SAMPLED };
	struct pilotlight_capture_answer answer;

	request.sources |= 1 << PILOTLIGHT_SOURCE_HEAP_LIVE;
	request.periods[PILOTLIGHT_SOURCE_HEAP_LIVE] = 4096;
	if (send(RECORD_CAPTURE_FD, &request, sizeof(request), 0) != sizeof(request) ||
		poll(&fd, 1, -1) != 1 ||
		recv(RECORD_CAPTURE_FD, &answer, sizeof(answer), 0) != sizeof(answer))
		return EXIT_FAILURE;
	message.number = answer.result;
	(void)record_message_send(RECORD_MESSAGE_FD, &message, -1);
	return EXIT_SUCCESS;
}

static void the_engine_gets_what_is_granted(void **state)
{
	static const struct {
		struct capture_grant grant;
		int result;
	} cases[] = {
		{ { .sources = 1 << PILOTLIGHT_SOURCE_CPU }, -EPERM },
		{ { .sources = 1 << PILOTLIGHT_SOURCE_HEAP_ALLOC }, -EPERM },
		/* Those of named processes alone. */
		{ { .sources = 1 << PILOTLIGHT_SOURCE_HEAP_LIVE }, -EOPNOTSUPP },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_link link = fork_link(ask_for_heaps, NULL);
		struct record_message message;

		assert_int_equal(record_link_connect(&link, &cases[i].grant, NULL), 0);
		assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLED, &message, NULL), 0);
		assert_int_equal(message.number, cases[i].result);
		end(&link);
	}
}

static int wait_for_end(const void *context)
{
	(void)receives(RECORD_MESSAGE_TYPES);
	return EXIT_SUCCESS;
}

static void other_descriptors_and_the_timeout_return_0(void **state)
{
	struct record_link link = start(wait_for_end);
	struct pollfd fds[1 + RECORD_LINK_FDS] = { { .events = POLLIN } };
	struct record_message message;
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	fds[0].fd = pipe_fds[0];
	assert_int_equal(record_link_serve(&link, fds, 1, 0, &message, NULL), 0);
	assert_int_equal(fds[0].revents, 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	assert_int_equal(record_link_serve(&link, fds, 1, -1, &message, NULL), 0);
	assert_true(fds[0].revents & POLLIN);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	end(&link);
}

static void a_signal_ends_the_wait_for_an_engine_that_hangs(void **state)
{
	struct record_link link = start(wait_for_end);
	struct record_message message;
	struct fault fault = { 0 };
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	assert_int_equal(
		record_link_expect(&link, pipe_fds[0], RECORD_PREPARED, &message, &fault), -EINTR);
	assert_non_null(strstr(fault.text, "interrupted"));
	assert_true(link.pid > 0);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	end(&link);
}

static int report_failure(const void *context)
{
	send_type(RECORD_FAILED);
	return EXIT_FAILURE;
}

static int send_unexpected(const void *context)
{
	send_type(RECORD_NAMING);
	(void)receives(RECORD_MESSAGE_TYPES);
	return EXIT_SUCCESS;
}

static int send_invalid(const void *context)
{
	send_type(RECORD_MESSAGE_TYPES);
	(void)receives(RECORD_MESSAGE_TYPES);
	return EXIT_SUCCESS;
}

static int leave(const void *context)
{
	return EXIT_SUCCESS;
}

static void unexpected_messages_are_errors(void **state)
{
	static const struct {
		int (*run)(const void *context);
		int result;
		const char *text; /* NULL: the engine has reported it */
	} cases[] = {
		{ report_failure, -ECANCELED, NULL },
		{ send_unexpected, -EPROTO, "instead of" },
		{ send_invalid, -EBADMSG, "no valid message" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_link link = start(cases[i].run);
		struct record_message message;
		struct fault fault = { 0 };

		assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLING, &message, &fault),
			cases[i].result);
		assert_int_equal(link.has_reported, !cases[i].text);
		if (cases[i].text)
			assert_non_null(strstr(fault.text, cases[i].text));
		else
			assert_string_equal(fault.text, "");
		end(&link);
	}
}

static void sending_to_an_engine_that_is_gone_is_no_error(void **state)
{
	struct record_link link = start(leave);
	struct record_message message;
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)link.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(record_link_send_type(&link, RECORD_STOP), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLED, &message, NULL), -EPROTO);
	end(&link);
}

static void failing_allocations_start_no_servers(void **state)
{
	for (size_t n = 0;; n++) {
		struct record_link link;
		bool has_failed;
		int r;

		record_link_init(&link);
		fail_allocation(n);
		r = record_link_start(&link, wait_for_end, NULL, NULL);
		if (r == 0)
			r = record_link_connect(&link, &no_grant, NULL);
		has_failed = allocation_failed();
		assert_int_equal(r, has_failed ? -ENOMEM : 0);
		end(&link);
		if (!has_failed)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_engine_has_its_sockets_and_no_more),
		cmocka_unit_test(the_engine_has_a_higher_priority),
		cmocka_unit_test(the_end_of_the_engine_is_reported),
		cmocka_unit_test(a_living_engine_is_killed),
		cmocka_unit_test(the_engine_is_served_during_a_wait),
		cmocka_unit_test(the_engine_gets_what_is_granted),
		cmocka_unit_test(other_descriptors_and_the_timeout_return_0),
		cmocka_unit_test(a_signal_ends_the_wait_for_an_engine_that_hangs),
		cmocka_unit_test(unexpected_messages_are_errors),
		cmocka_unit_test(sending_to_an_engine_that_is_gone_is_no_error),
		cmocka_unit_test(failing_allocations_start_no_servers),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
