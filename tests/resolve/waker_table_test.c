/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/waker_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 4096 };

static struct waker_table *table;

static int open_table(void **state)
{
	return waker_table_new(&table);
}

static int close_table(void **state)
{
	waker_table_free(table);
	table = NULL;
	return 0;
}

static const uint64_t frames[MANY] = { 0x1000, 0x2000, 0x3000 };

static struct raw_sample waker_of(uint64_t address, const char *comm)
{
	return (struct raw_sample){
		.is_waker = true,
		.comm = comm,
		.count = 1,
		.address = address,
		.walk_frames = frames,
		.walk_count = 3,
		.kernel_ips = frames + 1,
		.kernel_count = 2,
	};
}

static const struct raw_sample *take(uint64_t address)
{
	const struct raw_sample sample = { .address = address };

	return waker_table_take(table, &sample);
}

static void a_waker_is_taken_once(void **state)
{
	struct raw_sample waker = waker_of(0xffff888000001000, "writer");
	const struct raw_sample *taken;
	char comm[PILOTLIGHT_COMM_BYTES] = "writer";

	waker.comm = comm;
	waker_table_add(table, &waker);
	memset(comm, 0, sizeof(comm)); /* it is borrowed for the call */
	assert_null(take(0xffff888000002000));
	taken = take(0xffff888000001000);
	assert_non_null(taken);
	assert_string_equal(taken->comm, "writer");
	assert_int_equal(taken->count, 0);
	assert_int_equal(taken->walk_count, 3);
	assert_int_equal(taken->walk_frames[2], 0x3000);
	assert_ptr_not_equal(taken->walk_frames, frames);
	assert_int_equal(taken->kernel_count, 2);
	assert_int_equal(taken->kernel_ips[0], 0x2000);
	assert_null(take(0xffff888000001000));
}

static void the_last_waker_counts(void **state)
{
	const struct raw_sample first = waker_of(64, "first"), second = waker_of(64, "second");

	waker_table_add(table, &first);
	waker_table_add(table, &second);
	assert_string_equal(take(64)->comm, "second");
}

/* A sample that has no waker has no address. */
static void no_address_finds_nothing(void **state)
{
	const struct raw_sample nobody = waker_of(0, "nobody");

	waker_table_add(table, &nobody);
	assert_null(take(0));
}

static void frames_and_wakers_are_bounded(void **state)
{
	struct raw_sample waker = waker_of(64, "deep");
	size_t found = 0;

	waker.walk_count = waker.kernel_count = MANY;
	waker.kernel_ips = frames;
	waker_table_add(table, &waker);
	assert_in_range(take(64)->walk_count, 100, 200);
	for (uint64_t i = 1; i <= MANY; i++) {
		waker = waker_of(i * 64, "one");
		waker_table_add(table, &waker);
	}
	for (uint64_t i = 1; i <= MANY; i++)
		found += take(i * 64) != NULL;
	assert_in_range(found, 256, 1024);
}

static void without_memory_there_is_no_table(void **state)
{
	struct waker_table *made = NULL;

	assert_int_equal(FAIL_EACH_ALLOCATION(waker_table_new(&made), -ENOMEM, !made, 0), 1);
	waker_table_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_waker_is_taken_once, open_table, close_table),
		cmocka_unit_test_setup_teardown(the_last_waker_counts, open_table, close_table),
		cmocka_unit_test_setup_teardown(no_address_finds_nothing, open_table, close_table),
		cmocka_unit_test_setup_teardown(
			frames_and_wakers_are_bounded, open_table, close_table),
		cmocka_unit_test(without_memory_there_is_no_table),
	};

	return cmocka_run_group_tests_name("waker_table", tests, NULL, NULL);
}
