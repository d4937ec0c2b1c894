/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_lines.h"

#include "tests/harness/failing_allocation.h"
#include "tests/jit/jitdump_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct jitdump_header header;

/* A DEBUG_INFO with `count` entries of which the n-th is of line n in a file with a long name. */
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
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &record), 0);
	r = jitdump_waiting_add(waiting, &header, &record);
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
		assert_int_equal(jitdump_debug_next(&header, &record, &cursor, &entry), 1);
		assert_int_equal(entry.address, address + i);
		assert_int_equal(entry.line, i);
		assert_int_equal(entry.file_size, 28);
		assert_memory_equal(entry.file, "a/file/name/of/some/length.c", 28);
	}
	assert_int_equal(jitdump_debug_next(&header, &record, &cursor, &entry), 0);
}

static void what_waits_is_found_by_its_address(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	(void)state;
	assert_int_equal(jitdump_waiting_find(&waiting, 0x1000), JITDUMP_WAITING_NONE);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(add(&waiting, 0x1000 * (i + 1), 2 * i), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_waits(&waiting, 0x1000 * (i + 1), 2 * i);
	/* Names that come again are not kept again. */
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

static void the_newest_for_an_address_counts(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	(void)state;
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

static void too_many(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(add(&waiting, 0x1000 * i, i % 7), 0);
		assert_in_range(waiting.count, 1, JITDUMP_WAITING_COUNT_MAX);
		for (uint64_t k = i > 32 ? i - 31 : 0; k <= i; k++)
			assert_waits(&waiting, 0x1000 * k, k % 7);
		assert_int_equal(waiting.count + waiting.unclaimed, i + 1);
	}
	jitdump_waiting_done(&waiting);
}

static void too_large(void **state)
{
	struct jitdump_waiting waiting = { 0 };

	(void)state;
	/* Every other one is claimed, not the newest: room is made by what is left. */
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

static void larger_than_all_the_room(void **state)
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

	(void)state;
	assert_int_equal(add(&waiting, 0x1000, 5), 0);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	jitdump_fixture_begin_debug(&dump, 1, 0x2000, 400);
	for (uint64_t i = 0; i < 400; i++) {
		name[0] = (char)('a' + i % 2);
		jitdump_fixture_debug_entry(&dump, 0x2000 + i, 1, 0, name);
	}
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &record), 0);
	assert_int_equal(jitdump_waiting_add(&waiting, &header, &record), 0);
	jitdump_fixture_done(&dump);
	assert_int_equal(waiting.unclaimed, 1);

	slot = jitdump_waiting_find(&waiting, 0x2000);
	assert_int_not_equal(slot, JITDUMP_WAITING_NONE);
	jitdump_waiting_get(&waiting, slot, &record, &is_damaged);
	assert_true(is_damaged);
	while ((r = jitdump_debug_next(&header, &record, &cursor, &entry)) > 0)
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

	(void)state;
	jitdump_fixture_begin_debug(&dump, 1, 0x1000, 3);
	jitdump_fixture_debug_entry(&dump, 0x1000, 1, 0, "a.c");
	jitdump_fixture_debug_entry(&dump, 0x1004, 2, 0, "a.c");
	jitdump_fixture_fill(&dump, 'x', 40);
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &record), 0);
	assert_int_equal(jitdump_waiting_add(&waiting, &header, &record), 0);
	jitdump_fixture_done(&dump);
	jitdump_waiting_get(&waiting, 0, &record, &is_damaged);
	assert_true(is_damaged);
	assert_int_equal(record.debug.entry_count, 2);
	jitdump_waiting_done(&waiting);
}

static void failing_allocations(void **state)
{
	struct jitdump_waiting waiting = { 0 };
	struct jitdump_fixture dump = { 0 };
	struct jitdump_record record;

	(void)state;
	assert_int_equal(add(&waiting, 0x1000, 2), 0);
	jitdump_fixture_begin_debug(&dump, 1, 0x2000, 20);
	for (int i = 0; i < 20; i++)
		jitdump_fixture_debug_entry(&dump, 0x2000, 1, 0, "a.c");
	jitdump_fixture_end(&dump);
	assert_int_equal(jitdump_record_parse(&header, dump.bytes, dump.size, true, &record), 0);
	fail_allocation(0);
	assert_int_equal(jitdump_waiting_add(&waiting, &header, &record), -ENOMEM);
	assert_true(allocation_failed());
	assert_waits(&waiting, 0x1000, 2);
	assert_int_equal(waiting.count, 1);
	assert_int_equal(jitdump_waiting_add(&waiting, &header, &record), 0);
	assert_int_equal(waiting.count, 2);
	jitdump_fixture_done(&dump);
	jitdump_waiting_done(&waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_is_found_by_its_address),
		cmocka_unit_test(the_newest_for_an_address_counts),
		cmocka_unit_test(too_many),
		cmocka_unit_test(too_large),
		cmocka_unit_test(larger_than_all_the_room),
		cmocka_unit_test(entries_before_the_damage_are_kept),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
