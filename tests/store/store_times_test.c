/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows are cut by the times of samples. */
#include "base/array.h"
#include "store/store_state.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/times_fixture.h"

#include <errno.h>

static void parts_of_a_window_are_selected(void **state)
{
	struct store_found found;
	struct profile *read;
	char folder[64];
	struct store *store;

	fixture_folder(folder);
	store = fixture_open(folder);
	append(store, START, some, ARRAY_SIZE(some));
	expect_parts(folder);
	/* A whole window needs no times, and keeps its accounts. */
	read = read_exactly(folder, 0, 10000, &found);
	assert_int_equal(fixture_total(read), 106);
	assert_int_equal(found.untimed_ns, 0);
	assert_int_equal(read->accounts.dropped[PILOTLIGHT_DROP_RING_FULL], ARRAY_SIZE(some));
	profile_free(read);
	store_close(store);
	fixture_remove(folder);
}

static void windows_without_times_are_not_cut(void **state)
{
	uint64_t first_ns;
	struct fault fault = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	assert_int_equal(fixture_append_one(store, START - SECONDS(10), 3, 9), 0);
	assert_int_equal(store_reader_first_times(folder, 0, &first_ns, &fault), 0);
	assert_int_equal(first_ns, UINT64_MAX);
	append(store, START, some, ARRAY_SIZE(some));
	assert_int_equal(store_reader_first_times(folder, 0, &first_ns, &fault), 0);
	assert_int_equal(first_ns, START);
	assert_int_equal(store_reader_first_times(folder, START + 1, &first_ns, &fault), 0);
	assert_int_equal(first_ns, UINT64_MAX);
	store_close(store);
	read = fixture_read(folder,
		&(struct store_selection){ .start_ns = START - SECONDS(5),
			.end_ns = START + MS(10),
			.is_exact = true },
		&found);
	assert_int_equal(found.coarse_windows, 1);
	assert_int_equal(found.coarse_start_ns, START - SECONDS(10));
	assert_int_equal(found.coarse_end_ns, START);
	assert_int_equal(fixture_total(read), 1);
	profile_free(read);
	/* Whole, it is read. */
	read = fixture_read(folder,
		&(struct store_selection){ .start_ns = START - SECONDS(10),
			.end_ns = START + MS(10),
			.is_exact = true },
		&found);
	assert_int_equal(found.coarse_windows, 0);
	assert_int_equal(fixture_total(read), 9 + 1);
	profile_free(read);
	fixture_remove(folder);
}

static bool is_of_nobody(void *context, const struct store_thread *thread)
{
	return false;
}

/* Windows without a selected sample have no time to be cut by: they are selected, and empty. */
static void empty_windows_are_cut(void **state)
{
	struct store_selection selection = {
		.start_ns = START + MS(250), .end_ns = START + MS(400), .is_exact = true
	};
	struct profile *read, *idle = fixture_profile(START, NULL, 0);
	struct fault fault = { 0 };
	struct store_found found;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	profile_keep_times(idle, monotonic_of(START));
	assert_int_equal(fixture_append(store, idle, &fault), 0);
	profile_free(idle);
	expect_total(folder, 250, 400, 0, 0);
	/* Nor have those of samples of others. */
	assert_int_equal(fixture_append_one(store, START, 3, 9), 0);
	store_close(store);
	selection.wants_thread = is_of_nobody;
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(found.coarse_windows, 0);
	assert_int_equal(found.windows, 2);
	profile_free(read);
	selection.wants_thread = NULL;
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(found.coarse_windows, 1);
	assert_int_equal(found.windows, 1);
	profile_free(read);
	fixture_remove(folder);
}

struct taken {
	uint64_t sum_ns, first_ns, last_ns;
};

static void take(void *context, uint64_t start_ns, uint64_t slice_ns, uint64_t value_ns)
{
	struct taken *taken = context;

	assert_int_equal(start_ns % slice_ns, 0);
	taken->sum_ns += value_ns;
	if (taken->first_ns == 0 || start_ns < taken->first_ns)
		taken->first_ns = start_ns;
	if (start_ns > taken->last_ns)
		taken->last_ns = start_ns;
}

static bool is_of_seven(void *context, const struct store_thread *thread)
{
	return thread->owner == 7;
}

static void times_are_told(void **state)
{
	struct store_selection selection = { .start_ns = START, .end_ns = START + SECONDS(60) };
	struct taken taken = { 0 };
	struct fault fault = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_minute(store);
	store_close(store);
	assert_int_equal(store_reader_times(
				 folder, &selection, 1 << 20, take, &taken, &read, &found, &fault),
		0);
	assert_int_equal(found.windows, 3);
	assert_int_equal(taken.sum_ns, (6 + 2 + 1) * FIXTURE_PERIOD);
	assert_int_equal(found.timed_ns, taken.sum_ns);
	assert_int_equal(found.untimed_ns, (98 + 5) * FIXTURE_PERIOD);
	assert_int_equal(taken.first_ns, START);
	assert_int_equal(taken.last_ns, START + SECONDS(20));
	assert_int_equal(read->samples.count, 0);
	profile_free(read);
	/* Of one user, and nothing about others. */
	selection.wants_thread = is_of_seven;
	taken = (struct taken){ 0 };
	assert_int_equal(store_reader_times(
				 folder, &selection, 1 << 20, take, &taken, &read, &found, &fault),
		0);
	assert_int_equal(taken.sum_ns, 2 * FIXTURE_PERIOD);
	assert_int_equal(found.untimed_ns, 98 * FIXTURE_PERIOD);
	profile_free(read);
	fixture_remove(folder);
}

static uint64_t stamped(const struct profile *profile, uint64_t time_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->stamps.count; i++)
		if (profile->stamps.items[i].time_ns == time_ns)
			sum += profile->stamps.items[i].count;
	return sum;
}

static uint64_t timed(const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->stamps.count; i++)
		sum += profile->stamps.items[i].count;
	return sum;
}

/* The values are those of a profile without times. What has no time gets none. */
static void a_profile_takes_the_times(void **state)
{
	struct store_selection selection = {
		.start_ns = START,
		.end_ns = START + SECONDS(60),
		.merges_threads = true,
		.takes_times = true,
	};
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_minute(store);
	store_close(store);
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(fixture_total(read), 106 + 5 + 1);
	assert_int_equal(timed(read), 8 + 1);
	assert_int_equal(stamped(read, START), 1);
	assert_int_equal(stamped(read, START + MS(250)), 2);
	assert_int_equal(stamped(read, START + MS(390)), 1);
	assert_int_equal(stamped(read, START + MS(400)), 2);
	assert_int_equal(stamped(read, START + MS(300)), 1);
	assert_int_equal(stamped(read, START + MS(9990)), 1);
	assert_int_equal(stamped(read, START + SECONDS(20)), 1);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
	selection.is_exact = true;
	selection.start_ns = START + MS(250);
	selection.end_ns = START + MS(400);
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(fixture_total(read), 4);
	assert_int_equal(timed(read), 4);
	assert_int_equal(stamped(read, START + MS(250)), 2);
	assert_int_equal(stamped(read, START + MS(300)), 1);
	assert_int_equal(stamped(read, START + MS(390)), 1);
	profile_free(read);
	fixture_remove(folder);
}

/* Slices begin before the window does; no time may. */
static void times_lie_within_their_window(void **state)
{
	const struct timed first = { .pid = 1, .address = 0x3000, .count = 1, .first_ms = 1 };
	const uint64_t start_ns = START + MS(4);
	const struct store_selection selection = {
		.start_ns = START, .end_ns = START + SECONDS(60), .takes_times = true
	};
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append(store, start_ns, &first, 1);
	store_close(store);
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(read->start_ns, start_ns);
	assert_int_equal(timed(read), 1);
	assert_int_equal(stamped(read, start_ns), 1);
	profile_free(read);
	fixture_remove(folder);
}

static void failing_allocations(void **state)
{
	struct store_selection selection = {
		.start_ns = START + MS(250), .end_ns = START + MS(400), .is_exact = true
	};
	struct profile *read = NULL;
	struct store_found found;
	struct store *store;
	char folder[64];
	size_t n;
	int r;

	fixture_folder(folder);
	store = fixture_open(folder);
	append(store, START, some, ARRAY_SIZE(some));
	store_close(store);
	for (n = 0;; n++) {
		struct fault fault = { 0 };

		fail_allocation(n);
		r = store_reader_read(folder, &selection, 1 << 20, &read, &found, &fault);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_int_equal(fixture_total(read), 4);
	profile_free(read);
	fixture_remove(folder);
}

/* Of a thread that is in more slices than it may be, the window is kept without times. */
static void too_many_times_cost_the_times(void **state)
{
	struct profile *profile = fixture_profile(START, NULL, 0);
	uint64_t untimed[STORE_UNTIMED_REASONS] = { 0 };
	struct store *store;
	struct store_found found;
	struct fault fault = { 0 };
	char folder[64];

	fixture_folder(folder);
	profile->end_ns = START + SECONDS(120);
	profile_keep_times(profile, monotonic_of(START));
	for (uint32_t i = 0; i < 12000; i++)
		add_timed(profile, &(struct timed){ .pid = 1,
					   .address = i % 2 ? 0x3000 : 0x4000,
					   .count = 1,
					   .first_ms = 10 * i });
	/* These seven have no times, so they cannot lose them again. */
	profile->samples.items[0].count += 7;
	store = fixture_open(folder);
	profile->times_left_out = 7;
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	store_take_untimed(store, untimed);
	assert_int_equal(untimed[STORE_UNTIMED_TOO_LARGE], 12000);
	assert_int_equal(untimed[STORE_UNTIMED_NO_ROOM], 7);
	store_take_untimed(store, untimed);
	assert_int_equal(untimed[STORE_UNTIMED_NO_ROOM], 7);
	store_close(store);
	profile_free(profile);
	profile = read_exactly(folder, 0, 1000, &found);
	assert_int_equal(found.coarse_windows, 1);
	profile_free(profile);
	profile = fixture_read(folder, NULL, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(fixture_total(profile), 12000 + 7);
	profile_free(profile);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_window_are_selected),
		cmocka_unit_test(windows_without_times_are_not_cut),
		cmocka_unit_test(empty_windows_are_cut),
		cmocka_unit_test(times_are_told),
		cmocka_unit_test(a_profile_takes_the_times),
		cmocka_unit_test(times_lie_within_their_window),
		cmocka_unit_test(failing_allocations),
		cmocka_unit_test(too_many_times_cost_the_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
