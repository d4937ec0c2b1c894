/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows become coarser with age. */
#include "tests/store/maintain_fixture.h"

#include <sqlite3.h>

/* An hour of windows of ten seconds, each with a thread that stays and one of its own. */
static void append_hour(struct store *store, uint64_t start_ns)
{
	struct fault fault = { 0 };

	for (uint32_t i = 0; i < 360; i++) {
		struct fixture_sample samples[] = {
			{ .pid = 1, .address = 0x3000 + i % 5, .count = 3, .comm = "stays" },
			{ .pid = 1000 + i,
				.address = 0x4000,
				.count = 1,
				.comm = "goes",
				.in_kernel = true },
		};
		struct profile *profile = fixture_profile(start_ns + SECONDS(10) * i, samples, 2);

		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
}

static void expect_hour(const char *folder, size_t windows, uint64_t widest_s)
{
	struct store_selection selection = { .end_ns = UINT64_MAX, .merges_threads = true };
	struct store_found found;
	struct seen seen = look(folder);
	struct profile *read;

	assert_int_equal(seen.count, windows);
	assert_int_equal(seen.widest_ns, SECONDS(widest_s));
	assert_int_equal(seen.samples, 360 * 4);
	assert_int_equal(seen.accounts.fired, 360 * 6);
	assert_true(accounts_close(&seen.accounts));
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(found.windows, windows);
	assert_int_equal(read->samples.count, 6);
	assert_int_equal(fixture_total(read), 360 * 4);
	assert_int_equal(read->accounts.fired, 360 * 6);
	fixture_expect(read, "/system.slice/goes.service/goes;/usr/bin/prog+1000;"
			     "/usr/lib/libwork.so+4000;do_work@work.c:7 360");
	profile_free(read);
	read = fixture_read(folder, NULL, &found);
	assert_int_equal(read->threads.count, 361);
	profile_free(read);
}

static void windows_become_coarser_with_age(void **state)
{
	uint64_t start_ns = FIXTURE_DAY_NS + 3600 * SECONDS(5), hour = SECONDS(3600);
	struct store *store;

	store = fixture_open(store_folder);
	append_hour(store, start_ns);
	maintain(store, start_ns + 2 * hour);
	expect_hour(store_folder, 360, 10);
	/* Half of them are older than two hours. */
	maintain(store, start_ns + 2 * hour + hour / 2);
	assert_int_equal(look(store_folder).count, 180 + 30);
	maintain(store, start_ns + 3 * hour);
	expect_hour(store_folder, 60, 60);
	maintain(store, start_ns + 48 * hour + hour);
	expect_hour(store_folder, 6, 600);
	maintain(store, start_ns + 480 * hour);
	expect_hour(store_folder, 6, 600);
	store_close(store);
}

/* 20,000 rows of seven bytes. */
/* The windows around an incident stay, also after a restart; the others become coarser. */
static void windows_of_an_incident_stay(void **state)
{
	uint64_t start_ns = FIXTURE_DAY_NS + 3600 * SECONDS(5), hour = SECONDS(3600);
	struct incident incident = {
		.time_ns = start_ns + 30 * SECONDS(60),
		.kept_from_ns = start_ns + 25 * SECONDS(60),
		.kept_to_ns = start_ns + 35 * SECONDS(60),
		.cause = "manual",
	};
	struct fault fault = { 0 };
	struct store *store = fixture_open(store_folder);

	append_hour(store, start_ns);
	assert_int_equal(store_add_incident(store, &incident, &fault), 0);
	assert_int_equal(incident.number, 1);
	maintain(store, start_ns + 3 * hour);
	assert_int_equal(look(store_folder).count, 60 + 50);
	store_close(store);
	store = fixture_open(store_folder);
	maintain(store, start_ns + 49 * hour);
	/* Of six slots of ten minutes, two have a half that stays; their minutes stay with it. */
	assert_int_equal(look(store_folder).count, 4 + 2 * (30 + 5));
	assert_int_equal(look(store_folder).samples, 360 * 4);
	store_close(store);
}

/* All of a day, an incident each minute: the first windows stay, up to a part of the byte limit. */
static void windows_of_incidents_have_a_budget(void **state)
{
	const uint64_t start_ns = FIXTURE_DAY_NS, hour = SECONDS(3600);
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	struct store *store;
	size_t count;

	limits.bytes = 1 << 20;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	for (unsigned i = 0; i < 4; i++)
		append_hour(store, start_ns + i * hour);
	for (unsigned i = 0; i < 240; i++) {
		struct incident incident = {
			.time_ns = start_ns + SECONDS(60) * i,
			.kept_from_ns = start_ns + SECONDS(60) * i,
			.kept_to_ns = start_ns + SECONDS(60) * (i + 1),
			.cause = "manual",
		};

		assert_int_equal(store_add_incident(store, &incident, &fault), 0);
	}
	maintain(store, start_ns + 7 * hour);
	count = look(store_folder).count;
	print_message("# %zu windows\n", count);
	assert_in_range(count, 240 + 60, 4 * 360 - 60);
	assert_int_equal(look(store_folder).samples, 4 * 360 * 4);
	maintain(store, start_ns + 8 * hour);
	assert_int_equal(look(store_folder).count, count);
	store_close(store);
}

/* Timers fire some ms early or late, so half of the ordinary minutes are shorter than a minute. */
static void append_short_minute(struct store *store, uint64_t start_ns)
{
	struct fixture_sample samples[100];
	struct fault fault = { 0 };
	struct profile *profile;

	for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = (struct fixture_sample){
			.pid = 1, .address = 0x3000 + i, .count = 1 + i * i, .comm = "stays"
		};
	profile = fixture_profile(start_ns, samples, ARRAY_SIZE(samples));
	profile->end_ns = start_ns + SECONDS(60) - 20000000;
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

static void minutes_take_nothing_of_that_budget(void **state)
{
	const uint64_t start_ns = FIXTURE_DAY_NS, hour = SECONDS(3600);
	struct incident incident = {
		.kept_from_ns = start_ns + 3 * hour,
		.kept_to_ns = start_ns + 4 * hour,
		.cause = "manual",
	};
	struct store_limits limits = store_default_limits;
	struct fault fault = { 0 };
	struct store *store;

	limits.bytes = 1 << 20;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	for (unsigned i = 0; i < 180; i++)
		append_short_minute(store, start_ns + SECONDS(60) * i);
	append_hour(store, start_ns + 3 * hour);
	assert_int_equal(store_add_incident(store, &incident, &fault), 0);
	maintain(store, start_ns + 7 * hour);
	assert_int_equal(look(store_folder).count, 180 + 360);
	store_close(store);
}

static void append_large(struct store *store, uint64_t start_ns)
{
	static const struct fixture_sample of = { .pid = 1, .comm = "large" };
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct profile_sample sample = { .count = (uint64_t)1 << 38 };
	struct fault fault = { 0 };

	assert_int_equal(fixture_thread(profile, &of, &sample.thread), 0);
	for (uint32_t n = 0; n < 20000; n++) {
		uint32_t location;

		assert_int_equal(profile_add_location(profile, 1, n, &location), 0);
		assert_int_equal(
			profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

static void large_windows_merge_in_smaller_groups(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct store_found found;
	struct store *store;
	struct profile *read;

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 4; i++)
		append_large(store, FIXTURE_DAY_NS + SECONDS(10) * i);
	maintain(store, FIXTURE_DAY_NS + SECONDS(3 * 3600));
	assert_int_equal(look(store_folder).count, 2);
	assert_int_equal(look(store_folder).widest_ns, SECONDS(20));
	for (int i = 0; i < 2; i++) {
		selection.merges_threads = i == 1;
		read = fixture_read(store_folder, &selection, &found);
		assert_int_equal(read->samples.count, 20000);
		for (size_t n = 0; n < 20000; n++)
			assert_int_equal(read->samples.items[n].count, (uint64_t)1 << 40);
		profile_free(read);
	}
	store_close(store);
}

/* Rows of four bytes and a few, each of a thread of its own: every other one from `thread` on. */
static void set_body(const char *folder, int id, uint32_t rows, uint32_t thread, uint32_t node)
{
	char path[DAY_PATH_BYTES];
	struct window_writer writer;
	sqlite3_stmt *statement;
	sqlite3 *connection;
	uint8_t *body;
	size_t size;

	window_writer_init(&writer);
	for (uint32_t i = 0; i < rows; i++)
		window_writer_add(&writer,
			&(struct window_row){ .count = 1, .thread = thread + 2 * i, .node = node });
	assert_int_equal(window_writer_finish(&writer, 1, &body, &size), 0);
	window_writer_done(&writer);
	fixture_path(path, folder);
	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(connection, "UPDATE bodies SET body = ?2 WHERE window = ?1", -1,
			&statement, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_bind_int(statement, 1, id), SQLITE_OK);
	assert_int_equal(
		sqlite3_bind_blob(statement, 2, body, (int)size, SQLITE_STATIC), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	assert_int_equal(sqlite3_changes(connection), 1);
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
	assert_int_equal(sqlite3_close(connection), SQLITE_OK);
	free(body);
}

static size_t count_merged(const char *folder)
{
	struct store *store = fixture_open(folder);

	maintain(store, FIXTURE_DAY_NS + SECONDS(3 * 3600));
	store_close(store);
	return look(folder).count;
}

static void append_windows(const char *folder, uint32_t count)
{
	struct store *store = fixture_open(folder);

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) * i, 1, 1), 0);
	store_close(store);
}

/* Between two threads of one the other one's node is far off: three bytes more for each row. */
static void windows_that_grow_by_merging_stay_apart(void **state)
{
	char folder[64];

	fixture_folder(folder);
	append_windows(folder, 2);
	set_body(folder, 1, 50000, 0, 1);
	set_body(folder, 2, 50000, 1, 1 << 20);
	assert_int_equal(count_merged(folder), 2);
	fixture_remove(folder);

	fixture_folder(folder);
	append_windows(folder, 2);
	set_body(folder, 1, 50000, 0, 1);
	set_body(folder, 2, 50000, 1, 1);
	assert_int_equal(count_merged(folder), 1);
	fixture_remove(folder);
}

/* Of three the first and the second, where the second and the third are too large. */
static void two_of_three_become_one(void **state)
{
	append_windows(store_folder, 3);
	set_body(store_folder, 2, 70000, 0, 1);
	set_body(store_folder, 3, 70000, 0, 1);
	assert_int_equal(count_merged(store_folder), 2);
	assert_int_equal(look(store_folder).widest_ns, SECONDS(20));
}

static void an_old_day_is_made_coarser_after_a_restart(void **state)
{
	struct store *store;

	store = fixture_open(store_folder);
	append_hour(store, FIXTURE_DAY_NS);
	store_close(store);
	store = fixture_open(store_folder);
	maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS);
	expect_hour(store_folder, 6, 600);
	/* What comes for it later is made coarser as well. */
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(3600), 9, 1), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(3610), 9, 1), 0);
	maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS);
	assert_int_equal(look(store_folder).count, 7);
	store_close(store);
}

/* A pause, another period, another boot, a clock that was set: none of these is one stretch. */
static void windows_of_different_settings_stay_apart(void **state)
{
	static const struct fixture_sample sample = {
		.pid = 1, .address = 0x3000, .count = 1, .comm = "one"
	};
	struct fault fault = { 0 };
	struct store *store;
	char path[DAY_PATH_BYTES];

	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 6; i++) {
		struct profile *profile =
			fixture_profile(FIXTURE_DAY_NS + SECONDS(10) * i, &sample, 1);
		struct store_window window = {
			.boot_id = "a boot of a test",
			.monotonic_ns = DAY_NS + SECONDS(10) * i,
		};

		if (i == 1)
			profile->period_ns /= 2;
		if (i == 2)
			window.boot_id[0] = 'b';
		if (i == 3)
			window.monotonic_ns += SECONDS(5);
		if (i == 5) {
			profile->start_ns += SECONDS(8);
			window.monotonic_ns += SECONDS(8);
		}
		profile->end_ns = profile->start_ns + SECONDS(10);
		assert_int_equal(store_append(store, &window, profile, &fault), 0);
		/* Of the first, which it goes with. */
		if (i == 0) {
			assert_int_equal(store_append(store, &window, profile, &fault), 0);
			fixture_path(path, store_folder);
			(void)fixture_sql(path, FIXTURE_SUPPLEMENT);
		}
		profile_free(profile);
	}
	assert_int_equal(look(store_folder).count, 7);
	maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS);
	assert_int_equal(look(store_folder).count, 6);
	assert_int_equal(look(store_folder).samples, 7);
	assert_int_equal(look(store_folder).accounts.fired, 12);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(windows_become_coarser_with_age),
		STORE_TEST(windows_of_an_incident_stay),
		STORE_TEST(windows_of_incidents_have_a_budget),
		STORE_TEST(minutes_take_nothing_of_that_budget),
		STORE_TEST(large_windows_merge_in_smaller_groups),
		cmocka_unit_test(windows_that_grow_by_merging_stay_apart),
		STORE_TEST(two_of_three_become_one),
		STORE_TEST(an_old_day_is_made_coarser_after_a_restart),
		STORE_TEST(windows_of_different_settings_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
