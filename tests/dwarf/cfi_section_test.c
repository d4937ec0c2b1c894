/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_section.h"
#include "tests/dwarf/cfi_fixture.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct cfi_writer writer;

static int set_up(void **state)
{
	writer = (struct cfi_writer){ .vaddr = 0x5000 };
	return 0;
}

static void assert_cie_and_fde(void)
{
	uint32_t cie, fde, position = 0;
	struct cfi_section section;
	struct cfi_entry entry;

	writer.size = 0;
	cie = cfi_add_usual_cie(&writer);
	cfi_put(&writer, 0, 4);
	fde = CFI_ADD_FDE(&writer, cie, 0x1000, 0x10, 0);
	section = cfi_section_of(&writer);
	assert_int_equal(cfi_section_next(&section, &position, &entry), 1);
	assert_true(entry.is_cie);
	assert_int_equal(entry.offset, cie);
	assert_int_equal(cfi_section_next(&section, &position, &entry), 1);
	assert_false(entry.is_cie);
	assert_int_equal(entry.offset, fde);
	assert_int_equal(entry.cie, cie);
	assert_ptr_equal(entry.contents.end, writer.bytes + writer.size);
	assert_int_equal(cfi_section_next(&section, &position, &entry), 0);
	entry = cfi_section_entry(&section, fde);
	assert_int_equal(entry.cie, cie);

	section.ends_with_zero = true;
	position = 0;
	assert_int_equal(cfi_section_next(&section, &position, &entry), 1);
	assert_int_equal(cfi_section_next(&section, &position, &entry), 0);
}

static void entries_are_returned_one_by_one(void **state)
{
	for (int i = 0; i < 4; i++) {
		writer.is_debug_frame = i & 1;
		writer.is_64 = i & 2;
		assert_cie_and_fde();
	}
}

/* Cut off anywhere it is an error, and not what comes before. */
static void a_cut_section_is_an_error(void **state)
{
	struct cfi_entry entry;

	for (size_t i = 0; i < 2; i++) {
		size_t whole;

		writer.size = 0;
		writer.is_64 = i == 1;
		(void)cfi_add_usual_cie(&writer);
		whole = writer.size;
		(void)cfi_add_usual_cie(&writer);
		for (size_t size = whole + 1; size < writer.size; size++) {
			struct cfi_section section = cfi_section_of(&writer);
			uint32_t position = 0;

			section.size = size;
			assert_int_equal(cfi_section_next(&section, &position, &entry), 1);
			assert_int_equal(cfi_section_next(&section, &position, &entry), -ENOEXEC);
		}
	}
}

static void lengths_that_lie_are_errors(void **state)
{
	static const uint64_t lengths[] = { UINT32_MAX - 1, 0xfffffff0, 0x7fffffff, 3 };
	struct cfi_entry entry;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct cfi_section section;
		uint32_t position = 0;

		writer.size = 0;
		cfi_put(&writer, lengths[i], 4);
		cfi_put(&writer, 0, 8);
		section = cfi_section_of(&writer);
		assert_int_equal(cfi_section_next(&section, &position, &entry), -ENOEXEC);
	}
	for (uint64_t length = UINT64_MAX - 16; length != 0; length++) {
		struct cfi_section section;
		uint32_t position = 0;

		writer.size = 0;
		cfi_put(&writer, UINT32_MAX, 4);
		cfi_put(&writer, length, 8);
		cfi_put(&writer, 0, 8);
		section = cfi_section_of(&writer);
		assert_int_equal(cfi_section_next(&section, &position, &entry), -ENOEXEC);
	}
}

/* A pointer of this encoding, at offset 4 of the section. */
static int read_pointer(uint8_t encoding, uint64_t value, uint64_t *ret_pointer)
{
	struct cfi_section section;
	struct dwarf_bytes bytes;

	writer.size = 0;
	cfi_put(&writer, 0, 4);
	cfi_put(&writer, value, 8);
	section = cfi_section_of(&writer);
	section.data_base = 0x70000;
	bytes = (struct dwarf_bytes){
		.position = writer.bytes + 4,
		.end = writer.bytes + writer.size,
	};
	return cfi_section_pointer(&section, &bytes, encoding, ret_pointer);
}

static void pointers_are_of_many_encodings(void **state)
{
	static const struct {
		uint8_t encoding;
		uint64_t value, pointer;
	} cases[] = {
		{ 0x00, 0x123456789abcdef0, 0x123456789abcdef0 },
		{ 0x01, 0x7ff, 0x3ff },
		{ 0x02, 0xffff, 0xffff },
		{ 0x03, 0xfffffff0, 0xfffffff0 },
		{ 0x04, 0xfffffffffffffff0, 0xfffffffffffffff0 },
		{ 0x09, 0x7f, UINT64_MAX },
		{ 0x0a, 0xffff, UINT64_MAX },
		{ 0x0b, 0xfffffffe, UINT64_MAX - 1 },
		{ 0x0c, 0xfffffffffffffff0, 0xfffffffffffffff0 },
		{ 0x1b, 0xfffff000, 0x4004 },
		{ 0x10, 0x1000, 0x6004 },
		{ 0x3b, 0x10, 0x70010 },
	};
	uint64_t pointer;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_pointer(cases[i].encoding, cases[i].value, &pointer), 0);
		assert_int_equal(pointer, cases[i].pointer);
	}
}

static void other_encodings_are_errors(void **state)
{
	static const uint8_t encodings[] = { 0x05, 0x0f, 0x1f, 0x20, 0x2b, 0x40, 0x50, 0x60, 0x70,
		0x80, 0x9b, 0xff };
	struct cfi_section section = { .bytes = writer.bytes, .size = 8 };
	struct dwarf_bytes bytes = { .position = writer.bytes, .end = writer.bytes + 8 };
	uint64_t pointer = 77;

	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++)
		assert_int_equal(read_pointer(encodings[i], 1, &pointer), -ENOEXEC);
	/* Relative to what nobody knows, and behind the end. */
	assert_int_equal(cfi_section_pointer(&section, &bytes, 0x3b, &pointer), -ENOEXEC);
	bytes.end = bytes.position + 3;
	assert_int_equal(cfi_section_pointer(&section, &bytes, 0x1b, &pointer), -ENOEXEC);
	assert_int_equal(pointer, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(entries_are_returned_one_by_one, set_up),
		cmocka_unit_test_setup(a_cut_section_is_an_error, set_up),
		cmocka_unit_test_setup(lengths_that_lie_are_errors, set_up),
		cmocka_unit_test_setup(pointers_are_of_many_encodings, set_up),
		cmocka_unit_test_setup(other_encodings_are_errors, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
