/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/file_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int intern(struct file_table *table, const char *path, const char *id, uint32_t *ret_file)
{
	struct process_mapping_event event = { .path = path, .inode = 7 };

	if (id)
		assert_int_equal(build_id_set(&event.build_id, id, strlen(id)), 0);
	return file_table_intern(table, &event, ret_file);
}

static uint32_t must_intern(struct file_table *table, const char *path, const char *id)
{
	uint32_t file;

	assert_int_equal(intern(table, path, id, &file), 0);
	return file;
}

static uint64_t identity_of(const struct file_table *table, uint32_t file, const char *path)
{
	struct mapped_file mapped;

	file_table_get(table, file, &mapped);
	assert_string_equal(mapped.path, path);
	assert_true(mapped.identity > 0);
	return mapped.identity;
}

static void unused_files_give_way(void **state)
{
	struct file_table table;
	uint32_t a, b, c, refused = 99;
	uint64_t identity_a;

	assert_int_equal(file_table_init(&table, 2, 1000), 0);
	a = must_intern(&table, "/a", NULL);
	b = must_intern(&table, "/b", NULL);
	identity_a = identity_of(&table, a, "/a");
	assert_int_equal(intern(&table, "/c", NULL, &refused), -E2BIG);
	assert_int_equal(refused, 99);
	/* Two references. */
	assert_int_equal(must_intern(&table, "/a", NULL), a);
	file_table_drop(&table, a);
	assert_int_equal(intern(&table, "/c", NULL, &refused), -E2BIG);
	file_table_drop(&table, a);
	/* It is there as long as nobody wants its place. */
	assert_int_equal(must_intern(&table, "/a", NULL), a);
	assert_int_equal(identity_of(&table, a, "/a"), identity_a);
	file_table_drop(&table, a);
	c = must_intern(&table, "/c", NULL);
	assert_int_equal(c, a);
	assert_true(identity_of(&table, c, "/c") != identity_a);
	assert_int_equal(identity_of(&table, b, "/b"), identity_a + 1);
	/* Another one of that name is another one. */
	file_table_drop(&table, c);
	a = must_intern(&table, "/a", NULL);
	assert_true(identity_of(&table, a, "/a") > identity_a + 1);
	file_table_done(&table);
}

static void the_longest_unused_goes_first(void **state)
{
	struct file_table table;
	uint32_t files[3];

	assert_int_equal(file_table_init(&table, 3, 1000), 0);
	files[0] = must_intern(&table, "/0", NULL);
	files[1] = must_intern(&table, "/1", NULL);
	files[2] = must_intern(&table, "/2", NULL);
	file_table_drop(&table, files[1]);
	file_table_drop(&table, files[0]);
	file_table_drop(&table, files[2]);
	/* From the middle of the list, and to its end. */
	file_table_take(&table, files[0]);
	file_table_drop(&table, files[0]);
	assert_int_equal(must_intern(&table, "/3", NULL), files[1]);
	assert_int_equal(must_intern(&table, "/4", NULL), files[2]);
	assert_int_equal(must_intern(&table, "/5", NULL), files[0]);
	assert_int_equal(intern(&table, "/6", NULL, files), -E2BIG);
	file_table_done(&table);
}

static void bytes_of_paths_are_given_back(void **state)
{
	struct file_table table;
	uint32_t first, second, file;

	assert_int_equal(file_table_init(&table, 100, 12), 0);
	assert_int_equal(intern(&table, "/34567890123", NULL, &file), -E2BIG);
	first = must_intern(&table, "/345", NULL);
	second = must_intern(&table, "/34567", NULL);
	assert_int_equal(file_table_path_bytes(&table, second), 7);
	assert_int_equal(intern(&table, "/", NULL, &file), -E2BIG);
	file_table_drop(&table, second);
	assert_int_equal(intern(&table, "/345678", NULL, &file), -E2BIG);
	second = must_intern(&table, "/34568", NULL);
	file_table_drop(&table, second);
	file_table_drop(&table, first);
	/* Both at once, and both ids are used again. */
	file = must_intern(&table, "/345678901", NULL);
	assert_int_equal(identity_of(&table, file, "/345678901"), 4);
	file_table_drop(&table, file);
	first = must_intern(&table, "/", NULL);
	second = must_intern(&table, "/2", NULL);
	assert_true(first != second && first < 2 && second < 2);
	file_table_done(&table);
}

/* The others that share it are found when the first has gone. */
static void build_ids_are_forgotten_with_their_files(void **state)
{
	static const char *const paths[] = { "/0", "/1", "/2", "/3" };
	struct file_table table;
	struct build_id id, other;
	uint32_t files[4], found = 99;

	assert_int_equal(build_id_set(&id, "id", 2), 0);
	assert_int_equal(build_id_set(&other, "other", 5), 0);
	assert_int_equal(file_table_init(&table, 4, 1000), 0);
	for (size_t i = 0; i < 3; i++)
		files[i] = must_intern(&table, paths[i], "id");
	files[3] = must_intern(&table, paths[3], NULL);
	file_table_set_build_id(&table, files[3], &id);
	assert_true(file_table_find_build_id(&table, &id, &found));
	assert_int_equal(found, files[0]);
	for (size_t i = 0; i < 4; i++) {
		file_table_drop(&table, files[i]);
		assert_int_equal(must_intern(&table, paths[i], "other"), files[i]);
		assert_true(file_table_find_build_id(&table, &other, &found));
		assert_int_equal(found, files[0]);
		assert_int_equal(file_table_find_build_id(&table, &id, &found), i < 3);
		assert_int_equal(found > files[i], i < 3);
	}
	file_table_done(&table);
}

/* Names without end that are mapped but once, as memfd_create() gives them. */
static void churn_is_flat(void **state)
{
	struct file_table table;
	uint32_t kept;
	size_t bytes = 0;
	char path[64];

	assert_int_equal(file_table_init(&table, 64, 1500), 0);
	kept = must_intern(&table, "/kept", "kept");
	for (unsigned int i = 0; i < 100000; i++) {
		(void)snprintf(path, sizeof(path), "/memfd:%020u (deleted)", i);
		file_table_drop(&table, must_intern(&table, path, i % 2 ? "id" : NULL));
		if (i == 1000)
			bytes = file_table_bytes(&table);
	}
	assert_int_equal(file_table_bytes(&table), bytes);
	assert_int_equal(must_intern(&table, "/kept", "kept"), kept);
	file_table_done(&table);
}

static int fill(struct file_table *table)
{
	char path[16];
	uint32_t file;
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < 40; i++) {
		(void)snprintf(path, sizeof(path), "/%u", i);
		r = intern(table, path, "id", &file);
		if (r == 0 && i % 2)
			file_table_drop(table, file);
	}
	return r;
}

static void failing_allocations_leave_the_table_whole(void **state)
{
	struct file_table table;
	size_t n;
	int r;

	for (n = 0;; n++) {
		bool failed;

		fail_allocation(n);
		r = file_table_init(&table, 32, 1000);
		if (r == 0) {
			r = fill(&table);
			failed = allocation_failed();
			if (failed)
				assert_int_equal(fill(&table), 0);
		} else {
			failed = allocation_failed();
		}
		file_table_done(&table);
		if (!failed)
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unused_files_give_way),
		cmocka_unit_test(the_longest_unused_goes_first),
		cmocka_unit_test(bytes_of_paths_are_given_back),
		cmocka_unit_test(build_ids_are_forgotten_with_their_files),
		cmocka_unit_test(churn_is_flat),
		cmocka_unit_test(failing_allocations_leave_the_table_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
