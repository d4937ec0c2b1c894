/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/accounts_blob.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { COUNTERS = sizeof(struct accounts) / sizeof(uint64_t) };

static void each_counter_comes_back(void **state)
{
	uint8_t bytes[ACCOUNTS_BLOB_BYTES_MAX];
	uint64_t values[COUNTERS];
	struct accounts accounts, read;
	size_t size;

	for (size_t i = 0; i < COUNTERS; i++)
		values[i] = i % 3 ? UINT64_MAX - i : i / 3;
	memcpy(&accounts, values, sizeof(accounts));
	size = accounts_blob_write(&accounts, bytes);
	assert_true(size <= sizeof(bytes));
	assert_int_equal(accounts_blob_read(&read, bytes, size), 0);
	assert_memory_equal(&read, &accounts, sizeof(read));
	for (size_t cut = 0; cut < size; cut++) {
		int r = accounts_blob_read(&read, bytes, cut);

		assert_true(r == 0 || r == -EBADMSG);
		assert_true(cut > 0 || r == -EBADMSG);
	}
}

/* What stands in the files of version 1 for ever. */
static void the_numbers_stay(void **state)
{
	static const uint8_t bytes[] = { 1, 1, 9, 16, 5, 32, 3, 38, 1, 64, 2, 0x80, 1, 4, 0x97, 1,
		6 };
	struct accounts accounts;

	assert_int_equal(accounts_blob_read(&accounts, bytes, sizeof(bytes)), 0);
	assert_int_equal(accounts.fired, 9);
	assert_int_equal(accounts.stored[PILOTLIGHT_PATH_MAP], 5);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_IDLE], 3);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_PROFILE_FULL], 1);
	assert_int_equal(accounts.events[PILOTLIGHT_EVENT_BUILD_ID_CALL], 2);
	assert_int_equal(accounts.walked[PILOTLIGHT_WALKER_KERNEL], 4);
	assert_int_equal(accounts.ends[PILOTLIGHT_WALK_DEEP], 6);
}

static void other_bytes_are_damage(void **state)
{
	static const uint8_t version[] = { 2 }, number[] = { 1, 99, 1 }, odd[] = { 1, 1 };
	uint8_t large[ACCOUNTS_BLOB_BYTES_MAX + 1] = { 1 };
	struct accounts accounts = { .fired = 77 };

	assert_int_equal(accounts_blob_read(&accounts, version, sizeof(version)), -EBADMSG);
	assert_int_equal(accounts_blob_read(&accounts, number, sizeof(number)), -EBADMSG);
	assert_int_equal(accounts_blob_read(&accounts, odd, sizeof(odd)), -EBADMSG);
	assert_int_equal(accounts_blob_read(&accounts, large, sizeof(large)), -EBADMSG);
	assert_int_equal(accounts_blob_read(&accounts, NULL, 0), -EBADMSG);
	assert_int_equal(accounts.fired, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_comes_back),
		cmocka_unit_test(the_numbers_stay),
		cmocka_unit_test(other_bytes_are_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
