/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/folded.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static char *fold(const struct profile *profile, enum frame_detail detail)
{
	static struct rendering rendering;

	assert_int_equal(folded_write(profile, detail, rendering_begin(&rendering)), 0);
	return rendering_end(&rendering);
}

static uint64_t sum_of_counts(const char *text)
{
	uint64_t sum = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *count = memrchr(text, ' ', (size_t)(end - text));

		assert_non_null(count);
		sum += strtoull(count + 1, NULL, 10);
	}
	return sum;
}

static void machine_is_golden_in_any_order(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_machine(backwards);
		_cleanup_free_ char *text = fold(profile, FRAME_BY_FUNCTION);

		assert_golden(text, "tests/data/render/machine.folded");
		assert_int_equal(sum_of_counts(text),
			accounts_stored(&profile->accounts) + accounts_lost(&profile->accounts));
	}
}

static void kinds_have_suffixes(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|2|x:main|l:outer^inner|j:jitted|k:sys");
	example_lose(profile, PILOTLIGHT_DROP_UNREAD, 5);
	example_lose(profile, PILOTLIGHT_DROP_FILTERED, 6);
	text = fold(profile, FRAME_BY_FUNCTION);
	assert_string_equal(
		text, "[lost: unread] 5\nc;main;outer;inner_[i];jitted_[j];sys_[k] 2\n");
}

static void lines_are_told_apart_if_asked(void **state)
{
	static const char *const stacks[] = {
		"c|1|x:main#/src/main.c:7|l:outer#/src/o.c:20^inner#/inc/i.h:3",
		"c|2|x:main#/src/main.c:9|l:outer#/src/o.c:20^inner#/inc/i.h:4",
		"c|4|x:main#/src/main.c:9@2|l:outer#/src/o.c:20^inner#/inc/i.h:4|k:sys",
		"c|8|x:main#/src/main.c:0|l:+1f",
		"c|16|x:main|l:odd#/src/a;b/:5",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_free_ char *apart = NULL, *together = NULL;

	apart = fold(profile, FRAME_BY_LINE);
	together = fold(profile, FRAME_BY_FUNCTION);
	assert_string_equal(apart,
		"c;main;odd (/src/a:b/:5) 16\n"
		"c;main (main.c);[libc.so.6+0x1f] 8\n"
		"c;main (main.c:7);outer (o.c:20);inner (i.h:3)_[i] 1\n"
		"c;main (main.c:9);outer (o.c:20);inner (i.h:4)_[i] 2\n"
		"c;main (main.c:9);outer (o.c:20);inner (i.h:4)_[i];sys_[k] 4\n");
	assert_string_equal(together,
		"c;main;[libc.so.6+0x1f] 8\nc;main;odd 16\n"
		"c;main;outer;inner_[i] 3\nc;main;outer;inner_[i];sys_[k] 4\n");
}

static void hostile_names_stay_in_their_frames(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_hostile();
	_cleanup_free_ char *text = fold(profile, FRAME_BY_FUNCTION);
	size_t lines = 0;

	for (const char *c = text; (c = strchr(c, '\n')); c++)
		lines++;
	assert_int_equal(lines, 6);
	assert_non_null(strstr(
		text, "</title><script>alert(1)</script>;]]>&lt:\"';a:b:c;<rect/>_[i] 50\n"));
	assert_non_null(strstr(text, "[unknown];[unknown];[unknown];back\\slash\"quote 7\n"));
	assert_non_null(strstr(text, "x 1\n"));
	assert_int_equal(sum_of_counts(text), accounts_stored(&profile->accounts));
}

static void two_empty_profiles_have_no_difference(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = fold(profile, FRAME_BY_FUNCTION);

	assert_string_equal(text, "");
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
						 folded_write(profile, FRAME_BY_FUNCTION, &output)),
			    -ENOMEM, true, 0) >= 10);
}

static void output_errors_stick(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	output_init(&output, no_space, NULL);
	assert_int_equal(folded_write(profile, FRAME_BY_FUNCTION, &output), 0);
	assert_int_equal(output_finish(&output), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_is_golden_in_any_order),
		cmocka_unit_test(kinds_have_suffixes),
		cmocka_unit_test(lines_are_told_apart_if_asked),
		cmocka_unit_test(hostile_names_stay_in_their_frames),
		cmocka_unit_test(two_empty_profiles_have_no_difference),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
