/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/jit/jit_child.h"
#include "tests/tools/jit/jit_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The line of that process, or NULL; ends it with a NUL. */
static char *line_of(pid_t pid, bool is_json)
{
	char start[32], *line, *end;

	if (is_json)
		(void)snprintf(start, sizeof(start), "{\"pid\":%d,", (int)pid);
	else
		(void)snprintf(start, sizeof(start), "\n%7d  ", (int)pid);
	line = strstr(ran.out, start);
	end = line ? strchr(line + 1, '\n') : NULL;
	if (end)
		*end = '\0';
	return line;
}

/* As many records as symbols. */
static bool has_figures(const char *line, const char *kind, int count)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "  %-8s  %9d  %9d  ", kind, count, count);
	return strstr(line, text);
}

static void a_jitdump_is_listed(void **state)
{
	struct jit_child child;
	char *line;

	if (!jit_child_start(&child, test_folder)) {
		print_message("no executable mapping of a file in /tmp\n");
		skip();
	}
	assert_true(jit_child_write(&child));
	assert_int_equal(command_run(&jit_list, ""), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_memory_equal(ran.out, "    PID  COMMAND ", 17);
	line = line_of(child.pid, false);
	assert_non_null(line);
	assert_true(has_figures(line, "jitdump", 2));
	assert_non_null(strstr(line, child.path));
	assert_int_equal(command_run(&jit_list, "--json"), EXIT_SUCCESS);
	line = line_of(child.pid, true);
	assert_non_null(line);
	assert_non_null(strstr(line, "\"kind\":\"jitdump\",\"path\":\""));
	assert_non_null(strstr(line, "\"records\":2,\"symbols\":2,\"memory_bytes\":"));
	assert_non_null(strstr(line, "\"unread_bytes\":0,\"damaged\":0,\"dropped\":0,\"sharers\":1,"
				     "\"age_s\":"));
	assert_null(strstr(line, "\"age_s\":null"));
	jit_child_end(&child);
}

static void a_perf_map_is_listed(void **state)
{
	struct jit_child child;
	char *line;

	if (!jit_child_start(&child, NULL)) {
		print_message("no executable memory\n");
		skip();
	}
	assert_int_equal(command_run(&jit_list, "--json"), EXIT_SUCCESS);
	line = line_of(child.pid, true);
	assert_non_null(line);
	assert_non_null(strstr(line, "\"kind\":\"perf-map\",\"path\":\"/tmp/perf-"));
	assert_non_null(strstr(line, "\"records\":1,\"symbols\":1,"));
	assert_non_null(strstr(line, "\"age_s\":null"));
	assert_int_equal(command_run(&jit_list, ""), EXIT_SUCCESS);
	line = line_of(child.pid, false);
	assert_non_null(line);
	assert_true(has_figures(line, "perf-map", 1));
	/* Without the file the code is still there, but unnamed. */
	assert_int_equal(unlink(child.path), 0);
	assert_int_equal(command_run(&jit_list, ""), EXIT_SUCCESS);
	line = line_of(child.pid, false);
	assert_non_null(line);
	assert_non_null(strstr(line, "(neither jitdump nor perf map)"));
	jit_child_end(&child);
}

/* The first ones alone: how many follow depends on what runs here. */
static void failing_allocations_are_reported(void **state)
{
	for (size_t n = 0; n < 4; n++) {
		fail_allocation(n);
		assert_int_equal(command_run(&jit_list, ""), EXIT_FAILURE);
		assert_true(allocation_failed());
		assert_true(command_run_complained("Cannot allocate memory"));
	}
	assert_int_equal(command_run(&jit_list, ""), EXIT_SUCCESS);
}

#define JIT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, jit_run_set_up, jit_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(a_jitdump_is_listed),
		JIT_TEST(a_perf_map_is_listed),
		JIT_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
