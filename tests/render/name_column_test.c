/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/name_column.h"

#include "tests/render/rendered.h"

static char *written(const char *name, size_t width, const char *path)
{
	static struct rendering rendering;

	name_column_write(rendering_begin(&rendering), name, width, path);
	return rendering_end(&rendering);
}

static void width_is_that_of_the_widest_up_to_a_bound(void **state)
{
	char name[200];

	assert_int_equal(name_column_widen(8, "short"), 8);
	assert_int_equal(name_column_widen(3, "longer"), 6);
	assert_int_equal(name_column_widen(1, "\xc3\xa9t\xc3\xa9"), 3);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(name_column_widen(8, name), NAME_COLUMN_MAX);
}

static void paths_stand_below_each_other(void **state)
{
	_cleanup_free_ char *plain = written("main", 6, "/bin/a");
	_cleanup_free_ char *accents = written("\xc3\xa9t\xc3\xa9", 6, "/bin/a");
	_cleanup_free_ char *too_long = written("function", 6, "/bin/a");
	_cleanup_free_ char *pathless = written("main", 6, "");

	assert_string_equal(plain, "main    /bin/a");
	assert_string_equal(accents, "\xc3\xa9t\xc3\xa9     /bin/a");
	assert_string_equal(too_long, "function  /bin/a");
	assert_string_equal(pathless, "main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(width_is_that_of_the_widest_up_to_a_bound),
		cmocka_unit_test(paths_stand_below_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
