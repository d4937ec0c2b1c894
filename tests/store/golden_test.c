/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each version of the format has left behind is read for ever (I9). */
#include "store/store.h"
#include "tests/store/store_fixture.h"

#include <fcntl.h>

/* Reading makes files beside the database, which is no affair of the source tree. */
static void copy_to(const char *from, const char *folder)
{
	char to[DAY_PATH_BYTES], bytes[4096];
	int in = open(from, O_RDONLY | O_CLOEXEC), out;
	ssize_t size;

	assert_true(in >= 0);
	assert_int_equal(day_file_path(to, folder, FIXTURE_DAY), 0);
	out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(out >= 0);
	while ((size = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)size), size);
	assert_int_equal(size, 0);
	assert_int_equal(close(in), 0);
	assert_int_equal(close(out), 0);
}

/* Twelve windows of two minutes, and of the last one a supplement, made coarser. */
static void expect_v1(const char *folder)
{
	struct store_selection selection = { .end_ns = UINT64_MAX, .event = "cpu-clock" };
	struct store_found found;
	struct profile *read = fixture_read(folder, &selection, &found);

	assert_int_equal(found.windows, 1);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(found.start_ns, FIXTURE_DAY_NS);
	assert_int_equal(found.end_ns, FIXTURE_DAY_NS + SECONDS(120));
	assert_int_equal(read->period_ns, FIXTURE_PERIOD);
	assert_int_equal(read->cpu_count, 4);
	assert_int_equal(read->samples.count, 2 + 12);
	/* Threads had no owners. */
	assert_int_equal(fixture_owned(read, 0), 12 * 10);
	fixture_expect(read, "/system.slice/alpha.service/alpha;/usr/bin/prog+1000;"
			     "/usr/lib/libwork.so+3000 60");
	fixture_expect(read, "/system.slice/alpha.service/alpha;/usr/bin/prog+1000;"
			     "/usr/lib/libwork.so+3000;do_work@work.c:7 24");
	fixture_expect(read, "/system.slice/beta.service/beta;/usr/bin/prog+1000;"
			     "/usr/lib/libwork.so+400b 3");
	fixture_expect_symbols(read);
	/* The twelfth was appended as a supplement, whose accounts are another's. */
	assert_int_equal(read->accounts.fired, 11 * 13);
	assert_int_equal(read->accounts.stored[PILOTLIGHT_PATH_MAP], 11 * 10);
	assert_int_equal(read->accounts.dropped[PILOTLIGHT_DROP_RING_FULL], 11 * 3);
	profile_free(read);
	/* By its fold: the twelve processes of beta are one. */
	selection.merges_threads = true;
	read = fixture_read(folder, &selection, &found);
	assert_int_equal(found.windows, 1);
	assert_int_equal(fixture_total(read), 12 * 10);
	assert_int_equal(read->threads.count, 2);
	assert_int_equal(read->accounts.fired, 11 * 13);
	profile_free(read);
}

static int64_t version_of(const char *folder)
{
	char path[DAY_PATH_BYTES];

	fixture_path(path, folder);
	return fixture_sql(path, "PRAGMA user_version");
}

static void version_1_is_read(void **state)
{
	char folder[64];

	fixture_folder(folder);
	copy_to("tests/data/store/v1.db", folder);
	expect_v1(folder);
	assert_int_equal(version_of(folder), 1);
	fixture_remove(folder);
}

/* As fixture_append_one(), of an owner. */
static void append_owned(struct store *store, uint64_t start_ns, uint64_t count, uint32_t owner)
{
	const struct fixture_sample sample = {
		.pid = 10, .address = 0x3000, .count = count, .comm = "alpha", .owner = owner
	};
	struct profile *profile = fixture_profile(start_ns, &sample, 1);
	struct fault fault = { 0 };

	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
}

/* And appended to, with the ids that are there. */
static void version_1_is_written_to(void **state)
{
	struct store_selection merged = { .end_ns = UINT64_MAX, .merges_threads = true };
	struct store_found found;
	struct profile *read;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	copy_to("tests/data/store/v1.db", folder);
	store = fixture_open(folder);
	append_owned(store, FIXTURE_DAY_NS + SECONDS(3600), 4, 1001);
	store_close(store);
	/* The first version's threads are still nobody's. */
	for (int i = 0; i < 2; i++) {
		read = fixture_read(folder, i ? &merged : NULL, &found);
		assert_int_equal(found.windows, 2);
		assert_int_equal(fixture_total(read), 12 * 10 + 4);
		assert_int_equal(fixture_owned(read, 0), 12 * 10);
		assert_int_equal(fixture_owned(read, 1001), 4);
		profile_free(read);
	}
	assert_int_equal(version_of(folder), 3);
	fixture_remove(folder);
}

/* A window of two users and of nobody, with a fold. */
static void version_2_is_read(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct store_found found;
	struct profile *read;
	char folder[64];

	fixture_folder(folder);
	copy_to("tests/data/store/v2.db", folder);
	for (int i = 0; i < 2; i++) {
		selection.merges_threads = i == 1;
		read = fixture_read(folder, &selection, &found);
		assert_int_equal(found.windows, 1);
		assert_int_equal(found.days_damaged, 0);
		assert_int_equal(read->threads.count, i ? 3 : 4);
		assert_int_equal(fixture_owned(read, 1001), 5);
		assert_int_equal(fixture_owned(read, 1), 3);
		assert_int_equal(fixture_owned(read, 0), 2);
		fixture_expect_symbols(read);
		profile_free(read);
	}
	fixture_remove(folder);
}

/* A minute of three windows, one of them without times, and a later window; with a fold. */
static void version_3_is_read(void **state)
{
	const uint64_t start_ns = FIXTURE_DAY_NS + SECONDS(3600);
	struct store_selection selection = { .end_ns = UINT64_MAX };
	struct store_selection part = {
		.start_ns = start_ns + 250000000,
		.end_ns = start_ns + 400000000,
		.is_exact = true,
	};
	struct store_found found;
	struct profile *read;
	char folder[64];

	fixture_folder(folder);
	copy_to("tests/data/store/v3.db", folder);
	for (int i = 0; i < 2; i++) {
		selection.merges_threads = i == 1;
		read = fixture_read(folder, &selection, &found);
		assert_int_equal(found.windows, 2);
		assert_int_equal(found.days_damaged, 0);
		assert_int_equal(fixture_total(read), 2 * 106 + 5 + 1);
		assert_int_equal(fixture_owned(read, 7), 2 * 100);
		profile_free(read);
	}
	for (int i = 0; i < 2; i++) {
		read = fixture_read(folder, &part, &found);
		assert_int_equal(found.windows, 1);
		assert_int_equal(found.coarse_windows, 0);
		fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+3000 2");
		fixture_expect(read, "/system.slice/one.service/one;/usr/lib/libwork.so+4000 1");
		assert_int_equal(fixture_total(read), 4);
		assert_int_equal(found.untimed_ns, (i ? 98 : 98 + 5) * FIXTURE_PERIOD);
		profile_free(read);
		part.start_ns += SECONDS(3 * 3600);
		part.end_ns += SECONDS(3 * 3600);
	}
	fixture_remove(folder);
}

/* A writer adds the table of times to a day that lacks it. */
static void version_2_is_written_to(void **state)
{
	struct store_found found;
	struct profile *read;
	char folder[64];

	fixture_folder(folder);
	copy_to("tests/data/store/v2.db", folder);
	fixture_write_one(folder, FIXTURE_DAY_NS + SECONDS(3600));
	assert_int_equal(version_of(folder), 3);
	read = fixture_read(folder, NULL, &found);
	assert_int_equal(found.windows, 2);
	assert_int_equal(found.days_damaged, 0);
	profile_free(read);
	fixture_remove(folder);
}

static void a_later_version_is_damage(void **state)
{
	char folder[64], path[DAY_PATH_BYTES];

	fixture_folder(folder);
	copy_to("tests/data/store/v3.db", folder);
	fixture_path(path, folder);
	(void)fixture_sql(path, "PRAGMA user_version = 4");
	fixture_expect_windows(folder, 0, 1);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1_is_read),
		cmocka_unit_test(version_1_is_written_to),
		cmocka_unit_test(version_2_is_read),
		cmocka_unit_test(version_2_is_written_to),
		cmocka_unit_test(version_3_is_read),
		cmocka_unit_test(a_later_version_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
