/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void capabilities_are_the_effective_ones(void **state)
{
	uint64_t capabilities = 77;

	assert_int_equal(doctor_text_capabilities("Name:\tCapEff:\n"
						  "CapInh:\t0000000000000001\n"
						  "CapEff:\t000001ffffffffff\n"
						  "CapBnd:\t0000000000000002\n",
				 &capabilities),
		0);
	assert_true(capabilities == UINT64_C(0x1ffffffffff));
	assert_int_equal(doctor_text_capabilities("CapEff:\tffffffffffffffff", &capabilities), 0);
	assert_true(capabilities == UINT64_MAX);
}

static void bad_capabilities_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n",
		"CapEff",
		"CapEff:",
		"CapEff:\t",
		"CapEff:\t\n1",
		"CapEff:\t-1\n",
		"CapEff:\t+1\n",
		"CapEff:\t12x\n",
		"CapEff:\t1ffffffffffffffff\n",
		"Name:\tCapEff:\t1\n",
	};
	uint64_t capabilities = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(doctor_text_capabilities(bad[i], &capabilities), -EINVAL);
	assert_true(capabilities == 77);
}

static void versions(void **state)
{
	static const char *const bad[] = { "", "6", "6.", ".1", "v6.1", "6.x", "6-1", " 6.1",
		"-6.1", "4294967296.1", "6.99999999999999999999" };
	unsigned major = 7, minor = 8;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(doctor_text_version(bad[i], &major, &minor), -EINVAL);
	assert_int_equal(major, 7);
	assert_int_equal(minor, 8);
	assert_int_equal(doctor_text_version("6.1.0-13-amd64", &major, &minor), 0);
	assert_int_equal(major, 6);
	assert_int_equal(minor, 1);
	assert_int_equal(doctor_text_version("5.10+", &major, &minor), 0);
	assert_int_equal(major, 5);
	assert_int_equal(minor, 10);
}

static void integers(void **state)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1x", "0x10", "--1" };
	long value = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(doctor_text_integer(bad[i], &value), -EINVAL);
	assert_int_equal(doctor_text_integer("99999999999999999999", &value), -ERANGE);
	assert_int_equal(value, 77);
	assert_int_equal(doctor_text_integer("-1", &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(doctor_text_integer("100000", &value), 0);
	assert_int_equal(value, 100000);
}

static void cpu_lists(void **state)
{
	static const char *const bad[] = { "", ",", "0,", "0-", "-1", "3-2", "0-3 ", "a", "0,,1",
		"0-4294967295", "0-2147483647,0-2147483647", "4294967296" };
	uint32_t first = 7, count = 8;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(doctor_text_cpu_list(bad[i], &first, &count), -EINVAL);
	assert_int_equal(first, 7);
	assert_int_equal(count, 8);
	assert_int_equal(doctor_text_cpu_list("0", &first, &count), 0);
	assert_int_equal(first, 0);
	assert_int_equal(count, 1);
	assert_int_equal(doctor_text_cpu_list("2-5,8,10-11", &first, &count), 0);
	assert_int_equal(first, 2);
	assert_int_equal(count, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capabilities_are_the_effective_ones),
		cmocka_unit_test(bad_capabilities_are_refused),
		cmocka_unit_test(versions),
		cmocka_unit_test(integers),
		cmocka_unit_test(cpu_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
