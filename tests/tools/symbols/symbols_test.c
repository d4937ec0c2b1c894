/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols.h"

#include "tests/tools/symbols/symbols_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* `argv` ends with NULL. */
static int use(char **argv)
{
	int argc = 0, out, err, status;

	while (argv[argc])
		argc++;
	(void)fflush(NULL);
	out = command_run_replace(STDOUT_FILENO, "", 0);
	err = command_run_replace(STDERR_FILENO, "", 0);
	status = symbols_main(argc, argv);
	(void)fflush(NULL);
	command_run_restore(STDOUT_FILENO, out, ran.out);
	command_run_restore(STDERR_FILENO, err, ran.err);
	return status;
}

static void commands_are_found(void **state)
{
	static char *names[] = { "add", "list", "show", "lookup", "prune", "verify", "fetch" };
	char usage[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *argv[] = { "symbols", names[i], "--help", NULL };

		assert_int_equal(use(argv), EXIT_SUCCESS);
		(void)snprintf(usage, sizeof(usage), "usage: pilotlight symbols %s ", names[i]);
		assert_memory_equal(ran.out, usage, strlen(usage));
		assert_string_equal(ran.err, "");
	}
}

static void help_lists_them(void **state)
{
	char *argv[] = { "symbols", "--help", NULL }, *brief[] = { "symbols", "-h", NULL };

	(void)state;
	assert_int_equal(use(argv), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "usage: pilotlight symbols COMMAND", 33);
	assert_non_null(strstr(ran.out, "\n  lookup   functions"));
	assert_int_equal(use(brief), EXIT_SUCCESS);
}

static void wrong_use_is_told(void **state)
{
	char *nothing[] = { "symbols", NULL }, *unknown[] = { "symbols", "frobnicate", NULL };

	(void)state;
	assert_int_equal(use(nothing), 2);
	assert_memory_equal(ran.err, "usage: ", 7);
	assert_string_equal(ran.out, "");
	assert_int_equal(use(unknown), 2);
	assert_true(symbols_run_complained("there is no command 'symbols frobnicate'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_found),
		cmocka_unit_test(help_lists_them),
		cmocka_unit_test(wrong_use_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
