/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_writers.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void ids_follow_the_order_of_arrival(void **state)
{
	struct jitdump_writers writers = { 0 };
	uint32_t writer = 77;

	assert_false(jitdump_writers_find(&writers, 0, &writer));
	assert_int_equal(writer, 77);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 100; i++) {
			assert_int_equal(jitdump_writers_get(&writers, 1000 - i, &writer), 0);
			assert_int_equal(writer, i);
			jitdump_writers_note(&writers, writer, 50 + i - 40 * round);
		}
	assert_int_equal(writers.count, 100);
	assert_true(jitdump_writers_find(&writers, 990, &writer));
	assert_int_equal(writer, 10);
	assert_int_equal(writers.writers[10].last_record_ns, 60);
	jitdump_writers_done(&writers);
}

static void latecomers_share_the_last_id(void **state)
{
	struct jitdump_writers writers = { 0 };
	uint32_t writer;

	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(jitdump_writers_get(&writers, i, &writer), 0);
		assert_int_equal(writer, i < 255 ? i : 255);
		jitdump_writers_note(&writers, writer, i);
	}
	assert_int_equal(writers.count, JITDUMP_WRITERS_MAX);
	assert_in_range(writers.capacity, JITDUMP_WRITERS_MAX, JITDUMP_WRITERS_MAX);
	assert_int_equal(writers.writers[255].last_record_ns, 4999);
	assert_int_equal(writers.writers[255].pid, 0);
	/* Its pid of 0 is nobody's. */
	assert_int_equal(jitdump_writers_get(&writers, 0, &writer), 0);
	assert_int_equal(writer, 0);
	assert_true(jitdump_writers_find(&writers, 0, &writer));
	assert_int_equal(writer, 0);
	assert_true(jitdump_writers_find(&writers, 254, &writer));
	assert_int_equal(writer, 254);
	assert_true(jitdump_writers_find(&writers, 255, &writer));
	assert_int_equal(writer, 255);
	jitdump_writers_done(&writers);
}

static void failing_allocations(void **state)
{
	struct jitdump_writers writers = { 0 };
	uint32_t writer = 77;

	fail_allocation(0);
	assert_int_equal(jitdump_writers_get(&writers, 1, &writer), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(writer, 77);
	assert_int_equal(writers.count, 0);
	assert_int_equal(jitdump_writers_get(&writers, 1, &writer), 0);
	assert_int_equal(writer, 0);
	jitdump_writers_done(&writers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_follow_the_order_of_arrival),
		cmocka_unit_test(latecomers_share_the_last_id),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
