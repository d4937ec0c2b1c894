/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/place_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_place_names_its_binary(void **state)
{
	static const struct {
		const char *path, *name;
		uint64_t vaddr;
	} cases[] = {
		{ "/usr/lib/liblzma.so.5.4.1", "[liblzma.so.5.4.1 function at +0x1234]", 0x1234 },
		{ "vlc", "[vlc function at +0xffffffffffffffff]", UINT64_MAX },
		{ "", "[unknown function at +0x0]", 0 },
		{ "/", "[/ function at +0x1]", 1 },
	};
	char text[PLACE_NAME_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(place_name_format(text, cases[i].path, cases[i].vaddr),
			strlen(cases[i].name));
		assert_string_equal(text, cases[i].name);
		assert_true(place_name_is(text));
	}
}

static void the_longest_name_has_room(void **state)
{
	char path[200], text[PLACE_NAME_BYTES];
	size_t size;

	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	size = place_name_format(text, path, UINT64_MAX);
	assert_int_equal(size, strlen(text));
	assert_true(size < PLACE_NAME_BYTES);
	assert_true(place_name_is(text));
}

static void other_names_are_no_places(void **state)
{
	static const char *const names[] = { "", "[", "main", "[unknown]", "[libc.so.6+0x12]",
		"a function at +0x1]", "[a function at +0x]", "[a function at +0xg]",
		"[a function at +0x1", "[a function at +0x1] more" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(place_name_is(names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_names_its_binary),
		cmocka_unit_test(the_longest_name_has_room),
		cmocka_unit_test(other_names_are_no_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
