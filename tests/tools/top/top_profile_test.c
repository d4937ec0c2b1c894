/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_profile.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct top_profile *make(const char *text)
{
	struct top_profile *profile = NULL;

	assert_int_equal(top_profile_new(text, strlen(text), &profile), 0);
	return profile;
}

/* The node that these names lead to from the root, or TOP_PROFILE_NONE. */
static uint32_t find(const struct top_profile *profile, const char *const *names)
{
	uint32_t node = TOP_PROFILE_ROOT;

	for (; *names && node != TOP_PROFILE_NONE; names++) {
		node = profile->nodes[node].first_callee;
		while (node != TOP_PROFILE_NONE &&
			strcmp(string_pool_get(&profile->names, profile->nodes[node].name),
				*names) != 0)
			node = profile->nodes[node].next_callee;
	}
	return node;
}

static const struct top_function *function(const struct top_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->function_count; i++)
		if (strcmp(string_pool_get(&profile->names, i), name) == 0)
			return &profile->functions[i];
	return NULL;
}

static void expect_node(
	const struct top_profile *profile, const char *const *names, uint64_t total, uint64_t self)
{
	uint32_t node = find(profile, names);

	assert_int_not_equal(node, TOP_PROFILE_NONE);
	assert_int_equal(profile->nodes[node].total, total);
	assert_int_equal(profile->nodes[node].self, self);
}

static void stacks_become_a_tree_and_functions(void **state)
{
	struct top_profile *profile = make("a;f;g 3\na;f 2\nb;g 4\na;f;g 1\nc 5\n");

	assert_int_equal(profile->samples, 15);
	assert_int_equal(profile->lost, 0);
	assert_int_equal(profile->damaged + profile->cut, 0);
	expect_node(profile, (const char *[]){ NULL }, 15, 0);
	expect_node(profile, (const char *[]){ "a", NULL }, 6, 0);
	expect_node(profile, (const char *[]){ "a", "f", NULL }, 6, 2);
	expect_node(profile, (const char *[]){ "a", "f", "g", NULL }, 4, 4);
	expect_node(profile, (const char *[]){ "b", "g", NULL }, 4, 4);
	expect_node(profile, (const char *[]){ "c", NULL }, 5, 5);
	assert_int_equal(profile->node_count, 7);
	assert_int_equal(function(profile, "g")->total, 8);
	assert_int_equal(function(profile, "g")->self, 8);
	assert_int_equal(function(profile, "f")->total, 6);
	assert_int_equal(function(profile, "f")->self, 2);
	/* The names of threads are no functions. */
	assert_int_equal(function(profile, "a")->total, 0);
	top_profile_free(profile);
}

static void a_table_has_functions_and_threads(void **state)
{
	static const char table[] = "S\t15\t2\nT\t9\ta\nT\t6\tb\n"
				    "F\t8\t9\tu.service\ta\tlib.so\tf_[k]\n"
				    "F\t0\t6\t\t\tprog\tf_[k]\n"
				    "X\tfrom a later version\n";
	struct top_profile *profile = NULL;
	const struct top_function *first;

	assert_int_equal(top_profile_read_table(table, strlen(table), &profile), 0);
	assert_false(profile->has_tree);
	assert_int_equal(profile->samples, 15);
	assert_int_equal(profile->lost, 2);
	assert_int_equal(profile->damaged, 1);
	expect_node(profile, (const char *[]){ "b", NULL }, 6, 6);
	/* Of one name in two binaries. */
	assert_int_equal(profile->function_count, 2);
	first = &profile->functions[0];
	assert_int_equal(first->self, 8);
	assert_int_equal(first->total, 9);
	assert_int_equal(first->name, profile->functions[1].name);
	assert_string_equal(string_pool_get(&profile->names, first->unit), "u.service");
	assert_string_equal(string_pool_get(&profile->names, first->thread), "a");
	assert_string_equal(string_pool_get(&profile->names, first->binary), "lib.so");
	assert_int_equal(profile->functions[1].unit, 0);
	top_profile_free(profile);
}

static void malformed_rows_are_counted(void **state)
{
	static const char table[] =
		"\n\t\nS\nS\t1\nS\tx\t1\nS\t18446744073709551616\t0\nT\t\ta\nT\t1\n"
		"F\t1\t1\tu\tt\tb\nF\t1\t-1\tu\tt\tb\tf\nFF\t1\t1\tu\tt\tb\tf\n";
	struct top_profile *profile = NULL;

	assert_int_equal(top_profile_read_table(table, strlen(table), &profile), 0);
	assert_int_equal(profile->damaged, 11);
	assert_int_equal(profile->function_count, 0);
	assert_int_equal(profile->node_count, 1);
	top_profile_free(profile);
	assert_int_equal(top_profile_read_table("", 0, &profile), 0);
	top_profile_free(profile);
}

static void recursion_counts_once(void **state)
{
	struct top_profile *profile = make("a;f;g;f;f 3\na;f 1\n");

	assert_int_equal(function(profile, "f")->total, 4);
	assert_int_equal(function(profile, "f")->self, 4);
	assert_int_equal(function(profile, "g")->total, 3);
	top_profile_free(profile);
}

static void losses_are_distinguished(void **state)
{
	struct top_profile *profile = make("a;f 3\n[lost: ring full] 2\n[lost: x];f 1\n");

	assert_int_equal(profile->samples, 4);
	assert_int_equal(profile->lost, 2);
	top_profile_free(profile);
}

static void malformed_lines_are_counted(void **state)
{
	struct top_profile *profile = make("\nnonsense\na;f 1\na;f 18446744073709551615\na 0");

	assert_int_equal(profile->samples, 1);
	assert_int_equal(profile->damaged, 4);
	top_profile_free(profile);
	profile = make("");
	assert_int_equal(profile->samples, 0);
	assert_int_equal(profile->node_count, 1);
	top_profile_free(profile);
}

static void control_characters_in_names_are_replaced(void **state)
{
	struct top_profile *profile = make("a;e\x1b[31m\xff;r_[k] 1\n");
	enum folded_kind kind;
	uint32_t node = find(
		profile, (const char *[]){ "a", "e\xef\xbf\xbd[31m\xef\xbf\xbd", "r_[k]", NULL });
	const char *name;
	size_t size;

	assert_int_not_equal(node, TOP_PROFILE_NONE);
	name = top_profile_name(profile, profile->nodes[node].name, &size, &kind);
	assert_int_equal(size, 1);
	assert_int_equal(*name, 'r');
	assert_int_equal(kind, FOLDED_KERNEL);
	top_profile_free(profile);
}

static void the_same_stack_has_the_same_path_in_each_profile(void **state)
{
	struct top_profile *first = make("a;f;g 1\n"), *second = make("z 1\nb;f;g 1\na;f;g 9\n");
	static const char *const names[] = { "a", "f", "g", NULL };
	static const char *const others[] = { "b", "f", "g", NULL };

	assert_true(
		first->nodes[find(first, names)].path == second->nodes[find(second, names)].path);
	assert_true(
		first->nodes[find(first, names)].path != second->nodes[find(second, others)].path);
	top_profile_free(first);
	top_profile_free(second);
}

static void stacks_that_are_too_deep_are_cut(void **state)
{
	static char text[2 * TOP_PROFILE_DEPTH_MAX + 64];
	struct top_profile *profile;
	size_t size = 0;

	for (int i = 0; i < TOP_PROFILE_DEPTH_MAX + 10; i++) {
		text[size++] = 'f';
		text[size++] = ';';
	}
	strcpy(text + size - 1, " 7\n");
	profile = make(text);
	assert_int_equal(profile->node_count, TOP_PROFILE_DEPTH_MAX + 1);
	assert_int_equal(profile->cut, 1);
	assert_int_equal(profile->samples, 7);
	assert_int_equal(profile->nodes[TOP_PROFILE_DEPTH_MAX].self, 7);
	assert_int_equal(function(profile, "f")->self, 7);
	top_profile_free(profile);
}

static void stacks_that_are_too_many_are_cut(void **state)
{
	enum { LINES = TOP_PROFILE_NODES_MAX + 10, LINE_BYTES = 16 };
	char *text = malloc((size_t)LINES * LINE_BYTES);
	struct top_profile *profile;
	uint64_t self = 0;
	size_t size = 0;

	assert_non_null(text);
	for (int i = 0; i < LINES; i++)
		size += (size_t)snprintf(text + size, LINE_BYTES, "a;%x 1\n", i);
	assert_int_equal(top_profile_new(text, size, &profile), 0);
	free(text);
	assert_int_equal(profile->node_count, TOP_PROFILE_NODES_MAX);
	assert_int_equal(profile->samples, LINES);
	/* The root and the thread are nodes, too. */
	assert_int_equal(profile->cut, 12);
	for (size_t i = 0; i < profile->node_count; i++)
		self += profile->nodes[i].self;
	assert_int_equal(self, profile->samples);
	top_profile_free(profile);
}

static void failing_allocations_are_reported(void **state)
{
	struct top_profile *profile = NULL;
	char text[4096];
	size_t size = 0;

	for (int i = 0; i < 200; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "a;f%d;g 1\n", i);
	assert_true(FAIL_EACH_ALLOCATION(
			    top_profile_new(text, size, &profile), -ENOMEM, !profile, 0) >= 8);
	assert_int_equal(profile->samples, 200);
	top_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_become_a_tree_and_functions),
		cmocka_unit_test(a_table_has_functions_and_threads),
		cmocka_unit_test(malformed_rows_are_counted),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(losses_are_distinguished),
		cmocka_unit_test(malformed_lines_are_counted),
		cmocka_unit_test(control_characters_in_names_are_replaced),
		cmocka_unit_test(the_same_stack_has_the_same_path_in_each_profile),
		cmocka_unit_test(stacks_that_are_too_deep_are_cut),
		cmocka_unit_test(stacks_that_are_too_many_are_cut),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
