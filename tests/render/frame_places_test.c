/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_places.h"

#include "base/array.h"
#include "render/frame_tree.h"
#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

static const char *name_of(
	const struct profile *profile, const struct frame_places *places, uint32_t place)
{
	static char text[FRAME_PLACE_BYTES];

	if (place == FRAME_NONE)
		return "none";
	assert_true(place < places->count);
	return frame_place_format(profile, &places->items[place], text);
}

static void chains_have_places_in_order(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		static const char *const stacks[] = {
			"c|1|x:main#/src/b.c:20",
			"c|1|x:main#/src/b.c:3@2|l:outer#/src/a.c:7^middle^inner#/inc/z.h:0",
		};
		_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 2, backwards);
		_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
		_cleanup_(frame_places_freep) struct frame_places *places = NULL;
		uint32_t location = example_location(
			profile, "l:outer#/src/a.c:7^middle^inner#/inc/z.h:0", "c");
		const uint32_t *chain;

		assert_int_equal(frame_labels_new(profile, FRAME_BY_FUNCTION, &labels), 0);
		assert_int_equal(frame_places_new(profile, labels, &places), 0);
		assert_int_equal(places->count, 4);
		assert_string_equal(name_of(profile, places, 0), "z.h");
		assert_string_equal(name_of(profile, places, 1), "a.c:7");
		assert_string_equal(name_of(profile, places, 2), "b.c:3");
		assert_string_equal(name_of(profile, places, 3), "b.c:20");
		chain = places->chain + labels->chains[location].first;
		assert_string_equal(name_of(profile, places, chain[0]), "a.c:7");
		assert_string_equal(name_of(profile, places, chain[1]), "none");
		assert_string_equal(name_of(profile, places, chain[2]), "z.h");
	}
}

static void no_lines_are_no_places(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	_cleanup_(frame_places_freep) struct frame_places *places = NULL;

	example_add(profile, "c|1|x:main|l:outer^inner");
	assert_int_equal(frame_labels_new(profile, FRAME_BY_FUNCTION, &labels), 0);
	assert_int_equal(frame_places_new(profile, labels, &places), 0);
	assert_int_equal(places->count, 0);
	assert_null(places->chain);
}

static void assert_frame(const struct profile *profile, const struct frame_tree *tree, size_t i,
	const char *place, uint32_t place_count, uint64_t place_total)
{
	assert_true(i < tree->count);
	assert_string_equal(name_of(profile, tree->places, tree->frames[i].place), place);
	assert_int_equal(tree->frames[i].place_count, place_count);
	assert_int_equal(tree->frames[i].place_total, place_total);
}

/* The hottest line of what a frame merges, with what stands on it; of equals the first. */
static void frames_tell_their_hottest_line(void **state)
{
	static const char *const stacks[] = {
		"c|4|x:main#/m.c:5|l:f#/f.c:1",
		"c|3|x:main#/m.c:9|l:f#/f.c:2",
		"c|3|x:main#/m.c:9@2|l:f#/f.c:2@2|k:sys",
		"c|2|x:main#/m.c:5@2|l:f#/f.c:1^g#/g.h:8",
		"c|9|x:main|l:f|k:sys#/s.c:6",
		"c|9|x:main|l:f|k:sys#/s.c:3",
	};

	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile =
			example_of(stacks, ARRAY_SIZE(stacks), backwards);
		_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;

		assert_int_equal(frame_tree_new(profile, FRAME_BY_FUNCTION, 0, &tree), 0);
		assert_int_equal(tree->count, 6);
		assert_frame(profile, tree, 0, "none", 0, 0);  /* all */
		assert_frame(profile, tree, 1, "none", 0, 0);  /* c */
		assert_frame(profile, tree, 2, "m.c:5", 2, 6); /* main: 6 at 5, 6 at 9 */
		assert_frame(profile, tree, 3, "f.c:1", 2, 6); /* f */
		assert_frame(profile, tree, 4, "g.h:8", 1, 2); /* g */
		assert_frame(profile, tree, 5, "s.c:3", 2, 9); /* sys, 3 of 21 nowhere */
	}
}

static void paths_without_a_name_are_whole(void **state)
{
	assert_string_equal(frame_base_name("/src/a.c"), "a.c");
	assert_string_equal(frame_base_name("a.c"), "a.c");
	assert_string_equal(frame_base_name("/src/"), "/src/");
	assert_string_equal(frame_base_name(""), "");
}

static void longest_places_fit(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	struct frame_place place = { .line = UINT32_MAX };
	char path[3000], text[FRAME_PLACE_BYTES];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	place.file = example_string(profile, path);
	assert_non_null(strstr(frame_place_format(profile, &place, text), "p:4294967295"));
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	struct frame_places *places = NULL;

	assert_int_equal(frame_labels_new(profile, FRAME_BY_FUNCTION, &labels), 0);
	assert_true(FAIL_EACH_ALLOCATION(
			    frame_places_new(profile, labels, &places), -ENOMEM, !places, 0) >= 7);
	frame_places_free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_have_places_in_order),
		cmocka_unit_test(no_lines_are_no_places),
		cmocka_unit_test(frames_tell_their_hottest_line),
		cmocka_unit_test(paths_without_a_name_are_whole),
		cmocka_unit_test(longest_places_fit),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
