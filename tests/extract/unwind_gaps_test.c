/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_gaps.h"
#include "tests/extract/inferred_fixture.h"

#include <errno.h>

/* No padding. */
enum { CODE_BYTE = 0x50 };

static struct inferred_fixture fixture;
static uint8_t code[0x1000];

static int set_up(void **state)
{
	inferred_fixture_init(&fixture);
	memset(code, CODE_BYTE, sizeof(code));
	return 0;
}

static int tear_down(void **state)
{
	inferred_fixture_done(&fixture);
	return 0;
}

static int read_gaps(void)
{
	inferred_fixture_clear(&fixture);
	return unwind_gaps_read(&fixture.gaps, &fixture.functions, &fixture.go, &fixture.stubs,
		&fixture.files, &fixture.scratch.scratch);
}

static const struct unwind_gap *gap(size_t i)
{
	assert_true(i < fixture.gaps.gaps.count);
	return (const struct unwind_gap *)fixture.gaps.gaps.items + i;
}

static void assert_gap(size_t i, uint32_t start, uint32_t end, uint32_t at)
{
	assert_int_equal(gap(i)->start, CODE_OFFSET + start);
	assert_int_equal(gap(i)->end, CODE_OFFSET + end);
	assert_int_equal(gap(i)->at, at);
}

static void gaps_are_between_functions(void **state)
{
	struct unwind_function functions[] = {
		{ .start = CODE_OFFSET + 0x100, .end = CODE_OFFSET + 0x200 },
		{ .start = CODE_OFFSET + 0x180, .end = CODE_OFFSET + 0x190 },
		{ .start = CODE_OFFSET + 0x207, .end = CODE_OFFSET + 0x300 },
		{ .start = CODE_OFFSET + 0x310, .end = CODE_OFFSET + 0xff0 },
	};

	fixture.functions.functions = (struct scratch_array){ .items = functions, .count = 4 };
	code[0x42] = 0x77;
	memset(code + 0xff0, 0x90, 0x10);
	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_int_equal(read_gaps(), 0);
	/* Neither a few bytes nor padding. */
	assert_int_equal(fixture.gaps.gaps.count, 2);
	assert_gap(0, 0, 0x100, 0);
	assert_gap(1, 0x300, 0x310, 0x100);
	assert_int_equal(fixture.gaps.bytes.count, 0x110);
	assert_int_equal(((uint8_t *)fixture.gaps.bytes.items)[0x42], 0x77);
	assert_int_equal(((uint8_t *)fixture.gaps.bytes.items)[0x100], CODE_BYTE);
}

static void gaps_are_found_by_offset(void **state)
{
	struct unwind_function function = { .start = CODE_OFFSET + 0x100,
		.end = CODE_OFFSET + 0x200 };

	assert_null(unwind_gaps_find(&fixture.gaps, CODE_OFFSET));
	fixture.functions.functions = (struct scratch_array){ .items = &function, .count = 1 };
	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_int_equal(read_gaps(), 0);
	assert_null(unwind_gaps_find(&fixture.gaps, CODE_OFFSET - 1));
	assert_ptr_equal(unwind_gaps_find(&fixture.gaps, CODE_OFFSET), gap(0));
	assert_ptr_equal(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0xff), gap(0));
	assert_null(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0x100));
	assert_null(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0x1ff));
	assert_ptr_equal(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0x200), gap(1));
	assert_ptr_equal(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0xfff), gap(1));
	assert_null(unwind_gaps_find(&fixture.gaps, CODE_OFFSET + 0x1000));
}

/* The segment is longer than the file. */
static void gaps_end_with_the_file(void **state)
{
	inferred_fixture_put(&fixture, code, 0x800);
	fixture.files.code.segments[0].file_bytes = 0x1000;
	assert_int_equal(read_gaps(), 0);
	assert_gap(0, 0, 0x800, 0);
	fixture.files.code.segments[0].offset = CODE_OFFSET + 0x900;
	assert_int_equal(read_gaps(), 0);
	assert_int_equal(fixture.gaps.gaps.count, 0);
}

static void segments_in_disorder_are_left_out(void **state)
{
	inferred_fixture_put(&fixture, code, sizeof(code));
	fixture.files.code.count = 2;
	fixture.files.code.segments[1] = fixture.files.code.segments[0];
	fixture.files.code.segments[0].offset += 0x800;
	fixture.files.code.segments[0].file_bytes = 0x800;
	assert_int_equal(read_gaps(), 0);
	assert_int_equal(fixture.gaps.gaps.count, 1);
	assert_gap(0, 0x800, 0x1000, 0);
}

static void only_so_much_code_is_read(void **state)
{
	const uint32_t size = UNWIND_GAPS_BYTES_MAX + 4096;

	fixture.scratch.scratch.limit_bytes = 64 << 20;
	inferred_fixture_put(&fixture, code, sizeof(code));
	assert_int_equal(ftruncate(fixture.fd, CODE_OFFSET + (off_t)size), 0);
	fixture.files.binary.size_bytes = CODE_OFFSET + (uint64_t)size;
	fixture.files.code.segments[0].file_bytes = size;
	assert_int_equal(read_gaps(), 0);
	assert_int_equal(fixture.gaps.gaps.count, 1);
	assert_gap(0, 0, UNWIND_GAPS_BYTES_MAX, 0);
}

static void errors_are_returned(void **state)
{
	inferred_fixture_put(&fixture, code, sizeof(code));
	/* It shrinks after it was opened. */
	assert_int_equal(ftruncate(fixture.fd, CODE_OFFSET + 8), 0);
	assert_int_equal(read_gaps(), -ENOEXEC);
	fixture.files.binary.fd = -1;
	assert_int_equal(read_gaps(), -EBADF);
	inferred_fixture_put(&fixture, code, sizeof(code));
	fixture.scratch.scratch.limit_bytes = 4096;
	assert_int_equal(read_gaps(), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gaps_are_between_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_are_found_by_offset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_end_with_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			segments_in_disorder_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_so_much_code_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_are_returned, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
