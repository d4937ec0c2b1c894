/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes wrong around the history: the files, memory. */
#include "store/store.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_folder.h"

#include <errno.h>
#include <fcntl.h>

static void damage(const char *path, off_t offset, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	char bytes[4096];

	memset(bytes, 0x5a, sizeof(bytes));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, offset), (ssize_t)size);
	assert_int_equal(close(fd), 0);
}

/* In all its ways: the damaged one is set aside, and a new one takes what comes. */
static void a_damaged_day_is_set_aside(void **state)
{
	static const char *const ways[] = { "PRAGMA user_version = 4", "PRAGMA application_id = 3",
		"DROP TABLE bodies", "CREATE TRIGGER t AFTER INSERT ON windows BEGIN SELECT 1; END",
		"ALTER TABLE windows ADD COLUMN other", NULL };
	char path[DAY_PATH_BYTES];
	struct store_summary summary;
	struct store_found found;
	struct profile *read;

	fixture_path(path, store_folder);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		fixture_write_one(store_folder, FIXTURE_DAY_NS);
		if (ways[i])
			(void)fixture_sql(path, ways[i]);
		else
			damage(path, 0, 100);
		fixture_expect_windows(store_folder, 0, 1);
		fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(10));
		summary = fixture_summary(store_folder);
		assert_int_equal(summary.windows, 1);
		/* Four are kept at most. */
		assert_int_equal(summary.days_set_aside, i < 4 ? i + 1 : 4);
		read = fixture_read(store_folder, NULL, &found);
		assert_int_equal(found.days_damaged, 0);
		assert_int_equal(fixture_total(read), 1);
		profile_free(read);
	}
}

static void make_folder(const char *path)
{
	char inside[DAY_PATH_BYTES + 16];

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(inside, sizeof(inside), "%s/somebodys", path);
	assert_int_equal(mkdir(inside, 0700), 0);
}

static void make_fifo(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_link(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
}

static void (*const replacements[])(const char *path) = { make_folder, make_fifo, make_link };

/* At the start and while it is written; more often than four times, as none of it is removed. */
static void special_files_are_set_aside(void **state)
{
	char path[DAY_PATH_BYTES];
	struct store *store;
	size_t set_aside = 0;

	fixture_path(path, store_folder);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	for (size_t i = 0; i < sizeof(replacements) / sizeof(*replacements); i++)
		for (int round = 0; round < 2; round++) {
			store = round ? fixture_open(store_folder) : NULL;
			if (round)
				assert_int_equal(
					fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
			replacements[i](path);
			if (!round)
				store = fixture_open(store_folder);
			assert_int_equal(
				fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10), 1, 1), 0);
			store_close(store);
			assert_int_equal(fixture_summary(store_folder).days_set_aside, ++set_aside);
			fixture_expect_windows(store_folder, 1, 0);
		}
}

/* A writer that went on with what has no name would write for nobody. */
static void a_day_that_is_removed_is_begun_again(void **state)
{
	char path[DAY_PATH_BYTES], other[DAY_PATH_BYTES];
	struct store *store;

	fixture_path(path, store_folder);
	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10), 2, 1), 0);
	fixture_expect_windows(store_folder, 1, 0);

	/* Another one in its place is gone on with. */
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS, 3, 1), 0);
	assert_int_equal(day_file_path(other, store_folder, FIXTURE_DAY + 1), 0);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS + SECONDS(10), 4, 1), 0);
	store_close(store);
	fixture_expect_windows(store_folder, 2, 0);
	assert_int_equal(fixture_summary(store_folder).days_set_aside, 0);
}

/* Root may read whatever its mode is, but for one without capabilities, as the service is. */
static void a_file_that_may_not_be_read(void **state)
{
	char path[DAY_PATH_BYTES];
	struct store *store;

	fixture_path(path, store_folder);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	assert_int_equal(chmod(path, 0), 0);
	if (access(path, R_OK) == 0) {
		print_message("this user may read what has no permission\n");
		skip();
	}
	fixture_expect_windows(store_folder, 0, 1);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	assert_int_equal(fixture_summary(store_folder).days_set_aside, 1);

	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10), 1, 1), 0);
	store_close(store);
	assert_int_equal(fixture_summary(store_folder).days_set_aside, 2);
	fixture_expect_windows(store_folder, 1, 0);
}

/* Pages that SQLite finds to be damaged only when it comes to them. */
static void damage_is_found_late(void **state)
{
	char folder[64], path[DAY_PATH_BYTES];
	struct fault fault = { 0 };
	struct store *store;
	size_t set_aside = 0;

	for (off_t page = 1; page < 9; page++) {
		fixture_folder(folder);
		fixture_path(path, folder);
		fixture_write_one(folder, FIXTURE_DAY_NS);
		fixture_write_one(folder, FIXTURE_DAY_NS + SECONDS(10));
		damage(path, page * 4096, 4096);
		store = fixture_open(folder);
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(20), 1, 1), 0);
		while (store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault) == 1)
			;
		assert_string_equal(fault.text, "");
		store_close(store);
		set_aside += fixture_summary(folder).days_set_aside;
		fixture_remove(folder);
	}
	assert_true(set_aside >= 4);
}

/* A window whose bytes are damaged costs itself and no other. */
static void a_damaged_window_is_one_window(void **state)
{
	char path[DAY_PATH_BYTES];
	struct fault fault = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;

	fixture_path(path, store_folder);
	for (uint32_t i = 0; i < 5; i++)
		fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(10) * i);
	(void)fixture_sql(path, "UPDATE bodies SET body = x'01284a' WHERE window = 2;"
				"UPDATE bodies SET body = x'02' WHERE window = 3;"
				"UPDATE windows SET accounts = x'0163' WHERE id = 4");
	for (int round = 0; round < 2; round++) {
		read = fixture_read(store_folder, NULL, &found);
		assert_int_equal(found.days_damaged, 1);
		assert_int_equal(found.windows, 2);
		assert_int_equal(fixture_total(read), 2);
		profile_free(read);
		/* Nor does it hold up what makes history coarser. */
		store = fixture_open(store_folder);
		while (store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault) == 1)
			;
		assert_string_equal(fault.text, "");
		store_close(store);
	}
}

static int64_t count_rows(const char *path, const char *condition)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM windows WHERE %s", condition);
	return fixture_sql(path, sql);
}

/*
 * Whatever of a window is damaged: it stays apart, what else there is becomes coarser, in its day
 * and in the next one, and no day is set aside. Windows 1 to 5 are of one minute, 6 to 8 of
 * another.
 */
static void a_damaged_window_holds_up_no_other(void **state)
{
	static const char *const ways[] = {
		"UPDATE bodies SET body = x'02' WHERE window = 3",
		"UPDATE bodies SET body = x'02' WHERE window = 1",
		"UPDATE windows SET period_ns = 0 WHERE id = 1",
		"UPDATE windows SET period_ns = 0 WHERE id = 3",
		"UPDATE windows SET boot_id = x'02' WHERE id = 5",
		"UPDATE windows SET start_ns = end_ns + 1 WHERE id = 8",
		"UPDATE windows SET start_ns = -5 WHERE id = 1",
	};
	char folder[64], path[DAY_PATH_BYTES], next[DAY_PATH_BYTES];
	struct fault fault = { 0 };
	struct store *store;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		fixture_folder(folder);
		fixture_path(path, folder);
		assert_int_equal(day_file_path(next, folder, FIXTURE_DAY + 1), 0);
		store = fixture_open(folder);
		for (uint32_t n = 0; n < 8; n++) {
			uint64_t at_ns = SECONDS(10) * n + (n < 5 ? 0 : SECONDS(300));

			assert_int_equal(
				fixture_append_one(store, FIXTURE_DAY_NS + at_ns, 1, 1), 0);
			assert_int_equal(
				fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS + at_ns, 1, 1),
				0);
		}
		store_close(store);
		(void)fixture_sql(path, ways[i]);
		store = fixture_open(folder);
		/* As many steps as it may take, many times over: it comes to an end. */
		for (int step = 0; step < 200; step++)
			assert_true(
				store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault) >= 0);
		assert_int_equal(store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault), 0);
		store_close(store);
		assert_string_equal(fault.text, "");
		assert_int_equal(fixture_summary(folder).days_set_aside, 0);
		assert_int_equal(count_rows(path, "level < 2"), 0);
		assert_int_equal(count_rows(path, "level = 2 AND fold = 0"), 0);
		assert_true(count_rows(path, "level = 2") < 8);
		assert_int_equal(count_rows(next, "level = 2"), 2);
		fixture_remove(folder);
	}
}

/* In a database with incremental vacuum, the header says so in two numbers. */
static void forbid_vacuum(const char *path)
{
	static const char zeros[4];
	int fd;

	(void)fixture_sql(path, "INSERT INTO bodies VALUES (1000, zeroblob(20000));"
				"DELETE FROM bodies WHERE window = 1000");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 52), sizeof(zeros));
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 64), sizeof(zeros));
	assert_int_equal(close(fd), 0);
	assert_true(fixture_sql(path, "PRAGMA freelist_count") > 0);
}

/* The first window starts before every slot of whole nanoseconds. */
static void move_before_slots(const char *path)
{
	(void)fixture_sql(path, "UPDATE windows SET start_ns = -1.5 WHERE id = 1");
}

/* A step that changes nothing is not repeated, and the next day gets its turn. */
static void steps_without_progress_end(void **state)
{
	static const struct {
		void (*damage)(const char *path);
		size_t days_set_aside;
	} ways[] = { { move_before_slots, 1 }, { forbid_vacuum, 0 } };
	char folder[64], path[DAY_PATH_BYTES], next[DAY_PATH_BYTES];
	struct fault fault = { 0 };
	struct store *store;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		fixture_folder(folder);
		fixture_path(path, folder);
		assert_int_equal(day_file_path(next, folder, FIXTURE_DAY + 1), 0);
		for (uint64_t day_ns = FIXTURE_DAY_NS; day_ns <= FIXTURE_DAY_NS + DAY_NS;
			day_ns += DAY_NS)
			for (uint32_t n = 0; n < 3; n++)
				fixture_write_one(folder, day_ns + SECONDS(10) * n);
		ways[i].damage(path);
		store = fixture_open(folder);
		for (int step = 0; step < 200; step++)
			assert_true(
				store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault) >= 0);
		assert_int_equal(store_maintain(store, FIXTURE_DAY_NS + 5 * DAY_NS, 0, &fault), 0);
		store_close(store);
		assert_string_equal(fault.text, "");
		assert_int_equal(fixture_summary(folder).days_set_aside, ways[i].days_set_aside);
		assert_int_equal(count_rows(next, "level < 2"), 0);
		fixture_remove(folder);
	}
}

static void a_damaged_dictionary_is_its_generation(void **state)
{
	char path[DAY_PATH_BYTES];
	struct store_found found;
	struct profile *read;

	fixture_path(path, store_folder);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	(void)fixture_sql(path, "UPDATE dictionary SET body = x'01284a' WHERE part = 0");
	fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(10));
	fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(20));
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.days_damaged, 1);
	assert_int_equal(found.windows, 2);
	assert_int_equal(fixture_total(read), 2);
	profile_free(read);
}

static void leftovers_of_a_day_that_went_are_removed(void **state)
{
	char path[DAY_PATH_BYTES], wal[DAY_PATH_BYTES + 8];

	fixture_path(path, store_folder);
	(void)snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_true(close(open(wal, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
	damage(wal, 0, 4096);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	assert_int_equal(access(wal, F_OK), -1);
	fixture_expect_windows(store_folder, 1, 0);
}

/* Whatever allocation fails: -ENOMEM, and afterwards all is as it should be. */
static void failing_allocations_cost_a_window_at_most(void **state)
{
	static const struct fixture_sample samples[] = {
		{ .pid = 10, .address = 0x3000, .count = 5, .comm = "alpha", .in_kernel = true },
		{ .pid = 20, .address = 0x4000, .count = 3, .comm = "beta" },
	};
	struct profile *profile, *read;
	struct store_found found;
	struct store *store;
	size_t n;

	for (n = 0;; n++) {
		uint64_t start_ns = FIXTURE_DAY_NS + n * DAY_NS;
		struct fault fault = { 0 };
		int r, again = 0;

		profile = fixture_profile(start_ns, samples, 2);
		store = NULL;
		fail_allocation(n);
		r = store_open(store_folder, &store_default_limits, &store, &fault);
		if (r == 0)
			r = fixture_append(store, profile, &fault);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		if (store)
			again = fixture_append(store, profile, &fault);
		assert_int_equal(again, 0);
		store_close(store);
		profile_free(profile);
	}
	profile_free(profile);
	store_close(store);
	assert_true(n > 20);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(read->samples.count, 2);
	profile_free(read);
}

static void failing_allocations_fail_a_reading(void **state)
{
	struct store_selection selection = { .end_ns = UINT64_MAX };
	size_t n;

	for (uint32_t i = 0; i < 3; i++)
		fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(10) * i);
	for (n = 0;; n++) {
		struct profile *read = NULL;
		struct store_summary summary;
		struct store_found found;
		struct fault fault = { 0 };
		int r;

		fail_allocation(n);
		r = store_reader_read(store_folder, &selection, 1 << 20, &read, &found, &fault);
		if (r == 0)
			r = store_reader_summary(store_folder, &summary, &fault);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			profile_free(read);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		profile_free(read);
	}
	assert_true(n > 20);
}

static void failing_allocations_fail_a_merge(void **state)
{
	struct store_found found;
	struct profile *read;
	struct store *store;
	size_t n;
	int r = 0;

	for (uint32_t i = 0; i < 4; i++)
		fixture_write_one(store_folder, FIXTURE_DAY_NS + SECONDS(10) * i);
	store = fixture_open(store_folder);
	for (n = 0; n < 1000; n++) {
		struct fault fault = { 0 };

		fail_allocation(n);
		r = store_maintain(store, FIXTURE_DAY_NS + DAY_NS, UINT64_MAX, &fault);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n > 10);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.windows, 1);
	assert_int_equal(fixture_total(read), 4);
	profile_free(read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_damaged_day_is_set_aside),
		STORE_TEST(special_files_are_set_aside),
		STORE_TEST(a_day_that_is_removed_is_begun_again),
		STORE_TEST(a_file_that_may_not_be_read),
		cmocka_unit_test(damage_is_found_late),
		STORE_TEST(a_damaged_window_is_one_window),
		cmocka_unit_test(a_damaged_window_holds_up_no_other),
		cmocka_unit_test(steps_without_progress_end),
		STORE_TEST(a_damaged_dictionary_is_its_generation),
		STORE_TEST(leftovers_of_a_day_that_went_are_removed),
		STORE_TEST(failing_allocations_cost_a_window_at_most),
		STORE_TEST(failing_allocations_fail_a_reading),
		STORE_TEST(failing_allocations_fail_a_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
