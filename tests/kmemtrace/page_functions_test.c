/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/page_functions.h"

#include "base/cleanup.h"
#include "tests/harness/files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct page_function functions[PAGE_FUNCTIONS_MAX];

static int read_text(const char *text)
{
	char folder[] = "/tmp/page_functions_test.XXXXXX";
	int r;

	assert_non_null(mkdtemp(folder));
	write_file(folder, "kallsyms", text);
	r = page_functions_read(file_path(folder, "kallsyms"), functions);
	assert_int_equal(unlink(file_path(folder, "kallsyms")), 0);
	assert_int_equal(rmdir(folder), 0);
	return r;
}

static void functions_end_where_the_next_one_begins(void **state)
{
	assert_int_equal(read_text("ffffffff81000100 T __pfx_alloc_pages_noprof\n"
				   "ffffffff81000110 T alloc_pages_noprof\n"
				   "ffffffff81000110 T an_alias\n"
				   "ffffffff81000200 t __alloc_pages_slowpath.constprop.0\n"
				   "ffffffff81000300 D free_pages\n"
				   "ffffffff81000380 T free_pages_and_swap_cache\n"
				   "ffffffff81000400 T __free_pages\n"
				   "ffffffff81000500 t free_pages\t[module]\n"),
		3);
	assert_true(functions[0].begin == 0xffffffff81000110 && functions[0].bytes == 0xf0);
	assert_true(functions[1].begin == 0xffffffff81000200 && functions[1].bytes == 0x100);
	assert_true(functions[2].begin == 0xffffffff81000400 && functions[2].bytes == 0x100);
}

static void hidden_addresses_are_no_functions(void **state)
{
	assert_int_equal(read_text("0000000000000000 T alloc_pages\n"
				   "0000000000000000 T __free_pages\nnonsense\n"),
		0);
	assert_int_equal(page_functions_read("/nonexistent", functions), -ENOENT);
}

static void functions_are_bounded(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (int i = 1; i <= 2 * PAGE_FUNCTIONS_MAX; i++)
		(void)fprintf(file, "ffffffff81%06x t free_pages.part.%d\n", i * 16, i);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(read_text(text), PAGE_FUNCTIONS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_end_where_the_next_one_begins),
		cmocka_unit_test(hidden_addresses_are_no_functions),
		cmocka_unit_test(functions_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
