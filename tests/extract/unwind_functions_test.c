/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_functions.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/unwind_sections_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct cfi_writer writer, other;
static struct unwind_sections sections;
static struct unwind_files files;
static struct unwind_functions functions;
static struct scratch_fixture scratch;

static int set_up(void **state)
{
	writer = (struct cfi_writer){ .vaddr = 0x5000 };
	other = (struct cfi_writer){ .is_debug_frame = true };
	files = unwind_files_of_code(EM_X86_64);
	return scratch_fixture_init(&scratch, 16 << 20) ? 0 : -1;
}

static int tear_down(void **state)
{
	unwind_functions_done(&functions);
	scratch_fixture_done(&scratch);
	return 0;
}

static void read_functions(void)
{
	unwind_functions_done(&functions);
	sections = unwind_sections_of(&writer, &other);
	assert_int_equal(unwind_functions_read(&functions, &sections, &files, &scratch.scratch), 0);
}

/* Offsets from the start of the code. */
static void assert_function(size_t i, uint32_t start, uint32_t end, uint32_t cie)
{
	const struct unwind_function *function =
		(const struct unwind_function *)functions.functions.items + i;

	assert_true(i < functions.functions.count);
	assert_int_equal(function->start - CODE_OFFSET, start);
	assert_int_equal(function->end - CODE_OFFSET, end);
	assert_int_equal(function->cie, cie);
}

static void functions_are_in_the_order_of_the_file(void **state)
{
	uint32_t cie, second;

	cie = cfi_add_usual_cie(&writer);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x300, 0x10, 0);
	second = cfi_add_usual_cie(&writer);
	(void)CFI_ADD_FDE(&writer, second, CODE_VADDR + 0x100, 0x20, 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + 0x200, 0x30, 0);
	(void)CFI_ADD_FDE(&other, cfi_add_usual_cie(&other), CODE_VADDR + 0x100, 0x40, 0);
	read_functions();
	assert_int_equal(functions.failed, 0);
	assert_int_equal(functions.functions.count, 4);
	assert_function(0, 0x100, 0x120, 1);
	assert_function(1, 0x100, 0x140, 2);
	assert_function(2, 0x200, 0x230, 0);
	assert_function(3, 0x300, 0x310, 0);
}

/* A CIE may come behind its functions; nothing else may be in its place. */
static void cies_are_found(void **state)
{
	uint32_t first, cie;

	first = CFI_ADD_FDE(&writer, UINT32_MAX, CODE_VADDR, 0x10, 0);
	cie = cfi_add_usual_cie(&writer);
	writer.bytes[first + 4] = (uint8_t)(first + 4 - cie);
	memset(writer.bytes + first + 5, 0xff, 3);
	read_functions();
	assert_int_equal(functions.functions.count, 1);
	assert_int_equal(functions.failed, 0);
	/* To itself, to another function, into a CIE, and to nowhere. */
	(void)CFI_ADD_FDE(&writer, (uint32_t)writer.size, CODE_VADDR, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, first, CODE_VADDR, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, cie + 4, CODE_VADDR, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, UINT32_MAX, CODE_VADDR, 0x10, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 1);
	assert_int_equal(functions.failed, 4);
}

static void functions_of_damaged_cies_are_lost(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer);

	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR, 0x10, 0);
	writer.bytes[cie + 8] = 77; /* its version */
	read_functions();
	assert_int_equal(functions.functions.count, 0);
	assert_int_equal(functions.failed, 2);
}

static void code_that_is_not_there_is_a_loss(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&writer), debug_cie = cfi_add_usual_cie(&other);

	/* Empty, and what linkers have discarded. */
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR, 0, 0);
	(void)CFI_ADD_FDE(&other, debug_cie, 0, 0x10, 0);
	(void)CFI_ADD_FDE(&other, debug_cie, 1, 0x10, 0);
	(void)CFI_ADD_FDE(&other, debug_cie, UINT64_MAX - 0x10, 0x10, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 0);
	assert_int_equal(functions.failed, 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR - 0x10, 0x20, 0);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + CODE_BYTES, 0x20, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 0);
	assert_int_equal(functions.failed, 2);
	/* Beyond the end of the code. */
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + CODE_BYTES - 0x10, 0x11, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 0);
	assert_int_equal(functions.failed, 3);
	(void)CFI_ADD_FDE(&writer, cie, CODE_VADDR + CODE_BYTES - 0x10, 0x10, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 1);
	assert_function(0, CODE_BYTES - 0x10, CODE_BYTES, 0);
}

static void rows_before_damage_are_kept(void **state)
{
	(void)CFI_ADD_FDE(&writer, cfi_add_usual_cie(&writer), CODE_VADDR, 0x10, 0);
	cfi_put(&writer, 0x7fffffff, 4);
	(void)CFI_ADD_FDE(&writer, cfi_add_usual_cie(&writer), CODE_VADDR + 0x10, 0x10, 0);
	read_functions();
	assert_int_equal(functions.functions.count, 1);
	assert_int_equal(functions.failed, 1);
}

static void no_room_is_an_error(void **state)
{
	(void)CFI_ADD_FDE(&writer, cfi_add_usual_cie(&writer), CODE_VADDR + 0x100, 0x10, 0);
	(void)CFI_ADD_FDE(&writer, 0, CODE_VADDR, 0x10, 0);
	sections = unwind_sections_of(&writer, &other);
	/* For nothing, for CIEs alone, for these and functions but not to sort them. */
	for (uint64_t limit = 1024; limit <= 128 << 10;
		limit += limit < (64 << 10) ? 63 << 10 : 64 << 10) {
		scratch.scratch.limit_bytes = limit;
		scratch.scratch.used_bytes = 0;
		assert_int_equal(
			unwind_functions_read(&functions, &sections, &files, &scratch.scratch),
			-EFBIG);
		unwind_functions_done(&functions);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			functions_are_in_the_order_of_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cies_are_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_of_damaged_cies_are_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_that_is_not_there_is_a_loss, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_before_damage_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
