/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/harness/files.h"
#include "tools/kmem/kmem_sites.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int add(struct kmem_sites *sites, const char *text)
{
	enum kmem_column column;
	char copy[1024];

	(void)snprintf(copy, sizeof(copy), "%s", text);
	return kmem_sites_add_text(sites, copy, &column);
}

static const char allocated[] = "# kmem:alloc (kernel memory allocated) in samples of 64 KiB\n"
				"# bytes\tmemory\tcall site\n"
				"8192\t[filp]\talloc_empty_file\n"
				"640\t[kmalloc-64]\tseq_open\n"
				"16384\t[movable pages order 1]\thandle_mm_fault\n"
				"100\t[lost: ring full]\t-\n";
static const char live[] = "# kmem:live (kernel memory)\n"
			   "4096\t[filp]\talloc_empty_file\n"
			   "9000\t[dentry]\td_alloc\n";

static void columns_are_joined(void **state)
{
	struct kmem_sites sites = { 0 };

	assert_int_equal(add(&sites, allocated), 0);
	assert_int_equal(add(&sites, live), 0);
	assert_int_equal(sites.count, 5);
	kmem_sites_sort(&sites, "allocated");
	assert_string_equal(sites.items[0].memory, "[movable pages order 1]");
	assert_string_equal(sites.items[1].caller, "alloc_empty_file");
	assert_int_equal(sites.items[1].bytes[KMEM_ALLOC], 8192);
	assert_int_equal(sites.items[1].bytes[KMEM_LIVE], 4096);
	assert_int_equal(sites.items[1].bytes[KMEM_WASTE], 0);
	kmem_sites_sort(&sites, "live");
	assert_string_equal(sites.items[0].memory, "[dentry]");
	/* The same again adds up. */
	assert_int_equal(add(&sites, live), 0);
	assert_int_equal(sites.count, 5);
	kmem_sites_sort(&sites, "live");
	assert_int_equal(sites.items[0].bytes[KMEM_LIVE], 18000);
	kmem_sites_done(&sites);
}

static void the_oldest_is_told(void **state)
{
	static const char text[] = "# kmem:live (kernel memory)\n"
				   "# bytes\tmemory\tcall site\tage\n"
				   "4096\t[filp]\ta\t[age 1 s to 10 s]\n"
				   "64\t[filp]\ta\t[age 10 min to 1 h]\n"
				   "9000\t[dentry]\tb\t[age below 1 s]\n"
				   "9001\t[dentry]\tc\t[age below 1 s]\n"
				   "100\t[dentry]\td\n";
	struct kmem_sites sites = { 0 };

	assert_int_equal(add(&sites, text), 0);
	assert_int_equal(sites.count, 4);
	kmem_sites_sort(&sites, "oldest");
	assert_string_equal(sites.items[0].caller, "a");
	assert_int_equal(sites.items[0].bytes[KMEM_LIVE], 4160);
	assert_int_equal(sites.items[0].oldest, 5);
	assert_string_equal(sites.items[1].caller, "c");
	assert_int_equal(sites.items[1].oldest, 1);
	assert_string_equal(sites.items[2].caller, "b");
	assert_int_equal(sites.items[3].oldest, 0);
	kmem_sites_done(&sites);
}

static void calls_follow_from_the_sizes(void **state)
{
	char folder[] = "/tmp/kmem_sites_test.XXXXXX";
	struct kmem_sites sites = { 0 };

	assert_non_null(mkdtemp(folder));
	write_file(folder, "slabinfo",
		"slabinfo - version: 2.1\n# name <active_objs> <num_objs>\n"
		"filp 100 200 256 32 2 : tunables\nfile 1 2 999 1 1 : tunables\n");
	assert_int_equal(add(&sites, allocated), 0);
	kmem_sites_find_sizes(&sites, file_path(folder, "slabinfo"));
	assert_int_equal(unlink(file_path(folder, "slabinfo")), 0);
	assert_int_equal(rmdir(folder), 0);
	kmem_sites_sort(&sites, "calls");
	assert_string_equal(sites.items[0].memory, "[filp]");
	assert_int_equal(kmem_site_calls(&sites.items[0]), 32);
	assert_string_equal(sites.items[1].memory, "[kmalloc-64]");
	assert_int_equal(kmem_site_calls(&sites.items[1]), 10);
	assert_int_equal(kmem_site_calls(&sites.items[2]), 2); /* pages */
	assert_int_equal(sites.items[3].object_bytes, 0);
	assert_int_equal(kmem_site_calls(&sites.items[3]), 0);
	kmem_sites_done(&sites);
}

static void what_is_no_such_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"comm;main 5\n",
		"# kmem:alloced (x)\n",
		"# kmem:alloc\n5\t[filp]\n",
		"# kmem:alloc\n5\t[filp]\ta\tb\n",
		"# kmem:live\n5\t[filp]\ta\t[age]\n",
		"# kmem:live\n5\t[filp]\ta\t[age below 1 s]\tb\n",
		"# kmem:alloc\n-5\t[filp]\ta\n",
		"# kmem:alloc\n5x\t[filp]\ta\n",
		"# kmem:alloc\n99999999999999999999\t[filp]\ta\n",
		"# kmem:alloc\n\t\t\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kmem_sites sites = { 0 };

		assert_int_equal(add(&sites, texts[i]), -EINVAL);
		kmem_sites_done(&sites);
	}
}

/* Names of any length, and sums beyond 64 bits. */
static void what_is_long_is_cut(void **state)
{
	struct kmem_sites sites = { 0 };
	char text[1024], name[600];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "# kmem:waste\n18446744073709551615\t[a]\t%s\n", name);
	assert_int_equal(add(&sites, text), 0);
	assert_int_equal(add(&sites, text), 0);
	assert_int_equal(sites.count, 1);
	assert_int_equal(strlen(sites.items[0].caller), KMEM_NAME_BYTES - 1);
	assert_int_equal(sites.items[0].bytes[KMEM_WASTE], UINT64_MAX);
	kmem_sites_done(&sites);
}

static void a_failed_allocation_is_reported(void **state)
{
	struct kmem_sites sites = { 0 };

	assert_true(FAIL_EACH_ALLOCATION(add(&sites, live), -ENOMEM, sites.count == 0, 0) >= 1);
	kmem_sites_done(&sites);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_joined),
		cmocka_unit_test(the_oldest_is_told),
		cmocka_unit_test(calls_follow_from_the_sizes),
		cmocka_unit_test(what_is_no_such_text_is_refused),
		cmocka_unit_test(what_is_long_is_cut),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
