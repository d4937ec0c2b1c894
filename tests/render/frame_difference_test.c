/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_difference.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_difference.h"

#include <errno.h>
#include <inttypes.h>

static struct frame_difference *pair_of(
	const struct profile *base, const struct profile *compared, size_t frames_max)
{
	const struct frame_budget budget = { .frames = frames_max, .label_bytes = 1 << 20 };
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	struct frame_difference *frames = NULL;

	assert_int_equal(frame_difference_new(&difference, FRAME_BY_FUNCTION, &budget, &frames), 0);
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
	frames = pair_of(base, compared, 1000);
	assert_totals(frames, "all", 8, 13);
	assert_totals(frames, "c", 8, 13);
	assert_totals(frames, "main", 7, 13);
	assert_totals(frames, "fresh", 0, 4);
	assert_totals(frames, "work", 7, 9);
	assert_int_equal(change_of(frames, "work")->self[DIFFERENCE_BASE], 2);
	assert_int_equal(change_of(frames, "work")->self[DIFFERENCE_COMPARED], 9);
	assert_totals(frames, "gone", 5, 0);
	assert_totals(frames, "other", 1, 0);
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
	frames = pair_of(base, compared, 1000);
	assert_totals(frames, "write", 0, 4);
	assert_totals(frames, "d", 0, 3);
	assert_totals(frames, "nearly_", 0, 2);
	assert_totals(frames, "nearly", 1, 0);
}

/* What is too small for the tree on one side is not therefore missing on the other. */
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
	frames = pair_of(base, compared, 1000);
	assert_totals(frames, "grown", 1, 500);
	assert_totals(frames, "shrunk", 90, 2);
	assert_totals(frames, "zero", 1000, 498);
	frame_difference_free(frames);
	/* Each side has one frame too many, and leaves out its smallest. */
	frames = pair_of(base, compared, 5);
	assert_totals(frames, "grown", 0, 500);
	assert_totals(frames, "shrunk", 90, 0);
	assert_totals(frames, "zero", 1000, 498);
	assert_int_equal(frames->sides[DIFFERENCE_BASE]->elided, 1);
	assert_int_equal(frames->sides[DIFFERENCE_COMPARED]->elided, 2);
	assert_int_equal(frames->tree->elided_count, 1);
}

static void losses_are_frames_of_both(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	example_lose(base, PILOTLIGHT_DROP_RING_FULL, 3);
	example_lose(compared, PILOTLIGHT_DROP_RING_FULL, 7);
	frames = pair_of(base, compared, 1000);
	assert_totals(frames, "[lost: ring full]", 3, 7);
}

static void empty_profiles_have_a_root(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;

	frames = pair_of(base, compared, 1000);
	assert_int_equal(frames->tree->count, frames->sides[DIFFERENCE_BASE]->count);
	assert_totals(frames, "all", 1008, 0);
	assert_totals(frames, "node", 97, 0);
	frame_difference_free(frames);
	frames = pair_of(compared, compared, 1000);
	assert_int_equal(frames->tree->count, 1);
	assert_totals(frames, "all", 0, 0);
}

/* Every frame's weight is its own, its children's and what was left out, so that widths add up. */
static void assert_weights_add_up(const struct frame_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		uint64_t sum = tree->frames[i].self + tree->frames[i].elided;

		for (size_t j = i + 1; j < tree->count; j++) {
			if (tree->frames[j].depth <= tree->frames[i].depth)
				break;
			if (tree->frames[j].depth == tree->frames[i].depth + 1)
				sum += tree->frames[j].total;
		}
		assert_int_equal(sum, tree->frames[i].total);
	}
}

/* On both sides, every sample is in a frame or left out (I1). */
static void samples_are_conserved(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(true);

	for (size_t frames_max = 1; frames_max <= 128; frames_max *= 2) {
		_cleanup_(frame_difference_freep) struct frame_difference *frames =
			pair_of(base, compared, frames_max);
		uint64_t base_samples = frames->sides[DIFFERENCE_BASE]->elided;
		uint64_t samples = frames->sides[DIFFERENCE_COMPARED]->elided;

		for (size_t i = 0; i < frames->tree->count; i++) {
			base_samples += frames->changes[i].self[DIFFERENCE_BASE];
			samples += frames->changes[i].self[DIFFERENCE_COMPARED];
		}
		assert_int_equal(base_samples, 1008);
		assert_int_equal(samples, 940);
		assert_weights_add_up(frames->tree);
	}
}

static void a_profile_differs_in_nothing_from_itself(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *same = example_machine(true);
	_cleanup_(frame_difference_freep) struct frame_difference *frames =
		pair_of(base, same, 1000);

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

static size_t common_of(const struct frame_difference *frames)
{
	size_t count = 0;

	for (size_t i = 0; i < frames->tree->count; i++)
		count += frames->changes[i].total[DIFFERENCE_BASE] > 0 &&
			 frames->changes[i].total[DIFFERENCE_COMPARED] > 0;
	return count;
}

/* Both sides have the same frames in the same order, whichever of them is the base. */
static void matches_are_mutual(void **state)
{
	unsigned seed = 7;

	for (int round = 0; round < 30; round++) {
		_cleanup_(profile_freep) struct profile *base = random_profile(&seed);
		_cleanup_(profile_freep) struct profile *compared = random_profile(&seed);
		_cleanup_(frame_difference_freep) struct frame_difference *first =
			pair_of(compared, base, 1000);
		_cleanup_(frame_difference_freep) struct frame_difference *second =
			pair_of(base, compared, 1000);
		size_t count = second->tree->count;

		assert_int_equal(first->tree->count, count);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(
				first->tree->frames[i].depth, second->tree->frames[i].depth);
			assert_int_equal(first->changes[i].total[DIFFERENCE_BASE],
				second->changes[i].total[DIFFERENCE_COMPARED]);
			assert_int_equal(first->changes[i].total[DIFFERENCE_COMPARED],
				second->changes[i].total[DIFFERENCE_BASE]);
		}
		assert_int_equal(count, first->sides[DIFFERENCE_BASE]->count +
						first->sides[DIFFERENCE_COMPARED]->count -
						common_of(first));
		assert_in_range(common_of(first), 20, count - 1);
		assert_weights_add_up(first->tree);
	}
}

/* A load of 40 functions on stacks of some frames, of which the first are hot. */
enum { LOAD_FUNCTIONS = 40, LOAD_SAMPLES = 5000 };

static double load_weight(int function)
{
	return 1.0 / (1 + function);
}

/* So many samples of it, drawn by chance; `extra` is the part of all that function 7 has more. */
static struct profile *sampled_load(unsigned *seed, double extra)
{
	struct profile *profile = example_empty();
	uint64_t counts[LOAD_FUNCTIONS] = { 0 };
	double whole = 0;

	for (int i = 0; i < LOAD_FUNCTIONS; i++)
		whole += load_weight(i);
	for (int i = 0; i < LOAD_SAMPLES; i++) {
		double at = (double)rand_r(seed) / RAND_MAX;
		int function = 0;

		if (at < extra) {
			counts[7]++;
			continue;
		}
		at = (at - extra) / (1 - extra) * whole;
		while (function < LOAD_FUNCTIONS - 1 && (at -= load_weight(function)) > 0)
			function++;
		counts[function]++;
	}
	for (int i = 0; i < LOAD_FUNCTIONS; i++) {
		char stack[64];

		(void)snprintf(stack, sizeof(stack), "c|%" PRIu64 "|x:main|x:group%d|x:f%d",
			counts[i], i % 5, i);
		example_add(profile, stack);
	}
	return profile;
}

static double coloured_share(
	const struct profile_difference *difference, const struct frame_difference *frames)
{
	double all = 0, coloured = 0;

	for (size_t i = 0; i < frames->tree->count; i++) {
		double total = (double)frames->tree->frames[i].total;

		all += total;
		if (profile_difference_is_certain(difference, frames->changes[i].total))
			coloured += total;
	}
	return coloured / all;
}

/* 1,000 comparisons of a load with itself colour at most 1 % of the area. */
static void chance_is_not_certain(void **state)
{
	unsigned seed = 1;
	double sum = 0;

	for (int round = 0; round < 1000; round++) {
		_cleanup_(profile_freep) struct profile *base = sampled_load(&seed, 0);
		_cleanup_(profile_freep) struct profile *compared = sampled_load(&seed, 0);
		struct profile_difference difference =
			example_difference(base, compared, DIFFERENCE_BY_TOTAL);
		_cleanup_(frame_difference_freep) struct frame_difference *frames =
			pair_of(base, compared, 1000);

		sum += coloured_share(&difference, frames);
	}
	print_message("coloured by chance: %.3f %% of the area\n", sum / 10);
	assert_true(sum / 1000 < 0.01);
}

/* A function with 3 points more is told, and that it is this one. */
static void a_regression_is_certain(void **state)
{
	unsigned seed = 1;

	for (int round = 0; round < 50; round++) {
		_cleanup_(profile_freep) struct profile *base = sampled_load(&seed, 0);
		_cleanup_(profile_freep) struct profile *compared = sampled_load(&seed, 0.03);
		struct profile_difference difference =
			example_difference(base, compared, DIFFERENCE_BY_TOTAL);
		_cleanup_(frame_difference_freep) struct frame_difference *frames =
			pair_of(base, compared, 1000);

		assert_true(
			profile_difference_is_certain(&difference, change_of(frames, "f7")->total));
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
		const struct frame_budget budget = { .frames = 1000, .label_bytes = 1 << 20 };
		struct frame_difference *frames = NULL;

		fail_allocation(n);
		r = frame_difference_new(&difference, FRAME_BY_FUNCTION, &budget, &frames);
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
		cmocka_unit_test(chance_is_not_certain),
		cmocka_unit_test(a_regression_is_certain),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
