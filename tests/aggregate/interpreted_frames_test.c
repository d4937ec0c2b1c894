/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/interpreted_frames.h"
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct profile *profile;
static uint32_t binaries[BINARY_KIND_COUNT];

static int set_up(void **state)
{
	const struct profile_thread thread = { .tgid = 1 };
	uint32_t id;

	if (profile_new(1 << 20, &profile) < 0 || profile_add_thread(profile, &thread, &id) < 0)
		return -1;
	for (uint32_t kind = 0; kind < BINARY_KIND_COUNT; kind++) {
		const struct profile_binary binary = { .kind = (enum binary_kind)kind };

		if (profile_add_binary(profile, &binary, &binaries[kind]) < 0)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	profile_free(profile);
	return 0;
}

/* Letters are frames, root first: x native, l of a library, k of the kernel, s synthetic, j JIT,
 * those before them, p Python, v JavaScript, r Ruby, h PHP, e Perl. Each occurrence has an
 * address of its own. */
static uint32_t add(const char *stack, uint64_t count)
{
	static const struct {
		char letter;
		enum binary_kind kind;
	} kinds[] = { { 'x', BINARY_EXECUTABLE }, { 'l', BINARY_LIBRARY }, { 'k', BINARY_KERNEL },
		{ 'j', BINARY_JIT }, { 'p', BINARY_PYTHON }, { 'v', BINARY_JAVASCRIPT },
		{ 'r', BINARY_RUBY }, { 'h', BINARY_PHP }, { 'e', BINARY_PERL } };
	struct profile_sample sample = { .count = count, .node = PROFILE_ROOT };

	for (size_t i = 0; stack[i]; i++) {
		uint32_t location = 0;

		if (stack[i] == 's')
			assert_int_equal(profile_add_synthetic(profile, "[cut]", &location), 0);
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			if (kinds[k].letter == stack[i])
				assert_int_equal(profile_add_location(profile,
							 binaries[kinds[k].kind], i, &location),
					0);
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	}
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	return sample.node;
}

/* The letters and positions of the stack that a sample has now. */
static void check(size_t sample, const char *stack)
{
	static const char letters[] = { 'k', 'x', 'l', 'j', 's', 'p', 'v', 'r', 'm', 'h', 'e' };
	char found[64] = "";
	size_t at = sizeof(found) - 1;

	for (uint32_t node = profile->samples.items[sample].node; node != PROFILE_ROOT;
		node = profile->nodes.items[node].parent) {
		uint32_t location = profile->nodes.items[node].location;

		assert_true(profile->nodes.items[node].parent < node);
		found[--at] =
			letters[profile->binaries.items[profile->locations.items[location].binary]
					.kind];
	}
	assert_string_equal(found + at, stack);
}

static const struct {
	const char *both, *spliced, *native;
} stacks[] = {
	{ "xxl", "xxl", "xxl" },
	{ "xxppk", "xppk", "xxk" },
	/* C between two groups, whose loop is called by a frame of C. */
	{ "xxpplxpl", "xpplpl", "xxlxl" },
	/* One call of the loop directly calls another. */
	{ "xxpxp", "xpp", "xxx" },
	/* The outermost frames are missing: nothing is known of the loop that ran the group. */
	{ "spxxp", "spxp", "sxx" },
	{ "pxp", "pp", "x" },
	{ "p", "p", "" },
	{ "jp", "jp", "j" },
	/* Each function of V8 has a native frame: of its own, if it is compiled. */
	{ "xxvjvjjvk", "xvvjvk", "xxjjjk" },
	/* Ruby's generated code runs a group, too. */
	{ "xxrrlxrjrk", "xrrlrrk", "xxlxjk" },
	{ "xxhhlxhk", "xhhlhk", "xxlxk" },
	{ "xk", "xk", "xk" },
};

static void check_choice(enum interpreted_frames choice)
{
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		(void)add(stacks[i].both, i + 1);
	interpreted_frames_choose(profile, choice);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		assert_int_equal(profile->samples.items[i].count, i + 1);
		check(i, choice == INTERPRETED_FRAMES_SPLICED ? stacks[i].spliced
			 : choice == INTERPRETED_FRAMES_BOTH  ? stacks[i].both
							      : stacks[i].native);
	}
}

static void interpreted_frames_take_the_place_of_those_that_run_them(void **state)
{
	check_choice(INTERPRETED_FRAMES_SPLICED);
}

static void both_are_what_the_profile_has(void **state)
{
	check_choice(INTERPRETED_FRAMES_BOTH);
}

static void native_frames_stay_without_interpreted_ones(void **state)
{
	check_choice(INTERPRETED_FRAMES_NATIVE);
}

/* A frame of the loop that also ran something else keeps it. */
static void a_loop_without_interpreted_frames_stays(void **state)
{
	(void)add("xxp", 1);
	(void)add("xx", 2);
	interpreted_frames_choose(profile, INTERPRETED_FRAMES_SPLICED);
	check(0, "xp");
	check(1, "xx");
}

static void choices_have_names(void **state)
{
	enum interpreted_frames choice = INTERPRETED_FRAMES_CHOICES;

	assert_true(interpreted_frames_find("both", &choice));
	assert_int_equal(choice, INTERPRETED_FRAMES_BOTH);
	assert_false(interpreted_frames_find("neither", &choice));
	assert_int_equal(choice, INTERPRETED_FRAMES_BOTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			interpreted_frames_take_the_place_of_those_that_run_them, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(both_are_what_the_profile_has, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			native_frames_stay_without_interpreted_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_loop_without_interpreted_frames_stays, set_up, tear_down),
		cmocka_unit_test(choices_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
