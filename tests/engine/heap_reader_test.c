/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/heap_reader.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct heap_reader *reader;
static struct heap_file file;

static int set_up(void **state)
{
	return heap_reader_new(NULL, &reader);
}

static int tear_down(void **state)
{
	heap_reader_free(reader);
	return 0;
}

static int text_fd(void)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	return fd;
}

static bool is_readable(int timeout_ms)
{
	struct pollfd waited = { .fd = heap_reader_poll_fd(reader), .events = POLLIN };

	return poll(&waited, 1, timeout_ms) == 1;
}

static void a_file_is_read_and_taken(void **state)
{
	assert_false(heap_reader_take(reader, false, &file));
	assert_false(heap_reader_take(reader, true, &file));
	heap_reader_add(reader, 7, text_fd());
	assert_true(heap_reader_has(reader, 7));
	assert_false(heap_reader_has(reader, 8));
	assert_true(is_readable(-1));
	assert_true(heap_reader_take(reader, false, &file));
	assert_int_equal(file.identity, 7);
	assert_int_equal(file.result, -ENOEXEC);
	assert_false(heap_reader_has(reader, 7));
	assert_false(is_readable(0));
}

static void files_are_bounded(void **state)
{
	uint64_t taken = 0;

	for (uint64_t i = 1; i <= HEAP_READER_FILES; i++) {
		assert_false(heap_reader_is_full(reader));
		heap_reader_add(reader, i, text_fd());
	}
	assert_true(heap_reader_is_full(reader));
	for (; heap_reader_take(reader, true, &file); taken++)
		assert_false(heap_reader_is_full(reader));
	assert_int_equal(taken, HEAP_READER_FILES);
}

static void what_is_not_taken_is_closed(void **state)
{
	for (uint64_t i = 1; i <= HEAP_READER_FILES; i++)
		heap_reader_add(reader, i, text_fd());
	assert_true(is_readable(-1));
}

static void a_failed_allocation_is_reported(void **state)
{
	struct heap_reader *other = NULL;

	assert_int_equal(
		FAIL_EACH_ALLOCATION(heap_reader_new(NULL, &other), -ENOMEM, !other, 0), 2);
	heap_reader_free(other);
}

static int refuse(void)
{
	return -EPERM;
}

static void a_sandbox_that_cannot_be_entered_is_reported(void **state)
{
	struct heap_reader *other = NULL;

	assert_int_equal(heap_reader_new(refuse, &other), -EPERM);
	assert_null(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_read_and_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_taken_is_closed, set_up, tear_down),
		cmocka_unit_test(a_sandbox_that_cannot_be_entered_is_reported),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
