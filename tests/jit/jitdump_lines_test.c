/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_lines.h"

#include "base/array.h"
#include "jit/code_index.h"
#include "tests/harness/failing_allocation.h"
#include "tests/jit/jitdump_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ADDRESS = 0x40000, SIZE = 100 };

struct written {
	int64_t offset;
	int32_t line, discriminator;
	const char *file;
};

struct lines_case {
	uint32_t padding;
	uint64_t vma;
	struct written written[6];
	size_t written_count;
	struct line_entry expected[6];
	size_t expected_count;
	bool is_damaged;
};

static int pack(struct jitdump_lines *lines, const struct lines_case *lines_case,
	const uint8_t **ret_packed, size_t *ret_size, bool *ret_is_damaged,
	struct jitdump_fixture *dump)
{
	const struct jitdump_header header = { .padding = lines_case->padding };
	const struct jitdump_record load = {
		.load = { .vma = lines_case->vma, .address = ADDRESS, .size = SIZE },
	};
	struct jitdump_record debug;

	jitdump_fixture_begin_debug(dump, 1, ADDRESS, lines_case->written_count);
	for (size_t i = 0; i < lines_case->written_count; i++) {
		const struct written *written = &lines_case->written[i];

		jitdump_fixture_debug_entry(dump, (uint64_t)(ADDRESS + written->offset),
			written->line, written->discriminator, written->file);
	}
	jitdump_fixture_end(dump);
	assert_int_equal(jitdump_record_parse(&header, dump->bytes + dump->record,
				 dump->size - dump->record, true, &debug),
		0);
	return jitdump_lines_pack(
		lines, &header, &debug, &load, NULL, ret_packed, ret_size, ret_is_damaged);
}

static void assert_case(const struct lines_case *lines_case)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_lines lines = { 0 };
	struct line_cursor cursor = { 0 };
	const uint8_t *packed;
	bool is_damaged = false;
	size_t size, i;

	assert_int_equal(pack(&lines, lines_case, &packed, &size, &is_damaged, &dump), 0);
	assert_int_equal(is_damaged, lines_case->is_damaged);
	for (i = 0; line_list_next(packed, size, &cursor); i++) {
		assert_in_range(i + 1, 1, lines_case->expected_count);
		assert_memory_equal(&cursor.entry, &lines_case->expected[i], sizeof(cursor.entry));
	}
	assert_int_equal(i, lines_case->expected_count);
	jitdump_lines_done(&lines);
	jitdump_fixture_done(&dump);
}

static void plain_addresses_are_offsets(void **state)
{
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.written = { { 0, 10, 3, "a" }, { 20, 11, 0, "a" }, { 99, 0, 0, "" } },
		.written_count = 3,
		.expected = { { 0, 10, 0, 0 }, { 20, 11, 0, 0 }, { 99, 0, 0, 0 } },
		.expected_count = 3,
	});
	/* All above 64, and an entry at the end of the code, which ends the list. */
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.written = { { 64, 10, 0, "a" }, { 90, 11, 0, "a" }, { 100, 0, 0, "" } },
		.written_count = 3,
		.expected = { { 64, 10, 0, 0 }, { 90, 11, 0, 0 } },
		.expected_count = 2,
	});
	assert_case(&(struct lines_case){ .vma = ADDRESS });
}

static void entries_before_the_code_are_for_its_start(void **state)
{
	assert_case(&(struct lines_case){
		.vma = ADDRESS,
		.written = { { -55, 589, 0, "s.erl" }, { 86, 590, 0, "s.erl" }, { 100, 0, 0, "" } },
		.written_count = 3,
		.expected = { { 0, 589, 0, 0 }, { 86, 590, 0, 0 } },
		.expected_count = 2,
	});
	/* Code without a vma, but an entry is below 64: nothing is subtracted. */
	assert_case(&(struct lines_case){
		.written = { { 10, 1, 0, "a" }, { 80, 2, 0, "a" } },
		.written_count = 2,
		.expected = { { 10, 1, 0, 0 }, { 80, 2, 0, 0 } },
		.expected_count = 2,
	});
}

static void addresses_64_too_high_are_corrected(void **state)
{
	struct lines_case lines_case = {
		.padding = 0xdeadbeef,
		.vma = ADDRESS,
		.written = { { 64, 10, 3, "a" }, { 84, 11, 0, "a" } },
		.written_count = 2,
		.expected = { { 0, 10, 3, 0 }, { 20, 11, 0, 0 } },
		.expected_count = 2,
	};

	assert_case(&lines_case); /* V8, with columns */
	lines_case.padding = 0;
	lines_case.vma = 0;
	lines_case.expected[0].column = 0;
	assert_case(&lines_case); /* LLVM */
	lines_case.vma = ADDRESS;
	lines_case.written[1].offset = 163;
	lines_case.expected[1].offset = 99;
	assert_case(&lines_case); /* any writer, if they fit only so */
	/* They fit neither way. */
	lines_case.written[1].offset = 165;
	lines_case.expected[0] = (struct line_entry){ 64, 0, 0, 0 };
	lines_case.expected_count = 0;
	lines_case.is_damaged = true;
	assert_case(&lines_case);
}

static void lines_after_damage_are_dropped(void **state)
{
	struct lines_case lines_case = {
		.padding = 0xdeadbeef,
		.vma = ADDRESS,
		.written = { { 64, 10, 1, "a" }, { 74, 11, 1, "a" }, { 84, 12, 1, "\x13\xef" },
			{ 94, 13, 1, "a" } },
		.written_count = 4,
		/* An entry whose name is not text still has an offset. */
		.expected = { { 0, 10, 1, 0 }, { 10, 11, 1, 0 }, { 20, 0, 0, 0 } },
		.expected_count = 3,
		.is_damaged = true,
	};

	assert_case(&lines_case);
	/* An impossible offset shows that the name before was damaged. */
	lines_case.written[2] = (struct written){ 1 << 20, 12, 1, "a" };
	lines_case.expected[1] = (struct line_entry){ 10, 0, 0, 0 };
	lines_case.expected_count = 2;
	assert_case(&lines_case);
	lines_case.written[2] = (struct written){ 84, -1, 1, "a" };
	assert_case(&lines_case);
	/* Damage in the first entry leaves nothing. */
	lines_case.written[0].file = "\x01";
	lines_case.expected_count = 0;
	assert_case(&lines_case);
	/* Other writers may use any file name. */
	lines_case = (struct lines_case){
		.vma = ADDRESS,
		.written = { { 0, 10, 1, "\xe4.erl" } },
		.written_count = 1,
		.expected = { { 0, 10, 0, 0 } },
		.expected_count = 1,
	};
	assert_case(&lines_case);
}

static void files_become_ids_of_the_index(void **state)
{
	const struct jitdump_header header = { 0 };
	const struct jitdump_record load = {
		.load = { .vma = ADDRESS, .address = ADDRESS, .size = SIZE },
	};
	static const char *const files[] = { "a.c", "a.c", "b.c", "a.c", "" };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_lines lines = { 0 };
	struct code_load code = {
		.time_ns = 1, .address = ADDRESS, .size = SIZE, .name = "n", .name_size = 1
	};
	struct jitdump_record debug;
	struct code_index *index;
	struct code_found found;
	bool is_damaged = false;

	assert_int_equal(code_index_new(1 << 20, &index), 0);
	jitdump_fixture_begin_debug(&dump, 1, ADDRESS, ARRAY_SIZE(files));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		jitdump_fixture_debug_entry(&dump, ADDRESS + 10 * i, 1 + (int32_t)i, 0, files[i]);
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &debug), 0);
	assert_int_equal(jitdump_lines_pack(&lines, &header, &debug, &load, index, &code.lines,
				 &code.lines_size, &is_damaged),
		0);
	assert_false(is_damaged);
	assert_int_equal(code_index_load(index, &code), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_true(code_index_find(index, ADDRESS + 10 * i + 5, 1, NULL, &found));
		assert_int_equal(found.line, 1 + i);
		if (*files[i])
			assert_string_equal(found.file, files[i]);
		else
			assert_null(found.file);
	}
	jitdump_lines_done(&lines);
	code_index_free(index);
	jitdump_fixture_done(&dump);
}

static void failing_allocations_of_packing(void **state)
{
	const struct lines_case lines_case = {
		.vma = ADDRESS,
		.written = { { 0, 10, 1, "a" } },
		.written_count = 1,
	};
	struct jitdump_lines lines = { 0 };
	const uint8_t *packed;
	size_t size, n;
	int r;

	for (n = 0;; n++) {
		struct jitdump_fixture dump = { .capacity = 4096, .bytes = malloc(4096) };
		bool is_damaged = false;

		assert_non_null(dump.bytes);
		fail_allocation(n);
		r = pack(&lines, &lines_case, &packed, &size, &is_damaged, &dump);
		jitdump_fixture_done(&dump);
		jitdump_lines_done(&lines);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
}

/* --- lines that wait for their LOAD --- */

static const struct jitdump_header no_header;

/* Adds a DEBUG_INFO with `count` entries; entry n has line n and a long file name. */
static int add(struct jitdump_waiting *waiting, uint64_t address, uint64_t count)
{
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	int r;

	jitdump_fixture_begin_debug(&dump, 1, address, count);
	for (uint64_t i = 0; i < count; i++)
		jitdump_fixture_debug_entry(
			&dump, address + i, (int32_t)i, 0, "a/file/name/of/some/length.c");
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&no_header, dump.bytes, dump.size, true, &record), 0);
	r = jitdump_waiting_add(waiting, &no_header, &record);
	jitdump_fixture_done(&dump);
	return r;
}

static void assert_waits(const struct jitdump_waiting *waiting, uint64_t address, uint64_t count)
{
	const unsigned slot = jitdump_waiting_find(waiting, address);
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	struct jitdump_record record;
	bool is_damaged;

	assert_int_not_equal(slot, JITDUMP_WAITING_NONE);
	jitdump_waiting_get(waiting, slot, &record, &is_damaged);
	assert_false(is_damaged);
	assert_int_equal(record.debug.address, address);
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(jitdump_debug_next(&no_header, &record, &cursor, &entry), 1);
		assert_int_equal(entry.address, address + i);
		assert_int_equal(entry.line, i);
		assert_int_equal(entry.file_size, 28);
		assert_memory_equal(entry.file, "a/file/name/of/some/length.c", 28);
	}
	assert_int_equal(jitdump_debug_next(&no_header, &record, &cursor, &entry), 0);
}

static void waiting_lines_are_found_by_address(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	assert_int_equal(jitdump_waiting_find(&waiting, 0x1000), JITDUMP_WAITING_NONE);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(add(&waiting, 0x1000 * (i + 1), 2 * i), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_waits(&waiting, 0x1000 * (i + 1), 2 * i);
	/* A repeated name is kept once. */
	assert_in_range(waiting.size, 1, 2 * (16 + 29) + 4 * 18);

	jitdump_waiting_claim(&waiting, jitdump_waiting_find(&waiting, 0x2000));
	assert_int_equal(jitdump_waiting_find(&waiting, 0x2000), JITDUMP_WAITING_NONE);
	assert_waits(&waiting, 0x3000, 4);
	jitdump_waiting_trim(&waiting);
	assert_waits(&waiting, 0x3000, 4);
	jitdump_waiting_claim(&waiting, jitdump_waiting_find(&waiting, 0x3000));
	jitdump_waiting_claim(&waiting, jitdump_waiting_find(&waiting, 0x1000));
	assert_int_equal(waiting.count, 0);
	assert_int_equal(waiting.size, 0);
	jitdump_waiting_trim(&waiting);
	assert_null(waiting.bytes);
	assert_int_equal(waiting.unclaimed, 0);
	jitdump_waiting_done(&waiting);
}

static void the_newest_lines_for_an_address_count(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	assert_int_equal(add(&waiting, 0x1000, 5), 0);
	assert_int_equal(add(&waiting, 0x2000, 1), 0);
	assert_int_equal(add(&waiting, 0x1000, 3), 0);
	assert_waits(&waiting, 0x1000, 3);
	assert_int_equal(waiting.unclaimed, 1);
	jitdump_waiting_claim(&waiting, jitdump_waiting_find(&waiting, 0x1000));
	assert_int_equal(jitdump_waiting_find(&waiting, 0x1000), JITDUMP_WAITING_NONE);
	jitdump_waiting_clear(&waiting);
	assert_int_equal(waiting.unclaimed, 2);
	assert_int_equal(waiting.count, 0);
	jitdump_waiting_done(&waiting);
}

static void the_older_half_is_dropped_at_the_count_limit(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(add(&waiting, 0x1000 * i, i % 7), 0);
		assert_in_range(waiting.count, 1, JITDUMP_WAITING_COUNT_MAX);
		for (uint64_t k = i > 32 ? i - 31 : 0; k <= i; k++)
			assert_waits(&waiting, 0x1000 * k, k % 7);
		assert_int_equal(waiting.count + waiting.unclaimed, i + 1);
	}
	jitdump_waiting_done(&waiting);
}

static void the_older_half_is_dropped_at_the_byte_limit(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	/* Every other one is claimed, but never the newest. */
	for (uint64_t i = 0; i < 500; i++) {
		assert_int_equal(add(&waiting, 0x100000 * i, 1500), 0);
		assert_waits(&waiting, 0x100000 * i, 1500);
		assert_in_range(waiting.size, 1, JITDUMP_WAITING_BYTES_MAX);
		assert_in_range(waiting.capacity, 1, JITDUMP_WAITING_BYTES_MAX);
		if (i % 2 == 1) {
			assert_waits(&waiting, 0x100000 * (i - 1), 1500);
			jitdump_waiting_claim(
				&waiting, jitdump_waiting_find(&waiting, 0x100000 * (i - 1)));
		}
	}
	assert_true(waiting.unclaimed > 200);
	jitdump_waiting_done(&waiting);
}

static void a_record_larger_than_the_limit_is_cut(void **state)
{
	struct jitdump_waiting waiting = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	struct jitdump_record record;
	char name[1000];
	bool is_damaged;
	unsigned slot;
	int r;

	assert_int_equal(add(&waiting, 0x1000, 5), 0);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	jitdump_fixture_begin_debug(&dump, 1, 0x2000, 400);
	for (uint64_t i = 0; i < 400; i++) {
		name[0] = (char)('a' + i % 2);
		jitdump_fixture_debug_entry(&dump, 0x2000 + i, 1, 0, name);
	}
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&no_header, dump.bytes, dump.size, true, &record), 0);
	assert_int_equal(jitdump_waiting_add(&waiting, &no_header, &record), 0);
	jitdump_fixture_done(&dump);
	assert_int_equal(waiting.unclaimed, 1);

	slot = jitdump_waiting_find(&waiting, 0x2000);
	assert_int_not_equal(slot, JITDUMP_WAITING_NONE);
	jitdump_waiting_get(&waiting, slot, &record, &is_damaged);
	assert_true(is_damaged);
	while ((r = jitdump_debug_next(&no_header, &record, &cursor, &entry)) > 0)
		;
	assert_int_equal(r, 0);
	assert_int_equal(cursor.seen, JITDUMP_WAITING_BYTES_MAX / (16 + 1000));
	jitdump_waiting_done(&waiting);
}

static void entries_before_the_damage_are_kept(void **state)
{
	struct jitdump_waiting waiting = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;
	bool is_damaged;

	jitdump_fixture_begin_debug(&dump, 1, 0x1000, 3);
	jitdump_fixture_debug_entry(&dump, 0x1000, 1, 0, "a.c");
	jitdump_fixture_debug_entry(&dump, 0x1004, 2, 0, "a.c");
	jitdump_fixture_fill(&dump, 'x', 40);
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&no_header, dump.bytes, dump.size, true, &record), 0);
	assert_int_equal(jitdump_waiting_add(&waiting, &no_header, &record), 0);
	jitdump_fixture_done(&dump);
	jitdump_waiting_get(&waiting, 0, &record, &is_damaged);
	assert_true(is_damaged);
	assert_int_equal(record.debug.entry_count, 2);
	jitdump_waiting_done(&waiting);
}

static void failing_allocations_of_waiting_lines(void **state)
{
	struct jitdump_waiting waiting = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;

	assert_int_equal(add(&waiting, 0x1000, 2), 0);
	jitdump_fixture_begin_debug(&dump, 1, 0x2000, 20);
	for (int i = 0; i < 20; i++)
		jitdump_fixture_debug_entry(&dump, 0x2000, 1, 0, "a.c");
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&no_header, dump.bytes, dump.size, true, &record), 0);
	fail_allocation(0);
	assert_int_equal(jitdump_waiting_add(&waiting, &no_header, &record), -ENOMEM);
	assert_true(allocation_failed());
	assert_waits(&waiting, 0x1000, 2);
	assert_int_equal(waiting.count, 1);
	assert_int_equal(jitdump_waiting_add(&waiting, &no_header, &record), 0);
	assert_int_equal(waiting.count, 2);
	jitdump_fixture_done(&dump);
	jitdump_waiting_done(&waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_addresses_are_offsets),
		cmocka_unit_test(entries_before_the_code_are_for_its_start),
		cmocka_unit_test(addresses_64_too_high_are_corrected),
		cmocka_unit_test(lines_after_damage_are_dropped),
		cmocka_unit_test(files_become_ids_of_the_index),
		cmocka_unit_test(failing_allocations_of_packing),
		cmocka_unit_test(waiting_lines_are_found_by_address),
		cmocka_unit_test(the_newest_lines_for_an_address_count),
		cmocka_unit_test(the_older_half_is_dropped_at_the_count_limit),
		cmocka_unit_test(the_older_half_is_dropped_at_the_byte_limit),
		cmocka_unit_test(a_record_larger_than_the_limit_is_cut),
		cmocka_unit_test(entries_before_the_damage_are_kept),
		cmocka_unit_test(failing_allocations_of_waiting_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
