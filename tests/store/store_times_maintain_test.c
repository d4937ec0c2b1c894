/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of samples are merged, and dropped before their windows. */
#include "base/array.h"
#include "store/store_state.h"
#include "tests/store/times_fixture.h"

#include <errno.h>

static int64_t windows_with_times(const char *folder)
{
	char path[DAY_PATH_BYTES];

	fixture_path(path, folder);
	return fixture_sql(path, "SELECT count(*) FROM times");
}

static void merging_keeps_times_for_hours(void **state)
{
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_minute(store);
	assert_int_equal(windows_with_times(folder), 2);
	maintain(store, START + SECONDS(3 * 3600));
	fixture_expect_windows(folder, 1, 0);
	assert_int_equal(windows_with_times(folder), 1);
	/* The 5 of the second window have no time. Slices are of 20 ms now. */
	expect_total(folder, 240, 400, 4, 98 + 5);
	expect_total(folder, 20000, 20020, 1, 98 + 5);
	expect_slices(folder, 410, 420, 400, 420);
	expect_total(folder, 420, 440, 0, 98 + 5);
	maintain(store, START + SECONDS(86400 - 120));
	assert_int_equal(windows_with_times(folder), 1);
	maintain(store, START + SECONDS(86400 + 120));
	assert_int_equal(windows_with_times(folder), 0);
	fixture_expect_windows(folder, 1, 0);
	store_close(store);
	fixture_remove(folder);
}

/* Each has a reader of times, which takes more memory than the window. */
static void a_minute_of_short_windows_keeps_times(void **state)
{
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	for (uint64_t second = 0; second < 60; second++) {
		struct profile *profile = fixture_profile(START + SECONDS(second), NULL, 0);

		profile->end_ns = profile->start_ns + SECONDS(1);
		profile_keep_times(profile, monotonic_of(profile->start_ns));
		for (uint64_t ms = 0; ms < 1000; ms += 10)
			add_timed(profile,
				&(struct timed){
					.pid = 1, .address = 0x3000, .count = 1, .first_ms = ms });
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, START + SECONDS(3 * 3600));
	fixture_expect_windows(folder, 1, 0);
	assert_int_equal(windows_with_times(folder), 1);
	store_close(store);
	fixture_remove(folder);
}

/* Windows whose threads run all the time. */
struct minute {
	uint64_t count, seconds; /* of windows, and of each */
	uint32_t threads;
	uint64_t windows; /* after merging */
	int64_t with_times;
};

static void append_busy(struct store *store, const struct minute *minute, uint64_t start_ns)
{
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	const uint32_t slices = (uint32_t)minute->seconds * 100;
	struct profile_sample sample = { .count = 1 };
	struct fault fault = { 0 };

	profile->end_ns = start_ns + SECONDS(minute->seconds);
	profile->limit_bytes = 64 << 20;
	profile_keep_times(profile, monotonic_of(start_ns));
	for (uint32_t n = 0; n < minute->threads * slices; n++) {
		sample.thread = n / slices;
		if (n % slices == 0) {
			add_timed(profile,
				&(struct timed){
					.pid = 1 + sample.thread, .address = 0x3000, .count = 1 });
			continue;
		}
		sample.node = profile->samples.items[sample.thread].node;
		sample.first_ns = sample.last_ns = monotonic_of(start_ns) + MS(10 * (n % slices));
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* Windows are merged although their times are too large for one merge. Short windows are halved in
 * number first, until they are longer than usual ones. Dropped times are counted. */
static void many_times_are_dropped_at_last(void **state)
{
	static const struct minute minutes[] = {
		{ 3, 10, 100, 1, 1 },
		{ 3, 10, 180, 2, 2 },
		{ 3, 10, 260, 1, 0 },
		{ 2, 10, 260, 1, 0 },
		{ 60, 1, 250, 4, 4 },
	};

	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
		const struct minute *minute = &minutes[i];
		uint64_t untimed[STORE_UNTIMED_REASONS] = { 0 };
		struct store *store;
		char folder[64];

		fixture_folder(folder);
		store = fixture_open(folder);
		for (uint64_t n = 0; n < minute->count; n++)
			append_busy(store, minute, START + SECONDS(minute->seconds * n));
		maintain(store, START + SECONDS(3 * 3600));
		fixture_expect_windows(folder, minute->windows, 0);
		assert_int_equal(windows_with_times(folder), minute->with_times);
		store_take_untimed(store, untimed);
		assert_int_equal(untimed[STORE_UNTIMED_TOO_LARGE],
			minute->with_times ? 0 : minute->count * minute->threads * 1000);
		assert_int_equal(untimed[STORE_UNTIMED_DAMAGED], 0);
		store_close(store);
		fixture_remove(folder);
	}
}

/* Damaged times cost nothing else, neither readers nor the merge. */
static void damaged_times_are_dropped(void **state)
{
	char folder[64], path[DAY_PATH_BYTES];
	uint64_t untimed[STORE_UNTIMED_REASONS] = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;

	fixture_folder(folder);
	fixture_path(path, folder);
	store = fixture_open(folder);
	append_minute(store);
	store_close(store);
	(void)fixture_sql(path, "UPDATE times SET body = (SELECT max(body) FROM times)");
	(void)fixture_sql(path, "UPDATE times SET body = x'0100' WHERE window = 1");
	read = read_exactly(folder, 250, 400, &found);
	assert_int_equal(found.coarse_windows, 1);
	assert_int_equal(found.days_damaged, 1);
	profile_free(read);
	store = fixture_open(folder);
	maintain(store, START + SECONDS(3 * 3600));
	store_take_untimed(store, untimed);
	assert_int_equal(untimed[STORE_UNTIMED_DAMAGED], 106 + 1); /* five had none */
	store_close(store);
	fixture_expect_windows(folder, 1, 0);
	assert_int_equal(windows_with_times(folder), 0);
	read = fixture_read(folder, NULL, &found);
	assert_int_equal(fixture_total(read), 106 + 5 + 1);
	profile_free(read);
	fixture_remove(folder);
}

static void incidents_keep_their_times(void **state)
{
	struct incident incident = {
		.time_ns = START + SECONDS(5),
		.kept_from_ns = START,
		.kept_to_ns = START + SECONDS(10),
	};
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append(store, START - SECONDS(600), some, 2);
	append(store, START, some, ARRAY_SIZE(some));
	append(store, START + SECONDS(600), some, 2);
	assert_int_equal(store_add_incident(store, &incident, &fault), 0);
	maintain(store, START + SECONDS(2 * 86400));
	assert_int_equal(windows_with_times(folder), 1);
	expect_parts(folder);
	store_close(store);
	fixture_remove(folder);
}

enum { MANY = 2000 };

static void append_many(struct store *store, uint64_t start_ns)
{
	struct timed *samples = calloc(MANY, sizeof(*samples));
	uint64_t random = start_ns | 1;

	assert_non_null(samples);
	for (size_t i = 0; i < MANY; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		samples[i] = (struct timed){
			.pid = 1,
			.address = 0x3000 + i,
			.count = 1,
			.first_ms = (random >> 33) % 10000,
		};
	}
	append(store, start_ns, samples, MANY);
	free(samples);
}

static void times_beyond_their_share_are_dropped(void **state)
{
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	uint64_t first_ns, end_ns = START;
	struct store *store;
	char folder[64];

	limits.bytes = 1 << 20;
	fixture_folder(folder);
	assert_int_equal(store_open(folder, &limits, &store, &fault), 0);
	for (; end_ns < START + SECONDS(10 * 60); end_ns += SECONDS(10)) {
		append_many(store, end_ns);
		maintain(store, end_ns);
	}
	/* The oldest ones. */
	assert_true(windows_with_times(folder) > 10);
	assert_true(windows_with_times(folder) < 59);
	assert_int_equal(store_reader_first_times(folder, 0, &first_ns, &fault), 0);
	assert_int_equal(first_ns, end_ns - SECONDS(10 * windows_with_times(folder)));
	store_close(store);
	fixture_remove(folder);
}

/* Many times of one stack. */
static void append_spin(struct store *store, uint64_t start_ns)
{
	struct timed samples[800];
	uint64_t random = start_ns | 1;

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		samples[i] = (struct timed){
			.pid = 1,
			.address = 0x3000,
			.count = 1,
			.first_ms = (random >> 33) % 10000,
		};
	}
	append(store, start_ns, samples, ARRAY_SIZE(samples));
}

/* What is dropped of them in one call has an end. */
static void dropping_times_keeps_its_deadline(void **state)
{
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	for (uint64_t i = 0; i < 199; i++)
		append_spin(store, START + SECONDS(10) * i);
	/* Writes back what the -wal holds. */
	store_close(store);
	store = fixture_open(folder);
	append_spin(store, START + SECONDS(1990));
	/* The history fits, its times are twice too large. */
	store->limits.bytes = fixture_summary(folder).bytes + (64 << 10);
	assert_int_equal(store_maintain(store, START, 0, &fault), 1);
	assert_int_equal(windows_with_times(folder), 200 - 64);
	maintain(store, START);
	assert_in_range(windows_with_times(folder), 1, 200 - 65);
	store_close(store);
	fixture_remove(folder);
}

/* Incidents' times are passed over; those of a clock that was set back are not. */
static void times_before_the_spared_ones_are_dropped(void **state)
{
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	append_spin(store, START);
	store->spared_ns = START + SECONDS(3600);
	append_spin(store, START + SECONDS(10));
	assert_int_equal(store->spared_ns, START + SECONDS(10));
	store_close(store);
	fixture_remove(folder);
}

/* Deletes the window's times from the table, but not from its index. */
static void remove_from_table(const char *path)
{
	char sql[512];

	(void)snprintf(sql, sizeof(sql),
		"PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES('index', "
		"'times_start', 'times', %d, 'CREATE INDEX times_start ON times(start_ns, bytes)')",
		(int)fixture_sql(
			path, "SELECT rootpage FROM sqlite_schema WHERE name = 'times_start'"));
	(void)fixture_sql(path, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE "
				"name = 'times_start'");
	(void)fixture_sql(path, "DELETE FROM times WHERE window = 1");
	(void)fixture_sql(path, sql);
}

static void a_damaged_index_of_times_ends(void **state)
{
	char folder[64], path[DAY_PATH_BYTES];
	struct fault fault = { 0 };
	struct store *store;
	int r = 1;

	fixture_folder(folder);
	fixture_path(path, folder);
	store = fixture_open(folder);
	append_minute(store);
	store_close(store);
	remove_from_table(path);
	store = fixture_open(folder);
	for (int i = 0; i < 100 && r == 1; i++)
		r = store_maintain(store, START + SECONDS(2 * 86400), 0, &fault);
	assert_int_equal(r, 0);
	assert_int_equal(fixture_summary(folder).days_set_aside, 1);
	store_close(store);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_keeps_times_for_hours),
		cmocka_unit_test(many_times_are_dropped_at_last),
		cmocka_unit_test(a_minute_of_short_windows_keeps_times),
		cmocka_unit_test(damaged_times_are_dropped),
		cmocka_unit_test(incidents_keep_their_times),
		cmocka_unit_test(times_beyond_their_share_are_dropped),
		cmocka_unit_test(dropping_times_keeps_its_deadline),
		cmocka_unit_test(times_before_the_spared_ones_are_dropped),
		cmocka_unit_test(a_damaged_index_of_times_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
