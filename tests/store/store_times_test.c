/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of samples in the history: kept, cut by, merged, and dropped before their windows. */
#include "base/array.h"
#include "store/store_state.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>

#define MS(ms)	  ((ms)*1000000ULL)
#define START	  (FIXTURE_DAY_NS + SECONDS(3600))
#define MONOTONIC (START - FIXTURE_DAY_NS + DAY_NS)

/* Samples of a thread and a stack; several at one time if `last_ms` is 0. */
struct timed {
	uint32_t pid;
	uint64_t address, count, first_ms, last_ms;
	uint32_t owner;
};

static uint64_t monotonic_of(uint64_t realtime_ns)
{
	return realtime_ns - FIXTURE_DAY_NS + DAY_NS;
}

static void add_timed(struct profile *profile, const struct timed *from)
{
	const struct fixture_sample thread = {
		.pid = from->pid, .comm = "one", .owner = from->owner
	};
	const uint64_t start_ns = monotonic_of(profile->start_ns);
	struct profile_sample sample = {
		.count = from->count,
		.first_ns = start_ns + MS(from->first_ms),
		.last_ns = start_ns + MS(from->last_ms ? from->last_ms : from->first_ms),
	};
	uint32_t location;

	assert_int_equal(fixture_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_location(profile, 1, from->address, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired += from->count + 1;
	profile->accounts.stored[PILOTLIGHT_PATH_RING] += from->count;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL]++;
}

static void append(
	struct store *store, uint64_t start_ns, const struct timed *samples, size_t count)
{
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct fault fault = { 0 };

	profile_keep_times(profile, monotonic_of(start_ns));
	for (size_t i = 0; i < count; i++)
		add_timed(profile, &samples[i]);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* Of 100 counts of pid 2, only the first and the last have a time. */
static const struct timed some[] = {
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 0 },
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 250 },
	{ .pid = 1, .address = 0x3000, .count = 1, .first_ms = 259 },
	{ .pid = 1, .address = 0x4000, .count = 1, .first_ms = 399, .owner = 0 },
	{ .pid = 1, .address = 0x4000, .count = 2, .first_ms = 400 },
	{ .pid = 2, .address = 0x3000, .count = 100, .first_ms = 300, .last_ms = 9999, .owner = 7 },
};

static struct profile *read_exactly(
	const char *folder, uint64_t from_ms, uint64_t to_ms, struct store_found *ret_found)
{
	struct store_selection selection = {
		.start_ns = START + MS(from_ms),
		.end_ns = START + MS(to_ms),
		.is_exact = true,
	};

	return fixture_read(folder, &selection, ret_found);
}

static void expect_total(
	const char *folder, uint64_t from_ms, uint64_t to_ms, uint64_t total, uint64_t untimed)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, from_ms, to_ms, &found);

	assert_int_equal(found.coarse_windows, 0);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(fixture_total(read), total);
	assert_int_equal(found.timed_ns, total * FIXTURE_PERIOD);
	assert_int_equal(found.untimed_ns, untimed * FIXTURE_PERIOD);
	assert_int_equal(read->start_ns, START + MS(from_ms));
	assert_int_equal(read->covered_ns, MS(to_ms - from_ms));
	/* What was lost of a part is not known. */
	assert_int_equal(read->accounts.fired, total);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
}

/* Of the two samples at 400. */
static void expect_slices(const char *folder, uint64_t from_ms, uint64_t to_ms, uint64_t slices_ms,
	uint64_t slices_end_ms)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, from_ms, to_ms, &found);

	assert_int_equal(fixture_total(read), 2);
	assert_int_equal(read->start_ns, START + MS(slices_ms));
	assert_int_equal(read->end_ns, START + MS(slices_end_ms));
	assert_int_equal(read->covered_ns, MS(slices_end_ms - slices_ms));
	profile_free(read);
}

static void expect_parts(const char *folder)
{
	struct store_found found;
	struct profile *read = read_exactly(folder, 250, 400, &found);

	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+3000 2");
	fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+4000 1");
	profile_free(read);
	expect_total(folder, 250, 400, 4, 98);
	expect_total(folder, 260, 300, 0, 98);
	expect_total(folder, 400, 410, 2, 98);
	/* A slice counts if a part of it is selected, and so does its time. */
	expect_slices(folder, 409, 410, 400, 410);
	expect_slices(folder, 400, 401, 400, 410);
	expect_total(folder, 9990, 10000, 1, 98);
}

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

static void maintain(struct store *store, uint64_t now_ns)
{
	struct fault fault = { 0 };
	int r;

	do
		r = store_maintain(store, now_ns, UINT64_MAX, &fault);
	while (r == 1);
	if (r < 0)
		fail_msg("%s", fault.text);
}

static int64_t windows_with_times(const char *folder)
{
	char path[DAY_PATH_BYTES];

	fixture_path(path, folder);
	return fixture_sql(path, "SELECT count(*) FROM times");
}

/* The second window has none, the third has some of both kinds. */
static void append_minute(struct store *store)
{
	const struct timed later = { .pid = 1, .address = 0x4000, .count = 1, .first_ms = 7 };

	append(store, START, some, ARRAY_SIZE(some));
	assert_int_equal(fixture_append_one(store, START + SECONDS(10), 1, 5), 0);
	append(store, START + SECONDS(20), &later, 1);
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

/* Three windows, whose threads run all the time. */
static void expect_merged(uint32_t threads, uint64_t windows, int64_t with_times)
{
	struct fault fault = { 0 };
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	store = fixture_open(folder);
	for (uint64_t i = 0; i < 3; i++) {
		struct profile *profile = fixture_profile(START + SECONDS(10) * i, NULL, 0);
		struct profile_sample sample = { .count = 1 };

		profile->limit_bytes = 64 << 20;
		profile_keep_times(profile, monotonic_of(profile->start_ns));
		for (uint32_t n = 0; n < threads * 1000; n++) {
			sample.thread = n / 1000;
			if (n % 1000 == 0) {
				add_timed(profile, &(struct timed){ .pid = 1 + sample.thread,
							   .address = 0x3000,
							   .count = 1 });
				continue;
			}
			sample.node = profile->samples.items[sample.thread].node;
			sample.first_ns = sample.last_ns =
				monotonic_of(profile->start_ns) + MS(10 * (n % 1000));
			assert_int_equal(profile_add_sample(profile, &sample), 0);
		}
		assert_int_equal(fixture_append(store, profile, &fault), 0);
		profile_free(profile);
	}
	maintain(store, START + SECONDS(3 * 3600));
	fixture_expect_windows(folder, windows, 0);
	assert_int_equal(windows_with_times(folder), with_times);
	store_close(store);
	fixture_remove(folder);
}

/* Times that are too large for one merge do not keep windows apart. */
static void many_times_are_dropped_at_last(void **state)
{
	expect_merged(100, 1, 1);
	expect_merged(180, 2, 2);
	expect_merged(260, 1, 0);
}

/* Damaged times cost nothing else, neither readers nor the merge. */
static void damaged_times_are_dropped(void **state)
{
	char folder[64], path[DAY_PATH_BYTES];
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_window_are_selected),
		cmocka_unit_test(windows_without_times_are_not_cut),
		cmocka_unit_test(empty_windows_are_cut),
		cmocka_unit_test(merging_keeps_times_for_hours),
		cmocka_unit_test(many_times_are_dropped_at_last),
		cmocka_unit_test(damaged_times_are_dropped),
		cmocka_unit_test(incidents_keep_their_times),
		cmocka_unit_test(times_beyond_their_share_are_dropped),
		cmocka_unit_test(dropping_times_keeps_its_deadline),
		cmocka_unit_test(times_before_the_spared_ones_are_dropped),
		cmocka_unit_test(a_damaged_index_of_times_ends),
		cmocka_unit_test(times_are_told),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
