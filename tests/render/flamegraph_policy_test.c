/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_policy.h"

#include "query/profile_difference.h"
#include "render/difference_svg.h"
#include "render/flamegraph_svg.h"
#include "tests/render/example_difference.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

#include <sys/types.h>

#include <sha2.h>

/* The base64 digit of six bits of a hash; bits beyond its end are 0. */
static char digit_of(const uint8_t hash[SHA256_DIGEST_LENGTH], unsigned first_bit)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned value = 0;

	for (unsigned bit = first_bit; bit < first_bit + 6; bit++)
		value = value << 1 |
			(bit / 8 < SHA256_DIGEST_LENGTH ? hash[bit / 8] >> (7 - bit % 8) & 1 : 0);
	return digits[value];
}

/* The text between these two, as a browser sees it, is one that the directive allows. */
static void expect_allowed(
	const char *svg, const char *begin, const char *end, const char *directive)
{
	char policy[FLAMEGRAPH_POLICY_BYTES], source[64] = "'sha256-", *sources, *sources_end;
	const char *text = strstr(svg, begin), *text_end;
	uint8_t hash[SHA256_DIGEST_LENGTH];
	SHA2_CTX digest;

	assert_non_null(text);
	text += strlen(begin);
	text_end = strstr(text, end);
	assert_non_null(text_end);
	SHA256Init(&digest);
	SHA256Update(&digest, (const uint8_t *)text, (size_t)(text_end - text));
	SHA256Final(hash, &digest);
	for (unsigned i = 0; i < 43; i++)
		source[8 + i] = digit_of(hash, 6 * i);
	strcpy(source + 8 + 43, "='");
	sources = strstr(flamegraph_policy_format(policy), directive);
	assert_non_null(sources);
	sources += strlen(directive);
	sources_end = strchr(sources, ';');
	assert_non_null(sources_end);
	*sources_end = '\0';
	assert_non_null(strstr(sources, source));
}

static void expect_both_allowed(const char *svg)
{
	expect_allowed(svg, "<style>", "</style>", "; style-src ");
	expect_allowed(svg, "<script><![CDATA[", "]]></script>", "; script-src ");
	/* A policy by hashes does not allow attributes. */
	assert_null(strstr(svg, " style=\""));
	assert_null(strstr(svg, " onclick=\""));
}

static void flame_graphs_may_run_and_no_more(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(0);
	char policy[FLAMEGRAPH_POLICY_BYTES];
	struct rendering *rendering = malloc(sizeof(*rendering));
	char *svg;

	assert_non_null(rendering);
	assert_int_equal(flamegraph_svg_write(profile, "</style><script>1</script>",
				 FRAME_BY_FUNCTION, rendering_begin(rendering)),
		0);
	svg = rendering_end(rendering);
	expect_both_allowed(svg);
	assert_ptr_equal(flamegraph_policy_format(policy), policy);
	assert_memory_equal(policy, "default-src 'none'; ", 20);
	assert_null(strstr(policy, "unsafe"));
	/* It is not cut short. */
	assert_string_equal(policy + strlen(policy) - 22, "frame-ancestors 'none'");
	free(svg);
	free(rendering);
}

static void differences_may_run_and_no_more(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(0);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(0);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	const char *const names[DIFFERENCE_SIDE_COUNT] = { "before", "after" };
	struct rendering *rendering = malloc(sizeof(*rendering));
	char *svg;

	assert_non_null(rendering);
	assert_int_equal(difference_svg_write(
				 &difference, names, FRAME_BY_FUNCTION, rendering_begin(rendering)),
		0);
	svg = rendering_end(rendering);
	expect_both_allowed(svg);
	free(svg);
	free(rendering);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flame_graphs_may_run_and_no_more),
		cmocka_unit_test(differences_may_run_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
