/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/owned_binaries.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

static const struct build_id id = { .bytes = { 1, 2, 3 }, .size = 3 };

static uint32_t find(const struct owned_binaries *binaries, pid_t pid, uint64_t start_ns)
{
	const struct broker_process process = { .pid = pid, .start_ns = start_ns };

	return owned_binaries_find(binaries, &process, &id);
}

static int add(struct owned_binaries *binaries, pid_t pid, uint64_t start_ns, uint32_t binary)
{
	const struct broker_process process = { .pid = pid, .start_ns = start_ns };

	return owned_binaries_add(binaries, &process, &id, binary);
}

static void a_build_id_is_a_process_own(void **state)
{
	const struct broker_process process = { .pid = 7, .start_ns = 100 };
	const struct build_id padded = { .bytes = { 1, 2, 3 }, .size = 20 }, other = { .size = 3 };
	struct owned_binaries binaries = { 0 };

	assert_int_equal(find(&binaries, 7, 100), OWNED_BINARIES_UNKNOWN);
	assert_int_equal(add(&binaries, 7, 100, 42), 0);
	assert_int_equal(add(&binaries, 8, 100, 43), 0);
	assert_int_equal(find(&binaries, 7, 100), 42);
	assert_int_equal(find(&binaries, 8, 100), 43);
	/* A later process has its pid. */
	assert_int_equal(find(&binaries, 7, 101), OWNED_BINARIES_UNKNOWN);
	assert_int_equal(owned_binaries_find(&binaries, &process, &padded), 42);
	assert_int_equal(owned_binaries_find(&binaries, &process, &other), OWNED_BINARIES_UNKNOWN);
	/* Which process it is, is not known. */
	assert_int_equal(add(&binaries, 9, 0, 44), 0);
	assert_int_equal(find(&binaries, 9, 0), OWNED_BINARIES_UNKNOWN);
	owned_binaries_done(&binaries);
}

static void a_full_one_starts_afresh(void **state)
{
	struct owned_binaries binaries = { 0 };

	for (pid_t pid = 1; pid <= OWNED_BINARIES_MAX; pid++)
		assert_int_equal(add(&binaries, pid, 5, (uint32_t)pid), 0);
	assert_int_equal(find(&binaries, 1, 5), 1);
	assert_int_equal(find(&binaries, OWNED_BINARIES_MAX, 5), OWNED_BINARIES_MAX);
	assert_int_equal(add(&binaries, OWNED_BINARIES_MAX + 1, 5, 3), 0);
	assert_int_equal(find(&binaries, 1, 5), OWNED_BINARIES_UNKNOWN);
	assert_int_equal(find(&binaries, OWNED_BINARIES_MAX + 1, 5), 3);
	owned_binaries_done(&binaries);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;

	for (n = 0;; n++) {
		struct owned_binaries binaries = { 0 };
		bool has_failed;
		int r;

		fail_allocation(n);
		r = add(&binaries, 1, 5, 2);
		has_failed = allocation_failed();
		assert_int_equal(r, has_failed ? -ENOMEM : 0);
		assert_int_equal(find(&binaries, 1, 5), has_failed ? OWNED_BINARIES_UNKNOWN : 2);
		owned_binaries_done(&binaries);
		if (!has_failed)
			break;
	}
	assert_true(n >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_id_is_a_process_own),
		cmocka_unit_test(a_full_one_starts_afresh),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
