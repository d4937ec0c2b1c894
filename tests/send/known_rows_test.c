/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/known_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int fd;
static struct known_rows *rows;

static void senders_share_what_they_note(void **state)
{
	struct known_rows *others;

	assert_int_equal(known_rows_map(fd, &others), 0);
	assert_false(known_rows_has(rows, 5));
	known_rows_add(others, 5);
	known_rows_add(others, 6);
	assert_true(known_rows_has(rows, 5));
	assert_true(known_rows_has(rows, 6));
	assert_false(known_rows_has(rows, 7));
	known_rows_unmap(others);
}

/* As much as was written, and not more than the budget has room for. */
static void the_memory_is_told(void **state)
{
	assert_int_equal(known_rows_bytes(-1), 0);
	assert_in_range(known_rows_bytes(fd), 1, KNOWN_ROWS_BYTES_MAX);
	for (uint64_t i = 1; i <= KNOWN_ROWS_MAX; i++)
		known_rows_add(rows, i);
	assert_in_range(
		known_rows_bytes(fd), KNOWN_ROWS_MAX * sizeof(uint64_t), KNOWN_ROWS_BYTES_MAX);
}

static void other_days_and_receivers_begin_anew(void **state)
{
	known_rows_choose(rows, "http://a", 20000);
	known_rows_add(rows, 5);
	known_rows_choose(rows, "http://a", 20000);
	assert_true(known_rows_has(rows, 5));
	known_rows_choose(rows, "http://a", 20001);
	assert_false(known_rows_has(rows, 5));
	known_rows_add(rows, 5);
	known_rows_choose(rows, "http://b", 20001);
	assert_false(known_rows_has(rows, 5));
	known_rows_add(rows, 5);
	known_rows_forget(rows);
	assert_false(known_rows_has(rows, 5));
}

/* Numbers in a row, and hundreds that share the first slot: each walks past those before it. */
static uint64_t row_number(uint64_t i)
{
	return (i + 1) << (i % 128 == 127 ? i / 128 % 2 * 20 + 20 : 0);
}

static void what_is_full_begins_anew(void **state)
{
	for (uint64_t i = 0; i < KNOWN_ROWS_MAX; i++)
		known_rows_add(rows, row_number(i));
	for (uint64_t i = 0; i < KNOWN_ROWS_MAX; i++)
		assert_true(known_rows_has(rows, row_number(i)));
	/* It is there already. */
	known_rows_add(rows, 1);
	assert_true(known_rows_has(rows, 4));
	known_rows_add(rows, UINT64_MAX);
	assert_true(known_rows_has(rows, UINT64_MAX));
	assert_false(known_rows_has(rows, 1));
}

static void hashes_differ_between_files(void **state)
{
	struct known_rows *others;
	int other_fd;

	assert_int_equal(known_rows_create(&other_fd), 0);
	assert_int_equal(known_rows_map(other_fd, &others), 0);
	assert_int_equal(known_rows_hash(rows, "row", 3), known_rows_hash(rows, "row", 3));
	assert_int_not_equal(known_rows_hash(rows, "row", 3), known_rows_hash(rows, "rov", 3));
	assert_int_not_equal(known_rows_hash(rows, "row", 3), known_rows_hash(others, "row", 3));
	known_rows_unmap(others);
	assert_int_equal(close(other_fd), 0);
}

static void other_files_are_refused(void **state)
{
	int other_fd = memfd_create("other", MFD_CLOEXEC);
	struct known_rows *others = NULL;

	assert_int_equal(known_rows_map(other_fd, &others), -EBADF);
	assert_int_equal(known_rows_map(-1, &others), -EBADF);
	assert_null(others);
	assert_int_equal(close(other_fd), 0);
	/* A sender cannot take the memory away under the next one. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
}

static int set_up(void **state)
{
	return known_rows_create(&fd) < 0 || known_rows_map(fd, &rows) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	known_rows_unmap(rows);
	return close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(senders_share_what_they_note, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_memory_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			other_days_and_receivers_begin_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_full_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hashes_differ_between_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_files_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
