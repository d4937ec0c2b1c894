/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_heap.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANGES = 60, END_MAX = 100 };

static void the_top_is_that_of_a_slow_search(void **state)
{
	struct scratch_fixture fixture;
	struct frame_heap heap;

	(void)state;
	srandom(1);
	assert_true(scratch_fixture_init(&fixture, 1 << 20));
	assert_int_equal(frame_heap_init(&heap, &fixture.scratch), 0);
	for (int round = 0; round < 500; round++) {
		struct frame_range ranges[RANGES];

		frame_heap_clear(&heap);
		assert_null(frame_heap_top(&heap, 0));
		for (size_t i = 0; i < RANGES; i++) {
			ranges[i] = (struct frame_range){ .end = 1 + (uint32_t)random() % END_MAX,
				.frame = 1 + (uint32_t)random() % 40 };
			assert_int_equal(frame_heap_add(&heap, &ranges[i]), 0);
		}
		for (uint32_t offset = 0; offset <= END_MAX; offset++) {
			const struct frame_range *top = frame_heap_top(&heap, offset);
			uint32_t wanted = 0;

			for (size_t i = 0; i < RANGES; i++)
				if (ranges[i].end > offset && ranges[i].frame > wanted)
					wanted = ranges[i].frame;
			assert_int_equal(top ? top->frame : 0, wanted);
			assert_true(!top || top->end > offset);
		}
	}
	frame_heap_done(&heap);
	scratch_fixture_done(&fixture);
}

static void a_full_scratch_refuses(void **state)
{
	const struct frame_range range = { .end = 1, .frame = 1 };
	struct scratch_fixture fixture;
	struct frame_heap heap;
	size_t count = 0;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 65536));
	assert_int_equal(frame_heap_init(&heap, &fixture.scratch), 0);
	while (frame_heap_add(&heap, &range) == 0)
		count++;
	assert_int_equal(count, 65536 / sizeof(range));
	assert_int_equal(frame_heap_add(&heap, &range), -EFBIG);
	assert_non_null(frame_heap_top(&heap, 0));
	frame_heap_done(&heap);
	scratch_fixture_done(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_top_is_that_of_a_slow_search),
		cmocka_unit_test(a_full_scratch_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
