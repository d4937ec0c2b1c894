/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel_symbol.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int find_in(const char *text, const char *name, struct kernel_symbol *ret_symbol)
{
	char path[] = "/tmp/kernel_symbol_test.XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(close(fd), 0);
	r = kernel_symbol_find(path, name, ret_symbol);
	assert_int_equal(unlink(path), 0);
	return r;
}

static void a_function_and_its_variants_are_found(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t address;
	} cases[] = {
		{ "ffffffff81000010 T other\nffffffff81000020 T __schedule\n", "__schedule",
			0xffffffff81000020 },
		{ "ffffffff81000030 t __schedule.isra.0\n", "__schedule.isra.0",
			0xffffffff81000030 },
		{ "ffffffff81000010 t __schedule_more\nffffffff81000050 t __schedule\n",
			"__schedule", 0xffffffff81000050 },
		{ "ffffffff81000010 t __schedule.cold\nffffffff81000060 t __schedule\n",
			"__schedule", 0xffffffff81000060 },
		{ "ffffffff81000010 d __schedule\nffffffff81000070 t __schedule\n", "__schedule",
			0xffffffff81000070 },
		{ "ffffffffc0000010 t __schedule\t[module]\nffffffff81000080 t __schedule\n",
			"__schedule", 0xffffffff81000080 },
		{ "garbage\n\n0 T __schedule\n", "__schedule", 0 }, /* addresses are hidden */
	};
	struct kernel_symbol symbol;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(find_in(cases[i].text, "__schedule", &symbol), 0);
		assert_string_equal(symbol.name, cases[i].name);
		assert_int_equal(symbol.address, cases[i].address);
	}
}

static void what_is_not_there_is_not_found(void **state)
{
	struct kernel_symbol symbol;

	assert_int_equal(find_in("", "__schedule", &symbol), -ENOENT);
	assert_int_equal(find_in("ffffffff81000010 T schedule\n", "__schedule", &symbol), -ENOENT);
	assert_int_equal(kernel_symbol_find("/nonexistent", "__schedule", &symbol), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_and_its_variants_are_found),
		cmocka_unit_test(what_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests_name("kernel_symbol", tests, NULL, NULL);
}
