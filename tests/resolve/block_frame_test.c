/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/block_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Without the map. */
static const char *text_of(enum pilotlight_source source, uint16_t number)
{
	const struct raw_sample sample = { .source = source, .kind = number };
	static char text[BLOCK_FRAME_BYTES];

	return block_frame_of(&sample, -1, text);
}

static void a_disk_without_a_name_is_another(void **state)
{
	assert_string_equal(text_of(PILOTLIGHT_SOURCE_BLOCK, 0), "[block: another disk]");
	assert_string_equal(text_of(PILOTLIGHT_SOURCE_BLOCK_BYTES, 1), "[block: another disk]");
}

static void other_sources_have_no_disk(void **state)
{
	assert_null(text_of(PILOTLIGHT_SOURCE_CPU, 0));
	assert_null(text_of(PILOTLIGHT_SOURCE_KMEM_ALLOC, 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_without_a_name_is_another),
		cmocka_unit_test(other_sources_have_no_disk),
	};

	return cmocka_run_group_tests_name("block_frame", tests, NULL, NULL);
}
