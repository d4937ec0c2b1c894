/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tests/end_to_end/page_in_browser.sh reads the golden file in a browser. */
#include "render/profile_json.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static char *render(const struct profile *profile, const char *title, enum frame_detail detail)
{
	const struct profile_json_options options = { .title = title, .detail = detail };
	static struct rendering rendering;

	assert_int_equal(profile_json_write(profile, &options, rendering_begin(&rendering)), 0);
	return rendering_end(&rendering);
}

static void machine_is_golden_in_any_order(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_machine(backwards);
		_cleanup_free_ char *text = render(profile, "machine", FRAME_BY_FUNCTION);

		assert_golden(text, "tests/data/render/machine.json");
	}
}

static void lines_have_their_files(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1|x:main#/src/main.c:7|l:+1f");
	text = render(profile, NULL, FRAME_BY_LINE);
	assert_non_null(strstr(text, "\"title\":\"Flame graph\""));
	assert_non_null(strstr(text, "\"files\":[\"/src/main.c\"]"));
	assert_non_null(strstr(text, "\"file\":[-1,-1,0,-1],\"line\":[0,0,7,0]"));
	assert_non_null(strstr(text, "[\"main (main.c:7)\","));
	assert_non_null(strstr(text, "[\"[libc.so.6+0x1f]\","));
}

static void losses_are_counted_apart(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|2|x:main");
	example_lose(profile, PILOTLIGHT_DROP_UNREAD, 5);
	text = render(profile, NULL, FRAME_BY_FUNCTION);
	assert_non_null(strstr(text, "\"stored\":2,\"lost\":5,\"elided\":0,\"elided_count\":0"));
	assert_non_null(strstr(text, "\"[lost: unread]\""));
}

/* More stacks than it may have: the smallest go, and what remains is the whole. */
static void frames_are_bounded(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;
	const char *elided;
	char stack[64];

	profile->limit_bytes = SIZE_MAX;
	for (int i = 0; i < PROFILE_JSON_FRAMES_MAX; i++) {
		(void)snprintf(stack, sizeof(stack), "c|%d|x:+%x", i % 10 == 0 ? 5 : 1, i + 1);
		example_add(profile, stack);
	}
	text = render(profile, NULL, FRAME_BY_FUNCTION);
	elided = strstr(text, "\"elided\":");
	assert_non_null(elided);
	assert_int_equal(strtoull(elided + strlen("\"elided\":"), NULL, 10),
		PROFILE_JSON_FRAMES_MAX / 10 * 9);
	assert_non_null(strstr(text, "\"stored\":210000,"));
}

static void fewer_frames_are_the_largest(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	const struct profile_json_options options = { .frames_max = 3 };
	static struct rendering rendering;
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|8|x:main");
	example_add(profile, "d|3|x:main");
	assert_int_equal(profile_json_write(profile, &options, rendering_begin(&rendering)), 0);
	text = rendering_end(&rendering);
	assert_non_null(strstr(text, "\"stored\":11,\"lost\":0,\"elided\":3,\"elided_count\":1"));
	assert_non_null(strstr(text, "\"total\":[11,8,8]"));
}

static void hostile_names_stay_in_their_strings(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_hostile();
	_cleanup_free_ char *text = render(profile, "\"}\n\x1b", FRAME_BY_FUNCTION);

	assert_non_null(strstr(text, "\"title\":\"\\\"}\\n\\u001b\""));
	assert_int_equal(strchr(text, '\n') - text, strlen(text) - 1);
	for (const char *c = text; *c && *c != '\n'; c++)
		assert_true((unsigned char)*c >= ' ');
}

static void an_empty_profile_has_a_root(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = render(profile, NULL, FRAME_BY_FUNCTION);

	assert_non_null(strstr(text, "\"frames\":{\"label\":[0],\"depth\":[0],\"total\":[0],"));
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	const struct profile_json_options options = {
		.detail = FRAME_BY_LINE,
		.frames_max = 20,
		.below = "1.2",
	};
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
						 profile_json_write(profile, &options, &output)),
			    -ENOMEM, true, 0) >= 17);
}

static void output_errors_stick(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	const struct profile_json_options options = { 0 };
	static struct output output;

	output_init(&output, no_space, NULL);
	assert_int_equal(profile_json_write(profile, &options, &output), 0);
	assert_int_equal(output_finish(&output), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_is_golden_in_any_order),
		cmocka_unit_test(lines_have_their_files),
		cmocka_unit_test(losses_are_counted_apart),
		cmocka_unit_test(frames_are_bounded),
		cmocka_unit_test(fewer_frames_are_the_largest),
		cmocka_unit_test(hostile_names_stay_in_their_strings),
		cmocka_unit_test(an_empty_profile_has_a_root),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
