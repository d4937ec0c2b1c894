/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "capture/walk_maps.h"
#include "tests/harness/failing_allocation.h"
#include "unwind/table_store.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 100, LINES = 80, RULES = 60, ESCAPES = 40, TABLES = 1000 };

static const size_t entry_bytes[TABLE_ARRAYS] = { 4, 64, 16, 8 };
static const uint32_t capacities[TABLE_ARRAYS] = { PAGES, LINES, RULES, ESCAPES };

/* A guard behind each, which nothing may be written to. */
static struct {
	uint32_t pages[PAGES + 1];
	struct pilotlight_unwind_line lines[LINES + 1];
	struct pilotlight_unwind_rule rules[RULES + 1];
	struct pilotlight_unwind_escape escapes[ESCAPES + 1];
} memory;

static uint8_t *array_of(int array)
{
	uint8_t *const arrays[] = { (uint8_t *)memory.pages, (uint8_t *)memory.lines,
		(uint8_t *)memory.rules, (uint8_t *)memory.escapes };

	return arrays[array];
}

static const struct walk_maps arrays = {
	.pages = memory.pages,
	.lines = memory.lines,
	.rules = memory.rules,
	.escapes = memory.escapes,
	.sizes = { PAGES, LINES, RULES, ESCAPES },
};

static struct table_store *make_store(size_t tables_max)
{
	struct table_store *store = NULL;

	memset(&memory, 0xee, sizeof(memory));
	assert_int_equal(table_store_new(&arrays, tables_max, &store), 0);
	return store;
}

static void assert_guards(void)
{
	for (int i = 0; i < TABLE_ARRAYS; i++)
		for (size_t j = 0; j < entry_bytes[i]; j++)
			assert_int_equal(array_of(i)[capacities[i] * entry_bytes[i] + j], 0xee);
}

/* A table whose sections are all of one byte, which the store does not mind. */
struct table {
	struct pilotlight_unwind_summary summary;
	struct unwind_table view;
	_Alignas(64) uint8_t contents[(PAGES + 1) * 64];
};

static void make_table(struct table *table, uint8_t byte, uint32_t pages, uint32_t lines,
	uint32_t rules, uint32_t escapes)
{
	memset(table->contents, byte, sizeof(table->contents));
	table->summary = (struct pilotlight_unwind_summary){
		.first_page = byte,
		.page_count = pages,
		.line_count = lines,
		.rule_count = rules,
		.escape_count = escapes,
	};
	table->view = (struct unwind_table){
		.summary = &table->summary,
		.pages = (const uint32_t *)table->contents,
		.lines = (const struct pilotlight_unwind_line *)table->contents,
		.rules = (const struct pilotlight_unwind_rule *)table->contents,
		.escapes = (const struct pilotlight_unwind_escape *)table->contents,
	};
}

static void starts_of(const struct pilotlight_walk_file *placement, uint32_t ret_starts[])
{
	ret_starts[TABLE_PAGES] = placement->pages_at;
	ret_starts[TABLE_LINES] = placement->lines_at;
	ret_starts[TABLE_RULES] = placement->rules_at;
	ret_starts[TABLE_ESCAPES] = placement->escapes_at;
}

static void assert_contents(const struct table *table, const struct pilotlight_walk_file *placement)
{
	struct table_extent extent = table_store_extent(&table->view);
	uint32_t starts[TABLE_ARRAYS];

	starts_of(placement, starts);
	for (int i = 0; i < TABLE_ARRAYS; i++)
		for (size_t j = 0; j < extent.entries[i] * entry_bytes[i]; j++)
			assert_int_equal(
				array_of(i)[starts[i] * entry_bytes[i] + j], table->contents[0]);
}

static void table_is_copied_and_placed(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
	struct pilotlight_walk_file first = { .id = 9, .flags = 3, .used_window = 5 };
	struct pilotlight_walk_file second = { 0 };
	struct table_store_usage usage;
	static struct table a, b;

	make_table(&a, 1, 4, 3, 2, 1);
	make_table(&b, 2, 7, 5, 6, 0);
	assert_int_equal(table_store_put(store, &a.view, &first), 0);
	assert_int_equal(table_store_put(store, &b.view, &second), 0);
	assert_int_equal(first.id, 9);
	assert_int_equal(first.flags, 3);
	assert_int_equal(first.used_window, 5);
	assert_int_equal(first.first_page, 1);
	assert_int_equal(first.page_count, 4);
	assert_int_equal(first.line_count, 3);
	assert_int_equal(first.rule_count, 2);
	assert_int_equal(first.escape_count, 1);
	assert_int_equal(first.pages_at, 0);
	assert_int_equal(second.pages_at, 5); /* with the one that pages end with */
	assert_int_equal(second.lines_at, 3);
	assert_int_equal(second.rules_at, 2);
	assert_int_equal(second.escapes_at, 0);
	assert_contents(&a, &first);
	assert_contents(&b, &second);
	usage = table_store_usage(store);
	assert_int_equal(usage.tables, 2);
	assert_int_equal(usage.used_bytes, 13 * 4 + 8 * 64 + 8 * 16 + 8);
	assert_int_equal(usage.pending_bytes, 0);
	assert_int_equal(usage.limit_bytes, PAGES * 4 + LINES * 64 + RULES * 16 + ESCAPES * 8);
	assert_guards();
}

static void dropped_tables_stay_until_reclaimed(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
	struct pilotlight_walk_file first = { 0 }, second = { .id = 7 };
	struct table_store_usage usage;
	struct table_extent extent;
	static struct table a, b;

	make_table(&a, 1, PAGES - 1, 3, 2, 1);
	make_table(&b, 2, 10, 1, 1, 1);
	extent = table_store_extent(&b.view);
	assert_true(table_store_has_room(store, &extent));
	assert_int_equal(table_store_put(store, &a.view, &first), 0);
	assert_int_equal(table_store_put(store, &b.view, &second), -ENOSPC);
	assert_false(table_store_has_room(store, &extent));
	assert_false(table_store_will_fit(store, &extent));
	table_store_drop(store, &first);
	assert_int_equal(table_store_put(store, &b.view, &second), -ENOSPC);
	assert_int_equal(second.id, 7);
	assert_int_equal(second.page_count, 0);
	assert_false(table_store_has_room(store, &extent));
	assert_true(table_store_will_fit(store, &extent));
	usage = table_store_usage(store);
	assert_int_equal(usage.tables, 0);
	assert_int_equal(usage.used_bytes, 0);
	assert_int_equal(usage.pending_bytes, PAGES * 4 + 3 * 64 + 2 * 16 + 8);
	assert_contents(&a, &first);
	table_store_reclaim(store);
	assert_int_equal(table_store_usage(store).pending_bytes, 0);
	assert_int_equal(table_store_put(store, &b.view, &second), 0);
	assert_int_equal(second.pages_at, 0);
	assert_guards();
}

static void each_array_can_be_full(void **state)
{
	for (int array = 0; array < TABLE_ARRAYS; array++) {
		_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
		uint32_t counts[TABLE_ARRAYS] = { 1, 1, 1, 1 };
		struct pilotlight_walk_file placement = { 0 };
		struct table_store_usage before;
		static struct table table;

		(void)state;
		counts[array] = capacities[array] - (array == TABLE_PAGES);
		make_table(&table, 1, counts[0], counts[1], counts[2], counts[3]);
		assert_int_equal(table_store_put(store, &table.view, &placement), 0);
		before = table_store_usage(store);
		make_table(&table, 2, 1, 1, 1, 1);
		assert_int_equal(table_store_put(store, &table.view, &placement), -ENOSPC);
		counts[array]++;
		make_table(&table, 2, counts[0], counts[1], counts[2], counts[3]);
		assert_int_equal(table_store_put(store, &table.view, &placement), -EFBIG);
		assert_int_equal(table_store_usage(store).used_bytes, before.used_bytes);
		assert_int_equal(table_store_usage(store).tables, 1);
		assert_guards();
	}
}

static void adjacent_ranges_are_merged(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
	struct pilotlight_walk_file placements[4] = { 0 }, whole = { 0 };
	static const uint64_t nothing[TABLE_ARRAYS], more[TABLE_ARRAYS] = { 0, 20, 0, 0 };
	static struct table quarter, half, three;
	struct table_extent halves, threes;

	make_table(&quarter, 1, 1, LINES / 4, 1, 0);
	make_table(&half, 2, 1, LINES / 2, 1, 0);
	make_table(&three, 3, 1, LINES / 4 * 3, 1, 0);
	halves = table_store_extent(&half.view);
	threes = table_store_extent(&three.view);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(table_store_put(store, &quarter.view, &placements[i]), 0);
	table_store_drop(store, &placements[0]);
	table_store_drop(store, &placements[2]);
	table_store_reclaim(store);
	assert_int_equal(table_store_put(store, &half.view, &whole), -ENOSPC);
	assert_false(table_store_will_fit(store, &halves));
	assert_true(table_store_may_fit(store, &halves, nothing)); /* as mere numbers tell */
	assert_false(table_store_may_fit(store, &threes, nothing));
	assert_true(table_store_may_fit(store, &threes, more));
	table_store_drop(store, &placements[1]); /* between what is free already */
	assert_true(table_store_will_fit(store, &threes));
	assert_false(table_store_has_room(store, &halves));
	table_store_reclaim(store);
	assert_int_equal(table_store_put(store, &three.view, &whole), 0);
	assert_int_equal(whole.lines_at, 0);
	assert_contents(&quarter, &placements[3]);
}

static void table_is_compared_as_a_whole(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
	struct pilotlight_walk_file first = { 0 }, second = { 0 };
	static struct table a, b, other;

	make_table(&a, 1, 4, 3, 2, 1);
	make_table(&b, 2, 4, 3, 2, 0);
	assert_int_equal(table_store_put(store, &a.view, &first), 0);
	assert_int_equal(table_store_put(store, &b.view, &second), 0);
	assert_true(table_store_holds(store, &a.view, &first));
	assert_true(table_store_holds(store, &b.view, &second));
	assert_false(table_store_holds(store, &a.view, &second));
	/* The last byte of each array counts, and each number of the summary. */
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		struct table_extent extent = table_store_extent(&a.view);
		size_t starts[] = { first.pages_at, first.lines_at, first.rules_at,
			first.escapes_at };
		uint8_t *last = array_of(i) + (starts[i] + extent.entries[i]) * entry_bytes[i] - 1;

		*last ^= 1;
		assert_false(table_store_holds(store, &a.view, &first));
		*last ^= 1;
		assert_true(table_store_holds(store, &a.view, &first));
	}
	for (int i = 0; i < 5; i++) {
		make_table(&other, 1, 4 - (i == 0), 3 - (i == 1), 2 - (i == 2), 1 - (i == 3));
		other.summary.first_page += i == 4;
		assert_false(table_store_holds(store, &other.view, &first));
	}
	table_store_drop(store, &first);
	table_store_drop(store, &second);
}

static void more_than_a_quarter_is_large(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);

	for (int i = 0; i < TABLE_ARRAYS; i++) {
		struct table_extent extent = { 0 };

		extent.entries[i] = capacities[i] / 4;
		assert_false(table_store_is_large(store, &extent));
		extent.entries[i]++;
		assert_true(table_store_is_large(store, &extent));
	}
}

static void tables_are_bounded(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(2);
	struct pilotlight_walk_file first = { 0 }, second = { 0 }, third = { 0 };
	struct table_extent extent;
	static struct table table;

	make_table(&table, 1, 1, 1, 1, 1);
	extent = table_store_extent(&table.view);
	assert_int_equal(table_store_put(store, &table.view, &first), 0);
	assert_int_equal(table_store_put(store, &table.view, &second), 0);
	assert_int_equal(table_store_put(store, &table.view, &third), -ENOSPC);
	assert_false(table_store_has_room(store, &extent));
	assert_false(table_store_will_fit(store, &extent));
	table_store_drop(store, &first);
	assert_int_equal(table_store_put(store, &table.view, &third), -ENOSPC);
	assert_false(table_store_has_room(store, &extent));
	assert_true(table_store_will_fit(store, &extent));
	table_store_reclaim(store);
	assert_int_equal(table_store_put(store, &table.view, &third), 0);
}

static void arrays_may_be_empty(void **state)
{
	static const struct walk_maps none;
	_cleanup_(table_store_freep) struct table_store *store = NULL;
	struct pilotlight_walk_file placement = { 0 };
	static struct table table;

	assert_int_equal(table_store_new(&none, 2, &store), 0);
	make_table(&table, 1, 1, 1, 1, 1);
	assert_int_equal(table_store_put(store, &table.view, &placement), -EFBIG);
	make_table(&table, 1, 0, 0, 0, 0);
	assert_int_equal(table_store_put(store, &table.view, &placement), 0);
	table_store_drop(store, &placement);
	table_store_reclaim(store);
	assert_int_equal(table_store_usage(store).limit_bytes, 0);
}

/* --- against a model: what each entry of each array is used for --- */

enum { LIVE_MAX = 24, ROUNDS = 20000, FREE = 0, PENDING = 255 };

struct model {
	uint8_t owners[TABLE_ARRAYS][PAGES]; /* FREE, PENDING, or a table's number from 1 on */
	struct {
		bool is_used;
		struct table table;
		struct pilotlight_walk_file placement;
	} live[LIVE_MAX];
};

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*random >> 33) % below;
}

/* Where the first `count` entries in a row are, for which a use of PENDING counts or not. */
static int64_t model_find(const struct model *model, int array, uint32_t count, bool counts_pending)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < capacities[array] && run < count; i++) {
		uint8_t owner = model->owners[array][i];

		run = owner == FREE || (counts_pending && owner == PENDING) ? run + 1 : 0;
		if (run == count)
			return i + 1 - count;
	}
	return count == 0 ? 0 : -1;
}

static void model_set(struct model *model, size_t table, uint8_t owner)
{
	struct table_extent extent = table_store_extent(&model->live[table].table.view);
	uint32_t starts[TABLE_ARRAYS];

	starts_of(&model->live[table].placement, starts);
	for (int i = 0; i < TABLE_ARRAYS; i++)
		memset(&model->owners[i][starts[i]], owner, extent.entries[i]);
}

static void put(struct table_store *store, struct model *model, size_t i, uint64_t *random)
{
	int64_t wanted[TABLE_ARRAYS];
	bool fits = true, will_fit = true;
	struct table_extent extent;
	uint32_t starts[TABLE_ARRAYS];
	int r;

	make_table(&model->live[i].table, (uint8_t)(i + 1), draw(random, 20), draw(random, 20),
		draw(random, 15), draw(random, 10));
	extent = table_store_extent(&model->live[i].table.view);
	for (int j = 0; j < TABLE_ARRAYS; j++) {
		wanted[j] = model_find(model, j, extent.entries[j], false);
		fits = fits && wanted[j] >= 0;
		will_fit = will_fit && model_find(model, j, extent.entries[j], true) >= 0;
	}
	assert_int_equal(table_store_has_room(store, &extent), fits);
	assert_int_equal(table_store_will_fit(store, &extent), will_fit);
	r = table_store_put(store, &model->live[i].table.view, &model->live[i].placement);
	assert_int_equal(r, fits ? 0 : -ENOSPC);
	if (r < 0)
		return;
	starts_of(&model->live[i].placement, starts);
	for (int j = 0; j < TABLE_ARRAYS; j++)
		if (extent.entries[j] > 0)
			assert_int_equal(starts[j], wanted[j]);
	model->live[i].is_used = true;
	model_set(model, i, (uint8_t)(i + 1));
}

static void reclaim(struct table_store *store, struct model *model)
{
	table_store_reclaim(store);
	for (int i = 0; i < TABLE_ARRAYS; i++)
		for (uint32_t j = 0; j < capacities[i]; j++)
			if (model->owners[i][j] == PENDING)
				model->owners[i][j] = FREE;
}

static void assert_usage(const struct table_store *store, const struct model *model)
{
	struct table_store_usage usage = table_store_usage(store);
	uint64_t used = 0, pending = 0;

	for (int i = 0; i < TABLE_ARRAYS; i++)
		for (uint32_t j = 0; j < capacities[i]; j++) {
			uint8_t owner = model->owners[i][j];

			used += owner != FREE && owner != PENDING ? entry_bytes[i] : 0;
			pending += owner == PENDING ? entry_bytes[i] : 0;
		}
	assert_int_equal(usage.used_bytes, used);
	assert_int_equal(usage.pending_bytes, pending);
}

static void random_use_agrees_with_a_model(void **state)
{
	_cleanup_(table_store_freep) struct table_store *store = make_store(TABLES);
	struct model *model = calloc(1, sizeof(*model));
	uint64_t random = 5;

	assert_non_null(model);
	for (int round = 0; round < ROUNDS; round++) {
		size_t i = draw(&random, LIVE_MAX);

		if (draw(&random, 10) == 0)
			reclaim(store, model);
		if (model->live[i].is_used) {
			assert_contents(&model->live[i].table, &model->live[i].placement);
			table_store_drop(store, &model->live[i].placement);
			model_set(model, i, PENDING);
			model->live[i].is_used = false;
		} else {
			put(store, model, i, &random);
		}
		assert_usage(store, model);
	}
	for (size_t i = 0; i < LIVE_MAX; i++)
		if (model->live[i].is_used)
			assert_contents(&model->live[i].table, &model->live[i].placement);
	assert_guards();
	free(model);
}

static void failing_allocations_change_nothing(void **state)
{
	static struct table table;
	size_t n, failures = 0;

	make_table(&table, 1, 1, 1, 1, 1);
	for (n = 0;; n++) {
		_cleanup_(table_store_freep) struct table_store *store = NULL;
		struct pilotlight_walk_file placement = { 0 };
		int r = 0;

		memset(&memory, 0xee, sizeof(memory));
		fail_allocation(n);
		r = table_store_new(&arrays, TABLES, &store);
		/* As many as there is room for in the first allocations, and one. */
		for (int i = 0; i < 17 && r == 0; i++) {
			r = table_store_put(store, &table.view, &placement);
			if (r < 0) {
				assert_int_equal(table_store_usage(store).tables, i);
				assert_int_equal(table_store_usage(store).used_bytes,
					i * (2 * 4 + 64 + 16 + 8));
				assert_int_equal(
					table_store_put(store, &table.view, &placement), 0);
				assert_contents(&table, &placement);
			}
		}
		if (!allocation_failed())
			break;
		failures++;
		assert_int_equal(r, -ENOMEM);
	}
	assert_true(failures >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_copied_and_placed),
		cmocka_unit_test(dropped_tables_stay_until_reclaimed),
		cmocka_unit_test(each_array_can_be_full),
		cmocka_unit_test(adjacent_ranges_are_merged),
		cmocka_unit_test(table_is_compared_as_a_whole),
		cmocka_unit_test(more_than_a_quarter_is_large),
		cmocka_unit_test(tables_are_bounded),
		cmocka_unit_test(arrays_may_be_empty),
		cmocka_unit_test(random_use_agrees_with_a_model),
		cmocka_unit_test(failing_allocations_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
