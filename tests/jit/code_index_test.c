/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_index.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT_BYTES = 4 << 20 };

static struct code_index *new_index(size_t limit_bytes)
{
	struct code_index *index = NULL;

	assert_int_equal(code_index_new(limit_bytes, &index), 0);
	return index;
}

static int load_by(struct code_index *index, uint32_t writer, uint64_t time_ns, uint64_t address,
	uint64_t size, const char *name)
{
	const struct code_load load = {
		.time_ns = time_ns,
		.address = address,
		.size = size,
		.writer = writer,
		.name = name,
		.name_size = strlen(name),
	};

	return code_index_load(index, &load);
}

static void load(struct code_index *index, uint64_t time_ns, uint64_t address, uint64_t size,
	const char *name)
{
	assert_int_equal(load_by(index, 0, time_ns, address, size, name), 0);
}

static int move(
	struct code_index *index, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size)
{
	const struct code_move move = {
		.time_ns = time_ns,
		.from = from,
		.to = to,
		.size = size,
	};

	return code_index_move(index, &move);
}

/* "": nothing is there. */
static const char *seen(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view)
{
	struct code_found found;

	return code_index_find(index, address, time_ns, view, &found) ? found.name : "";
}

static const char *at(const struct code_index *index, uint64_t address, uint64_t time_ns)
{
	return seen(index, address, time_ns, NULL);
}

static struct code_index_counters counters_of(const struct code_index *index)
{
	struct code_index_counters counters;

	code_index_counters(index, &counters);
	return counters;
}

static void newest_code_until_then_is_found(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;

	(void)state;
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

static void of_equal_times_the_later_arrival_counts(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;
	size_t bytes = 0;

	(void)state;
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

static void late_facts_go_where_they_belong(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	char name[16];

	(void)state;
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

static void moved_code_leaves_nothing(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;

	(void)state;
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

	(void)state;
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

static void a_view_tells_whose_code_counts(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	/* What writer 0, the parent, has put there until it forked at 25, and all of writer 1. */
	const uint64_t until_ns[] = { 25, UINT64_MAX, 0 };
	struct code_view view = { .until_ns = until_ns, .count = 3 };
	struct code_found found;

	(void)state;
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

static void code_of_others_hides_nothing_for_ever(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	const uint64_t until_ns[] = { UINT64_MAX, 0 };
	const struct code_view view = { .until_ns = until_ns, .count = 2 };
	struct code_found found;

	(void)state;
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

	(void)state;
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

static void what_nobody_asks_for_goes_first(void **state)
{
	struct code_index *index = new_index(512 << 10);
	char name[64];

	(void)state;
	load(index, 1, 1000, 100, "old and there still");
	for (uint64_t i = 2; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "version %u", (unsigned)i);
		load(index, i, 2000, 100, name);
		if (i % 100 == 0)
			code_index_retire(index, i - 50);
		assert_true(code_index_bytes(index) <= 512 << 10);
	}
	assert_string_equal(at(index, 1000, 99999), "old and there still");
	assert_string_equal(at(index, 2000, 99860), "version 99860");
	assert_string_equal(at(index, 2000, 99999), "version 99999");
	assert_int_equal(counters_of(index).history_dropped, 0);
	assert_int_equal(counters_of(index).code_dropped, 0);
	code_index_free(index);
}

static void what_has_ended_goes_next(void **state)
{
	struct code_index *index = new_index(512 << 10);
	char name[64];

	(void)state;
	load(index, 1, 1000, 100, "old and there still");
	for (uint64_t i = 2; i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "version %u", (unsigned)i);
		load(index, i, 2000, 100, name);
		assert_true(code_index_bytes(index) <= 512 << 10);
	}
	assert_string_equal(at(index, 1000, 99999), "old and there still");
	assert_string_equal(at(index, 2000, 99999), "version 99999");
	assert_string_equal(at(index, 2000, 5), "");
	assert_true(counters_of(index).history_dropped > 80000);
	assert_int_equal(counters_of(index).code_dropped, 0);
	code_index_free(index);
}

static void what_has_ended_uncovers_nothing_older(void **state)
{
	struct code_index *index = new_index(64 << 10);

	(void)state;
	assert_int_equal(load_by(index, 1, 40, 2000, 100, "oldest"), 0);
	assert_int_equal(load_by(index, 0, 45, 2000, 100, "middle"), 0);
	assert_int_equal(load_by(index, 0, 50, 2000, 100, "newest"), 0);
	assert_string_equal(at(index, 2000, 46), "middle");
	for (uint64_t i = 100; counters_of(index).history_dropped == 0; i++)
		assert_int_equal(load_by(index, 0, i, 1000, 100, "again and again"), 0);
	assert_string_equal(at(index, 2000, 46), "");
	assert_string_equal(at(index, 2000, 50), "newest");
	code_index_free(index);
}

static int load_with_lines(
	struct code_index *index, uint64_t time_ns, uint64_t address, size_t lines, uint32_t file)
{
	static struct line_entry entries[20000];
	static uint8_t packed[20000 * LINE_ENTRY_BYTES_MAX];
	char name[32];
	struct code_load load = {
		.time_ns = time_ns,
		.address = address,
		.size = 20000,
		.name = name,
		.lines = packed,
	};

	load.name_size = (size_t)snprintf(name, sizeof(name), "code %u", (unsigned)time_ns);
	for (size_t i = 0; i < lines; i++)
		entries[i] = (struct line_entry){ (uint32_t)i, 100 + (uint32_t)i, 7, file };
	load.lines_size = line_list_pack(entries, lines, packed);
	return code_index_load(index, &load);
}

static void lines_are_found_and_follow_moves(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct code_found found;
	uint32_t file, same;

	(void)state;
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

static void then_lines_go_and_then_code(void **state)
{
	struct code_index *index = new_index(512 << 10);
	struct code_found found;
	uint32_t file, other;
	uint64_t i;

	(void)state;
	assert_int_equal(code_index_file(index, "/a.js", 5, &file), 0);
	for (i = 1; counters_of(index).lines_dropped == 0; i++) {
		assert_int_equal(load_with_lines(index, i, i * 20000, 1000, file), 0);
		assert_true(code_index_bytes(index) <= 512 << 10);
	}
	assert_int_equal(counters_of(index).code_dropped, 0);
	assert_true(code_index_find(index, 20001, i, NULL, &found));
	assert_string_equal(found.name, "code 1");
	assert_int_equal(found.line, 0);
	/* Files go with them, and their ids are not given to others. */
	assert_int_equal(code_index_file(index, "/b.js", 5, &other), 0);
	assert_int_not_equal(file, other);
	assert_int_equal(load_with_lines(index, i, i * 20000, 2, file), 0);
	assert_true(code_index_find(index, i * 20000, i, NULL, &found));
	assert_int_equal(found.line, 100);
	assert_null(found.file);

	for (; counters_of(index).code_dropped == 0; i++) {
		load(index, i, i * 20000, 20000, "code without lines");
		assert_true(code_index_bytes(index) <= 512 << 10);
	}
	assert_string_equal(at(index, 20001, i), "");
	assert_string_equal(at(index, (i - 1) * 20000, i), "code without lines");
	assert_true(code_index_count(index) > counters_of(index).code_dropped / 2);
	code_index_free(index);
}

static void what_is_too_large_alone_costs_itself(void **state)
{
	struct code_index *index = new_index(64 << 10);
	struct code_found found;

	(void)state;
	load(index, 1, 1000, 100, "there");
	assert_int_equal(load_with_lines(index, 2, 100000, 20000, 0), 0);
	assert_true(code_index_find(index, 100000, 2, NULL, &found));
	assert_int_equal(found.line, 0);
	assert_int_equal(counters_of(index).lines_dropped, 1);
	assert_string_equal(at(index, 1000, 2), "there");

	/* Another bound is kept to at the next fact, if not even one has room. */
	code_index_set_limit(index, 100);
	assert_string_equal(at(index, 1000, 2), "there");
	assert_int_equal(load_by(index, 0, 3, 2000, 100, "x"), -E2BIG);
	assert_int_equal(code_index_count(index), 0);
	assert_int_equal(counters_of(index).code_dropped, 2);
	assert_int_equal(counters_of(index).refused, 1);
	code_index_set_limit(index, 64 << 10);
	load(index, 4, 1000, 100, "again");
	assert_string_equal(at(index, 1000, 4), "again");
	code_index_free(index);
}

static void files_have_a_share_of_the_room(void **state)
{
	struct code_index *index = new_index(256 << 10);
	uint32_t first, file;
	char name[32];
	int r = 0;

	(void)state;
	load(index, 1, 1000, 100, "there");
	assert_int_equal(code_index_file(index, "first", 5, &first), 0);
	for (unsigned i = 0; r == 0 && i < 100000; i++) {
		(void)snprintf(name, sizeof(name), "file %u", i);
		r = code_index_file(index, name, strlen(name), &file);
		assert_true(code_index_bytes(index) <= 128 << 10);
	}
	assert_int_equal(r, -E2BIG);
	/* What it has it still knows. */
	assert_int_equal(code_index_file(index, "first", 5, &file), 0);
	assert_int_equal(first, file);
	assert_string_equal(at(index, 1000, 1), "there");
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

static void each_stretch_is_told_in_order(void **state)
{
	struct code_index *index = new_index(LIMIT_BYTES);
	struct stretches now = { 0 }, then = { 0 }, some = { .stop_at = 1 }, end = { 0 };

	(void)state;
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

static void a_hostile_writer_is_bounded(void **state)
{
	struct code_index *index = new_index(1 << 20);
	uint64_t x = 88172645463325252U;

	(void)state;
	load(index, UINT64_MAX, 0x7000, 16, "bait");
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t address, size, time_ns;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		address = i % 3 ? 0x7000 + i % 4096 : x;
		size = i % 5 ? 1 + x % 16 : x >> (x % 64);
		time_ns = i % 2 ? 1000000 - i : x % 1000;
		(void)load_by(index, (uint32_t)(x % 300), time_ns, address, size, "x");
		if (i % 7 == 0)
			(void)move(index, time_ns, address, x / 2, size);
		assert_true(code_index_bytes(index) <= 1 << 20);
	}
	assert_true(counters_of(index).loads > 40000);
	assert_true(counters_of(index).displaced > 0);
	code_index_free(index);
}

/* One of each kind of fact, and enough of some for every array to grow. Returns the first error. */
static int fill(struct code_index *index, int *ret_done)
{
	uint32_t file = 0;
	int r = code_index_file(index, "/a.js", 5, &file);

	for (uint64_t i = 0; r == 0 && i < 400; i++) {
		r = load_with_lines(index, 10 + i, i / 2 * 20000, 20, file);
		*ret_done += r == 0;
	}
	if (r == 0)
		r = move(index, 1000, 0, 1 << 30, 20000);
	return r;
}

static void failing_allocations_leave_the_index_whole(void **state)
{
	size_t n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		struct code_index *index = NULL;
		int done = 0;
		bool has_failed;

		fail_allocation(n);
		r = code_index_new(LIMIT_BYTES, &index);
		if (r == 0)
			r = fill(index, &done);
		has_failed = allocation_failed();
		if (!has_failed)
			assert_int_equal(r, 0);
		else
			assert_int_equal(r, -ENOMEM);
		if (index && r < 0) {
			assert_int_equal(counters_of(index).loads, done);
			assert_int_equal(code_index_count(index), (done + 1) / 2);
			assert_string_equal(at(index, 1 << 30, 1000), "");
			assert_string_equal(at(index, 0, 1000), done == 0   ? ""
								: done == 1 ? "code 10"
									    : "code 11");
			/* And it goes on. */
			done = 0;
			assert_int_equal(fill(index, &done), 0);
			assert_string_equal(at(index, 1 << 30, 1000), "code 11");
		}
		code_index_free(index);
		if (!has_failed)
			break;
	}
	assert_true(n >= 20);
}

static void failing_compactions_leave_the_index_whole(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		struct code_index *index = new_index(LIMIT_BYTES);
		int done = 0, r;
		size_t bytes;

		assert_int_equal(fill(index, &done), 0);
		bytes = code_index_bytes(index);
		code_index_set_limit(index, bytes / 2);
		fail_allocation(n);
		r = load_by(index, 0, 2000, 1000, 100, "more");
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			assert_true(code_index_bytes(index) <= bytes / 2);
			assert_true(counters_of(index).history_dropped > 0);
			code_index_free(index);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_string_equal(at(index, 1 << 30, 1000), "code 11");
		assert_string_equal(at(index, 1000, 2000), "");
		code_index_set_limit(index, LIMIT_BYTES);
		load(index, 2000, 1000, 100, "more");
		assert_string_equal(at(index, 1000, 2000), "more");
		code_index_free(index);
	}
	assert_true(n >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_code_until_then_is_found),
		cmocka_unit_test(of_equal_times_the_later_arrival_counts),
		cmocka_unit_test(late_facts_go_where_they_belong),
		cmocka_unit_test(moved_code_leaves_nothing),
		cmocka_unit_test(impossible_ranges_are_refused),
		cmocka_unit_test(a_view_tells_whose_code_counts),
		cmocka_unit_test(code_of_others_hides_nothing_for_ever),
		cmocka_unit_test(code_over_much_other_code_hides_it),
		cmocka_unit_test(what_nobody_asks_for_goes_first),
		cmocka_unit_test(what_has_ended_goes_next),
		cmocka_unit_test(what_has_ended_uncovers_nothing_older),
		cmocka_unit_test(lines_are_found_and_follow_moves),
		cmocka_unit_test(then_lines_go_and_then_code),
		cmocka_unit_test(what_is_too_large_alone_costs_itself),
		cmocka_unit_test(files_have_a_share_of_the_room),
		cmocka_unit_test(each_stretch_is_told_in_order),
		cmocka_unit_test(a_hostile_writer_is_bounded),
		cmocka_unit_test(failing_allocations_leave_the_index_whole),
		cmocka_unit_test(failing_compactions_leave_the_index_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
