/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/top_table.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static char *render(const struct profile *profile, size_t rows_max)
{
	static struct rendering rendering;

	assert_int_equal(
		top_table_write(profile, FRAME_BY_FUNCTION, rows_max, rendering_begin(&rendering)),
		0);
	return rendering_end(&rendering);
}

static void set_cgroup(struct profile *profile, const char *comm, const char *path)
{
	for (size_t i = 0; i < profile->threads.count; i++)
		if (strcmp(string_pool_get(&profile->strings, profile->threads.items[i].comm),
			    comm) == 0)
			profile->threads.items[i].cgroup = example_string(profile, path);
}

/* Of malloc most is a's, though b has a part, and all of main is of others' samples. */
static struct profile *make_profile(void)
{
	struct profile *profile = example_empty();

	example_add(profile, "a|5|x:main|l:malloc");
	example_add(profile, "b|4|x:run|l:malloc|k:fault");
	example_add(profile, "b|3|x:run|l:malloc");
	example_add(profile, "c|1");
	example_lose(profile, PILOTLIGHT_DROP_UNREAD, 2);
	set_cgroup(profile, "a", "/system.slice/a.service");
	set_cgroup(profile, "b", "/lxc/box");
	return profile;
}

static void functions_have_the_thread_that_takes_most(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = make_profile();
	_cleanup_free_ char *text = render(profile, 0), *first = render(profile, 1);

	assert_string_equal(text, "S\t13\t2\n"
				  "T\t7\tb\n"
				  "T\t5\ta\n"
				  "T\t1\tc\n"
				  "F\t8\t12\ta.service\ta\tlibc.so.6\tmalloc\n"
				  "F\t4\t4\tbox\tb\t[kernel.kallsyms]\tfault_[k]\n"
				  "F\t0\t7\t\t\tb\trun\n"
				  "F\t0\t5\t\t\ta\tmain\n");
	assert_memory_equal(first, text, strlen(first));
	assert_int_equal(strstr(text, "malloc\n") + strlen("malloc\n") - text, strlen(first));
}

static void an_empty_profile_has_its_sums(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = render(profile, 0);

	assert_string_equal(text, "S\t0\t0\n");
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = make_profile();
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION(
			    (output_init(&output, discard, NULL),
				    top_table_write(profile, FRAME_BY_FUNCTION, 0, &output)),
			    -ENOMEM, true, 0) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_the_thread_that_takes_most),
		cmocka_unit_test(an_empty_profile_has_its_sums),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
