/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PLENTY = 1 << 20, PERIOD = 10 };

/* Samples of one thread, whose stacks are the root and nodes below it; amounts, not yet divided. */
static struct profile *profile_of(size_t limit_bytes, const uint64_t *counts, uint32_t count)
{
	const struct profile_thread thread = { .tid = 1 };
	struct profile *profile;
	uint32_t location;

	assert_int_equal(profile_new(limit_bytes, &profile), 0);
	profile->period_ns = PERIOD;
	for (uint32_t i = 0; i < count; i++) {
		struct profile_sample sample = { .count = counts[i] * PERIOD };
		const char text[] = { (char)('a' + i), '\0' };

		assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
		assert_int_equal(profile_add_synthetic(profile, text, &location), 0);
		assert_int_equal(
			profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	return profile;
}

static void note(struct profile *profile, uint32_t sample, uint64_t time_ns, uint64_t count)
{
	struct profile_sample noted = profile->samples.items[sample];

	noted.count = count * PERIOD;
	profile_note_stamp(profile, &noted, time_ns);
}

static void expect(const struct profile *profile, uint32_t sample, size_t count,
	const struct profile_stamp *expected)
{
	size_t found;
	const struct profile_stamp *stamps = profile_stamps_of(profile, sample, &found);

	assert_int_equal(found, count);
	assert_true((stamps != NULL) == (count > 0));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(stamps[i].sample, sample);
		assert_int_equal(stamps[i].time_ns, expected[i].time_ns);
		assert_int_equal(stamps[i].count, expected[i].count);
	}
}

static void a_sample_has_times(void **state)
{
	static const uint64_t counts[] = { 10, 3, 5 };
	struct profile *profile = profile_of(PLENTY, counts, 3);

	note(profile, 2, 900, 5);
	note(profile, 0, 300, 1);
	note(profile, 0, 200, 4);
	note(profile, 0, 300, 2);
	profile_divide(profile);
	profile_sort_stamps(profile);
	expect(profile, 0, 2, (const struct profile_stamp[]){ { 200, 4, 0, 0 }, { 300, 3, 0, 0 } });
	expect(profile, 1, 0, NULL);
	expect(profile, 2, 1, (const struct profile_stamp[]){ { 900, 5, 0, 0 } });
	expect(profile, 3, 0, NULL);
	profile_free(profile);
}

static void without_any_there_are_none(void **state)
{
	struct profile *profile = profile_of(PLENTY, NULL, 0);

	profile_divide(profile);
	profile_sort_stamps(profile);
	expect(profile, 0, 0, NULL);
	profile_free(profile);
}

/* Slices of a profile that began in the middle of one, and ended so. */
static void times_that_were_kept_become_stamps(void **state)
{
	static const uint64_t start_ns = 1700000000123456789, begun_ns = 5000000000;
	static const uint64_t times_ns[] = { 0, 1000, PROFILE_SLICE_NS, 99 * PROFILE_SLICE_NS };
	const uint64_t first_ns = start_ns - start_ns % PROFILE_SLICE_NS;
	static const uint64_t counts[] = { 1 };
	struct profile *profile = profile_of(PLENTY, counts, 1);
	struct profile_sample sample = profile->samples.items[0];

	profile->period_ns = 1;
	profile->start_ns = start_ns;
	profile->end_ns = start_ns + 99 * PROFILE_SLICE_NS + 1;
	profile_keep_times(profile, begun_ns);
	sample.count = 2;
	for (size_t i = 0; i < sizeof(times_ns) / sizeof(times_ns[0]); i++) {
		sample.first_ns = sample.last_ns = begun_ns + times_ns[i];
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	profile_stamp_times(profile);
	expect(profile, 0, 3,
		(const struct profile_stamp[]){ { start_ns, 4, 0, 0 },
			{ first_ns + PROFILE_SLICE_NS, 2, 0, 0 },
			{ first_ns + 99 * PROFILE_SLICE_NS, 2, 0, 0 } });
	profile_free(profile);
}

/* Amounts that are saturated do not add up; nor does less than a sample make one. */
static void times_are_of_no_more_than_the_sample_has(void **state)
{
	static const uint64_t counts[] = { 4, 4 };
	struct profile *profile = profile_of(PLENTY, counts, 2);
	struct profile_sample little = profile->samples.items[1];

	note(profile, 0, 100, 3);
	note(profile, 0, 200, 3);
	note(profile, 0, 300, 3);
	little.count = PERIOD - 1;
	profile_note_stamp(profile, &little, 100);
	profile_divide(profile);
	profile_sort_stamps(profile);
	expect(profile, 0, 2, (const struct profile_stamp[]){ { 100, 3, 0, 0 }, { 200, 1, 0, 0 } });
	expect(profile, 1, 0, NULL);
	profile_free(profile);
}

/* Those that have no room are left out, and the sample keeps its count. */
static void they_stay_within_their_bound(void **state)
{
	static const uint64_t counts[] = { 1 << 20 };
	const size_t limit_bytes = 1 << 16;
	struct profile *profile = profile_of(limit_bytes, counts, 1);

	for (uint64_t i = 0; i < 1 << 14; i++)
		note(profile, 0, 1 + i, 1);
	assert_true(profile->stamps.count > 100);
	assert_int_equal(profile->times_left_out, (1 << 14) - profile->stamps.count);
	assert_true(profile->stamps.count * sizeof(struct profile_stamp) <= limit_bytes / 4);
	assert_true(profile_bytes(profile) <= limit_bytes);
	profile_divide(profile);
	profile_sort_stamps(profile);
	assert_int_equal(profile->samples.items[0].count, 1 << 20);
	profile_free(profile);
}

static void a_failing_allocation_leaves_it_out(void **state)
{
	static const uint64_t counts[] = { 2 };
	struct profile *profile = profile_of(PLENTY, counts, 1);

	fail_allocation(0);
	note(profile, 0, 100, 1);
	assert_true(allocation_failed());
	profile_divide(profile);
	profile_sort_stamps(profile);
	expect(profile, 0, 0, NULL);
	assert_int_equal(profile->samples.items[0].count, 2);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_times),
		cmocka_unit_test(times_that_were_kept_become_stamps),
		cmocka_unit_test(without_any_there_are_none),
		cmocka_unit_test(times_are_of_no_more_than_the_sample_has),
		cmocka_unit_test(they_stay_within_their_bound),
		cmocka_unit_test(a_failing_allocation_leaves_it_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
