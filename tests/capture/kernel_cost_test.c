/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel_cost.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILD_NS = 50000000 };

/* Returns the CPU time that the child used, as wait4() reports it. */
static uint64_t run_child(void)
{
	struct rusage usage;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		while (clock_process_cpu_ns() < CHILD_NS)
			;
		_exit(0);
	}
	assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
	return clock_rusage_cpu_ns(&usage);
}

static void children_that_have_ended_are_counted(void **state)
{
	uint64_t before = kernel_cost_cpu_ns(), child_ns = run_child();

	assert_true(child_ns >= CHILD_NS);
	assert_true(kernel_cost_cpu_ns() >= before + child_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_that_have_ended_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
