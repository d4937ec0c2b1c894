/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_record.h"

#include "tests/jit/jitdump_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/*
 * Parses a copy that ends where `size` does, so that a byte read too far is seen, and that is not
 * aligned.
 */
static int parse(const struct jitdump_fixture *dump, size_t size, bool is_all,
	struct jitdump_record *ret_record, uint8_t **ret_copy)
{
	const struct jitdump_header header = { .is_swapped = dump->is_swapped };
	uint8_t *copy = malloc(size + 1);

	assert_non_null(copy);
	memcpy(copy + 1, dump->bytes + dump->record, size);
	*ret_copy = copy;
	return jitdump_record_parse(&header, copy + 1, size, is_all, ret_record);
}

static int parse_result(const struct jitdump_fixture *dump, size_t size, bool is_all)
{
	struct jitdump_record record;
	uint8_t *copy;
	int r;

	r = parse(dump, size, is_all, &record, &copy);
	free(copy);
	return r;
}

static void headers_of_both_byte_orders_are_parsed(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct jitdump_fixture dump = { .is_swapped = is_swapped };
		struct jitdump_header header;

		jitdump_fixture_header_of(&dump, 1234, 0xdeadbeef, 1);
		for (size_t size = 0; size < 40; size++)
			assert_int_equal(jitdump_header_parse(dump.bytes, size, &header),
				JITDUMP_FAULT_NO_HEADER);
		assert_int_equal(jitdump_header_parse(dump.bytes, 40, &header), JITDUMP_FAULT_NONE);
		assert_int_equal(header.is_swapped, is_swapped);
		assert_int_equal(header.version, 1);
		assert_int_equal(header.total_size, 40);
		assert_int_equal(header.machine, 62);
		assert_int_equal(header.padding, 0xdeadbeef);
		assert_int_equal(header.pid, 1234);
		assert_int_equal(header.timestamp, 1);
		assert_int_equal(header.flags, 1);
		assert_int_equal(jitdump_header_oddities(&header), JITDUMP_ODD_PADDING);
		jitdump_fixture_done(&dump);
	}
}

static enum jitdump_fault header_with(
	size_t offset, uint32_t value, struct jitdump_header *ret_header)
{
	struct jitdump_fixture dump = { 0 };
	enum jitdump_fault fault;

	jitdump_fixture_header(&dump, 1);
	jitdump_fixture_set_u32(&dump, offset, value);
	fault = jitdump_header_parse(dump.bytes, dump.size, ret_header);
	jitdump_fixture_done(&dump);
	return fault;
}

static void bad_headers_are_refused(void **state)
{
	struct jitdump_header header = { .pid = 77 };

	assert_int_equal(header_with(0, 0x464c457f, &header), JITDUMP_FAULT_NOT_JITDUMP);
	assert_int_equal(jitdump_header_parse("text", 4, &header), JITDUMP_FAULT_NOT_JITDUMP);
	assert_int_equal(header_with(4, 0, &header), JITDUMP_FAULT_VERSION);
	assert_int_equal(header_with(4, 3, &header), JITDUMP_FAULT_VERSION);
	assert_int_equal(header_with(8, 39, &header), JITDUMP_FAULT_HEADER_SIZE);
	assert_int_equal(
		header_with(8, JITDUMP_HEADER_BYTES_MAX + 1, &header), JITDUMP_FAULT_HEADER_SIZE);
	assert_int_equal(header.pid, 77);
}

static void odd_headers_are_reported(void **state)
{
	struct jitdump_header header;

	assert_int_equal(header_with(4, 2, &header), 0);
	assert_int_equal(jitdump_header_oddities(&header), 0);
	assert_int_equal(header_with(8, 48, &header), 0);
	assert_int_equal(jitdump_header_oddities(&header), JITDUMP_ODD_SIZE);
	assert_int_equal(header_with(12, 0, &header), 0);
	assert_int_equal(jitdump_header_oddities(&header), JITDUMP_ODD_MACHINE);
	assert_int_equal(header_with(32, 3, &header), 0);
	assert_int_equal(jitdump_header_oddities(&header), JITDUMP_ODD_FLAGS);
	assert_int_equal(header_with(36, 1, &header), 0);
	assert_int_equal(jitdump_header_oddities(&header), JITDUMP_ODD_FLAGS);
}

static void a_load_is_parsed(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct jitdump_fixture dump = { .is_swapped = is_swapped };
		struct jitdump_record record;
		uint8_t *copy;

		jitdump_fixture_load(&dump, 99, 12, 0x7fff00001000, 5, 3, "a name");
		for (size_t size = 0; size < dump.size; size++)
			assert_int_equal(parse_result(&dump, size, true), -EAGAIN);
		assert_int_equal(parse(&dump, dump.size, true, &record, &copy), 0);
		assert_int_equal(record.id, PILOTLIGHT_JITDUMP_LOAD);
		assert_int_equal(record.total_size, 56 + 7 + 5);
		assert_int_equal(record.timestamp, 99);
		assert_int_equal(record.load.pid, 12);
		assert_int_equal(record.load.tid, 12);
		assert_int_equal(record.load.vma, 0x7fff00001000);
		assert_int_equal(record.load.address, 0x7fff00001000);
		assert_int_equal(record.load.size, 5);
		assert_int_equal(record.load.index, 3);
		assert_int_equal(record.load.name_size, 6);
		assert_memory_equal(record.load.name, "a name", 6);
		assert_int_equal(record.load.code_bytes, 5);
		assert_false(record.load.is_cut);
		free(copy);
		jitdump_fixture_done(&dump);
	}
}

static void a_cut_load_is_parsed_as_far_as_it_is_there(void **state)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	uint8_t *copy;

	jitdump_fixture_load(&dump, 99, 12, 0x1000, 500, 3, "a name");
	for (size_t size = 0; size < 56; size++)
		assert_int_equal(parse_result(&dump, size, false), -EAGAIN);
	for (size_t size = 56; size < dump.size; size++) {
		const size_t seen = size - 56 < 6 ? size - 56 : 6;

		assert_int_equal(parse(&dump, size, false, &record, &copy), 0);
		assert_int_equal(record.load.name_size, seen);
		assert_memory_equal(record.load.name, "a name", seen);
		assert_int_equal(record.load.is_cut, size < 63);
		assert_int_equal(record.load.code_bytes, size < 63 ? 0 : 500);
		free(copy);
	}
	jitdump_fixture_done(&dump);
}

static void loads_without_code_are_parsed(void **state)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	uint8_t *copy;

	jitdump_fixture_load_without_code(&dump, 1, 1, 0x1000, 400, 1, "");
	assert_int_equal(parse(&dump, dump.size, true, &record, &copy), 0);
	assert_int_equal(record.load.name_size, 0);
	assert_int_equal(record.load.size, 400);
	assert_int_equal(record.load.code_bytes, 0);
	free(copy);

	jitdump_fixture_set_u64(&dump, 40, UINT64_MAX);
	assert_int_equal(parse(&dump, dump.size, true, &record, &copy), 0);
	assert_true(record.load.size == UINT64_MAX);
	assert_int_equal(record.load.code_bytes, 0);
	free(copy);
	jitdump_fixture_done(&dump);
}

static void damaged_records_are_refused(void **state)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	uint8_t *copy;

	/* The name does not end. */
	jitdump_fixture_begin_load(&dump, 1, 1, 0x1000, 0x1000, 4, 1, "name");
	dump.bytes[dump.size - 1] = 'x';
	jitdump_fixture_end(&dump);
	assert_int_equal(parse(&dump, dump.size, true, &record, &copy), -EBADMSG);
	assert_int_equal(record.total_size, dump.size);
	assert_int_equal(record.timestamp, 1);
	free(copy);

	/* Too short for its fields, of each kind that has any. */
	for (uint32_t id = 0; id < 5; id++) {
		static const size_t fixed[] = { 40, 48, 16, 0, 24 };

		if (fixed[id] == 0)
			continue;
		jitdump_fixture_begin(&dump, id, 1);
		jitdump_fixture_fill(&dump, 0, fixed[id] - 1);
		jitdump_fixture_end(&dump);
		assert_int_equal(parse_result(&dump, 16 + fixed[id] - 1, true), -EBADMSG);
	}

	/* More entries than there is room for. */
	jitdump_fixture_begin_debug(&dump, 1, 0x1000, 2);
	jitdump_fixture_debug_entry(&dump, 0x1000, 1, 0, "abcdefghijklmnop");
	jitdump_fixture_end(&dump);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), -EBADMSG);
	jitdump_fixture_set_u64(&dump, dump.record + 24, 1);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), 0);
	jitdump_fixture_set_u64(&dump, dump.record + 24, UINT64_MAX);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), -EBADMSG);

	/* Tables that are larger than the record; how they are divided is not asked. */
	jitdump_fixture_unwinding(&dump, 1, 24, 24);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), 0);
	jitdump_fixture_set_u64(&dump, dump.record + 24, 25);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), 0);
	jitdump_fixture_set_u64(&dump, dump.record + 24, 1);
	jitdump_fixture_set_u64(&dump, dump.record + 16, UINT64_MAX);
	assert_int_equal(parse_result(&dump, dump.size - dump.record, true), -EBADMSG);
	jitdump_fixture_done(&dump);
}

static void impossible_sizes_are_refused(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 15, JITDUMP_RECORD_BYTES_MAX + 1, UINT32_MAX };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	uint8_t *copy;

	jitdump_fixture_close(&dump, 7);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		jitdump_fixture_set_u32(&dump, 4, sizes[i]);
		assert_int_equal(parse(&dump, 16, true, &record, &copy), -EMSGSIZE);
		assert_int_equal(record.total_size, sizes[i]);
		assert_int_equal(record.id, PILOTLIGHT_JITDUMP_CLOSE);
		free(copy);
	}
	jitdump_fixture_set_u32(&dump, 4, JITDUMP_RECORD_BYTES_MAX);
	assert_int_equal(parse_result(&dump, 16, true), -EAGAIN);
	assert_int_equal(parse_result(&dump, 16, false), 0);
	jitdump_fixture_done(&dump);
}

static void other_records_are_parsed(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct jitdump_fixture dump = { .is_swapped = is_swapped };
		struct jitdump_record record;
		uint8_t *copy;

		jitdump_fixture_move(&dump, 5, 12, 0x1000, 0x2000, 64, 9);
		for (size_t size = 0; size < dump.size; size++)
			assert_int_equal(parse_result(&dump, size, false), -EAGAIN);
		assert_int_equal(parse(&dump, dump.size, true, &record, &copy), 0);
		assert_int_equal(record.id, PILOTLIGHT_JITDUMP_MOVE);
		assert_int_equal(record.move.pid, 12);
		assert_int_equal(record.move.vma, 0x2000);
		assert_int_equal(record.move.from, 0x1000);
		assert_int_equal(record.move.to, 0x2000);
		assert_int_equal(record.move.size, 64);
		assert_int_equal(record.move.index, 9);
		free(copy);

		jitdump_fixture_close(&dump, 6);
		assert_int_equal(parse_result(&dump, 16, true), 0);

		jitdump_fixture_unwinding(&dump, 7, 20, 4);
		assert_int_equal(parse(&dump, 40, false, &record, &copy), 0);
		assert_int_equal(record.unwinding.size, 20);
		assert_int_equal(record.unwinding.header_size, 4);
		assert_int_equal(record.unwinding.mapped_size, 0);
		free(copy);

		jitdump_fixture_begin(&dump, 0x12345, 8);
		jitdump_fixture_fill(&dump, 1, 3);
		jitdump_fixture_end(&dump);
		assert_int_equal(parse(&dump, 19, true, &record, &copy), 0);
		assert_int_equal(record.id, 0x12345);
		free(copy);
		jitdump_fixture_done(&dump);
	}
}

static void assert_next(const struct jitdump_header *header, const struct jitdump_record *record,
	struct jitdump_debug_cursor *cursor, const struct jitdump_debug_entry *expected)
{
	struct jitdump_debug_entry entry;

	assert_int_equal(jitdump_debug_next(header, record, cursor, &entry), 1);
	assert_int_equal(entry.address, expected->address);
	assert_int_equal(entry.line, expected->line);
	assert_int_equal(entry.discriminator, expected->discriminator);
	assert_int_equal(entry.file_size, strlen(expected->file));
	assert_memory_equal(entry.file, expected->file, entry.file_size);
}

static void debug_entries_are_parsed(void **state)
{
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		const struct jitdump_header header = { .is_swapped = is_swapped };
		struct jitdump_fixture dump = { .is_swapped = is_swapped };
		struct jitdump_debug_cursor cursor = { 0 };
		struct jitdump_debug_entry entry;
		struct jitdump_record record;
		uint8_t *copy;

		jitdump_fixture_begin_debug(&dump, 1, 0x1000, 4);
		jitdump_fixture_debug_entry(&dump, 0x1000, 10, 2, "a.c");
		jitdump_fixture_debug_entry(&dump, 0x1004, -1, 0, "\xff");
		jitdump_fixture_debug_entry(&dump, 0x1008, 12, 0, "");
		jitdump_fixture_debug_entry(&dump, 0x100c, 0, 0, "\xff\xff");
		jitdump_fixture_end(&dump);
		assert_int_equal(parse(&dump, dump.size, true, &record, &copy), 0);
		assert_int_equal(record.debug.address, 0x1000);
		assert_int_equal(record.debug.entry_count, 4);
		assert_next(&header, &record, &cursor,
			&(struct jitdump_debug_entry){ 0x1000, 10, 2, "a.c", 3 });
		assert_next(&header, &record, &cursor,
			&(struct jitdump_debug_entry){ 0x1004, -1, 0, "a.c", 3 });
		assert_next(&header, &record, &cursor,
			&(struct jitdump_debug_entry){ 0x1008, 12, 0, "", 0 });
		assert_next(&header, &record, &cursor,
			&(struct jitdump_debug_entry){ 0x100c, 0, 0, "\xff\xff", 2 });
		assert_int_equal(jitdump_debug_next(&header, &record, &cursor, &entry), 0);
		assert_int_equal(jitdump_debug_next(&header, &record, &cursor, &entry), 0);
		free(copy);
		jitdump_fixture_done(&dump);
	}
}

static void damaged_debug_entries_are_refused(void **state)
{
	const struct jitdump_header header = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_debug_entry entry;
	struct jitdump_record record;
	uint8_t *copy;

	/* Cut off anywhere, the first entry is there or not, and no byte beyond is read. */
	jitdump_fixture_begin_debug(&dump, 1, 0x1000, 2);
	jitdump_fixture_debug_entry(&dump, 0x1000, 10, 2, "a.c");
	jitdump_fixture_debug_entry(&dump, 0x1004, 11, 2, "b.c");
	jitdump_fixture_end(&dump);
	for (size_t size = 32; size < dump.size; size++) {
		struct jitdump_debug_cursor cursor = { 0 };

		assert_int_equal(parse(&dump, size, false, &record, &copy), 0);
		if (size >= 32 + 20)
			assert_next(&header, &record, &cursor,
				&(struct jitdump_debug_entry){ 0x1000, 10, 2, "a.c", 3 });
		for (int i = 0; i < 2; i++)
			assert_int_equal(
				jitdump_debug_next(&header, &record, &cursor, &entry), -EBADMSG);
		free(copy);
	}

	/* There is no entry before the first. */
	jitdump_fixture_begin_debug(&dump, 1, 0x1000, 1);
	jitdump_fixture_debug_entry(&dump, 0x1000, 10, 2, "\xff");
	jitdump_fixture_end(&dump);
	assert_int_equal(parse(&dump, dump.size - dump.record, true, &record, &copy), 0);
	assert_int_equal(
		jitdump_debug_next(&header, &record, &(struct jitdump_debug_cursor){ 0 }, &entry),
		-EBADMSG);
	free(copy);
	jitdump_fixture_done(&dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_of_both_byte_orders_are_parsed),
		cmocka_unit_test(bad_headers_are_refused),
		cmocka_unit_test(odd_headers_are_reported),
		cmocka_unit_test(a_load_is_parsed),
		cmocka_unit_test(a_cut_load_is_parsed_as_far_as_it_is_there),
		cmocka_unit_test(loads_without_code_are_parsed),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(other_records_are_parsed),
		cmocka_unit_test(debug_entries_are_parsed),
		cmocka_unit_test(damaged_debug_entries_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
