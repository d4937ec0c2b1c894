/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_answer.h"

#include "tests/tools/service_run.h"

#include <errno.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void an_answer_becomes_a_file(void **state)
{
	const struct history_answer answer = {
		.socket_path = service.path,
		.target = "/api/v1/profile?x=1",
		.path = "x",
	};
	struct fault fault = { 0 };

	(void)state;
	assert_int_equal(history_answer_write(&answer, &fault), 0);
	assert_string_equal(service_run_file("x"), "x=1\n");
}

/* The place is looked at first, since asking may take long. */
static void a_wrong_place_is_not_asked_for(void **state)
{
	const struct history_answer answer = {
		.socket_path = "/nowhere",
		.target = "/",
		.path = "nowhere/x",
	};
	struct fault fault = { 0 };

	(void)state;
	assert_int_equal(history_answer_write(&answer, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "nowhere/x"));
}

static void a_full_place_is_told_by_its_name(void **state)
{
	const struct history_answer answer = {
		.socket_path = service.path,
		.target = "/api/v1/profile?x=1",
		.path = "/dev/full",
	};
	struct fault fault = { 0 };

	(void)state;
	assert_int_equal(history_answer_write(&answer, &fault), -ENOSPC);
	assert_non_null(strstr(fault.text, "/dev/full"));
}

static void who_reads_no_more_is_not_told(void **state)
{
	const struct history_answer answer = {
		.socket_path = service.path,
		.target = "/api/v1/profile?x=1",
		.path = "-",
	};
	struct fault fault = { 0 };
	int saved = dup(STDOUT_FILENO), ends[2], r;

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[0]);
	(void)fflush(NULL);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	(void)close(ends[1]);
	r = history_answer_write(&answer, &fault);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	assert_int_equal(r, -EPIPE);
	assert_string_equal(fault.text, "");
}

/* Until these words have come; false at the end. */
static bool wait_for(int terminal, const char *words)
{
	char text[4096] = "";
	size_t size = 0;

	while (!strstr(text, words)) {
		ssize_t n = read(terminal, text + size, sizeof(text) - 1 - size);

		if (n <= 0)
			return false;
		size += (size_t)n;
		text[size] = '\0';
	}
	return true;
}

static void a_long_wait_is_told_on_a_terminal(void **state)
{
	const struct history_answer answer = {
		.socket_path = service.path,
		.target = "/api/v1/profile?unit=never",
		.path = "x",
	};
	struct fault fault = { 0 };
	int terminal, ours;
	pid_t child;

	(void)state;
	if (openpty(&terminal, &ours, NULL, NULL, NULL) < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	child = fork();
	if (child == 0) {
		(void)dup2(ours, STDERR_FILENO);
		_exit(history_answer_write(&answer, &fault) == 0 ? 0 : 1);
	}
	(void)close(ours);
	assert_true(wait_for(terminal, "pilotlightd is at work: "));
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_not_equal(access("x", F_OK), 0);
	(void)close(terminal);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_becomes_a_file),
		TEST(a_wrong_place_is_not_asked_for),
		TEST(a_full_place_is_told_by_its_name),
		TEST(who_reads_no_more_is_not_told),
		TEST(a_long_wait_is_told_on_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
