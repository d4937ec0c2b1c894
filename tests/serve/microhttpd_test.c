/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/microhttpd.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* Nobody has served before it here, and no file can be opened. */
static void a_missing_library_names_its_package(void **state)
{
	struct fault fault = { 0 };
	struct rlimit files, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ 0, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(microhttpd_load(&fault), -ELIBACC);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_non_null(strstr(fault.text, "cannot load the library libmicrohttpd.so."));
	assert_non_null(strstr(fault.text, "apt-get install libmicrohttpd"));
}

static void every_function_is_found(void **state)
{
	void *const *functions;
	struct microhttpd before;
	struct fault fault = { 0 };

	assert_int_equal(microhttpd_load(&fault), 0);
	assert_string_equal(fault.text, "");
	functions = (void *const *)microhttpd();
	for (size_t i = 0; i < sizeof(struct microhttpd) / sizeof(*functions); i++)
		assert_non_null(functions[i]);
	before = *microhttpd();
	assert_int_equal(microhttpd_load(NULL), 0);
	assert_memory_equal(&before, microhttpd(), sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_library_names_its_package),
		cmocka_unit_test(every_function_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
