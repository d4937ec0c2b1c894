/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/jit/jit_child.h"
#include "tests/tools/jit/jit_run.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A `jit tail` in a child process. */
struct tail {
	pid_t pid;
	FILE *lines; /* what it prints */
};

static void start_tail(struct tail *tail, const char *options, pid_t pid)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)"tail" };
	char line[128];
	int argc, fds[2];

	(void)snprintf(line, sizeof(line), "%s%s%d", options, *options ? " " : "", (int)pid);
	argc = command_run_split(line, argv, 1);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	(void)fflush(NULL);
	tail->pid = fork();
	assert_true(tail->pid >= 0);
	if (tail->pid == 0) {
		/* A limit, should the test fail. */
		(void)alarm(60);
		(void)close(fds[0]);
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)close(fds[1]);
		optind = 0;
		_exit(command_main(&jit_tail, argc, argv));
	}
	(void)close(fds[1]);
	tail->lines = fdopen(fds[0], "r");
	assert_non_null(tail->lines);
}

static int end_tail(struct tail *tail)
{
	int status;

	(void)fclose(tail->lines);
	assert_int_equal(waitpid(tail->pid, &status, 0), tail->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *next_line(struct tail *tail)
{
	static char line[512];

	return fgets(line, sizeof(line), tail->lines) ? line : "";
}

/* Does it print anything within a short time? */
static bool has_line(struct tail *tail)
{
	struct pollfd fd = { .fd = fileno(tail->lines), .events = POLLIN };

	return poll(&fd, 1, 20) == 1;
}

static void start_child(struct jit_child *child, bool is_jitdump)
{
	if (jit_child_start(child, is_jitdump ? test_folder : NULL))
		return;
	print_message("no executable mapping of a file in /tmp\n");
	skip();
}

static void symbols_are_shown_as_they_are_written(void **state)
{
	struct jit_child child;
	struct tail tail;

	start_child(&child, true);
	start_tail(&tail, "-n all", child.pid);
	assert_non_null(strstr(next_line(&tail), " 1000 40 symbol 1\n"));
	for (int i = 0; i < 3; i++) {
		assert_true(jit_child_write(&child));
		assert_non_null(strstr(next_line(&tail), " symbol "));
	}
	jit_child_end(&child);
	assert_string_equal(next_line(&tail), "");
	assert_int_equal(end_tail(&tail), EXIT_SUCCESS);
}

static void earlier_symbols_are_not_shown(void **state)
{
	struct jit_child child;
	struct tail tail;
	const char *line;
	unsigned first, written = 1;

	start_child(&child, true);
	start_tail(&tail, "", child.pid);
	/* It has begun when it shows one. */
	while (!has_line(&tail)) {
		assert_true(jit_child_write(&child));
		written++;
	}
	line = strstr(next_line(&tail), " symbol ");
	assert_non_null(line);
	first = (unsigned)strtoul(line + 8, NULL, 10);
	assert_in_range(first, 2, written);
	jit_child_end(&child);
	/* From there on all of them, each once. */
	for (unsigned n = first + 1; n <= written; n++) {
		char expected[32];

		(void)snprintf(expected, sizeof(expected), " %x 40 symbol %u\n", n * 0x1000, n);
		assert_non_null(strstr(next_line(&tail), expected));
	}
	assert_string_equal(next_line(&tail), "");
	assert_int_equal(end_tail(&tail), EXIT_SUCCESS);
}

static void a_perf_map_is_followed_too(void **state)
{
	struct jit_child child;
	struct tail tail;

	start_child(&child, false);
	start_tail(&tail, "-n all", child.pid);
	assert_string_equal(next_line(&tail), "- 1000 40 symbol 1\n");
	assert_true(jit_child_write(&child));
	assert_string_equal(next_line(&tail), "- 2000 40 symbol 2\n");
	jit_child_end(&child);
	assert_string_equal(next_line(&tail), "");
	assert_int_equal(end_tail(&tail), EXIT_SUCCESS);
}

static void json_is_an_object_a_line(void **state)
{
	struct jit_child child;
	struct tail tail;

	start_child(&child, true);
	start_tail(&tail, "--json -n all", child.pid);
	assert_non_null(strstr(
		next_line(&tail), "\"address\":\"0x1000\",\"size\":64,\"name\":\"symbol 1\""));
	jit_child_end(&child);
	/* Its reader closes the pipe only after it has ended. */
	assert_string_equal(next_line(&tail), "");
	assert_int_equal(end_tail(&tail), EXIT_SUCCESS);
	start_child(&child, false);
	start_tail(&tail, "--json -n all", child.pid);
	assert_string_equal(
		next_line(&tail), "{\"address\":\"0x1000\",\"size\":64,\"name\":\"symbol 1\"}\n");
	jit_child_end(&child);
	/* Its reader closes the pipe only after it has ended. */
	assert_string_equal(next_line(&tail), "");
	assert_int_equal(end_tail(&tail), EXIT_SUCCESS);
}

/* Without another symbol, and without a word. */
static void it_ends_when_its_reader_is_gone(void **state)
{
	struct jit_child child;
	struct tail tail;

	start_child(&child, true);
	start_tail(&tail, "-n all", child.pid);
	(void)next_line(&tail);
	assert_int_equal(end_tail(&tail), EXIT_FAILURE);
	jit_child_end(&child);
}

static void a_process_without_a_file_is_reported(void **state)
{
	char line[32];
	int status;
	pid_t pid;

	(void)snprintf(line, sizeof(line), "%d", (int)getpid());
	assert_int_equal(command_run(&jit_tail, line), EXIT_FAILURE);
	assert_true(command_run_complained("has neither a jitdump file nor a perf map"));
	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)snprintf(line, sizeof(line), "%d", (int)pid);
	assert_int_equal(command_run(&jit_tail, line), EXIT_FAILURE);
	assert_true(command_run_complained("No such process"));
}

static void a_file_of_another_user_is_not_read(void **state)
{
	struct jit_child child;
	char line[32];

	if (geteuid() != 0) {
		print_message("only root can give a file away\n");
		skip();
	}
	start_child(&child, false);
	assert_int_equal(chown(child.path, 65534, 65534), 0);
	(void)snprintf(line, sizeof(line), "-n all %d", (int)child.pid);
	assert_int_equal(command_run(&jit_tail, line), EXIT_FAILURE);
	assert_true(command_run_complained("it belongs to somebody else"));
	jit_child_end(&child);
}

/* The process has no file, so tail ends by itself until all allocations succeed. */
static void failing_allocations_are_reported(void **state)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "%d", (int)getpid());
	assert_true(FAIL_EACH_ALLOCATION(command_run(&jit_tail, line), EXIT_FAILURE,
			    command_run_complained("Cannot allocate memory"), EXIT_FAILURE) > 3);
	assert_true(command_run_complained("neither"));
}

#define JIT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, jit_run_set_up, jit_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(symbols_are_shown_as_they_are_written),
		JIT_TEST(earlier_symbols_are_not_shown),
		JIT_TEST(a_perf_map_is_followed_too),
		JIT_TEST(json_is_an_object_a_line),
		JIT_TEST(it_ends_when_its_reader_is_gone),
		JIT_TEST(a_process_without_a_file_is_reported),
		JIT_TEST(a_file_of_another_user_is_not_read),
		JIT_TEST(failing_allocations_are_reported),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
