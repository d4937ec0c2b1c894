/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Days and bytes that are kept. */
#include "tests/store/maintain_fixture.h"

static size_t count_days(const char *folder)
{
	struct fault fault = { 0 };
	struct day_files files;
	size_t count;

	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	count = files.count;
	day_files_done(&files);
	return count;
}

static void old_days_go(void **state)
{
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + i * DAY_NS, 1, 1), 0);
	assert_int_equal(count_days(store_folder), 40);
	maintain(store, FIXTURE_DAY_NS + 39 * DAY_NS + 1);
	/* Thirty days before the last but one, those two, and today. */
	assert_int_equal(count_days(store_folder), 32);
	assert_int_equal(look(store_folder).count, 32);
	store_close(store);
}

static void a_clock_set_ahead_costs_no_history(void **state)
{
	struct store *store;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + i * DAY_NS, 1, 1), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + 9000 * DAY_NS, 1, 1), 0);
	maintain(store, FIXTURE_DAY_NS + 9000 * DAY_NS + SECONDS(20));
	assert_int_equal(count_days(store_folder), 6);
	maintain(store, SECONDS(20));
	assert_int_equal(count_days(store_folder), 6);
	store_close(store);
}

static uint64_t folder_bytes(const char *folder)
{
	struct fault fault = { 0 };
	struct day_files files;
	uint64_t bytes;

	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	bytes = files.bytes;
	day_files_done(&files);
	return bytes;
}

static void bytes_are_kept_to_by_days(void **state)
{
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	struct store *store;

	limits.bytes = 400 << 10;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + i * DAY_NS, 1, 1), 0);
	assert_true(folder_bytes(store_folder) > limits.bytes);
	maintain(store, FIXTURE_DAY_NS + 19 * DAY_NS);
	assert_true(folder_bytes(store_folder) <= limits.bytes);
	assert_true(count_days(store_folder) > 2);
	/* The last one is the youngest. */
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + 19 * DAY_NS, 1, 1), 0);
	store_close(store);
}

/* Within one day the oldest generation goes. */
static void bytes_are_kept_to_within_a_day(void **state)
{
	struct store_limits limits = store_default_limits;
	struct store_selection selection = { .end_ns = UINT64_MAX, .merges_threads = true };
	struct store_found found;
	struct fault fault = { 0 };
	struct profile *read;
	struct store *store;
	uint64_t state_of_draw = 1;

	limits.bytes = 3 << 20;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	for (uint32_t i = 0; i < 60; i++) {
		struct profile *profile =
			fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, NULL, 0);

		profile->limit_bytes = 64 << 20;
		for (uint32_t j = 0; j < 10000; j++) {
			struct fixture_sample sample = { .pid = 1, .count = 1, .comm = "one" };

			state_of_draw = state_of_draw * 6364136223846793005U + 1;
			sample.address = state_of_draw >> 20;
			fixture_add(profile, &sample);
		}
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
		maintain(store, FIXTURE_DAY_NS + SECONDS(10) * (i + 1));
		assert_true(folder_bytes(store_folder) <= limits.bytes);
	}
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_true(found.windows > 0 && found.windows < 60);
	/* The last ones are there. */
	assert_int_equal(found.end_ns, FIXTURE_DAY_NS + SECONDS(600));
	profile_free(read);
	store_close(store);
}

/* The same stacks in all of them: their dictionary has room for ever. */
static void append_alike(struct store *store, uint32_t number, uint64_t *state_of_draw)
{
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * number, NULL, 0);
	struct fault fault = { 0 };

	for (uint32_t i = 0; i < 1000; i++) {
		struct fixture_sample sample = { .pid = 1, .address = i, .comm = "one" };

		*state_of_draw = *state_of_draw * 6364136223846793005U + 1;
		sample.count = 1 + (*state_of_draw >> 36);
		fixture_add(profile, &sample);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

enum { ALIKE = 400, ALIKE_LIMIT = 512 << 10 };

static struct store *open_small(const char *folder)
{
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	struct store *store;

	limits.bytes = ALIKE_LIMIT;
	assert_int_equal(store_open(folder, &limits, &store, &fault), 0);
	return store;
}

/* However few stacks it has, and however often the service is begun anew. */
static void a_day_never_goes_as_a_whole(void **state)
{
	uint64_t state_of_draw = 1;
	struct store *store;
	size_t most = 0;

	store = open_small(store_folder);
	for (uint32_t i = 0; i < ALIKE; i++) {
		size_t count;

		append_alike(store, i, &state_of_draw);
		maintain(store, FIXTURE_DAY_NS + SECONDS(10) * (i + 1));
		assert_true(folder_bytes(store_folder) <= ALIKE_LIMIT);
		count = look(store_folder).count;
		assert_true(count >= most / 2);
		if (count > most)
			most = count;
		if (i % 7 == 0) {
			store_close(store);
			store = open_small(store_folder);
		}
	}
	/* Some of it went, or nothing was shown. */
	assert_true(most > 20 && most < ALIKE);
	store_close(store);
}

/* It keeps the -wal from being given back, which is no reason to drop all that there is. */
static void a_reader_that_stays_costs_no_history(void **state)
{
	uint64_t state_of_draw = 1;
	char path[DAY_PATH_BYTES];
	sqlite3 *connection;
	struct store *store;
	size_t count;

	store = open_small(store_folder);
	for (uint32_t i = 0; folder_bytes(store_folder) <= ALIKE_LIMIT; i++)
		append_alike(store, i, &state_of_draw);
	count = look(store_folder).count;
	assert_int_equal(day_file_path(path, store_folder, FIXTURE_DAY), 0);
	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(connection, "BEGIN; SELECT count(*) FROM bodies", NULL, NULL, NULL),
		SQLITE_OK);
	maintain(store, FIXTURE_DAY_NS + SECONDS(10));
	assert_true(look(store_folder).count > count / 2);
	assert_int_equal(sqlite3_close(connection), SQLITE_OK);
	maintain(store, FIXTURE_DAY_NS + SECONDS(10));
	assert_true(folder_bytes(store_folder) <= ALIKE_LIMIT);
	assert_true(look(store_folder).count > count / 2);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(old_days_go),
		STORE_TEST(a_clock_set_ahead_costs_no_history),
		STORE_TEST(bytes_are_kept_to_by_days),
		STORE_TEST(bytes_are_kept_to_within_a_day),
		STORE_TEST(a_day_never_goes_as_a_whole),
		STORE_TEST(a_reader_that_stays_costs_no_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
