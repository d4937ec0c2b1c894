/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void times_have_all_their_digits(void **state)
{
	char text[JIT_TEXT_TIME_BYTES];

	assert_string_equal(jit_text_time(0, text), "0.000000000");
	assert_string_equal(jit_text_time(551226382574, text), "551.226382574");
	assert_string_equal(jit_text_time(5000000001, text), "5.000000001");
	assert_string_equal(jit_text_time(UINT64_MAX, text), "18446744073.709551615");
}

static void times_are_read_back(void **state)
{
	static const struct {
		const char *text;
		uint64_t time_ns;
	} cases[] = {
		{ "0", 0 },
		{ "551226382574", 551226382574 },
		{ "551.226382574", 551226382574 },
		{ "551.2", 551200000000 },
		{ "0.000000001", 1 },
		{ "18446744073709551615", UINT64_MAX },
		{ "18446744073.709551615", UINT64_MAX },
	};
	uint64_t time_ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(jit_text_parse_time(cases[i].text, &time_ns), 0);
		assert_int_equal(time_ns, cases[i].time_ns);
	}
}

static void a_malformed_time_is_refused(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "", -EINVAL },
		{ ".", -EINVAL },
		{ "1.", -EINVAL },
		{ ".5", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ " 1", -EINVAL },
		{ "1s", -EINVAL },
		{ "1.5s", -EINVAL },
		{ "1.2.3", -EINVAL },
		{ "0x10", -EINVAL },
		{ "1.0000000001", -ERANGE },
		{ "18446744073709551616", -ERANGE },
		{ "18446744073.709551616", -ERANGE },
		{ "99999999999999999999999", -ERANGE },
	};
	uint64_t time_ns = 77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(jit_text_parse_time(cases[i].text, &time_ns), cases[i].error);
	assert_int_equal(time_ns, 77);
}

static void kinds_have_names(void **state)
{
	assert_string_equal(jit_text_kind(0), "LOAD");
	assert_string_equal(jit_text_kind(4), "UNWINDING_INFO");
	assert_string_equal(jit_text_kind(5), "UNKNOWN");
	assert_string_equal(jit_text_kind(UINT32_MAX), "UNKNOWN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_all_their_digits),
		cmocka_unit_test(times_are_read_back),
		cmocka_unit_test(a_malformed_time_is_refused),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
