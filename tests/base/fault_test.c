/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_text_nearest_to_the_cause_stays(void **state)
{
	struct fault fault = { 0 };

	assert_int_equal(fault_set(&fault, -ENOENT, "no file '%s' (%d)", "a", 7), -ENOENT);
	assert_string_equal(fault.text, "no file 'a' (7)");
	assert_int_equal(fault_set(&fault, -EIO, "could not start"), -EIO);
	assert_string_equal(fault.text, "no file 'a' (7)");
}

static void the_text_is_optional(void **state)
{
	assert_int_equal(fault_set(NULL, -EPERM, "%s", "unread"), -EPERM);
}

static void long_texts_are_cut(void **state)
{
	struct {
		struct fault fault;
		char guard;
	} guarded = { .guard = 'g' };
	char name[1000];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(fault_set(&guarded.fault, -EIO, "%s", name), -EIO);
	assert_int_equal(strlen(guarded.fault.text), sizeof(guarded.fault.text) - 1);
	assert_int_equal(guarded.guard, 'g');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_nearest_to_the_cause_stays),
		cmocka_unit_test(the_text_is_optional),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
