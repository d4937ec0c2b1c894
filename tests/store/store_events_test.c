/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows of several events in one history stay apart, whatever becomes of them. */
#include "base/event_source.h"
#include "store/store.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_folder.h"

#include <errno.h>

enum { WINDOWS = 360 };

/* What a window has: a thread that stays and processes that go, in counts of the event's period. */
static const struct event {
	const char *name;
	uint64_t period_ns;
	uint64_t stays, goes;
	uint64_t address;
} events[] = {
	{ "cpu-clock", FIXTURE_PERIOD, 3, 1, 0x3000 },
	{ "offcpu", NSEC_PER_SEC / 1000ULL, 700, 20, 0x5000 },
	{ "runqueue", NSEC_PER_SEC / 500ULL, 5, 2, 0x6000 },
};
enum { EVENTS = sizeof(events) / sizeof(events[0]) };

/* Stacks of two events are the same, those of the third not. */
static struct profile *make_profile(const struct event *event, uint64_t start_ns, uint32_t number)
{
	struct fixture_sample samples[] = {
		{ .pid = 1, .address = 0x3000, .count = event->stays, .comm = "stays" },
		{ .pid = 1000 + number,
			.address = event->address,
			.count = event->goes,
			.comm = "goes",
			.in_kernel = true },
	};
	struct profile *profile = fixture_profile(start_ns, samples, 2);

	profile->period_ns = event->period_ns;
	assert_int_equal(profile_add_string(profile, event->name, &profile->event), 0);
	return profile;
}

static void append_window(
	struct store *store, const struct event *event, uint64_t start_ns, uint32_t number)
{
	struct profile *profile = make_profile(event, start_ns, number);
	struct fault fault = { 0 };

	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* An hour, as a service writes it: a window of each event every ten seconds. */
static struct store *make_history(uint64_t age_s)
{
	struct store *store = fixture_open(store_folder);

	for (uint32_t i = 0; i < WINDOWS; i++)
		for (size_t j = 0; j < EVENTS; j++)
			append_window(store, &events[j], FIXTURE_DAY_NS + SECONDS(10) * i, i);
	maintain(store, FIXTURE_DAY_NS + SECONDS(age_s));
	return store;
}

static void expect_event(const struct event *event, bool merges, uint64_t windows)
{
	struct store_selection selection = {
		.end_ns = UINT64_MAX, .event = event->name, .merges_threads = merges
	};
	struct store_found found;
	struct profile *read = fixture_read(store_folder, &selection, &found);

	assert_int_equal(found.windows, windows);
	assert_int_equal(found.days_damaged, 0);
	assert_true(found.has_other_events);
	assert_false(found.is_partial);
	assert_int_equal(read->period_ns, event->period_ns);
	assert_string_equal(string_pool_get(&read->strings, read->event), event->name);
	assert_int_equal(fixture_total(read), WINDOWS * (event->stays + event->goes));
	assert_int_equal(read->accounts.stored[PILOTLIGHT_PATH_MAP], fixture_total(read));
	assert_int_equal(read->accounts.dropped[PILOTLIGHT_DROP_RING_FULL], WINDOWS * 2);
	assert_true(accounts_close(&read->accounts));
	assert_int_equal(read->covered_ns, SECONDS(3600));
	assert_int_equal(read->threads.count, merges ? 2 : 1 + WINDOWS);
	profile_free(read);
}

static void events_stay_apart_with_age(void **state)
{
	/* As appended; a minute; with folds of ten minutes, four hours, a day. */
	static const struct {
		uint64_t age_s, windows;
	} ages[] = { { 3600, 360 }, { 3 * 3600, 60 }, { 4 * 3600, 60 }, { 7 * 3600, 60 },
		{ 73 * 3600, 6 } };

	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		struct store *store = make_history(ages[i].age_s);

		for (size_t j = 0; j < EVENTS; j++) {
			expect_event(&events[j], false, ages[i].windows);
			expect_event(&events[j], true, ages[i].windows);
		}
		store_close(store);
		assert_int_equal(store_folder_remove(state), 0);
		assert_int_equal(store_folder_make(state), 0);
	}
}

/* Amounts of what lives do not add up: the last window of a time has them. */
static void what_lives_is_that_of_the_last_window(void **state)
{
	enum { COUNT = 120 }; /* windows of ten seconds */
	static const uint64_t ages_s[] = { 3600, 7 * 3600, 73 * 3600 };

	for (size_t i = 0; i < sizeof(ages_s) / sizeof(ages_s[0]); i++) {
		struct store *store = fixture_open(store_folder);
		struct fault fault = { 0 };
		int r;

		for (uint32_t j = 0; j < COUNT; j++)
			append_window(store, &(struct event){ "kmem:live", 4096, j + 1, 2, 0x3000 },
				FIXTURE_DAY_NS + SECONDS(10) * j, j);
		while ((r = store_maintain(
				store, FIXTURE_DAY_NS + SECONDS(ages_s[i]), 0, &fault)) == 1)
			;
		assert_int_equal(r, 0);
		for (int merges = 0; merges < 2; merges++) {
			struct store_selection selection = {
				.end_ns = UINT64_MAX, .event = "kmem:live", .merges_threads = merges
			};
			struct store_found found;
			struct profile *read = fixture_read(store_folder, &selection, &found);

			assert_int_equal(found.windows, 1);
			assert_int_equal(fixture_total(read), COUNT + 2);
			assert_int_equal(read->accounts.stored[PILOTLIGHT_PATH_MAP], COUNT + 2);
			profile_free(read);
		}
		store_close(store);
		assert_int_equal(store_folder_remove(state), 0);
		assert_int_equal(store_folder_make(state), 0);
	}
}

static void cpu_time_is_the_default(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct store_found found;
	struct profile *read;

	store_close(make_history(3600));
	for (int i = 0; i < 2; i++) {
		selection.event = i ? "cpu" : NULL;
		read = fixture_read(store_folder, &selection, &found);
		assert_int_equal(fixture_total(read), WINDOWS * 4);
		assert_string_equal(string_pool_get(&read->strings, read->event), "cpu-clock");
		assert_false(found.is_partial);
		profile_free(read);
	}
}

/* Per window: 30 + 10 ms on CPU, 700 + 20 ms off CPU, 10 + 4 ms waiting; samples are of 1 ms. */
static void expect_wall(bool merges)
{
	struct store_selection selection = {
		.end_ns = UINT64_MAX, .event = "wall", .merges_threads = merges
	};
	struct store_found found;
	struct profile *read = fixture_read(store_folder, &selection, &found);

	assert_string_equal(string_pool_get(&read->strings, read->event), "wall");
	assert_int_equal(read->period_ns, NSEC_PER_SEC / 1000);
	assert_int_equal(read->longest_period_ns, FIXTURE_PERIOD);
	assert_int_equal(fixture_total(read), WINDOWS * (40 + 720 + 14));
	assert_int_equal(read->accounts.stored[PILOTLIGHT_PATH_MAP], fixture_total(read));
	assert_true(accounts_close(&read->accounts));
	assert_int_equal(read->covered_ns, SECONDS(3600));
	assert_int_equal(read->possible_cpu_ns, 4 * SECONDS(3600));
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		assert_int_equal(
			found.source_ns[i], event_source_is_of_wall(i) ? SECONDS(3600) : 0);
	if (merges) {
		fixture_expect(read, "/system.slice/stays.service/stays;/usr/bin/prog+1000;"
				     "/usr/lib/libwork.so+3000 266400");
		fixture_expect(read, "/system.slice/goes.service/goes;/usr/bin/prog+1000;"
				     "/usr/lib/libwork.so+5000;do_work@work.c:7 7200");
	}
	profile_free(read);
}

static void wall_is_the_sum(void **state)
{
	static const uint64_t ages_s[] = { 3600, 4 * 3600, 73 * 3600 };

	for (size_t i = 0; i < sizeof(ages_s) / sizeof(ages_s[0]); i++) {
		store_close(make_history(ages_s[i]));
		expect_wall(false);
		expect_wall(true);
		assert_int_equal(store_folder_remove(state), 0);
		assert_int_equal(store_folder_make(state), 0);
	}
}

static void wall_tells_what_it_lacks(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX, .event = "wall" };
	struct store *store = fixture_open(store_folder);
	struct store_found found;
	struct profile *read;

	append_window(store, &events[0], FIXTURE_DAY_NS, 0);
	append_window(store, &events[2], FIXTURE_DAY_NS, 0);
	store_close(store);
	read = fixture_read(store_folder, &selection, &found);
	assert_int_equal(found.source_ns[PILOTLIGHT_SOURCE_CPU], SECONDS(10));
	assert_int_equal(found.source_ns[PILOTLIGHT_SOURCE_OFFCPU], 0);
	assert_int_equal(found.source_ns[PILOTLIGHT_SOURCE_RUNQUEUE], SECONDS(10));
	assert_false(found.has_other_events);
	/* Periods of 2 and 10 ms. */
	assert_int_equal(fixture_total(read), 4 * 5 + 7);
	profile_free(read);
}

/* Of a later version, or of a damaged history. "wall" is a sum, which no window has. */
static void events_of_no_source_count_for_none(void **state)
{
	const struct event later = { "of a later version", FIXTURE_PERIOD, 3, 1, 0x3000 };
	const struct event wall = { "wall", FIXTURE_PERIOD, 5, 1, 0x3000 };
	struct store_selection selection = { .end_ns = UINT64_MAX, .event = later.name };
	struct store *store = fixture_open(store_folder);
	struct store_found found;

	append_window(store, &later, FIXTURE_DAY_NS, 0);
	append_window(store, &wall, FIXTURE_DAY_NS, 0);
	store_close(store);
	for (int i = 0; i < 2; i++) {
		struct profile *read = fixture_read(store_folder, &selection, &found);

		assert_int_equal(found.windows, i == 0);
		assert_int_equal(fixture_total(read), i == 0 ? 4 : 0);
		for (size_t j = 0; j < PILOTLIGHT_SOURCES; j++)
			assert_int_equal(found.source_ns[j], 0);
		profile_free(read);
		selection.event = "wall";
	}
}

static int note_event(void *context, const struct store_window_line *line)
{
	size_t *counts = context;

	for (size_t i = 0; i < EVENTS; i++)
		counts[i] += strcmp(line->event, events[i].name) == 0;
	return 0;
}

static void lines_have_their_event(void **state)
{
	struct fault fault = { 0 };
	size_t counts[EVENTS] = { 0 };

	store_close(make_history(3600));
	assert_int_equal(
		store_reader_each(store_folder, 0, UINT64_MAX, note_event, counts, &fault), 0);
	for (size_t i = 0; i < EVENTS; i++)
		assert_int_equal(counts[i], WINDOWS);
}

/* The stacks of one event cost no room for the others: the dictionary is shared. */
static void events_share_the_dictionary(void **state)
{
	struct store *store = fixture_open(store_folder);
	char path[DAY_PATH_BYTES];
	int64_t before;

	fixture_path(path, store_folder);
	append_window(store, &events[0], FIXTURE_DAY_NS, 0);
	before = fixture_sql(path, "SELECT sum(length(body)) FROM dictionary");
	append_window(store, &events[0], FIXTURE_DAY_NS, 0);
	append_window(store, &(struct event){ "offcpu", 1000000, 9, 9, 0x3000 }, FIXTURE_DAY_NS, 0);
	assert_int_equal(fixture_sql(path, "SELECT sum(length(body)) FROM dictionary"), before);
	store_close(store);
}

static int append_all(struct store *store, struct profile *const profiles[EVENTS])
{
	struct store_window window = { .boot_id = "a boot of a test", .monotonic_ns = DAY_NS };
	struct fault fault = { 0 };

	return store_append_all(
		store, &window, (const struct profile *const *)profiles, EVENTS, &fault);
}

static void expect_each(uint64_t windows)
{
	for (size_t i = 0; i < EVENTS; i++) {
		struct store_selection selection = { .end_ns = UINT64_MAX,
			.event = events[i].name };
		struct store_found found;
		struct profile *read = fixture_read(store_folder, &selection, &found);

		assert_int_equal(found.windows, windows);
		assert_int_equal(fixture_total(read), windows * (events[i].stays + events[i].goes));
		profile_free(read);
	}
}

/* However it fails, there is no window of one event without that of another. */
static void windows_of_a_time_are_appended_together(void **state)
{
	struct profile *profiles[EVENTS];
	struct store *store = fixture_open(store_folder);

	for (size_t i = 0; i < EVENTS; i++)
		profiles[i] = make_profile(&events[i], FIXTURE_DAY_NS, 0);
	assert_int_equal(append_all(store, profiles), 0);
	expect_each(1);
	profiles[2]->period_ns = 0;
	assert_int_equal(append_all(store, profiles), -EINVAL);
	profiles[2]->period_ns = events[2].period_ns;
	profiles[1]->start_ns -= SECONDS(1);
	assert_int_equal(append_all(store, profiles), -EINVAL);
	profiles[1]->start_ns = FIXTURE_DAY_NS;
	expect_each(1);
	assert_true(FAIL_EACH_ALLOCATION(append_all(store, profiles), -ENOMEM, true, 0) >= 10);
	store_close(store);
	expect_each(2);
	for (size_t i = 0; i < EVENTS; i++)
		profile_free(profiles[i]);
}

static int read_wall(void)
{
	struct store_selection selection = { .end_ns = UINT64_MAX, .event = "wall" };
	struct profile *profile = NULL;
	struct fault fault = { 0 };
	struct store_found found;
	int r = store_reader_read(store_folder, &selection, 64 << 20, &profile, &found, &fault);

	profile_free(profile);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct store *store = fixture_open(store_folder);

	for (size_t i = 0; i < EVENTS; i++)
		append_window(store, &events[i], FIXTURE_DAY_NS, 0);
	store_close(store);
	assert_true(FAIL_EACH_ALLOCATION(read_wall(), -ENOMEM, true, 0) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(events_stay_apart_with_age),
		STORE_TEST(what_lives_is_that_of_the_last_window),
		STORE_TEST(cpu_time_is_the_default),
		STORE_TEST(wall_is_the_sum),
		STORE_TEST(wall_tells_what_it_lacks),
		STORE_TEST(events_of_no_source_count_for_none),
		STORE_TEST(lines_have_their_event),
		STORE_TEST(events_share_the_dictionary),
		STORE_TEST(windows_of_a_time_are_appended_together),
		STORE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
