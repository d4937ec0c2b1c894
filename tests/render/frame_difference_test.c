/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_difference.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_difference.h"

#include <errno.h>

static struct frame_difference *pair_of(
	const struct profile *base, const struct profile *compared, uint64_t minimum)
{
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	struct frame_difference *frames = NULL;

	assert_int_equal(frame_difference_new(&difference, FRAME_BY_FUNCTION, minimum, &frames), 0);
	return frames;
}

/* The change of the first frame of a name; NULL: there is none. */
static const struct frame_change *change_of(
	const struct frame_difference *frames, const char *wanted)
{
	char name[FRAME_NAME_BYTES];

	for (size_t i = 0; i < frames->tree->count; i++) {
		(void)frame_label_format(
			&frames->tree->labels->items[frames->tree->frames[i].label], name);
		if (strcmp(name, wanted) == 0)
			return &frames->changes[i];
	}
	return NULL;
}

static void assert_totals(
	const struct frame_difference *frames, const char *name, uint64_t base, uint64_t compared)
{
	const struct frame_change *change = change_of(frames, name);

	assert_non_null(change);
	assert_int_equal(change->total[DIFFERENCE_BASE], base);
	assert_int_equal(change->total[DIFFERENCE_COMPARED], compared);
}

static void frames_are_matched_by_name(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	example_add(base, "c|5|x:main|x:work|l:gone");
	example_add(base, "c|2|x:main|x:work");
	example_add(base, "c|1|x:other|x:work");
	example_add(compared, "c|4|x:main@7|x:fresh");
	example_add(compared, "c|9|x:main@7|x:work@8");
	frames = pair_of(base, compared, 0);
	assert_totals(frames, "all", 8, 13);
	assert_totals(frames, "c", 8, 13);
	assert_totals(frames, "main", 7, 13);
	assert_totals(frames, "fresh", 0, 4);
	assert_totals(frames, "work", 7, 9);
	assert_int_equal(change_of(frames, "work")->self[DIFFERENCE_BASE], 2);
	assert_int_equal(change_of(frames, "work")->self[DIFFERENCE_COMPARED], 9);
	assert_null(change_of(frames, "gone"));
	assert_null(change_of(frames, "other"));
	assert_int_equal(frames->undrawn, 6);
}

/* The other kind of frame of one name is another frame; so is one on another stack. */
static void frames_match_by_name_and_caller(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	example_add(base, "c|5|x:main|l:write");
	example_add(compared, "c|4|x:main|k:write");
	example_add(compared, "d|3|x:main");
	example_add(base, "c|1|x:main|x:nearly");
	example_add(compared, "c|2|x:main|x:nearly_");
	frames = pair_of(base, compared, 0);
	assert_totals(frames, "write", 0, 4);
	assert_totals(frames, "d", 0, 3);
	assert_totals(frames, "nearly_", 0, 2);
	assert_int_equal(frames->undrawn, 6);
}

/* What is too narrow to be drawn on one side is not therefore missing on the other. */
static void small_counterparts_are_found(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	example_add(base, "c|1|x:main|x:grown");
	example_add(base, "c|90|x:main|x:shrunk");
	example_add(base, "c|1000|x:main|x:zero");
	example_add(compared, "c|500|x:main|x:grown");
	example_add(compared, "c|2|x:main|x:shrunk");
	example_add(compared, "c|498|x:main|x:zero");
	frames = pair_of(base, compared, 100);
	assert_totals(frames, "grown", 1, 500);
	assert_totals(frames, "zero", 1000, 498);
	assert_null(change_of(frames, "shrunk"));
	assert_int_equal(frames->tree->elided, 2);
	assert_int_equal(frames->undrawn, 90);
}

static void losses_are_frames_of_both(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	example_lose(base, PILOTLIGHT_DROP_RING_FULL, 3);
	example_lose(compared, PILOTLIGHT_DROP_RING_FULL, 7);
	frames = pair_of(base, compared, 0);
	assert_totals(frames, "[lost: ring full]", 3, 7);
}

static void empty_profiles_have_a_root(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	frames = pair_of(base, compared, 0);
	assert_int_equal(frames->tree->count, 1);
	assert_totals(frames, "all", 1008, 0);
	assert_int_equal(frames->undrawn, 1008);
}

/* On both sides, every sample is in a frame or told as undrawn (I1). */
static void samples_are_conserved(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(true);

	for (uint64_t minimum = 0; minimum <= 100; minimum += 20) {
		_cleanup_(frame_difference_freep) struct frame_difference *frames =
			pair_of(base, compared, minimum);
		uint64_t base_samples = frames->undrawn, samples = frames->tree->elided;

		for (size_t i = 0; i < frames->tree->count; i++) {
			base_samples += frames->changes[i].self[DIFFERENCE_BASE];
			samples += frames->changes[i].self[DIFFERENCE_COMPARED];
		}
		assert_int_equal(base_samples, 1008);
		assert_int_equal(samples, 940);
	}
}

static void a_profile_differs_in_nothing_from_itself(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *same = example_machine(true);
	_cleanup_(frame_difference_freep) struct frame_difference *frames = pair_of(base, same, 0);

	assert_int_equal(frames->undrawn, 0);
	for (size_t i = 0; i < frames->tree->count; i++) {
		const struct frame_change *change = &frames->changes[i];

		assert_int_equal(
			change->total[DIFFERENCE_BASE], change->total[DIFFERENCE_COMPARED]);
		assert_int_equal(change->self[DIFFERENCE_BASE], change->self[DIFFERENCE_COMPARED]);
	}
}

/* Stacks of few names, so that the profiles share a part of their frames. */
static struct profile *random_profile(unsigned *seed)
{
	struct profile *profile = example_empty();

	for (int i = 0; i < 200; i++) {
		char stack[256];
		int size = snprintf(
			stack, sizeof(stack), "c%d|%d", rand_r(seed) % 3, 1 + rand_r(seed) % 9);
		int depth = rand_r(seed) % 7;

		for (int j = 0; j < depth; j++)
			size += snprintf(stack + size, sizeof(stack) - (size_t)size, "|%c:f%d@%d",
				"xlk"[rand_r(seed) % 3], rand_r(seed) % 4, rand_r(seed) % 2);
		example_add(profile, stack);
	}
	return profile;
}

static size_t next_matched(const struct frame_difference *frames, size_t at)
{
	while (at < frames->tree->count &&
		(frames->changes[at].total[DIFFERENCE_BASE] == 0 ||
			frames->changes[at].total[DIFFERENCE_COMPARED] == 0))
		at++;
	return at;
}

/* What both sides have is the same frames in the same order, whichever of them is drawn. */
static void matches_are_mutual(void **state)
{
	unsigned seed = 7;

	for (int round = 0; round < 30; round++) {
		_cleanup_(profile_freep) struct profile *base = random_profile(&seed);
		_cleanup_(profile_freep) struct profile *compared = random_profile(&seed);
		_cleanup_(frame_difference_freep) struct frame_difference *first =
			pair_of(compared, base, 0);
		_cleanup_(frame_difference_freep) struct frame_difference *second =
			pair_of(base, compared, 0);
		size_t i = next_matched(first, 0), j = next_matched(second, 0), count = 0;

		for (; i < first->tree->count && j < second->tree->count;
			i = next_matched(first, i + 1), j = next_matched(second, j + 1)) {
			assert_int_equal(
				first->tree->frames[i].depth, second->tree->frames[j].depth);
			assert_int_equal(first->changes[i].total[DIFFERENCE_BASE],
				second->changes[j].total[DIFFERENCE_COMPARED]);
			assert_int_equal(first->changes[i].total[DIFFERENCE_COMPARED],
				second->changes[j].total[DIFFERENCE_BASE]);
			count++;
		}
		assert_int_equal(i, first->tree->count);
		assert_int_equal(j, second->tree->count);
		assert_in_range(count, 20, first->tree->count - 1);
	}
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(false);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct frame_difference *frames = NULL;

		fail_allocation(n);
		r = frame_difference_new(&difference, FRAME_BY_FUNCTION, 0, &frames);
		frame_difference_free(frames);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(frames);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_matched_by_name),
		cmocka_unit_test(frames_match_by_name_and_caller),
		cmocka_unit_test(small_counterparts_are_found),
		cmocka_unit_test(losses_are_frames_of_both),
		cmocka_unit_test(empty_profiles_have_a_root),
		cmocka_unit_test(samples_are_conserved),
		cmocka_unit_test(a_profile_differs_in_nothing_from_itself),
		cmocka_unit_test(matches_are_mutual),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
