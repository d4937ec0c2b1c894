/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_inlined.h"

#include "pilotlight/runtime_v8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A table, as V8 and the sampler write it. */
struct table {
	uint8_t bytes[PILOTLIGHT_RUNTIME_TABLE_MAX + 64];
	size_t size;
	int64_t begin;
	uint64_t position;
};

static void add_word(struct table *table, uint64_t word)
{
	memcpy(table->bytes + table->size, &word, sizeof(word));
	table->size += sizeof(word);
}

static uint64_t position(uint64_t inlining, uint64_t place)
{
	return (place + 1) << PILOTLIGHT_V8_POSITION_PLACE_SHIFT |
	       inlining << PILOTLIGHT_V8_POSITION_INLINING_SHIFT;
}

/* The call of a function at `place` in what `caller` is. */
static void add_inlining(struct table *table, uint64_t caller, uint64_t place, uint64_t function)
{
	add_word(
		table, position(caller, place) | function << PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT);
}

static void add_number(struct table *table, int64_t number)
{
	uint64_t rest = (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);

	for (; rest > 127; rest >>= 7)
		table->bytes[table->size++] = (uint8_t)(rest | 128);
	table->bytes[table->size++] = (uint8_t)rest;
}

static struct pilotlight_v8_inlined *head_of(struct table *table)
{
	return (struct pilotlight_v8_inlined *)(void *)table->bytes;
}

static void add_entry(struct table *table, int64_t begin, bool is_statement, uint64_t at)
{
	size_t before = table->size;
	int64_t distance = begin - table->begin;

	add_number(table, is_statement ? distance : -distance - 1);
	add_number(table, (int64_t)(at - table->position));
	table->begin = begin;
	table->position = at;
	head_of(table)->position_bytes += (uint16_t)(table->size - before);
}

/* Function 1 calls 2 at 30, which calls 3 at 40 and function 1 at 50. */
static void begin_table(struct table *table)
{
	const struct pilotlight_v8_inlined head = { .functions = 3, .inlinings = 3 };

	*table = (struct table){ .begin = -1 };
	memcpy(table->bytes, &head, sizeof(head));
	table->size = sizeof(head);
	for (uint64_t i = 1; i <= 3; i++)
		add_word(table, i);
	add_inlining(table, 0, 30, 1);
	add_inlining(table, 1, 40, 2);
	add_inlining(table, 1, 50, 0);
}

/* "2@45 1@30" */
static const char *text_at(const struct table *table, int32_t unit)
{
	static char text[1024];
	struct runtime_inlined_frame frames[RUNTIME_INLINED_MAX];
	size_t count = runtime_inlined_find(table->bytes, table->size, unit, frames), size = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%d@%d",
			i > 0 ? " " : "", (int)frames[i].code, (int)frames[i].unit);
	return text;
}

static void functions_are_found_with_their_callers(void **state)
{
	struct table table;

	begin_table(&table);
	add_entry(&table, 4, true, position(0, 20));
	add_entry(&table, 10, false, position(1, 35));
	add_entry(&table, 100, true, position(2, 60));
	add_entry(&table, 100, false, position(3, 21));
	add_entry(&table, 300, false, position(0, 22));
	assert_string_equal(text_at(&table, -1), "1@-1");
	assert_string_equal(text_at(&table, 3), "1@-1");
	assert_string_equal(text_at(&table, 4), "1@20");
	assert_string_equal(text_at(&table, 9), "1@20");
	assert_string_equal(text_at(&table, 10), "2@35 1@30");
	assert_string_equal(text_at(&table, 99), "2@35 1@30");
	assert_string_equal(text_at(&table, 100), "1@21 2@50 1@30");
	assert_string_equal(text_at(&table, 299), "1@21 2@50 1@30");
	assert_string_equal(text_at(&table, 300), "1@22");
	assert_string_equal(text_at(&table, INT32_MAX), "1@22");
}

/* What makes no sense shows the outermost function alone. */
static void wrong_positions_show_the_outermost_function(void **state)
{
	static const uint64_t words[] = {
		(uint64_t)4 << PILOTLIGHT_V8_POSITION_INLINING_SHIFT, /* no such inlining */
		(uint64_t)PILOTLIGHT_V8_POSITION_EXTERNAL,
	};
	struct table table;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		begin_table(&table);
		add_entry(&table, 0, true, words[i]);
		assert_string_equal(text_at(&table, 5), "1@-1");
	}
	/* A circle, and a function that is none. */
	begin_table(&table);
	head_of(&table)->inlinings += 2;
	add_inlining(&table, 5, 1, 1);
	add_inlining(&table, 4, 1, 3);
	add_entry(&table, 0, true, position(4, 1));
	add_entry(&table, 10, true, position(5, 1));
	assert_string_equal(text_at(&table, 5), "1@-1");
	assert_string_equal(text_at(&table, 15), "1@-1");
}

static void deeper_calls_than_there_is_room_for_show_the_outermost_function(void **state)
{
	struct table table;

	begin_table(&table);
	for (uint64_t i = 3; i < RUNTIME_INLINED_MAX + 1; i++)
		add_inlining(&table, i, 7, 1);
	head_of(&table)->inlinings = RUNTIME_INLINED_MAX + 1;
	add_entry(&table, 0, true, position(RUNTIME_INLINED_MAX - 1, 8));
	add_entry(&table, 10, true, position(RUNTIME_INLINED_MAX + 1, 8));
	assert_non_null(strstr(text_at(&table, 5), "2@8 2@7 2@7"));
	assert_string_equal(text_at(&table, 15), "1@-1");
}

static void cut_tables_tell_nothing_of_what_is_behind(void **state)
{
	struct table table;

	begin_table(&table);
	while (head_of(&table)->position_bytes + 8 <= PILOTLIGHT_V8_POSITION_BYTES_MAX)
		add_entry(&table, table.begin + 10, true, position(1, 35));
	while (head_of(&table)->position_bytes < PILOTLIGHT_V8_POSITION_BYTES_MAX) {
		table.bytes[table.size++] = 0x80;
		head_of(&table)->position_bytes++;
	}
	assert_string_equal(text_at(&table, (int32_t)table.begin - 1), "2@35 1@30");
	assert_string_equal(text_at(&table, (int32_t)table.begin), "1@-1");
}

static void damaged_tables_have_no_functions(void **state)
{
	struct table table;

	begin_table(&table);
	add_entry(&table, 0, true, position(0, 1));
	for (size_t size = 0; size < table.size; size++) {
		struct table cut = table;

		cut.size = size;
		assert_string_equal(text_at(&cut, 5), "");
	}
	head_of(&table)->functions = 0;
	assert_string_equal(text_at(&table, 5), "");
}

static void pad(struct table *table)
{
	while (table->size % 8 > 0)
		table->bytes[table->size++] = 0;
}

/* One bytecode, one with a prefix for longer operands, and a third one: at 0, 1 and 5. Before them
 * are 10 bytes of instructions. */
static void begin_baseline(struct table *table, uint16_t version)
{
	static const uint8_t bytecodes[] = { 4, 0, 5, 0, 0, 5, 0 },
			     lengths[] = { 10, 20, 0xac, 2, 5 };
	const struct pilotlight_v8_inlined head = { .functions = 1, .version = version };
	const struct pilotlight_v8_baseline baseline = { sizeof(lengths), sizeof(bytecodes) };

	*table = (struct table){ .begin = -1 };
	memcpy(table->bytes, &head, sizeof(head));
	table->size = sizeof(head);
	add_word(table, 1);
	add_entry(table, 0, true, position(0, 20));
	add_entry(table, 1, true, position(0, 30));
	add_entry(table, 5, true, position(0, 40));
	pad(table);
	memcpy(table->bytes + table->size, &baseline, sizeof(baseline));
	table->size += sizeof(baseline);
	memcpy(table->bytes + table->size, lengths, sizeof(lengths));
	table->size += sizeof(lengths);
	pad(table);
	memcpy(table->bytes + table->size, bytecodes, sizeof(bytecodes));
	table->size += sizeof(bytecodes);
}

static void instructions_of_bytecodes_have_their_places(void **state)
{
	static const uint16_t versions[] = { 10 << 8 | 2, 11 << 8 | 3, 12 << 8 | 4, 13 << 8 | 6 };
	struct table table;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		begin_baseline(&table, versions[i]);
		assert_string_equal(text_at(&table, -1), "1@-1");
		assert_string_equal(text_at(&table, 9), "1@-1");
		assert_string_equal(text_at(&table, 10), "1@20");
		assert_string_equal(text_at(&table, 29), "1@20");
		assert_string_equal(text_at(&table, 30), "1@30");
		assert_string_equal(text_at(&table, 329), "1@30");
		assert_string_equal(text_at(&table, 330), "1@40");
		assert_string_equal(text_at(&table, 334), "1@40");
		assert_string_equal(text_at(&table, 335), "1@-1");
		/* What is cut away tells nothing. */
		for (; table.size > sizeof(struct pilotlight_v8_inlined) + 24; table.size--)
			(void)text_at(&table, 334);
		assert_string_equal(text_at(&table, 10), "1@-1");
	}
	begin_baseline(&table, 13 << 8 | 7);
	assert_string_equal(text_at(&table, 10), "1@-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_with_their_callers),
		cmocka_unit_test(wrong_positions_show_the_outermost_function),
		cmocka_unit_test(deeper_calls_than_there_is_room_for_show_the_outermost_function),
		cmocka_unit_test(cut_tables_tell_nothing_of_what_is_behind),
		cmocka_unit_test(damaged_tables_have_no_functions),
		cmocka_unit_test(instructions_of_bytecodes_have_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
