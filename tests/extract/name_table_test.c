/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"
#include "extract/name_table.h"
#include "tests/base/scratch_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct scratch_fixture scratch;
	struct name_table table;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	return scratch_fixture_init(&fixture.scratch, 1ULL << 30) &&
			       name_table_init(&fixture.table, &fixture.scratch.scratch) == 0
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	name_table_done(&fixture->table);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

static uint32_t add_function(struct name_table *table, const char *name)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(name_table_add_function(table, name, strlen(name), &id), 0);
	return id;
}

static uint32_t add_file(struct name_table *table, const char *path)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(name_table_add_file(table, path, strlen(path), &id), 0);
	return id;
}

static const char *text_of(const struct name_table *table, uint32_t id)
{
	assert_true(id < table->strings.count);
	return (const char *)table->strings.items + id;
}

static void names_are_demangled(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	uint32_t plain = add_function(table, "foo(int)");

	assert_string_equal(text_of(table, plain), "foo(int)");
	assert_int_equal(add_function(table, "_Z3fooi"), plain);
	assert_int_equal(add_function(table, "_Z3fooi"), plain);
	assert_string_equal(text_of(table, add_function(table, "_ZN4core3fmt5Write17h"
							       "0123456789abcdefE")),
		"core::fmt::Write");
	assert_string_equal(text_of(table, add_function(table, "_start")), "_start");
	assert_int_equal(add_function(table, ""), 0);
	assert_string_equal(text_of(table, 0), "");
}

static void names_need_no_nul(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	uint32_t first, second;

	assert_int_equal(name_table_add_function(table, "_Z3fooiXYZ", 7, &first), 0);
	assert_string_equal(text_of(table, first), "foo(int)");
	assert_int_equal(name_table_add_function(table, "_Z3foo\0i", 8, &second), 0);
	assert_string_equal(text_of(table, second), "_Z3foo\xef\xbf\xbdi");
}

static void hostile_names_are_cleaned(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	char name[5000];
	uint32_t id, other;

	assert_string_equal(text_of(table, add_function(table, "a\033\xff"
							       "b")),
		"a\xef\xbf\xbd\xef\xbf\xbd"
		"b");
	(void)memset(name, 'x', sizeof(name));
	for (size_t length = 1; length <= sizeof(name); length += 17) {
		assert_int_equal(name_table_add_function(table, name, length, &id), 0);
		assert_true(strlen(text_of(table, id)) < UTF8_CLEAN_BYTES);
	}
	assert_int_equal(name_table_add_function(table, name, sizeof(name), &id), 0);
	assert_non_null(strstr(text_of(table, id), "…"));
	assert_int_equal(name_table_add_function(table, name, sizeof(name) - 1, &other), 0);
	assert_int_equal(id, other);
	name[sizeof(name) - 1] = 'y';
	assert_int_equal(name_table_add_function(table, name, sizeof(name), &other), 0);
	assert_int_not_equal(id, other);
}

static void files_and_functions_are_numbered_apart(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	const uint32_t *files = table->files.items;
	uint32_t function = add_function(table, "/src/main.c");

	assert_int_equal(add_file(table, ""), 0);
	assert_int_equal(add_file(table, "/src/main.c"), 1);
	assert_int_equal(add_file(table, "_Z3fooi"), 2);
	assert_int_equal(add_file(table, "/src/main.c"), 1);
	assert_int_equal(table->files.count, 3);
	assert_int_equal(files[0], 0);
	assert_int_equal(files[1], function);
	assert_string_equal(text_of(table, files[2]), "_Z3fooi");
}

static void strings_are_distinct_and_end_with_a_nul(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	const char *strings = table->strings.items;
	char name[32];
	uint32_t ids[2][3000];

	for (size_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 3000; i++) {
			(void)snprintf(name, sizeof(name), "name %u", i);
			ids[round][i] = add_function(table, name);
			assert_string_equal(text_of(table, ids[round][i]), name);
		}
	assert_memory_equal(ids[0], ids[1], sizeof(ids[0]));
	for (uint32_t i = 1; i < 3000; i++)
		assert_true(ids[0][i] > ids[0][i - 1]);
	assert_int_equal(strings[0], '\0');
	assert_int_equal(strings[table->strings.count - 1], '\0');
	name_table_finish(table);
	assert_string_equal(text_of(table, ids[0][2999]), "name 2999");
}

static void names_beyond_the_bound_become_empty_and_counted(void **state)
{
	struct name_table *table = &((struct fixture *)*state)->table;
	uint32_t id = 1, first = add_function(table, "first");

	for (uint32_t i = 1; i < NAME_TABLE_MAX; i++) {
		char name[4] = { (char)('0' + i % 64), (char)('0' + i / 64 % 64),
			(char)('0' + i / 4096 % 64), (char)('0' + i / 262144 % 64) };

		if (name_table_add_function(table, name, sizeof(name), &id) != 0 || id == 0)
			fail();
	}
	assert_int_equal(table->failed, 0);
	assert_int_equal(add_function(table, "another"), 0);
	assert_int_equal(table->failed, 1);
	assert_int_equal(add_file(table, "/another"), 0);
	assert_int_equal(table->failed, 2);
	assert_int_equal(add_function(table, "first"), first);
	assert_int_equal(table->failed, 2);
}

static void a_full_scratch_is_reported(void **state)
{
	struct scratch_fixture scratch;
	struct name_table table;
	uint32_t id = 77;
	int r = 0;

	for (uint64_t limit = 0;; limit += 65536) {
		assert_true(scratch_fixture_init(&scratch, limit));
		r = name_table_init(&table, &scratch.scratch);
		if (r == 0) {
			r = name_table_add_function(&table, "main", 4, &id);
			if (r == 0)
				r = name_table_add_file(&table, "/main.c", 7, &id);
			name_table_done(&table);
		}
		scratch_fixture_done(&scratch);
		if (r == 0)
			break;
		assert_int_equal(r, -EFBIG);
		assert_true(limit < 1 << 20);
	}
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;

	for (n = 0;; n++) {
		struct scratch_fixture scratch;
		struct name_table table;
		uint32_t name = 77, file = 77;
		int r, s;

		assert_true(scratch_fixture_init(&scratch, 1 << 20));
		assert_int_equal(name_table_init(&table, &scratch.scratch), 0);
		fail_allocation(n);
		r = name_table_add_function(&table, "main", 4, &name);
		s = name_table_add_file(&table, "/main.c", 7, &file);
		name_table_done(&table);
		scratch_fixture_done(&scratch);
		assert_true((r == 0) == (name != 77));
		assert_true((s == 0) == (file != 77));
		if (!allocation_failed())
			break;
		assert_int_equal(r + s, -ENOMEM);
	}
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_demangled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_need_no_nul, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile_names_are_cleaned, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			files_and_functions_are_numbered_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			strings_are_distinct_and_end_with_a_nul, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			names_beyond_the_bound_become_empty_and_counted, set_up, tear_down),
		cmocka_unit_test(a_full_scratch_is_reported),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
