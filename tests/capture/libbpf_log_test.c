/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "capture/libbpf_log.h"

#include <bpf/libbpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 1000, SHOWN_LAST = 200 };

static char shown[1 << 16];

static int take(const struct log_event *event, const char *text)
{
	assert_int_equal(event->level, LOG_LEVEL_DEBUG);
	(void)snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%s\n", text);
	return 1;
}

/* As libbpf does. */
__attribute__((format(printf, 2, 3))) static void print(
	enum libbpf_print_level level, const char *format, ...)
{
	libbpf_print_fn_t printer = libbpf_set_print(NULL);
	va_list arguments;

	shown[0] = '\0';
	va_start(arguments, format);
	(void)printer(level, format, arguments);
	va_end(arguments);
	(void)libbpf_set_print(printer);
}

static int set_up(void **state)
{
	log_set_level(LOG_LEVEL_DEBUG);
	log_set_sink(take);
	libbpf_log_set_up();
	return 0;
}

static void each_line_is_a_message(void **state)
{
	print(LIBBPF_WARN, "prog '%s': -- BEGIN --\n%s-- END --\n", "x", "0: r0\nR0 invalid\n");
	assert_string_equal(shown, "prog 'x': -- BEGIN --\n0: r0\nR0 invalid\n-- END --\n");
	print(LIBBPF_WARN, "no line's end");
	assert_string_equal(shown, "no line's end\n");
	print(LIBBPF_WARN, "\n");
	assert_string_equal(shown, "");
	print(LIBBPF_DEBUG, "too much\n");
	assert_string_equal(shown, "");
}

/* The verifier's log can have 16 MiB. */
static void of_many_lines_the_first_and_the_last_are_shown(void **state)
{
	char text[LINES * 8] = "", expected[LINES * 8] = "0\n";

	for (int i = 0; i < LINES; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d\n", i);
	for (int i = LINES - SHOWN_LAST; i < LINES; i++)
		(void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
			"%d\n", i);
	print(LIBBPF_WARN, "%s", text);
	assert_string_equal(shown, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_a_message),
		cmocka_unit_test(of_many_lines_the_first_and_the_last_are_shown),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
