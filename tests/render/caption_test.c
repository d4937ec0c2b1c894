/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/caption.h"

#include "tests/render/example_profile.h"

static void source_tells_what_is_known(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_BYTES], event[2000];

	assert_string_equal(caption_source(profile, text), "samples");
	profile->event = example_string(profile, "cycles");
	profile->period_ns = 10101010;
	profile->cpu_count = 1;
	assert_string_equal(caption_source(profile, text), "cycles at 99 Hz on 1 CPU");
	profile->cpu_count = 128;
	profile->period_ns = 1001001;
	assert_string_equal(caption_source(profile, text), "cycles at 999 Hz on 128 CPUs");
	profile->longest_period_ns = 1001001;
	assert_string_equal(caption_source(profile, text), "cycles at 999 Hz on 128 CPUs");
	profile->longest_period_ns = 90909091;
	assert_string_equal(caption_source(profile, text),
		"cycles at 11 to 999 Hz on 128 CPUs, counts as of 999 Hz");
	profile->period_ns = UINT64_MAX;
	assert_string_equal(caption_source(profile, text), "cycles on 128 CPUs");

	memset(event, 'e', sizeof(event) - 1);
	event[sizeof(event) - 1] = '\0';
	profile->event = example_string(profile, event);
	assert_true(strlen(caption_source(profile, text)) > 1000);
}

static void periods_of_other_sources_are_times(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_BYTES];

	profile->event = example_string(profile, "offcpu");
	assert_string_equal(caption_source(profile, text), "offcpu (time off CPU)");
	profile->period_ns = profile->longest_period_ns = 1000000;
	profile->cpu_count = 2;
	assert_string_equal(caption_source(profile, text),
		"offcpu (time off CPU) in samples of 1 ms on 2 CPUs");
	profile->accounts.events[PILOTLIGHT_EVENT_SURVEYED] = 1;
	assert_string_equal(caption_source(profile, text),
		"offcpu (time off CPU) in samples of 1 ms on 2 CPUs, by surveys");
	profile->accounts.events[PILOTLIGHT_EVENT_SURVEYED] = 0;
	profile->event = example_string(profile, "runqueue");
	profile->period_ns = 250000;
	profile->longest_period_ns = 10000000;
	profile->cpu_count = 0;
	assert_string_equal(caption_source(profile, text),
		"runqueue (time waiting for a CPU) in samples of 0.25 to 10 ms");
}

static void samples_of_other_sources_are_times(void **state)
{
	static const struct {
		uint64_t period_ns, count;
		const char *text;
	} cases[] = {
		{ 1000000, 0, "0.000 ms" },
		{ 1000000, 1, "1.000 ms" },
		{ 999499, 1, "0.999 ms" },
		{ 999999499, 1, "999.999 ms" },
		{ 999999500, 1, "1.000 s" },
		{ 1000000, 12345, "12.345 s" },
		{ 500000, 12345, "6.173 s" },
		{ 1000000, 3601200, "3,601.200 s" },
		{ UINT64_MAX, UINT64_MAX, "18,446,744,073,709,551.615 s" },
	};
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_AMOUNT_BYTES];

	assert_string_equal(caption_samples(profile, 1, text), "1 sample");
	assert_string_equal(caption_samples(profile, 1234, text), "1,234 samples");
	assert_string_equal(caption_amount(profile, 1234, text), "1,234");
	assert_string_equal(
		caption_samples(profile, UINT64_MAX, text), "18,446,744,073,709,551,615 samples");
	profile->event = example_string(profile, "wall");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		profile->period_ns = cases[i].period_ns;
		assert_string_equal(caption_samples(profile, cases[i].count, text), cases[i].text);
		assert_string_equal(caption_amount(profile, cases[i].count, text), cases[i].text);
	}
}

static void periods_of_events_have_a_noun(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_BYTES];

	profile->event = example_string(profile, "faults");
	assert_string_equal(caption_source(profile, text), "faults (page faults)");
	profile->period_ns = 1;
	assert_string_equal(
		caption_source(profile, text), "faults (page faults) in samples of 1 fault");
	profile->period_ns = 7;
	profile->longest_period_ns = 10000019;
	profile->cpu_count = 2;
	assert_string_equal(caption_source(profile, text),
		"faults (page faults) in samples of 7 to 10000019 faults on 2 CPUs");
	profile->event = example_string(profile, "cache-misses");
	profile->longest_period_ns = 0;
	assert_string_equal(
		caption_source(profile, text), "cache-misses in samples of 7 events on 2 CPUs");
}

static void samples_of_events_are_numbers(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_AMOUNT_BYTES], noun[CAPTION_NOUN_BYTES];

	profile->event = example_string(profile, "faults");
	profile->period_ns = 1;
	assert_string_equal(caption_samples(profile, 0, text), "0 faults");
	assert_string_equal(caption_samples(profile, 1, text), "1 fault");
	profile->period_ns = 7;
	assert_string_equal(caption_samples(profile, 1, text), "7 faults");
	assert_string_equal(caption_samples(profile, 1000, text), "7,000 faults");
	assert_string_equal(caption_amount(profile, 1000, text), "7,000");
	assert_string_equal(caption_plain_amount(profile, 1000, text), "7000");
	assert_string_equal(caption_noun(profile, 1000, noun), " faults");
	assert_string_equal(
		caption_samples(profile, UINT64_MAX, text), "18,446,744,073,709,551,615 faults");
	example_lose(profile, PILOTLIGHT_DROP_RING_FULL, 3);
	assert_string_equal(
		caption_losses(profile, &profile->accounts, (char[CAPTION_LOSSES_BYTES]){ 0 }),
		"ring full 21");
	profile->event = example_string(profile, "offcpu");
	assert_string_equal(caption_noun(profile, 1000, noun), "");
}

static void time_is_local_and_as_long_as_it_was(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_BYTES];

	assert_string_equal(caption_time(profile, text), "");
	profile->start_ns = 951782400000000000;
	assert_string_equal(caption_time(profile, text), "2000-02-29 00:00:00 UTC");
	profile->end_ns = profile->start_ns + 75990000000;
	assert_string_equal(caption_time(profile, text), "2000-02-29 00:00:00 UTC, 75.9 s");
	profile->covered_ns = 75300000000;
	assert_string_equal(caption_time(profile, text), "2000-02-29 00:00:00 UTC, 75.9 s");
	profile->covered_ns = 40070000000;
	assert_string_equal(caption_time(profile, text),
		"2000-02-29 00:00:00 UTC, 75.9 s, 40.0 s of it recorded");
	profile->end_ns = profile->start_ns + 4000000100;
	profile->covered_ns = 3999999900;
	assert_string_equal(caption_time(profile, text), "2000-02-29 00:00:00 UTC, 4.0 s");
	profile->covered_ns = 3800000000;
	assert_string_equal(caption_time(profile, text),
		"2000-02-29 00:00:00 UTC, 4.0 s, 3.8 s of it recorded");
	profile->start_ns = profile->end_ns = UINT64_MAX;
	assert_string_equal(caption_time(profile, text), "2554-07-21 23:34:33 UTC");
	assert_int_equal(setenv("TZ", "CET-1CEST", 1), 0);
	profile->start_ns = profile->end_ns = 951782400000000000;
	assert_string_equal(caption_time(profile, text), "2000-02-29 01:00:00 CET");
}

static void counts_have_groups_of_three(void **state)
{
	char text[CAPTION_COUNT_BYTES];

	assert_string_equal(caption_count(0, text), "0");
	assert_string_equal(caption_count(999, text), "999");
	assert_string_equal(caption_count(1000, text), "1,000");
	assert_string_equal(caption_count(123456, text), "123,456");
	assert_string_equal(caption_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void shares_are_rounded(void **state)
{
	char text[CAPTION_SHARE_BYTES];

	assert_string_equal(caption_share(0, 0, text), "0.00");
	assert_string_equal(caption_share(1, 0, text), "0.00");
	assert_string_equal(caption_share(1, 3, text), "33.33");
	assert_string_equal(caption_share(2, 3, text), "66.67");
	assert_string_equal(caption_share(3, 3, text), "100.00");
	assert_string_equal(caption_share(UINT64_MAX, UINT64_MAX, text), "100.00");
	assert_string_equal(caption_share(1, UINT64_MAX, text), "0.00");
	assert_string_equal(caption_share(UINT64_MAX, 1, text), "42949672.95");
}

static void losses_are_listed_by_reason(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	char text[CAPTION_LOSSES_BYTES];

	assert_string_equal(caption_losses(profile, &profile->accounts, text), "nothing");
	example_lose(profile, PILOTLIGHT_DROP_IDLE, 5);
	assert_string_equal(caption_losses(profile, &profile->accounts, text), "nothing");
	example_lose(profile, PILOTLIGHT_DROP_RING_FULL, 3);
	example_lose(profile, PILOTLIGHT_DROP_PROFILE_FULL, 2);
	assert_string_equal(
		caption_losses(profile, &profile->accounts, text), "ring full 3, profile full 2");
	/* Of other sources periods are lost, whose number tells nothing. */
	assert_int_equal(profile_add_string(profile, "offcpu", &profile->event), 0);
	profile->period_ns = 1000000;
	assert_string_equal(caption_losses(profile, &profile->accounts, text),
		"ring full 3.000 ms, profile full 2.000 ms");
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		profile->accounts.dropped[i] = UINT64_MAX;
	assert_true(
		strlen(caption_losses(profile, &profile->accounts, text)) < CAPTION_LOSSES_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_tells_what_is_known),
		cmocka_unit_test(periods_of_other_sources_are_times),
		cmocka_unit_test(samples_of_other_sources_are_times),
		cmocka_unit_test(periods_of_events_have_a_noun),
		cmocka_unit_test(samples_of_events_are_numbers),
		cmocka_unit_test(time_is_local_and_as_long_as_it_was),
		cmocka_unit_test(counts_have_groups_of_three),
		cmocka_unit_test(shares_are_rounded),
		cmocka_unit_test(losses_are_listed_by_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
