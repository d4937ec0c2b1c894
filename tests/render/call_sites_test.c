/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/call_sites.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static const char *const stacks[] = {
	"cat|3|x:main|k:do_sys_open|k:alloc_empty_file|k:kmem_cache_alloc_noprof|s:[filp]",
	"cat|2|x:other|k:do_sys_open|k:alloc_empty_file|k:kmem_cache_alloc_noprof|s:[filp]",
	"cat|1|x:main|k:do_sys_open|k:alloc_empty_file|k:__kmalloc_noprof|s:[kmalloc-64]",
	"cat|4|x:main|k:handle_mm_fault|k:vma_alloc_folio|k:__alloc_pages|s:[pages order 0]",
	/* A function of a program, of that name. */
	"cat|5|x:kmalloc|s:[pages order 1]",
	"cat|6|s:[kmalloc-8]",
	/* Of another source: the leaf is the call site. */
	"cat|7|x:main|k:schedule",
};

static struct profile *example(void)
{
	struct profile *profile = example_of(stacks, sizeof(stacks) / sizeof(stacks[0]), false);

	profile->event = example_string(profile, "kmem:alloc");
	profile->period_ns = 4096;
	return profile;
}

static void call_sites_are_summed(void **state)
{
	static const char expected[] = "28672\tschedule\tschedule\n"
				       "24576\t[kmalloc-8]\t-\n"
				       "20480\t[filp]\talloc_empty_file\n"
				       "20480\t[pages order 1]\tkmalloc\n"
				       "16384\t[pages order 0]\thandle_mm_fault\n"
				       "4096\t[kmalloc-64]\talloc_empty_file\n"
				       "8192\t[lost: ring full]\t-\n";
	_cleanup_(profile_freep) struct profile *profile = example();
	_cleanup_free_ char *text = NULL;
	struct rendering rendering;

	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = 2;
	assert_int_equal(call_sites_write(profile, rendering_begin(&rendering)), 0);
	text = rendering_end(&rendering);
	assert_memory_equal(text, "# kmem:alloc (", strlen("# kmem:alloc ("));
	assert_non_null(strstr(text, "\n# bytes\tmemory\tcall site\n"));
	assert_string_equal(strstr(text, "call site\n") + strlen("call site\n"), expected);
}

static void what_lives_has_an_age(void **state)
{
	static const char *const living[] = {
		"cat|3|k:do_sys_open|k:kmem_cache_alloc_noprof|s:[filp]|s:[age below 1 s]",
		"cat|2|k:do_sys_open|k:kmem_cache_alloc_noprof|s:[filp]|s:[age 1 h or more]",
		"cat|1|x:main|x:duplicate|s:[age 1 s to 10 s]",
		"cat|4|s:[age below 1 s]",
	};
	static const char expected[] = "call site\tage\n"
				       "16384\t-\t-\t[age below 1 s]\n"
				       "12288\t[filp]\tdo_sys_open\t[age below 1 s]\n"
				       "8192\t[filp]\tdo_sys_open\t[age 1 h or more]\n"
				       "4096\tduplicate\tduplicate\t[age 1 s to 10 s]\n";
	_cleanup_(profile_freep) struct profile *profile = example_of(living, 4, false);
	_cleanup_free_ char *text = NULL;
	struct rendering rendering;

	profile->event = example_string(profile, "kmem:live");
	profile->period_ns = 4096;
	assert_int_equal(call_sites_write(profile, rendering_begin(&rendering)), 0);
	text = rendering_end(&rendering);
	assert_string_equal(strstr(text, "call site"), expected);
}

static void no_sample_makes_no_line(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(call_sites_freep) struct call_sites *sites = NULL;

	assert_int_equal(call_sites_new(profile, &sites), 0);
	assert_int_equal(sites->count, 0);
}

static void every_failed_allocation_is_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example();
	_cleanup_(call_sites_freep) struct call_sites *sites = NULL;

	assert_true(FAIL_EACH_ALLOCATION(call_sites_new(profile, &sites), -ENOMEM, !sites, 0) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_sites_are_summed),
		cmocka_unit_test(what_lives_has_an_age),
		cmocka_unit_test(no_sample_makes_no_line),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
