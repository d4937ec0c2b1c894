/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_abbreviations.h"
#include "tests/dwarf/dwarf_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct dwarf_encoding narrow = { .version = 4, .address_bytes = 8, .offset_bytes = 4 };

static struct dwarf_fixture f;
static struct dwarf_abbreviations abbreviations;

static int set_up(void **state)
{
	memset(&f, 0, sizeof(f));
	f.version = 4;
	dwarf_abbreviations_init(&abbreviations);
	return 0;
}

static int tear_down(void **state)
{
	dwarf_abbreviations_done(&abbreviations);
	return 0;
}

static int read_table(uint64_t offset)
{
	const struct dwarf_bytes section = {
		.position = f.abbrev.bytes,
		.end = f.abbrev.bytes + f.abbrev.size,
	};

	return dwarf_abbreviations_read(&abbreviations, &section, offset, narrow);
}

static void put_plain(uint64_t code)
{
	put_abbreviation(&f, code, DW_TAG_subprogram, true, ATTRIBUTES(DW_AT_name, DW_FORM_strp));
}

static void attributes_and_sizes_are_known(void **state)
{
	const struct dwarf_abbreviation *found;

	put_abbreviation(&f, 1, DW_TAG_subprogram, true,
		ATTRIBUTES(DW_AT_name, DW_FORM_strp, DW_AT_external, DW_FORM_flag_present,
			DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data2));
	put_abbreviation(&f, 2, DW_TAG_inlined_subroutine, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_call_line, DW_FORM_udata));
	put_uleb(&f.abbrev, 3);
	put_uleb(&f.abbrev, DW_TAG_class_type);
	put(&f.abbrev, 0, 1);
	put_uleb(&f.abbrev, DW_AT_call_file);
	put_uleb(&f.abbrev, DW_FORM_implicit_const);
	put(&f.abbrev, 0x7b, 1); /* -5 */
	put(&f.abbrev, 0, 2);
	put(&f.abbrev, 0, 1);
	assert_int_equal(read_table(0), 0);
	assert_int_equal(abbreviations.count, 3);

	found = dwarf_abbreviations_find(&abbreviations, 1);
	assert_non_null(found);
	assert_int_equal(found->kind, DWARF_KIND_FUNCTION);
	assert_true(found->has_children);
	assert_int_equal(found->spec_count, 4);
	assert_int_equal(found->values_bytes, 4 + 0 + 8 + 2);
	assert_int_equal(abbreviations.specs[found->first_spec].attribute, DWARF_NAME);
	assert_int_equal(abbreviations.specs[found->first_spec + 1].attribute, DWARF_ATTRIBUTES);

	found = dwarf_abbreviations_find(&abbreviations, 2);
	assert_non_null(found);
	assert_int_equal(found->kind, DWARF_KIND_INLINED);
	assert_false(found->has_children);
	assert_int_equal(found->values_bytes, DWARF_SIZE_VARIES);

	found = dwarf_abbreviations_find(&abbreviations, 3);
	assert_non_null(found);
	assert_int_equal(found->kind, DWARF_KIND_TYPE);
	assert_int_equal(found->values_bytes, 0);
	assert_int_equal(abbreviations.specs[found->first_spec].constant, -5);
	assert_null(dwarf_abbreviations_find(&abbreviations, 0));
	assert_null(dwarf_abbreviations_find(&abbreviations, 4));
}

static void codes_may_have_any_order(void **state)
{
	static const uint64_t codes[] = { 7, 3, 1ULL << 60, 1, 3 };

	for (size_t i = 0; i < 5; i++)
		put_abbreviation(&f, codes[i], DW_TAG_variable, false,
			ATTRIBUTES(DW_AT_name, DW_FORM_data1 /* of one byte */));
	f.abbrev.bytes[f.abbrev.size - 3] = DW_FORM_data4;
	put(&f.abbrev, 0, 1);
	assert_int_equal(read_table(0), 0);
	for (size_t i = 0; i < 4; i++) {
		const struct dwarf_abbreviation *found =
			dwarf_abbreviations_find(&abbreviations, codes[i]);

		assert_non_null(found);
		assert_true(found->code == codes[i]);
		/* Of two with one code the first counts. */
		assert_int_equal(found->values_bytes, 1);
	}
	assert_null(dwarf_abbreviations_find(&abbreviations, 2));
	assert_null(dwarf_abbreviations_find(&abbreviations, UINT64_MAX));
}

static void a_table_is_read_once_in_a_row(void **state)
{
	uint64_t budget;
	size_t second;

	put_plain(1);
	put(&f.abbrev, 0, 1);
	second = f.abbrev.size;
	put_plain(1);
	put_plain(2);
	put(&f.abbrev, 0, 1);
	budget = abbreviations.budget_bytes;
	assert_int_equal(read_table(0), 0);
	assert_int_equal(budget - abbreviations.budget_bytes, second);
	assert_int_equal(read_table(0), 0);
	assert_int_equal(budget - abbreviations.budget_bytes, second);
	assert_int_equal(read_table(second), 0);
	assert_int_equal(abbreviations.count, 2);
	assert_int_equal(read_table(0), 0);
	assert_int_equal(abbreviations.count, 1);
	assert_int_equal(budget - abbreviations.budget_bytes, second + f.abbrev.size);
	/* Unless it is forgotten. */
	dwarf_abbreviations_forget(&abbreviations);
	assert_null(dwarf_abbreviations_find(&abbreviations, 1));
	assert_int_equal(read_table(0), 0);
	assert_int_equal(budget - abbreviations.budget_bytes, 2 * second + f.abbrev.size);
}

static void the_budget_ends(void **state)
{
	put_plain(1);
	put(&f.abbrev, 0, 1);
	abbreviations.budget_bytes = f.abbrev.size + 3;
	assert_int_equal(read_table(0), 0);
	dwarf_abbreviations_forget(&abbreviations);
	assert_int_equal(read_table(0), -EBADMSG);
	assert_int_equal(abbreviations.count, 0);
	assert_int_equal(abbreviations.budget_bytes, 0);
}

static void the_encoding_decides_sizes(void **state)
{
	const struct dwarf_bytes section = {
		.position = f.abbrev.bytes,
		.end = f.abbrev.bytes + sizeof(f.abbrev.bytes),
	};
	struct dwarf_encoding encoding = { .version = 2, .address_bytes = 4, .offset_bytes = 8 };

	put_abbreviation(&f, 1, DW_TAG_variable, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_strp, DW_AT_low_pc, DW_FORM_addr,
			DW_AT_specification, DW_FORM_ref_addr));
	put(&f.abbrev, 0, 1);
	assert_int_equal(dwarf_abbreviations_read(&abbreviations, &section, 0, encoding), 0);
	assert_int_equal(abbreviations.items[0].values_bytes, 8 + 4 + 4);
	encoding.version = 3;
	assert_int_equal(dwarf_abbreviations_read(&abbreviations, &section, 0, encoding), 0);
	assert_int_equal(abbreviations.items[0].values_bytes, 8 + 4 + 8);
}

/* A table of one item with very many attributes is refused before it takes memory. */
static void items_with_too_many_attributes_are_refused(void **state)
{
	static const struct {
		int attributes, result;
	} cases[] = { { 256, 0 }, { 257, -EBADMSG }, { 1500, -EBADMSG } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f.abbrev.size = 0;
		put_uleb(&f.abbrev, 1);
		put_uleb(&f.abbrev, DW_TAG_variable);
		put(&f.abbrev, 0, 1);
		for (int j = 0; j < cases[i].attributes; j++) {
			put_uleb(&f.abbrev, DW_AT_name);
			put_uleb(&f.abbrev, DW_FORM_flag_present);
		}
		put(&f.abbrev, 0, 3);
		dwarf_abbreviations_forget(&abbreviations);
		assert_int_equal(read_table(0), cases[i].result);
		assert_in_range(abbreviations.spec_capacity, 256, 512);
	}
}

static void every_shorter_table_is_survived(void **state)
{
	size_t size;
	int r;

	put_plain(1);
	put_plain(300);
	put(&f.abbrev, 0, 1);
	size = f.abbrev.size;
	for (f.abbrev.size = 0; f.abbrev.size < size; f.abbrev.size++) {
		r = read_table(0);
		assert_true(r == 0 || r == -EBADMSG);
		/* Whole ones alone, or none. */
		assert_true(r < 0 ? abbreviations.count == 0 : abbreviations.count <= 2);
		dwarf_abbreviations_forget(&abbreviations);
	}
	assert_int_equal(read_table(0), 0);
	assert_int_equal(read_table(size + 1), -EBADMSG);
	assert_int_equal(read_table(UINT64_MAX), -EBADMSG);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	put_plain(1);
	put(&f.abbrev, 0, 1);
	for (n = 0;; n++) {
		fail_allocation(n);
		r = read_table(0);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(dwarf_abbreviations_find(&abbreviations, 1));
		dwarf_abbreviations_done(&abbreviations);
		dwarf_abbreviations_init(&abbreviations);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attributes_and_sizes_are_known),
		TEST(codes_may_have_any_order),
		TEST(a_table_is_read_once_in_a_row),
		TEST(the_budget_ends),
		TEST(the_encoding_decides_sizes),
		TEST(items_with_too_many_attributes_are_refused),
		TEST(every_shorter_table_is_survived),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
