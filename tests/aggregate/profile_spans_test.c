/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile.h"
#include "aggregate/profile_sum.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PLENTY = 1 << 20 };

static struct pilotlight_thread_context ids_of(uint32_t trace, uint32_t span)
{
	struct pilotlight_thread_context ids = { { 1 }, { 1 } };

	memcpy(ids.trace_id + 8, &trace, sizeof(trace));
	memcpy(ids.span_id + 4, &span, sizeof(span));
	return ids;
}

static int add(struct profile_spans *spans, uint32_t sample, uint32_t span, uint64_t count)
{
	const struct pilotlight_thread_context ids = ids_of(1, span);

	return profile_spans_add(spans, sample, &ids, count, PLENTY);
}

static uint64_t sum_of(const struct profile_spans *spans, uint32_t sample, size_t *ret_count)
{
	const struct profile_span_count *count = NULL;
	uint64_t sum = 0;

	*ret_count = 0;
	while ((count = profile_spans_next(spans, sample, count))) {
		assert_int_equal(count->sample, sample);
		sum += count->count;
		++*ret_count;
	}
	return sum;
}

static void a_sample_has_counts_in_spans(void **state)
{
	struct profile_spans spans = { 0 };
	size_t count;

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(add(&spans, i % 3, i % 10, i), 0);
	assert_int_equal(spans.count, 10);
	assert_int_equal(spans.counts_count, 30);
	assert_int_equal(
		sum_of(&spans, 0, &count) + sum_of(&spans, 1, &count) + sum_of(&spans, 2, &count),
		499500);
	assert_int_equal(count, 10);
	assert_int_equal(sum_of(&spans, 3, &count), 0);
	assert_int_equal(add(&spans, 100, 1, UINT64_MAX), 0);
	assert_int_equal(add(&spans, 100, 1, 5), 0);
	assert_int_equal(sum_of(&spans, 100, &count), UINT64_MAX);
	assert_int_equal(sum_of(&spans, 99, &count), 0);
	profile_spans_done(&spans);
}

static void they_stay_within_their_bound(void **state)
{
	struct profile_spans spans = { 0 };
	uint32_t i = 0;
	int r = 0;

	while (r == 0) {
		const struct pilotlight_thread_context ids = ids_of(i, i);

		r = profile_spans_add(&spans, i++ % 7, &ids, 1, 10000);
	}
	assert_int_equal(r, -E2BIG);
	assert_true(spans.count > 50);
	assert_true(profile_spans_element_bytes(&spans) <= 10000);
	assert_int_equal(
		profile_spans_add(&spans, UINT32_MAX - 2, &spans.items[0], 1, 10000), -E2BIG);
	profile_spans_done(&spans);
}

static int add_and_free(void)
{
	struct profile_spans spans = { 0 };
	int r = add(&spans, 5, 1, 1);

	profile_spans_done(&spans);
	return r;
}

static void failing_allocations_leave_nothing(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(add_and_free(), -ENOMEM, true, 0) >= 4);
}

static void ids_are_read_and_written(void **state)
{
	static const char trace[] = "0af7651916cd43dd8448eb211c80319c", span[] = "b7ad6b7169203331";
	static const char *const wrong[] = { "", "0", "00000000000000000000000000000000",
		"0af7651916cd43dd8448eb211c80319", "0af7651916cd43dd8448eb211c80319c0",
		"0af7651916cd43dd8448eb211c80319g", "0000000000000000" };
	char text[TRACE_ID_TEXT_BYTES];
	struct span_choice choice = { 0 };
	struct pilotlight_thread_context ids = { 0 };

	assert_true(thread_context_is_none(&ids));
	assert_true(span_choice_takes(&choice, &ids));
	assert_int_equal(span_choice_set_trace(&choice, trace), 0);
	assert_string_equal(trace_id_format(&choice.ids, text), trace);
	assert_false(span_choice_takes(&choice, &ids));
	memcpy(ids.trace_id, choice.ids.trace_id, sizeof(ids.trace_id));
	assert_true(span_choice_takes(&choice, &ids));
	assert_int_equal(span_choice_set_span(&choice, "B7AD6B7169203331"), 0);
	assert_string_equal(span_id_format(&choice.ids, text), span);
	assert_false(span_choice_takes(&choice, &ids));
	assert_true(span_choice_takes(&choice, &choice.ids));
	assert_false(thread_context_is_none(&choice.ids));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(span_choice_set_trace(&choice, wrong[i]), -EINVAL);
		assert_int_equal(span_choice_set_span(&choice, wrong[i]), -EINVAL);
	}
}

/* A profile with one sample, of which some counts are of spans. */
static struct profile *profile_of(uint64_t period_ns, bool keeps_spans)
{
	struct profile_thread thread = { .tid = 1 };
	struct profile_sample sample = { .count = 6 };
	const struct pilotlight_thread_context first = ids_of(1, 1), second = ids_of(1, 2);
	struct profile *profile;
	uint32_t location;

	assert_int_equal(profile_new(PLENTY, &profile), 0);
	profile->period_ns = period_ns;
	profile->keeps_spans = keeps_spans;
	assert_int_equal(profile_add_synthetic(profile, "a", &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile_note_span(profile, &sample, &first);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	sample.count = 4;
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile_note_span(profile, &sample, &second);
	return profile;
}

static void a_sum_of_profiles_has_their_spans(void **state)
{
	struct profile *parts[2] = { profile_of(10, true), profile_of(20, true) }, *sum;
	size_t count;

	assert_int_equal(sum_of(&parts[0]->spans, 0, &count), 10);
	assert_int_equal(
		profile_sum_new((const struct profile *const *)parts, 2, "wall", PLENTY, &sum), 0);
	assert_int_equal(sum->samples.count, 1);
	assert_int_equal(sum->samples.items[0].count, 48);
	assert_int_equal(sum->spans.count, 2);
	assert_int_equal(sum_of(&sum->spans, 0, &count), 30);
	assert_int_equal(count, 2);
	profile_free(parts[0]);
	profile_free(parts[1]);
	profile_free(sum);
}

static void a_profile_keeps_them_if_it_is_asked(void **state)
{
	struct profile *profile = profile_of(10, false);
	size_t count;

	assert_int_equal(sum_of(&profile->spans, 0, &count), 0);
	assert_int_equal(profile_spans_bytes(&profile->spans), 0);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_counts_in_spans),
		cmocka_unit_test(they_stay_within_their_bound),
		cmocka_unit_test(failing_allocations_leave_nothing),
		cmocka_unit_test(ids_are_read_and_written),
		cmocka_unit_test(a_sum_of_profiles_has_their_spans),
		cmocka_unit_test(a_profile_keeps_them_if_it_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
