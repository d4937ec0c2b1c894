/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bounds of a walk, on a clock that the test sets. */
#include "tests/capture/made_up_stack.h"

#include "bpf/walk_depth.bpf.h"

static __u64 now_ns;
static unsigned looks;

static __always_inline __u64 walk_clock_ns(void)
{
	looks++;
	return now_ns;
}

/* As another walk left it. */
static struct walk walk = { .cut_hash = 1, .cut_ns = 1 };

/* Appends frames that take so long each. Returns how many there are in the end. */
static __u32 walk_frames(__u64 frame_ns)
{
	walk.record.count = 0;
	walk.record.hash = 0;
	looks = 0;
	while (!is_too_deep(&walk)) {
		walk.record.count++;
		walk.record.hash += 3;
		now_ns += frame_ns;
	}
	return walk.record.count;
}

static void fast_walks_end_at_the_greatest_depth(void **state)
{
	now_ns = 1000000000;
	assert_int_equal(walk_frames(0), PILOTLIGHT_WALK_DEPTH);
	assert_int_equal(walk_frames(200), PILOTLIGHT_WALK_DEPTH);
	assert_int_equal(looks, (1024 - 256) / 64);
}

static void slow_walks_end_early(void **state)
{
	now_ns = 1000000000;
	assert_int_equal(walk_frames(500), 256 + 448);
	assert_int_equal(walk_frames(1000), 256 + 256);
	assert_int_equal(walk_frames(1000000), 256 + 64);
}

/* All have the same number of frames, and equal ones the same hash. */
static void what_is_cut_keeps_its_innermost_frames(void **state)
{
	for (__u64 frame_ns = 0; frame_ns <= 1000; frame_ns += 500) {
		assert_true(walk_frames(frame_ns) > PILOTLIGHT_WALK_CUT_DEPTH);
		cut_walk(&walk);
		assert_int_equal(walk.record.count, PILOTLIGHT_WALK_CUT_DEPTH);
		assert_int_equal(walk.record.hash, 3 * PILOTLIGHT_WALK_CUT_DEPTH);
	}
	/* At another bound, before that. */
	walk.record.count = 100;
	walk.record.hash = 300;
	cut_walk(&walk);
	assert_int_equal(walk.record.count, 100);
	assert_int_equal(walk.record.hash, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_walks_end_at_the_greatest_depth),
		cmocka_unit_test(slow_walks_end_early),
		cmocka_unit_test(what_is_cut_keeps_its_innermost_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
