/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/jit/code_index_fixture.h"

static void retired_history_is_dropped_first(void **state)
{
	struct code_index *index = new_index(512 << 10);
	char name[64];

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

static void all_history_is_dropped_next(void **state)
{
	struct code_index *index = new_index(512 << 10);
	char name[64];

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

static void dropped_history_uncovers_nothing_older(void **state)
{
	struct code_index *index = new_index(64 << 10);

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

static void lines_are_dropped_next_and_then_code(void **state)
{
	struct code_index *index = new_index(512 << 10);
	struct code_found found;
	uint32_t file, other;
	uint64_t i;

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

static void a_fact_that_is_too_large_is_refused(void **state)
{
	struct code_index *index = new_index(64 << 10);
	struct code_found found;

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

static void files_have_a_share_of_the_limit(void **state)
{
	struct code_index *index = new_index(256 << 10);
	uint32_t first, file;
	char name[32];
	int r = 0;

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

static void a_hostile_writer_is_bounded(void **state)
{
	struct code_index *index = new_index(1 << 20);
	uint64_t x = 88172645463325252U;

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
		cmocka_unit_test(retired_history_is_dropped_first),
		cmocka_unit_test(all_history_is_dropped_next),
		cmocka_unit_test(dropped_history_uncovers_nothing_older),
		cmocka_unit_test(lines_are_dropped_next_and_then_code),
		cmocka_unit_test(a_fact_that_is_too_large_is_refused),
		cmocka_unit_test(files_have_a_share_of_the_limit),
		cmocka_unit_test(a_hostile_writer_is_bounded),
		cmocka_unit_test(failing_allocations_leave_the_index_whole),
		cmocka_unit_test(failing_compactions_leave_the_index_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
