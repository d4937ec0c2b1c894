/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/jit/code_index_fixture.h"

static void the_newest_code_at_a_time_is_found(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;

	load(index, 10, 1000, 100, "outer");
	load(index, 20, 1040, 20, "inner");
	load(index, 30, 900, 150, "left");
	assert_string_equal(at(index, 1000, 9), "");
	assert_string_equal(at(index, 999, 15), "");
	assert_string_equal(at(index, 1000, 10), "outer");
	assert_string_equal(at(index, 1050, 19), "outer");
	assert_string_equal(at(index, 1050, 20), "inner");
	assert_string_equal(at(index, 1060, 20), "outer");
	assert_string_equal(at(index, 1099, UINT64_MAX), "outer");
	assert_string_equal(at(index, 1100, UINT64_MAX), "");
	assert_string_equal(at(index, 1049, 30), "left");
	assert_string_equal(at(index, 1050, 30), "inner");

	assert_true(code_index_find(index, 1045, 15, NULL, &found));
	assert_int_equal(found.address, 1000);
	assert_int_equal(found.size, 100);
	assert_int_equal(found.time_ns, 10);
	assert_int_equal(found.until_ns, 20);
	assert_null(found.file);
	assert_int_equal(found.line, 0);
	assert_true(code_index_find(index, 1070, 15, NULL, &found));
	assert_true(found.until_ns == UINT64_MAX);
	assert_int_equal(code_index_count(index), 3);
	load(index, 40, 0, 5000, "all");
	assert_int_equal(code_index_count(index), 1);
	assert_int_equal(counters_of(index).loads, 4);
	code_index_free(index);
}

static void the_later_arrival_counts_at_equal_times(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;
	size_t bytes = 0;

	for (int i = 0; i < 100000; i++) {
		load(index, 0, 1000, 100, i % 2 ? "odd" : "even");
		if (i == 10000)
			bytes = code_index_bytes(index);
	}
	assert_true(code_index_find(index, 1000, 0, NULL, &found));
	assert_string_equal(found.name, "odd");
	assert_true(found.until_ns == UINT64_MAX);
	assert_true(code_index_bytes(index) <= bytes);
	assert_int_equal(counters_of(index).history_dropped, 0);
	assert_int_equal(counters_of(index).reordered, 0);
	code_index_free(index);
}

static void late_facts_name_earlier_times(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	char name[16];

	for (unsigned i = 0; i < 255; i++) {
		(void)snprintf(name, sizeof(name), "at %u", 100 + i * 10);
		load(index, 100 + i * 10, 1000, 50, name);
	}
	load(index, 105, 1000, 40, "late");
	assert_string_equal(at(index, 1000, 104), "at 100");
	assert_string_equal(at(index, 1000, 105), "late");
	assert_string_equal(at(index, 1000, 109), "late");
	assert_string_equal(at(index, 1000, 110), "at 110");
	assert_string_equal(at(index, 1045, 109), "at 100");
	assert_string_equal(at(index, 1000, 9999), "at 2640");
	load(index, 50, 1010, 10, "first");
	assert_string_equal(at(index, 1010, 60), "first");
	assert_int_equal(counters_of(index).reordered, 2);
	assert_int_equal(counters_of(index).displaced, 0);
	/* There are 257 now. */
	load(index, 40, 1000, 50, "too late");
	assert_string_equal(at(index, 1000, 60), "");
	assert_int_equal(counters_of(index).reordered, 3);
	assert_int_equal(counters_of(index).displaced, 1);
	code_index_free(index);
}

static void moved_code_leaves_its_place_empty(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;

	load(index, 10, 1000, 100, "moved");
	load(index, 20, 1050, 10, "stays");
	assert_int_equal(move(index, 30, 1000, 5000, 100), 0);
	assert_string_equal(at(index, 1000, 29), "moved");
	assert_string_equal(at(index, 1000, 30), "");
	assert_string_equal(at(index, 1099, 30), "");
	assert_string_equal(at(index, 1055, 30), "stays");
	assert_string_equal(at(index, 5000, 29), "");
	assert_true(code_index_find(index, 5099, 30, NULL, &found));
	assert_string_equal(found.name, "moved");
	assert_int_equal(found.address, 5000);
	assert_int_equal(found.size, 100);
	assert_int_equal(found.time_ns, 30);
	assert_int_equal(code_index_count(index), 2);

	/* Onto a part of itself, and back to where it was. */
	assert_int_equal(move(index, 40, 5000, 5050, 100), 0);
	assert_string_equal(at(index, 5049, 40), "");
	assert_string_equal(at(index, 5050, 40), "moved");
	assert_string_equal(at(index, 5149, 40), "moved");
	assert_int_equal(move(index, 50, 5050, 1000, 100), 0);
	assert_string_equal(at(index, 1055, 50), "moved");

	/* Gone, in the middle of some code, not there yet. */
	assert_int_equal(move(index, 60, 5000, 6000, 100), -ENOENT);
	assert_int_equal(move(index, 60, 1001, 6000, 99), -ENOENT);
	assert_int_equal(move(index, 5, 1000, 6000, 100), -ENOENT);
	assert_int_equal(counters_of(index).moves, 3);
	assert_int_equal(counters_of(index).moves_unknown, 3);
	code_index_free(index);
}

static void impossible_ranges_are_refused(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);

	assert_int_equal(load_by(index, 0, 1, 1000, 0, "empty"), -EINVAL);
	assert_int_equal(load_by(index, 0, 1, 1000, UINT64_MAX - 998, "beyond"), -EINVAL);
	load(index, 1, 0, UINT64_MAX, "all but one");
	assert_string_equal(at(index, UINT64_MAX - 1, 1), "all but one");
	assert_string_equal(at(index, UINT64_MAX, 1), "");
	load(index, 2, UINT64_MAX, 1, "the last");
	assert_string_equal(at(index, UINT64_MAX, 2), "the last");
	assert_int_equal(move(index, 3, UINT64_MAX, 7, 0), -EINVAL);
	assert_int_equal(move(index, 3, 0, UINT64_MAX, 2), -EINVAL);
	assert_int_equal(counters_of(index).refused, 4);
	code_index_free(index);
}

static void a_view_limits_each_writer_in_time(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	/* What writer 0, the parent, has put there until it forked at 25, and all of writer 1. */
	const uint64_t until_ns[] = { 25, UINT64_MAX, 0 };
	struct code_view view = { .until_ns = until_ns, .count = 3 };
	struct code_found found;

	assert_int_equal(load_by(index, 0, 10, 1000, 100, "parent's"), 0);
	assert_int_equal(load_by(index, 0, 25, 1000, 100, "parent's own"), 0);
	assert_int_equal(load_by(index, 2, 26, 1000, 100, "brother's"), 0);
	assert_int_equal(load_by(index, 1, 30, 1000, 50, "child's"), 0);
	assert_int_equal(load_by(index, 2, 35, 1000, 100, "brother's"), 0);
	assert_string_equal(seen(index, 1000, 29, &view), "parent's");
	assert_string_equal(seen(index, 1000, 40, &view), "child's");
	assert_string_equal(seen(index, 1099, 40, &view), "parent's");
	assert_true(code_index_find(index, 1000, 27, &view, &found));
	assert_int_equal(found.until_ns, 30);
	assert_true(code_index_find(index, 1099, 27, &view, &found));
	assert_true(found.until_ns == UINT64_MAX);
	assert_string_equal(at(index, 1000, 40), "brother's");
	view.count = 2;
	assert_string_equal(seen(index, 1000, 40, &view), "brother's");
	view.count = 3;
	view.since_ns = 11;
	assert_string_equal(seen(index, 1000, 29, &view), "");
	assert_string_equal(seen(index, 1000, 40, &view), "child's");
	code_index_free(index);
}

static void hidden_code_of_others_is_passed_over(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	const uint64_t until_ns[] = { UINT64_MAX, 0 };
	const struct code_view view = { .until_ns = until_ns, .count = 2 };
	struct code_found found;

	load(index, 1, 1000, 100, "mine");
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(load_by(index, 1, 10 + i, 1000, 100, "theirs"), 0);
	assert_true(code_index_find(index, 1000, 5000, &view, &found));
	assert_string_equal(found.name, "mine");
	assert_true(found.until_ns == UINT64_MAX);
	assert_true(code_index_find(index, 1000, 1, NULL, &found));
	assert_int_equal(found.until_ns, 10);
	for (uint64_t i = 0; i < 3500; i++)
		assert_int_equal(load_by(index, 1, 2000 + i, 1000, 100, "theirs"), 0);
	/* Too far down, but the answer is never another one. */
	assert_false(code_index_find(index, 1000, 9000, &view, &found));
	assert_true(code_index_find(index, 1000, 9000, NULL, &found));
	assert_string_equal(found.name, "theirs");
	code_index_free(index);
}

static void code_over_much_other_code_hides_it(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	size_t bytes = 0;

	for (uint64_t round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			load(index, 10 + round * 100, 10000 + i * 3, 2, "small");
		load(index, 50 + round * 100, 10000, 3000, "whole");
		assert_string_equal(at(index, 10001, 50 + round * 100), "whole");
		assert_string_equal(at(index, 12999, UINT64_MAX), "whole");
		assert_string_equal(at(index, 10001, 49 + round * 100), "small");
		assert_int_equal(code_index_count(index), 1);
		code_index_retire(index, round * 100);
		if (round == 9)
			bytes = code_index_bytes(index);
	}
	assert_true(code_index_bytes(index) <= bytes * 3);
	assert_int_equal(counters_of(index).history_dropped, 0);
	for (uint64_t i = 0; i < 1000; i++)
		load(index, 5000, 10000 + i * 3, 2, "small");
	load(index, 4000, 10000, 3000, "late");
	assert_string_equal(at(index, 10000, 4000), "late");
	assert_string_equal(at(index, 10000, 5000), "small");
	assert_string_equal(at(index, 12998, 5000), "small");
	assert_string_equal(at(index, 10002, 5000), "late");
	assert_string_equal(at(index, 12999, 3999), "whole");
	assert_int_equal(counters_of(index).displaced, 0);
	code_index_free(index);
}

static void lines_are_found_and_follow_moves(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;
	uint32_t file, same;

	assert_int_equal(code_index_file(index, "", 0, &file), 0);
	assert_int_equal(file, 0);
	assert_int_equal(code_index_file(index, "/a\xff.js", 6, &file), 0);
	assert_int_equal(code_index_file(index, "/a\xff.js", 6, &same), 0);
	assert_int_equal(file, same);
	assert_int_equal(load_with_lines(index, 10, 100000, 3, file), 0);
	assert_int_equal(move(index, 20, 100000, 500000, 20000), 0);
	assert_true(code_index_find(index, 100001, 19, NULL, &found));
	assert_int_equal(found.line, 101);
	assert_int_equal(found.column, 7);
	assert_string_equal(found.file, "/a\xef\xbf\xbd.js");
	assert_true(code_index_find(index, 500001, 20, NULL, &found));
	assert_string_equal(found.name, "code 10");
	assert_int_equal(found.line, 101);
	/* An id of nobody's. */
	assert_int_equal(load_with_lines(index, 30, 100000, 3, 4711), 0);
	assert_true(code_index_find(index, 100001, 30, NULL, &found));
	assert_int_equal(found.line, 101);
	assert_null(found.file);
	code_index_free(index);
}

struct stretches {
	char text[256];
	size_t count, stop_at;
};

static int write_stretch(void *context, const struct code_found *found)
{
	struct stretches *stretches = context;
	size_t used = strlen(stretches->text);

	(void)snprintf(stretches->text + used, sizeof(stretches->text) - used, "%s %u+%u;",
		found->name, (unsigned)found->address, (unsigned)found->size);
	return ++stretches->count == stretches->stop_at ? 77 : 0;
}

static void each_stretch_is_visited_in_order(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct stretches now = { 0 }, then = { 0 }, some = { .stop_at = 1 }, end = { 0 };

	load(index, 10, 1000, 100, "outer");
	load(index, 20, 1040, 20, "inner");
	load(index, 15, 1070, 10, "short");
	load(index, 30, 1070, 10, "outer");
	assert_int_equal(code_index_each(index, 30, NULL, write_stretch, &now), 0);
	assert_string_equal(
		now.text, "outer 1000+40;inner 1040+20;outer 1060+10;outer 1070+10;outer 1080+20;");
	assert_int_equal(code_index_each(index, 12, NULL, write_stretch, &then), 0);
	assert_string_equal(then.text, "outer 1000+100;");
	assert_int_equal(code_index_each(index, 30, NULL, write_stretch, &some), 77);
	assert_string_equal(some.text, "outer 1000+40;");
	load(index, 40, UINT64_MAX - 1, 2, "end");
	load(index, 40, 0, UINT32_MAX, "all");
	assert_int_equal(code_index_each(index, 40, NULL, write_stretch, &end), 0);
	assert_string_equal(end.text, "all 0+4294967295;end 4294967294+2;");
	code_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_code_at_a_time_is_found),
		cmocka_unit_test(the_later_arrival_counts_at_equal_times),
		cmocka_unit_test(late_facts_name_earlier_times),
		cmocka_unit_test(moved_code_leaves_its_place_empty),
		cmocka_unit_test(impossible_ranges_are_refused),
		cmocka_unit_test(a_view_limits_each_writer_in_time),
		cmocka_unit_test(hidden_code_of_others_is_passed_over),
		cmocka_unit_test(code_over_much_other_code_hides_it),
		cmocka_unit_test(lines_are_found_and_follow_moves),
		cmocka_unit_test(each_stretch_is_visited_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
