/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gzip.h"
#include "tests/export/pprof_decoder.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

enum { PLAIN_BYTES = 1 << 20, LIMIT = 4 << 20 };

/* Bytes that hardly shrink, so that the output's buffer is passed often. */
static uint8_t *noise(size_t size)
{
	uint8_t *bytes = malloc(size);
	uint32_t x = 1;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
	return bytes;
}

static int compress_noise(struct output *output, const uint8_t *bytes, size_t size, size_t step)
{
	_cleanup_(gzip_freep) struct gzip *gzip = NULL;
	int r;

	r = gzip_new(output, &gzip);
	for (size_t i = 0; r == 0 && i < size; i += step)
		r = gzip_write(gzip, bytes + i, step < size - i ? step : size - i);
	return r < 0 ? r : gzip_finish(gzip);
}

static void what_goes_in_comes_out(void **state)
{
	static const size_t steps[] = { 1 << 20, 65536, 1000, 1 };
	uint8_t *bytes = noise(PLAIN_BYTES);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct output_memory memory = { .limit_bytes = LIMIT };
		size_t size = steps[i] == 1 ? 5000 : PLAIN_BYTES;
		struct output output;
		uint8_t *plain;
		size_t plain_size;

		output_init(&output, output_to_memory, &memory);
		assert_int_equal(compress_noise(&output, bytes, size, steps[i]), 0);
		assert_int_equal(output_finish(&output), 0);
		gunzip(memory.bytes, memory.size, &plain, &plain_size);
		assert_int_equal(plain_size, size);
		assert_memory_equal(plain, bytes, size);
		free(plain);
		free(memory.bytes);
	}
	free(bytes);
}

static void header_names_no_time_and_no_system(void **state)
{
	static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };
	struct output_memory memory = { .limit_bytes = LIMIT };
	struct output output;
	uint8_t *plain;
	size_t size;

	output_init(&output, output_to_memory, &memory);
	assert_int_equal(compress_noise(&output, header, 0, 1), 0);
	assert_int_equal(output_finish(&output), 0);
	assert_true(memory.size > sizeof(header));
	assert_memory_equal(memory.bytes, header, sizeof(header));
	gunzip(memory.bytes, memory.size, &plain, &size);
	assert_int_equal(size, 0);
	free(plain);
	free(memory.bytes);
}

static int refuse(void *context, const void *bytes, size_t size)
{
	size_t *calls_left = context;

	if (*calls_left == 0)
		return -ENOSPC;
	(*calls_left)--;
	return 0;
}

static void errors_of_the_output_end_it(void **state)
{
	uint8_t *bytes = noise(PLAIN_BYTES);

	for (size_t calls = 0;; calls++) {
		size_t calls_left = calls;
		struct output output;
		int r;

		output_init(&output, refuse, &calls_left);
		r = compress_noise(&output, bytes, PLAIN_BYTES, 65536);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOSPC);
		assert_int_equal(output_finish(&output), -ENOSPC);
		assert_true(calls < 100);
	}
	free(bytes);
}

static void failing_allocations_are_reported(void **state)
{
	struct output_memory memory = { .limit_bytes = LIMIT };
	struct output output;
	struct gzip *gzip = NULL;

	output_init(&output, output_to_memory, &memory);
	assert_true(FAIL_EACH_ALLOCATION(gzip_new(&output, &gzip), -ENOMEM, !gzip, 0) >= 5);
	gzip_free(gzip);
	gzip_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(header_names_no_time_and_no_system),
		cmocka_unit_test(errors_of_the_output_end_it),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
