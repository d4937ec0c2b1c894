/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/live_age.h"

#include "base/array.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECONDS(n) ((uint64_t)(n)*NSEC_PER_SEC)

static void an_age_has_a_step(void **state)
{
	static const struct {
		uint64_t age_ns;
		const char *frame;
	} ages[] = {
		{ 0, "[age below 1 s]" },
		{ SECONDS(1) - 1, "[age below 1 s]" },
		{ SECONDS(1), "[age 1 s to 10 s]" },
		{ SECONDS(10) - 1, "[age 1 s to 10 s]" },
		{ SECONDS(10), "[age 10 s to 1 min]" },
		{ SECONDS(60), "[age 1 min to 10 min]" },
		{ SECONDS(600), "[age 10 min to 1 h]" },
		{ SECONDS(3600), "[age 1 h or more]" },
		{ UINT64_MAX, "[age 1 h or more]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++)
		assert_string_equal(live_age_frame(live_age_of(ages[i].age_ns)), ages[i].frame);
}

static void a_frame_has_its_step(void **state)
{
	for (size_t i = 0; i < LIVE_AGES; i++) {
		const char *frame = live_age_frame(i);

		assert_int_equal(live_age_find(frame, strlen(frame)), i);
		assert_int_equal(live_age_find(frame, strlen(frame) - 1), LIVE_AGES);
		assert_int_equal(live_age_of(SECONDS(live_age_least_s(i))), i);
	}
	assert_int_equal(live_age_find("", 0), LIVE_AGES);
	assert_int_equal(live_age_find("[kmalloc-8]", 11), LIVE_AGES);
	assert_string_equal(live_age_least(live_age_of(SECONDS(700))), "10 min");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_age_has_a_step),
		cmocka_unit_test(a_frame_has_its_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
