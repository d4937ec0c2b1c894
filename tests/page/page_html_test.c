/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/page_html.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static char *render(const struct profile *profile)
{
	static struct rendering rendering;
	struct output *output = rendering_begin(&rendering);

	if (profile)
		assert_int_equal(
			page_write_profile(profile, &(struct profile_json_options){ 0 }, output),
			0);
	else
		page_write(output);
	return rendering_end(&rendering);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void a_page_asks_its_service(void **state)
{
	_cleanup_free_ char *text = render(NULL);
	char policy[PAGE_POLICY_BYTES];

	assert_non_null(strstr(text, page_policy_format(true, policy)));
	assert_non_null(strstr(policy, "connect-src 'self'"));
	assert_null(strstr(policy, "unsafe"));
	assert_null(strstr(text, "id=\"data\""));
	assert_int_equal(count_of(text, "</script>"), 1);
}

static void a_page_with_a_profile_asks_nobody(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	_cleanup_free_ char *text = render(profile);
	char policy[PAGE_POLICY_BYTES];

	assert_non_null(strstr(text, page_policy_format(false, policy)));
	assert_null(strstr(policy, "connect-src"));
	assert_int_equal(count_of(text, "id=\"data\""), 1);
}

/* Neither the end of an element nor a comment: no name has a '<'. */
static void names_are_no_markup(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_hostile();
	_cleanup_free_ char *text = render(profile);

	assert_int_equal(count_of(text, "</script>"), 2);
	assert_null(strstr(text, "<script>alert"));
	assert_non_null(strstr(text, "\\u003cscript>alert(1)\\u003c/script>"));
	assert_null(strstr(text, "<!--"));
}

static void a_difference_has_both_profiles(void **state)
{
	static const char *const titles[] = { "before", "</script>" };
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_machine(false);
	struct profile_difference difference = { .sides = { base, compared } };
	static struct rendering rendering;

	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *text = NULL;

		difference.whole = i == 0 ? DIFFERENCE_BY_TOTAL : DIFFERENCE_BY_TIME;
		assert_int_equal(page_write_difference(&difference, titles, FRAME_BY_FUNCTION,
					 rendering_begin(&rendering)),
			0);
		text = rendering_end(&rendering);
		assert_non_null(strstr(text, i == 0 ? "id=\"base\" data-by=\"total\">{"
						    : "id=\"base\" data-by=\"time\">{"));
		assert_non_null(strstr(text, "\"title\":\"before\""));
		assert_non_null(strstr(text, "id=\"data\">{"));
		assert_non_null(strstr(text, "\"title\":\"\\u003c/script>\""));
	}
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	assert_true(
		FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
					     page_write_profile(profile,
						     &(struct profile_json_options){ 0 }, &output)),
			-ENOMEM, true, 0) >= 15);
}

static void output_errors_stick(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	output_init(&output, no_space, NULL);
	assert_int_equal(
		page_write_profile(profile, &(struct profile_json_options){ 0 }, &output), 0);
	assert_int_equal(output_finish(&output), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_asks_its_service),
		cmocka_unit_test(a_page_with_a_profile_asks_nobody),
		cmocka_unit_test(names_are_no_markup),
		cmocka_unit_test(a_difference_has_both_profiles),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
