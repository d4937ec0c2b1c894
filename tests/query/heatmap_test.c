/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where samples have their place, and times of which the history has nothing. */
#include "query/heatmap.h"

#include "tests/store/store_fixture.h"

#define START (FIXTURE_DAY_NS + SECONDS(3600))

/* A sample at each of these times. */
static void append(const char *folder, uint64_t start_ns, const uint64_t *at_ns, size_t count)
{
	const struct fixture_sample one = { .pid = 1, .comm = "one" };
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	const uint64_t monotonic_ns = start_ns - FIXTURE_DAY_NS + DAY_NS;
	struct profile_sample sample = { .count = 1 };
	struct store *store = fixture_open(folder);
	struct fault fault = { 0 };

	profile_keep_times(profile, monotonic_ns);
	assert_int_equal(fixture_thread(profile, &one, &sample.thread), 0);
	for (size_t i = 0; i < count; i++) {
		sample.first_ns = sample.last_ns = monotonic_ns + at_ns[i];
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
	store_close(store);
}

static struct heatmap read_map(const char *folder, uint64_t start_ns, uint64_t end_ns)
{
	const struct store_selection selection = { .start_ns = start_ns, .end_ns = end_ns };
	struct heatmap heatmap;
	struct fault fault = { 0 };

	assert_int_equal(heatmap_read(folder, &selection, 1 << 20, &heatmap, &fault), 0);
	return heatmap;
}

static void samples_have_their_place(void **state)
{
	static const uint64_t at_ns[] = { 0, 20000000, 25000000, SECONDS(3) + 980000000 };
	struct heatmap heatmap;
	char folder[64];

	fixture_folder(folder);
	append(folder, START, at_ns, 4);
	heatmap = read_map(folder, START, START + SECONDS(10));
	assert_int_equal(heatmap.columns, 10);
	assert_int_equal(heatmap.column_ns, SECONDS(1));
	assert_int_equal(heatmap_count(&heatmap, 0, 0), 1);
	assert_int_equal(heatmap_count(&heatmap, 0, 1), 2);
	assert_int_equal(heatmap_count(&heatmap, 3, HEATMAP_ROWS - 1), 1);
	heatmap_done(&heatmap);
	/* More than the history has. */
	heatmap = read_map(folder, 0, UINT64_MAX);
	assert_int_equal(heatmap.columns, 10);
	assert_int_equal(heatmap.start_ns, START);
	heatmap_done(&heatmap);
	fixture_remove(folder);
}

static void longer_times_have_wider_columns(void **state)
{
	static const uint64_t at_ns[] = { SECONDS(5) };
	struct heatmap heatmap;
	char folder[64];

	fixture_folder(folder);
	append(folder, START, at_ns, 1);
	append(folder, START + SECONDS(7200), at_ns, 1);
	heatmap = read_map(folder, 0, UINT64_MAX);
	assert_true(heatmap.columns <= HEATMAP_COLUMNS_MAX);
	assert_int_equal(heatmap.column_ns, SECONDS(5));
	assert_int_equal(heatmap_count(&heatmap, 1, 0), 1);
	assert_int_equal(heatmap_count(&heatmap, 1441, 0), 1);
	heatmap_done(&heatmap);
	fixture_remove(folder);
}

static void a_time_without_history_has_no_columns(void **state)
{
	static const uint64_t at_ns[] = { 0 };
	struct heatmap heatmap;
	char folder[64];

	fixture_folder(folder);
	append(folder, START, at_ns, 1);
	heatmap = read_map(folder, START + SECONDS(10), START + SECONDS(20));
	assert_int_equal(heatmap.columns, 0);
	assert_int_equal(heatmap.found.windows, 0);
	heatmap_done(&heatmap);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_their_place),
		cmocka_unit_test(longer_times_have_wider_columns),
		cmocka_unit_test(a_time_without_history_has_no_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
