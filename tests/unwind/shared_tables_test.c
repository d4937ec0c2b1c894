/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "capture/walk_maps.h"
#include "tests/harness/failing_allocation.h"
#include "unwind/shared_tables.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unwind/unwind_table_fixture.h"
#include "unwind/unwind_table.h"

enum { PAGES = 200, LINES = 100, RULES = 300, ESCAPES = 8, TABLES = 40 };

static struct {
	uint32_t pages[PAGES];
	struct pilotlight_unwind_line lines[LINES];
	struct pilotlight_unwind_rule rules[RULES];
	struct pilotlight_unwind_escape escapes[ESCAPES];
} memory;

static const struct walk_maps arrays = {
	.pages = memory.pages,
	.lines = memory.lines,
	.rules = memory.rules,
	.escapes = memory.escapes,
	.sizes = { PAGES, LINES, RULES, ESCAPES },
};

static struct unwind_table_fixture fixture;

static struct symbol_identity identity_of(uint8_t number)
{
	return (struct symbol_identity){
		.kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id = { .bytes = { number, 1 }, .size = 20 },
	};
}

/* A table of as many pages, whose contents are the number's. */
static struct unwind_table make_table(uint32_t number, uint32_t pages)
{
	unwind_table_fixture_make(&fixture, pages, number);
	return (struct unwind_table){
		.summary = &fixture.summary,
		.pages = fixture.pages,
		.lines = fixture.lines,
		.rules = fixture.rules,
		.escapes = fixture.escapes,
	};
}

static int acquire(struct shared_tables *tables, uint8_t identity_number, uint32_t number,
	uint32_t pages, uint32_t *ret_number)
{
	struct symbol_identity identity = identity_of(identity_number);
	struct unwind_table table = make_table(number, pages);

	return shared_tables_acquire(tables, &identity, &table, ret_number);
}

static bool has(const struct shared_tables *tables, uint8_t identity_number, uint32_t pages)
{
	struct symbol_identity identity = identity_of(identity_number);
	struct unwind_table table = make_table(1, pages);
	struct table_extent extent = table_store_extent(&table);

	return shared_tables_has(tables, &identity, &extent);
}

static void init(struct table_store **ret_store, struct shared_tables **ret_tables)
{
	memset(&memory, 0xee, sizeof(memory));
	assert_int_equal(table_store_new(&arrays, TABLES, ret_store), 0);
	assert_int_equal(shared_tables_new(*ret_store, ret_tables), 0);
}

static void tables_of_one_identity_are_told_apart(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = NULL;
	_cleanup_(shared_tables_freep) struct shared_tables *tables = NULL;
	uint32_t numbers[4];

	init(&store, &tables);
	assert_int_equal(acquire(tables, 1, 1, 5, &numbers[0]), 0);
	assert_int_equal(acquire(tables, 1, 2, 5, &numbers[1]), 0); /* of other rows */
	assert_int_equal(acquire(tables, 1, 1, 6, &numbers[2]), 0); /* of another size */
	assert_int_equal(acquire(tables, 1, 5, 5, &numbers[3]), 0);
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(numbers[i], numbers[j]);
	/* And found again, wherever they are in the chain. */
	for (size_t i = 0; i < 4; i++) {
		static const uint32_t of[] = { 1, 2, 1, 5 }, pages[] = { 5, 5, 6, 5 };
		uint32_t again;

		assert_int_equal(acquire(tables, 1, of[i], pages[i], &again), 0);
		assert_int_equal(again, numbers[i]);
	}
	assert_int_equal(table_store_usage(store).tables, 4);
	assert_int_equal(shared_tables_positions(tables), 4);
}

static void failing_allocations_change_nothing(void **state)
{
	size_t n, failures = 0;

	for (n = 0;; n++) {
		_cleanup_(table_store_freep) struct table_store *store = NULL;
		_cleanup_(shared_tables_freep) struct shared_tables *tables = NULL;
		uint32_t number;
		int r;

		assert_int_equal(table_store_new(&arrays, TABLES, &store), 0);
		fail_allocation(n);
		r = shared_tables_new(store, &tables);
		for (uint8_t i = 0; i < 20 && r == 0; i++) {
			r = acquire(tables, i, i, 5, &number);
			if (r < 0) {
				assert_int_equal(table_store_usage(store).tables, i);
				assert_false(has(tables, i, 5));
				assert_int_equal(acquire(tables, i, i, 5, &number), 0);
			}
		}
		if (!allocation_failed())
			break;
		failures++;
		assert_int_equal(r, -ENOMEM);
	}
	assert_true(failures >= 5);
	shared_tables_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_one_identity_are_told_apart),
		cmocka_unit_test(failing_allocations_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
