/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The front's side, with engines that say what a test wants. */
#include "tools/record/record_link.h"

#include "broker/broker.h"
#include "tests/harness/failing_allocation.h"
#include "tools/record/record_engine_process.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct record_link start(int (*run)(const void *context))
{
	struct record_link link = { 0 };

	assert_int_equal(record_link_start(&link, run, NULL, NULL), 0);
	assert_int_equal(record_link_connect(&link, NULL), 0);
	return link;
}

static void end(struct record_link *link)
{
	record_link_done(link);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static void say(enum record_word word)
{
	const struct record_message message = { .word = word, .number = -EIO };

	(void)record_message_send(RECORD_MESSAGE_FD, &message, -1);
}

static bool hears(enum record_word word)
{
	struct pollfd fd = { .fd = RECORD_MESSAGE_FD, .events = POLLIN };
	struct record_message message;

	return poll(&fd, 1, -1) == 1 &&
	       record_message_receive(RECORD_MESSAGE_FD, &message, NULL) == 0 &&
	       message.word == word;
}

/* Wants a file before it says anything; any answer will do. */
static int ask_and_answer(const void *context)
{
	_cleanup_close_ int fd = -1;
	struct broker *broker;
	int r;

	(void)context;
	if (!hears(RECORD_OPEN) || broker_connect(RECORD_BROKER_FD, &broker) < 0)
		return EXIT_FAILURE;
	r = broker_open_kernel_file(broker, BROKER_KERNEL_NOTES, &fd);
	if (r == -EPIPE || r == -ETIMEDOUT || r == -EBADMSG)
		return EXIT_FAILURE;
	say(RECORD_PREPARED);
	if (!hears(RECORD_START))
		return EXIT_FAILURE;
	say(RECORD_SAMPLED);
	broker_free(broker);
	return EXIT_SUCCESS;
}

static void an_engine_is_served_while_it_is_waited_for(void **state)
{
	struct record_link link = start(ask_and_answer);
	struct record_message message;

	(void)state;
	assert_int_equal(record_link_tell_word(&link, RECORD_OPEN), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_PREPARED, &message, NULL), 0);
	assert_int_equal(record_link_tell_word(&link, RECORD_START), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLED, &message, NULL), 0);
	assert_int_equal(message.number, -EIO);
	assert_int_equal(record_link_part(&link, NULL), 0);
	assert_int_equal(link.engine->pid, 0);
	end(&link);
}

static int wait_for_end(const void *context)
{
	(void)context;
	(void)hears(RECORD_WORDS);
	return EXIT_SUCCESS;
}

static void other_things_and_time_are_told_apart(void **state)
{
	struct record_link link = start(wait_for_end);
	struct pollfd fds[1 + RECORD_LINK_FDS] = { { .events = POLLIN } };
	struct record_message message;
	int pipe_fds[2];

	(void)state;
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

static void one_that_hangs_is_not_waited_for_at_any_rate(void **state)
{
	struct record_link link = start(wait_for_end);
	struct record_message message;
	struct fault fault = { 0 };
	int pipe_fds[2];

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	assert_int_equal(
		record_link_expect(&link, pipe_fds[0], RECORD_PREPARED, &message, &fault), -EINTR);
	assert_non_null(strstr(fault.text, "interrupted"));
	assert_true(link.engine->pid > 0);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	end(&link);
}

static int tell_failure(const void *context)
{
	(void)context;
	say(RECORD_FAILED);
	return EXIT_FAILURE;
}

static int babble(const void *context)
{
	(void)context;
	say(RECORD_NAMING);
	(void)hears(RECORD_WORDS);
	return EXIT_SUCCESS;
}

static int mumble(const void *context)
{
	(void)context;
	say(RECORD_WORDS);
	(void)hears(RECORD_WORDS);
	return EXIT_SUCCESS;
}

static int die(const void *context)
{
	(void)context;
	(void)raise(SIGKILL);
	return EXIT_SUCCESS;
}

static int leave(const void *context)
{
	(void)context;
	return EXIT_SUCCESS;
}

static void what_was_not_to_come_is_an_error(void **state)
{
	static const struct {
		int (*run)(const void *context);
		int result;
		const char *text; /* NULL: it has told the user itself */
	} cases[] = {
		{ tell_failure, -ECANCELED, NULL },
		{ babble, -EPROTO, "where" },
		{ mumble, -EBADMSG, "cannot understand" },
		{ die, -ECHILD, "killed by signal 9" },
		{ leave, -EPROTO, "has ended" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_link link = start(cases[i].run);
		struct record_message message;
		struct fault fault = { 0 };

		assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLING, &message, &fault),
			cases[i].result);
		assert_int_equal(link.has_told, !cases[i].text);
		if (cases[i].text)
			assert_non_null(strstr(fault.text, cases[i].text));
		else
			assert_string_equal(fault.text, "");
		end(&link);
	}
}

static void telling_one_that_is_gone_is_heard_of_later(void **state)
{
	struct record_link link = start(leave);
	struct record_message message;
	siginfo_t info;

	(void)state;
	assert_int_equal(waitid(P_PID, (id_t)link.engine->pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(record_link_tell_word(&link, RECORD_STOP), 0);
	assert_int_equal(record_link_expect(&link, -1, RECORD_SAMPLED, &message, NULL), -EPROTO);
	end(&link);
}

static void failing_allocations_serve_nobody(void **state)
{
	(void)state;
	for (size_t n = 0;; n++) {
		struct record_link link = { 0 };
		bool has_failed;
		int r;

		fail_allocation(n);
		r = record_link_start(&link, wait_for_end, NULL, NULL);
		if (r == 0)
			r = record_link_connect(&link, NULL);
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
		cmocka_unit_test(an_engine_is_served_while_it_is_waited_for),
		cmocka_unit_test(other_things_and_time_are_told_apart),
		cmocka_unit_test(one_that_hangs_is_not_waited_for_at_any_rate),
		cmocka_unit_test(what_was_not_to_come_is_an_error),
		cmocka_unit_test(telling_one_that_is_gone_is_heard_of_later),
		cmocka_unit_test(failing_allocations_serve_nobody),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
