/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_code.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/fleet/fleet_fixture.h"

#include <errno.h>

static struct fleet_code code;
static struct output_memory names;

static int tear_down(void **state)
{
	fleet_code_done(&code);
	free(names.bytes);
	names = (struct output_memory){ .limit_bytes = 1 << 20 };
	return 0;
}

static void put_code(const char *build_id, uint64_t vaddr, uint16_t day)
{
	put_text(&code.rows, build_id);
	put_u64(&code.rows, vaddr);
	put(&code.rows, &day, sizeof(day));
}

static void put_all(void)
{
	put_code(FLEET_BUILD_ID, 0x1000, 20777);
	put_code(FLEET_BUILD_ID, 0x2000, 20778);
	put_code("htlhash:00112233445566778899aabbccddeeff", 0x1000, 20777);
	put_code("nothing", 0x3000, 20777);
}

/* As naming does. */
static void name(uint32_t location, const char *function, const char *file)
{
	struct profile_frame frame = { .line = *file ? 7 : 0 };

	assert_int_equal(profile_add_string(code.profile, function, &frame.function), 0);
	assert_int_equal(profile_add_string(code.profile, file, &frame.file), 0);
	assert_int_equal(profile_name_location(code.profile, location, &frame, 1), 0);
}

static void expect_text(struct row_reader *reader, const char *expected)
{
	const struct row_text text = row_text(reader);

	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.bytes, expected, text.size);
}

static void expect_names(struct row_reader *reader, const char *build_id, uint64_t vaddr,
	uint8_t rank, const char *function, const char *file)
{
	expect_text(reader, "here");
	expect_text(reader, build_id);
	assert_int_equal(row_u64(reader), vaddr);
	assert_int_equal(row_u8(reader), rank);
	assert_int_equal(row_array(reader, 1), 1);
	expect_text(reader, function);
	assert_int_equal(row_array(reader, 1), 1);
	expect_text(reader, file);
	assert_int_equal(row_array(reader, 4), 1);
	assert_int_equal(row_u32(reader), *file ? 7 : 0);
}

static size_t write_names(void)
{
	static struct output output;
	size_t count;

	names.limit_bytes = 1 << 20;
	output_init(&output, output_to_memory, &names);
	count = fleet_code_write_names(&code, "here", &output);
	assert_int_equal(output_finish(&output), 0);
	return count;
}

static void rows_become_locations_and_names(void **state)
{
	struct row_reader reader;

	put_all();
	assert_int_equal(fleet_code_fill(&code, 1 << 20), 0);
	assert_int_equal(code.profile->binaries.count, 3);
	assert_int_equal(code.profile->locations.count, 4);
	assert_int_equal(code.profile->binaries.items[0].symbols.kind, PILOTLIGHT_SYMBOL_BUILD_ID);
	assert_int_equal(code.profile->binaries.items[1].symbols.kind, PILOTLIGHT_SYMBOL_HTLHASH);
	/* Without an identity. */
	assert_int_equal(code.profile->binaries.items[2].symbols.id.size, 0);
	name(0, "main", "");
	name(1, "[web function at +0x2000]", "");
	name(2, "work", "work.c");
	assert_int_equal(write_names(), 2);
	reader = (struct row_reader){ .at = (const uint8_t *)names.bytes,
		.end = (const uint8_t *)names.bytes + names.size };
	assert_int_equal(row_u16(&reader), 20777);
	expect_names(&reader, FLEET_BUILD_ID, 0x1000, 2, "main", "");
	assert_int_equal(row_u16(&reader), 20777);
	expect_names(
		&reader, "htlhash:00112233445566778899aabbccddeeff", 0x1000, 3, "work", "work.c");
	assert_false(row_reader_has_more(&reader));
	assert_false(reader.is_broken);
}

static void cut_rows_are_refused(void **state)
{
	put_all();
	code.rows.size--;
	assert_int_equal(fleet_code_fill(&code, 1 << 20), -EBADMSG);
}

static void failing_allocations_leave_nothing(void **state)
{
	put_all();
	for (size_t i = 0;; i++) {
		int r;

		fail_allocation(i);
		r = fleet_code_fill(&code, 1 << 20);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		profile_free(code.profile);
		code.profile = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rows_become_locations_and_names, tear_down),
		cmocka_unit_test_teardown(cut_rows_are_refused, tear_down),
		cmocka_unit_test_teardown(failing_allocations_leave_nothing, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
