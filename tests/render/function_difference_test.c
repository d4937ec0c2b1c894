/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/function_difference.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_difference.h"

#include <errno.h>

static struct function_difference *differ(
	const struct profile *base, const struct profile *compared)
{
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	struct function_difference *functions = NULL;

	assert_int_equal(function_difference_new(&difference, FRAME_BY_FUNCTION, &functions), 0);
	return functions;
}

static void assert_function(const struct function_change *item, const char *name,
	const uint64_t self[DIFFERENCE_SIDE_COUNT], const uint64_t total[DIFFERENCE_SIDE_COUNT])
{
	char text[FRAME_NAME_BYTES];

	(void)frame_label_format(item->label, text);
	assert_string_equal(text, name);
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		assert_int_equal(item->self[i], self[i]);
		assert_int_equal(item->total[i], total[i]);
	}
}

static void functions_of_both_are_put_together(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(function_difference_freep) struct function_difference *functions = NULL;

	example_add(base, "c|40|x:main|x:gone");
	example_add(base, "c|60|x:main");
	example_add(compared, "c|30|x:main@3|x:fresh");
	example_add(compared, "c|70|x:main@4|x:main@5");
	functions = differ(base, compared);
	assert_int_equal(functions->count, 3);
	assert_function(&functions->items[0], "gone", (uint64_t[]){ 40, 0 }, (uint64_t[]){ 40, 0 });
	assert_function(
		&functions->items[1], "fresh", (uint64_t[]){ 0, 30 }, (uint64_t[]){ 0, 30 });
	assert_function(
		&functions->items[2], "main", (uint64_t[]){ 60, 70 }, (uint64_t[]){ 100, 100 });
	assert_true(functions->items[0].self_change == -4 * (DIFFERENCE_SHARE_ONE / 10));
	assert_true(functions->items[2].self_change == DIFFERENCE_SHARE_ONE / 10);
	assert_true(functions->items[2].total_change == 0);
}

/* In an hour of compilers that now take a third more, a hog of some seconds. */
static void what_is_new_surprises_more_than_a_load_that_varies(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(function_difference_freep) struct function_difference *functions = NULL;
	struct profile_difference difference;

	base->limit_bytes = compared->limit_bytes = SIZE_MAX;
	base->period_ns = compared->period_ns = 10000000;
	base->cpu_count = compared->cpu_count = 2;
	base->start_ns = compared->start_ns = 1;
	base->end_ns = 3600ULL * 1000000000 + 1;
	compared->end_ns = 50ULL * 1000000000 + 1;
	example_add(base, "cc1|300000|x:parse");
	example_add(base, "cc1|100000|x:emit");
	example_add(base, "ld|100000|x:link");
	example_add(compared, "cc1|5500|x:parse");
	example_add(compared, "cc1|1500|x:emit");
	example_add(compared, "ld|100|x:link");
	example_add(compared, "hog|50|x:incident_hog");
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_int_equal(function_difference_new(&difference, FRAME_BY_FUNCTION, &functions), 0);
	assert_function(&functions->items[0], "parse", (uint64_t[]){ 300000, 5500 },
		(uint64_t[]){ 300000, 5500 });
	function_difference_free(TAKE_PTR(functions));
	difference.is_of_incident = true;
	assert_int_equal(function_difference_new(&difference, FRAME_BY_FUNCTION, &functions), 0);
	assert_function(
		&functions->items[0], "incident_hog", (uint64_t[]){ 0, 50 }, (uint64_t[]){ 0, 50 });
	/* What has become less is not the culprit. */
	assert_function(&functions->items[2], "link", (uint64_t[]){ 100000, 100 },
		(uint64_t[]){ 100000, 100 });
}

static void equal_names_elsewhere_stay_apart(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(function_difference_freep) struct function_difference *functions = NULL;

	example_add(base, "c|10|l:write");
	example_add(compared, "c|4|k:write");
	example_add(compared, "c|6|m:write");
	functions = differ(base, compared);
	assert_int_equal(functions->count, 3);
	assert_function(
		&functions->items[0], "write", (uint64_t[]){ 10, 0 }, (uint64_t[]){ 10, 0 });
	assert_function(&functions->items[1], "write", (uint64_t[]){ 0, 6 }, (uint64_t[]){ 0, 6 });
	assert_string_equal(functions->items[1].path, "/opt/lib/libother.so");
	assert_function(&functions->items[2], "write", (uint64_t[]){ 0, 4 }, (uint64_t[]){ 0, 4 });
}

/* Equal changes come in the order of names, in whatever order the profiles were filled. */
static void order_does_not_depend_on_filling(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *same_base = example_machine(true);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(false);
	_cleanup_(profile_freep) struct profile *same_compared = example_upgraded(true);
	_cleanup_(function_difference_freep) struct function_difference *first =
		differ(base, compared);
	_cleanup_(function_difference_freep) struct function_difference *second =
		differ(same_base, same_compared);

	assert_int_equal(first->count, second->count);
	for (size_t i = 0; i < first->count; i++) {
		assert_int_equal(
			frame_label_compare(first->items[i].label, second->items[i].label), 0);
		assert_string_equal(first->items[i].path, second->items[i].path);
		assert_memory_equal(
			first->items[i].self, second->items[i].self, sizeof(first->items[i].self));
		assert_memory_equal(first->items[i].total, second->items[i].total,
			sizeof(first->items[i].total));
	}
}

static void an_empty_profile_has_no_functions(void **state)
{
	_cleanup_(profile_freep) struct profile *empty = example_empty();
	_cleanup_(function_difference_freep) struct function_difference *functions =
		differ(empty, empty);

	assert_int_equal(functions->count, 0);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(false);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct function_difference *functions = NULL;

		fail_allocation(n);
		r = function_difference_new(&difference, FRAME_BY_LINE, &functions);
		function_difference_free(functions);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(functions);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_both_are_put_together),
		cmocka_unit_test(what_is_new_surprises_more_than_a_load_that_varies),
		cmocka_unit_test(equal_names_elsewhere_stay_apart),
		cmocka_unit_test(order_does_not_depend_on_filling),
		cmocka_unit_test(an_empty_profile_has_no_functions),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
