/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/function_totals.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

static struct function_totals *totals_of(const struct profile *profile)
{
	struct function_totals *totals = NULL;

	assert_int_equal(function_totals_new(profile, FRAME_BY_FUNCTION, &totals), 0);
	return totals;
}

static void assert_function(const struct function_totals *totals, size_t i, const char *name,
	uint64_t self, uint64_t total)
{
	char text[FRAME_NAME_BYTES];

	assert_true(i < totals->count);
	(void)frame_label_format(&totals->labels->items[totals->items[i].label], text);
	assert_string_equal(text, name);
	assert_int_equal(totals->items[i].self, self);
	assert_int_equal(totals->items[i].total, total);
}

static void recursion_counts_once_a_stack(void **state)
{
	static const char *const stacks[] = {
		"c|1|x:main|x:f|x:g|x:f@2|x:g@2",
		"c|2|x:main|x:f|x:f@2|x:f",
		"d|4|x:main|x:g",
		"c|8",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 3, false);
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;

	example_add(profile, stacks[3]);
	totals = totals_of(profile);
	/* g and main of d are in another binary than those of c. */
	assert_int_equal(totals->count, 5);
	assert_function(totals, 0, "g", 4, 4);
	assert_function(totals, 1, "f", 2, 3);
	assert_function(totals, 2, "g", 1, 1);
	assert_function(totals, 3, "main", 0, 4);
	assert_function(totals, 4, "main", 0, 3);
	assert_int_equal(totals->samples, 15);
	assert_int_equal(totals->without_stack, 8);
}

static void lines_count_by_themselves_if_asked(void **state)
{
	static const char *const stacks[] = {
		"c|1|x:main#m.c:1|x:f#f.c:10|x:f#f.c:20|x:f#f.c:10@2",
		"c|2|x:main#m.c:1|x:f#f.c:20",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 2, false);
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;

	assert_int_equal(function_totals_new(profile, FRAME_BY_LINE, &totals), 0);
	assert_int_equal(totals->count, 3);
	assert_function(totals, 0, "f (f.c:20)", 2, 3);
	assert_function(totals, 1, "f (f.c:10)", 1, 1);
	assert_function(totals, 2, "main (m.c:1)", 0, 3);
}

static void inlined_frames_count(void **state)
{
	static const char *const stacks[] = { "c|3|x:main|x:outer^inner", "c|2|x:outer^inner|x:f" };
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 2, false);
	_cleanup_(function_totals_freep) struct function_totals *totals = totals_of(profile);

	assert_int_equal(totals->count, 4);
	assert_function(totals, 0, "inner", 3, 5);
	assert_function(totals, 1, "f", 2, 2);
	assert_function(totals, 2, "outer", 0, 5);
	assert_function(totals, 3, "main", 0, 3);
	assert_int_equal(totals->labels->items[totals->items[0].label].kind, FRAME_INLINED);
}

static void equal_functions_are_ordered_by_binary(void **state)
{
	static const char *const stacks[] = { "c|5|l:f", "c|5|m:f" };

	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 2, backwards);
		_cleanup_(function_totals_freep) struct function_totals *totals =
			totals_of(profile);

		assert_int_equal(totals->count, 2);
		assert_string_equal(string_pool_get(&profile->strings,
					    profile->binaries.items[totals->items[0].binary].path),
			"/opt/lib/libother.so");
	}
}

/* More samples than are taken at once. */
static void slices_add_up(void **state)
{
	enum { STACKS = 70000 };
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(function_totals_freep) struct function_totals *totals = NULL;
	uint32_t location = example_location(profile, "x:leaf", "c"), hub;
	struct profile_sample sample = { .count = 1 };

	example_add(profile, "c|1|x:hub");
	hub = profile->samples.items[0].node;
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(profile_add_location(profile, 0, i, &location), 0);
		assert_int_equal(profile_add_node(profile, hub, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	totals = totals_of(profile);
	assert_int_equal(totals->count, STACKS + 1);
	assert_function(totals, 0, "hub", 1, STACKS + 1);
	assert_int_equal(totals->items[STACKS].total, 1);
}

static void an_empty_profile_has_no_functions(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(function_totals_freep) struct function_totals *totals = totals_of(profile);

	assert_int_equal(totals->count, 0);
	assert_int_equal(totals->samples, 0);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	struct function_totals *totals = NULL;

	assert_true(FAIL_EACH_ALLOCATION(function_totals_new(profile, FRAME_BY_FUNCTION, &totals),
			    -ENOMEM, !totals, 0) >= 14);
	function_totals_free(totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_counts_once_a_stack),
		cmocka_unit_test(lines_count_by_themselves_if_asked),
		cmocka_unit_test(inlined_frames_count),
		cmocka_unit_test(equal_functions_are_ordered_by_binary),
		cmocka_unit_test(slices_add_up),
		cmocka_unit_test(an_empty_profile_has_no_functions),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
