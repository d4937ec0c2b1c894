/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LIMIT = 1 << 20 };

static void everything_arrives_in_order(void **state)
{
	struct output_memory memory = { .limit_bytes = LIMIT };
	static char large[OUTPUT_BUFFER_BYTES + 1];
	struct output output;

	memset(large, 'l', sizeof(large));
	output_init(&output, output_to_memory, &memory);
	output_string(&output, "one ");
	output_char(&output, '2');
	output_char(&output, ' ');
	output_u64(&output, 0);
	output_u64(&output, 18446744073709551615U);
	output_printf(&output, " %s-%d ", "three", -3);
	output_write(&output, large, sizeof(large));
	output_write(&output, large, 0);
	output_write(&output, large, OUTPUT_BUFFER_BYTES);
	output_string(&output, "end");
	assert_int_equal(output_finish(&output), 0);
	assert_int_equal(output_finish(&output), 0);
	assert_int_equal(memory.size, output.written_bytes);
	assert_int_equal(memory.size, 37 + sizeof(large) + OUTPUT_BUFFER_BYTES + 3);
	assert_memory_equal(memory.bytes, "one 2 018446744073709551615 three--3 ", 37);
	for (size_t i = 37; i < memory.size - 3; i++)
		assert_int_equal(memory.bytes[i], 'l');
	assert_memory_equal(memory.bytes + memory.size - 3, "end", 3);
	free(memory.bytes);
}

/* Every way for a write to meet the buffer's end. */
static void sizes_around_the_buffer_pass(void **state)
{
	static const size_t sizes[] = { 1, OUTPUT_BUFFER_BYTES - 1, OUTPUT_BUFFER_BYTES,
		OUTPUT_BUFFER_BYTES + 1 };
	static char text[OUTPUT_BUFFER_BYTES + 1];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++) {
			struct output_memory memory = { .limit_bytes = LIMIT };
			struct output output;

			output_init(&output, output_to_memory, &memory);
			output_write(&output, text, sizes[i]);
			output_write(&output, text, sizes[j]);
			assert_int_equal(output_finish(&output), 0);
			assert_int_equal(memory.size, sizes[i] + sizes[j]);
			assert_memory_equal(memory.bytes, text, sizes[i]);
			assert_memory_equal(memory.bytes + sizes[i], text, sizes[j]);
			free(memory.bytes);
		}
}

struct refusal {
	int error;
	size_t calls;
};

static int refuse(void *context, const void *bytes, size_t size)
{
	struct refusal *refusal = context;

	(void)bytes;
	(void)size;
	refusal->calls++;
	return refusal->error;
}

static void the_first_error_sticks(void **state)
{
	static char large[OUTPUT_BUFFER_BYTES + 1];
	struct refusal refusal = { .error = -ENOSPC };
	struct output output;

	output_init(&output, refuse, &refusal);
	output_write(&output, large, sizeof(large));
	assert_int_equal(output.error, -ENOSPC);
	refusal.error = -EIO;
	output_write(&output, large, sizeof(large));
	output_string(&output, "x");
	output_printf(&output, "%5000d", 1);
	assert_int_equal(output_finish(&output), -ENOSPC);
	assert_int_equal(refusal.calls, 1);
}

static void errors_of_the_last_flush_are_reported(void **state)
{
	struct refusal refusal = { .error = -EIO };
	struct output output;

	output_init(&output, refuse, &refusal);
	output_string(&output, "x");
	assert_int_equal(output.error, 0);
	assert_int_equal(output_finish(&output), -EIO);
}

static void formatted_text_is_bounded(void **state)
{
	struct output_memory memory = { .limit_bytes = LIMIT };
	struct output output;

	output_init(&output, output_to_memory, &memory);
	output_printf(&output, "%4095d", 1);
	assert_int_equal(output.error, 0);
	output_printf(&output, "%4096d", 1);
	assert_int_equal(output_finish(&output), -EOVERFLOW);
	free(memory.bytes);
}

static void all_output_reaches_the_file(void **state)
{
	static char found[3 * OUTPUT_BUFFER_BYTES], text[2 * OUTPUT_BUFFER_BYTES + 7];
	FILE *file = tmpfile();
	struct output output;

	assert_non_null(file);
	memset(text, 't', sizeof(text));
	output_init_fd(&output, fileno(file));
	output_string(&output, "head");
	output_write(&output, text, sizeof(text));
	assert_int_equal(output_finish(&output), 0);
	assert_int_equal(pread(fileno(file), found, sizeof(found), 0), 4 + sizeof(text));
	assert_memory_equal(found, "head", 4);
	assert_memory_equal(found + 4, text, sizeof(text));
	assert_int_equal(fclose(file), 0);
}

static void file_errors_are_reported(void **state)
{
	struct output output;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	output_init_fd(&output, fd);
	output_string(&output, "x");
	assert_int_equal(output_finish(&output), -EBADF);
	assert_int_equal(close(fd), 0);

	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no /dev/full\n");
		skip();
	}
	output_init_fd(&output, fd);
	output_string(&output, "x");
	assert_int_equal(output_finish(&output), -ENOSPC);
	assert_int_equal(close(fd), 0);
}

static void memory_is_bounded(void **state)
{
	struct output_memory memory = { .limit_bytes = 100 };
	char bytes[101] = { 0 };

	assert_int_equal(output_to_memory(&memory, bytes, 60), 0);
	assert_int_equal(output_to_memory(&memory, bytes, 41), -E2BIG);
	assert_int_equal(memory.size, 60);
	assert_int_equal(output_to_memory(&memory, bytes, 40), 0);
	assert_int_equal(memory.size, 100);
	assert_int_equal(output_to_memory(&memory, bytes, 1), -E2BIG);
	free(memory.bytes);
}

static void failing_allocations_are_reported(void **state)
{
	struct output_memory memory = { .limit_bytes = LIMIT };
	static char text[5000];

	fail_allocation(0);
	assert_int_equal(output_to_memory(&memory, "text", 4), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(memory.size, 0);
	assert_int_equal(output_to_memory(&memory, "text", 4), 0);
	fail_allocation(0);
	assert_int_equal(output_to_memory(&memory, text, sizeof(text)), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(memory.size, 4);
	assert_memory_equal(memory.bytes, "text", 4);
	free(memory.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives_in_order),
		cmocka_unit_test(sizes_around_the_buffer_pass),
		cmocka_unit_test(the_first_error_sticks),
		cmocka_unit_test(errors_of_the_last_flush_are_reported),
		cmocka_unit_test(formatted_text_is_bounded),
		cmocka_unit_test(all_output_reaches_the_file),
		cmocka_unit_test(file_errors_are_reported),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
