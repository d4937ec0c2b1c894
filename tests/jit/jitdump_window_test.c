/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_window.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_BYTES = 1000, CAPACITY = 64 };

static int make_file(void)
{
	int fd = memfd_create("window", MFD_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	for (int i = 0; i < FILE_BYTES; i++) {
		byte = (uint8_t)(i % 251);
		assert_int_equal(write(fd, &byte, 1), 1);
	}
	return fd;
}

static void assert_there(const struct jitdump_window *window, uint64_t offset, size_t size)
{
	const uint8_t *bytes;
	size_t there;

	bytes = jitdump_window_at(window, offset, &there);
	assert_int_equal(there, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], (offset + i) % 251);
}

static void the_window_moves_over_the_file(void **state)
{
	struct jitdump_window window;
	int fd = make_file();

	assert_int_equal(jitdump_window_init(&window, fd, CAPACITY), 0);
	assert_there(&window, 0, 0);
	assert_int_equal(jitdump_window_fill(&window, 100, 50), 0);
	assert_there(&window, 99, 0);
	assert_there(&window, 100, 50);
	assert_there(&window, 149, 1);
	assert_there(&window, 150, 0);
	/* On from what is there, no more than there is room for. */
	assert_int_equal(jitdump_window_fill(&window, 130, 10000), 0);
	assert_there(&window, 100, 0);
	assert_there(&window, 130, CAPACITY);
	/* Nothing is lost by asking for less. */
	assert_int_equal(jitdump_window_fill(&window, 132, 1), 0);
	assert_there(&window, 132, CAPACITY - 2);
	/* Elsewhere, back again, and to the end. */
	assert_int_equal(jitdump_window_fill(&window, 500, 10), 0);
	assert_there(&window, 500, 10);
	assert_int_equal(jitdump_window_fill(&window, 20, 10), 0);
	assert_there(&window, 20, 10);
	assert_int_equal(jitdump_window_fill(&window, FILE_BYTES - 7, 10), 0);
	assert_there(&window, FILE_BYTES - 7, 7);
	assert_int_equal(jitdump_window_fill(&window, FILE_BYTES + 7, 10), 0);
	assert_there(&window, FILE_BYTES + 7, 0);
	jitdump_window_done(&window);
	(void)close(fd);
}

static void a_read_error_leaves_an_empty_window(void **state)
{
	struct jitdump_window window;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(jitdump_window_init(&window, ends[0], CAPACITY), 0);
	assert_int_equal(jitdump_window_fill(&window, 0, 10), -ESPIPE);
	assert_there(&window, 0, 0);
	jitdump_window_done(&window);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void a_failed_allocation_leaves_the_window_alone(void **state)
{
	struct jitdump_window window = { .fd = 77 };

	fail_allocation(0);
	assert_int_equal(jitdump_window_init(&window, 1, CAPACITY), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(window.fd, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_moves_over_the_file),
		cmocka_unit_test(a_read_error_leaves_an_empty_window),
		cmocka_unit_test(a_failed_allocation_leaves_the_window_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
