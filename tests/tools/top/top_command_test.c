/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_command.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cmocka.h>

static void without_a_terminal_it_is_one_table(void **state)
{
	assert_int_equal(command_run(&top_command, "--unit a"), 0);
	assert_non_null(strstr(ran.out,
		"\n  50.0    50.0        50 jit     web.service        node            "
		"node            render\n"));
	assert_non_null(strstr(ran.out, "last 10s\n"));
	assert_int_equal(command_run(&top_command, "-b --last 30s -d 500ms"), 0);
	assert_non_null(strstr(ran.out, "last 30s\n"));
	assert_string_equal(ran.err, "");
}

static void wrong_usage_is_reported(void **state)
{
	static const char *const cases[][2] = {
		{ "-d 0", "-d takes a duration from 500ms to 1h, not '0'" },
		{ "-d 2h", "from 500ms to 1h" },
		{ "-d x", "-d: " },
		{ "--last 100ms", "--last takes a duration from 1s to 1d" },
		{ "nginx", "'nginx'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(command_run(&top_command, cases[i][0]), 2);
		assert_true(command_run_complained(cases[i][1]));
	}
	/* It is about now. */
	assert_int_equal(command_run(&top_command, "--from yesterday"), 2);
	assert_int_equal(command_run(&top_command, "--help"), 0);
	assert_int_equal(strncmp(ran.out, "usage: pilotlight top", 21), 0);
}

static void the_error_of_the_service_is_reported(void **state)
{
	assert_int_equal(command_run(&top_command, "--unit bad"), 1);
	assert_true(command_run_complained("unit 'bad' is none"));
	assert_int_equal(command_run(&top_command, "--unit none"), 1);
	assert_true(command_run_complained("Nothing matches unit 'none'"));
	service_run_end();
	assert_int_equal(command_run(&top_command, ""), 1);
	assert_true(command_run_complained("is pilotlightd running?"));
}

/* Only a failing test waits this long. */
enum { PATIENCE_MS = 30000 };

/* A terminal with `top` on it, in a process of its own. */
struct terminal {
	int fd;
	int ours; /* the side of `top`, to ask how it was left */
	pid_t pid;
	struct termios before;
	char text[1 << 16];
	size_t size;
};

static struct terminal terminal;

static int put_up(const char *type, const char *line)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };

	terminal = (struct terminal){ .fd = -1 };
	(void)fflush(NULL);
	if (openpty(&terminal.fd, &terminal.ours, NULL, NULL, &size) < 0 ||
		tcgetattr(terminal.ours, &terminal.before) < 0)
		return -1;
	terminal.pid = fork();
	if (terminal.pid == 0) {
		char *argv[COMMAND_RUN_WORDS_MAX + 1];
		int argc = command_run_split(line, argv, 0);

		(void)setsid();
		(void)ioctl(terminal.ours, TIOCSCTTY, 0);
		for (int fd = 0; fd < 3; fd++)
			(void)dup2(terminal.ours, fd);
		(void)close(terminal.fd);
		if (setenv("TERM", type, 1) < 0 || setenv("LC_ALL", "C.UTF-8", 1) < 0)
			_exit(99);
		exit(command_main(&top_command, argc, argv));
	}
	return terminal.pid < 0 ? -1 : 0;
}

/* Reads until these words come, from where the last ones ended. */
static void wait_for(const char *words)
{
	terminal.size = 0;
	terminal.text[0] = '\0';
	while (!strstr(terminal.text, words)) {
		struct pollfd fd = { .fd = terminal.fd, .events = POLLIN };
		ssize_t n;

		if (poll(&fd, 1, PATIENCE_MS) != 1)
			fail_msg("'%s' does not come, but '%s'", words, terminal.text);
		n = read(terminal.fd, terminal.text + terminal.size,
			sizeof(terminal.text) - 1 - terminal.size);

		if (n <= 0)
			fail_msg("'%s' has not come, but '%s'", words, terminal.text);
		terminal.size += (size_t)n;
		terminal.text[terminal.size] = '\0';
	}
}

static void send(const char *keys)
{
	assert_int_equal(write(terminal.fd, keys, strlen(keys)), strlen(keys));
}

/* Checks that it ends with this key and restores the terminal. */
static void expect_end(int expected)
{
	struct termios after;
	int status;

	assert_int_equal(waitpid(terminal.pid, &status, 0), terminal.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
	assert_int_equal(tcgetattr(terminal.ours, &after), 0);
	assert_int_equal(after.c_lflag, terminal.before.c_lflag);
	assert_int_equal(after.c_iflag, terminal.before.c_iflag);
	(void)close(terminal.fd);
	(void)close(terminal.ours);
}

static void on_a_terminal_it_stays_and_answers_keys(void **state)
{
	if (put_up("xterm", "top -d 1h") < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	wait_for("q quit");
	assert_non_null(strstr(terminal.text, "render"));
	/* The windows cover 12.5 s of the 10 that were asked for. */
	assert_non_null(strstr(terminal.text, "CPU 20.0% of 4"));
	send("t");
	wait_for("NAME AND STACK");
	send("?");
	wait_for("open the hottest callees");
	send("x/");
	wait_for("Enter keeps");
	send("zz");
	wait_for("No name matches the filter");
	send("\r+");
	/* Samples of three times the time: only what changes is drawn. */
	wait_for("6.7");
	send("q");
	expect_end(0);
}

static void signals_give_the_terminal_back(void **state)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (put_up("vt100", "top -d 1h") < 0) {
			print_message("there are no pseudo terminals here\n");
			skip();
		}
		wait_for("q quit");
		assert_int_equal(kill(terminal.pid, signals[i]), 0);
		expect_end(0);
	}
}

static void a_restarted_service_is_found_again(void **state)
{
	if (put_up("xterm", "top -d 500ms") < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	wait_for("q quit");
	service_run_end();
	wait_for("' refused: is pilotlightd running?");
	assert_int_equal(service_run_begin(), 0);
	wait_for("functions");
	send("q");
	expect_end(0);
}

static void a_terminal_that_cannot_draw_gets_a_table(void **state)
{
	if (put_up("dumb", "top") < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	wait_for("inlined web.service        node            node            copy");
	expect_end(0);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;

	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = command_run(&top_command, "-b");
		/* /metrics is not what it stands or falls with. */
		if (!allocation_failed()) {
			assert_int_equal(status, 0);
			break;
		}
		assert_true(status == 1 || strstr(ran.out, "\n100 samples, 5 lost"));
	}
	assert_true(n >= 10);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_terminal_it_is_one_table),
		TEST(wrong_usage_is_reported),
		TEST(the_error_of_the_service_is_reported),
		TEST(on_a_terminal_it_stays_and_answers_keys),
		TEST(signals_give_the_terminal_back),
		TEST(a_restarted_service_is_found_again),
		TEST(a_terminal_that_cannot_draw_gets_a_table),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
