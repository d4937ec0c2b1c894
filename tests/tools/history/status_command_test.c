/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/status_command.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void the_service_tells_how_it_is(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(status_main, "status"), 0);
	assert_string_equal(service.out, "well\n");
	assert_string_equal(service.err, "");
	assert_int_equal(service_run_line(status_main, "status --json"), 0);
	assert_string_equal(service.out, "{}\n");
}

static void who_does_not_answer_is_a_failure(void **state)
{
	(void)state;
	service_run_end();
	assert_int_equal(service_run_line(status_main, "status"), 1);
	assert_true(service_run_complained("is pilotlightd running?"));
	assert_int_equal(service_run_line(status_main, "status --socket nowhere"), 1);
	assert_true(service_run_complained("there is no socket 'nowhere'"));
}

static void wrong_use_is_told(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(status_main, "status nginx"), 2);
	assert_true(service_run_complained("'nginx'"));
	assert_int_equal(service_run_line(status_main, "status --last 1h"), 2);
	assert_string_equal(service.out, "");
	assert_int_equal(service_run_line(status_main, "status --help"), 0);
	assert_int_equal(strncmp(service.out, "usage: pilotlight status", 24), 0);
}

static void failing_allocations_are_told(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = service_run_line(status_main, "status");
		if (!allocation_failed()) {
			assert_int_equal(status, 0);
			break;
		}
		assert_int_equal(status, 1);
	}
	assert_true(n >= 3);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_service_tells_how_it_is),
		TEST(who_does_not_answer_is_a_failure),
		TEST(wrong_use_is_told),
		TEST(failing_allocations_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
