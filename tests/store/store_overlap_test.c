/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A window that tells of what the engine before was killed with, some of which that had written. */
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>

enum { PID = 10 };

/* A window of that many counts, of which one more was dropped (store_fixture.h). */
static void write_window(
	struct store *store, uint64_t at_s, uint64_t count, const char *boot, bool is_supplement)
{
	const struct fixture_sample sample = {
		.pid = PID, .address = 0x3000, .count = count, .comm = "one"
	};
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(at_s), &sample, 1);
	struct store_window window = {
		.monotonic_ns = SECONDS(at_s),
		.is_supplement = is_supplement,
	};
	struct fault fault = { 0 };

	(void)snprintf((char *)window.boot_id, sizeof(window.boot_id), "%s", boot);
	if (store_append(store, &window, profile, &fault) < 0)
		fail_msg("%s", fault.text);
	profile_free(profile);
}

/* The window that the next engine begins with: 13 seconds, 7 counts of its own, and `lost` as it
 * was told of them. */
static struct profile *make_next(uint64_t at_s, uint64_t lost)
{
	const struct fixture_sample sample = {
		.pid = PID, .address = 0x3000, .count = 7, .comm = "one"
	};
	struct profile *profile = fixture_profile(FIXTURE_DAY_NS + SECONDS(at_s), &sample, 1);

	profile->end_ns += SECONDS(3);
	profile->accounts.fired += lost;
	profile->accounts.dropped[PILOTLIGHT_DROP_ENGINE] += lost;
	/* Of each window that is lost one, as of each that is written. */
	profile->accounts.fired += 3;
	profile->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] += 3;
	return profile;
}

/* Lost is what was sampled since then; 0: nobody has told when. Returns what store_append() does.
 */
static int append_next(
	struct store *store, const struct profile *profile, uint64_t at_s, uint64_t since_s)
{
	const struct store_window window = {
		.boot_id = "this boot",
		.monotonic_ns = SECONDS(at_s),
		.lost_since_ns = SECONDS(since_s),
	};
	struct fault fault = { 0 };

	return store_append(store, &window, profile, &fault);
}

static int write_next(struct store *store, uint64_t at_s, uint64_t lost, uint64_t since_s)
{
	struct profile *profile = make_next(at_s, lost);
	int r = append_next(store, profile, at_s, since_s);

	profile_free(profile);
	return r;
}

static int keep_line(void *context, const struct store_window_line *line)
{
	*(struct store_window_line *)context = *line;
	return 0;
}

/* The last of those that have that second. */
static struct store_window_line window_at(const char *folder, uint64_t at_s)
{
	const uint64_t at_ns = FIXTURE_DAY_NS + SECONDS(at_s);
	struct store_window_line line = { 0 };
	struct store_reader *reader;
	struct fault fault = { 0 };

	assert_int_equal(store_reader_open(folder, &reader, &fault), 0);
	assert_int_equal(store_reader_each(reader, at_ns, at_ns + 1, keep_line, &line, &fault), 0);
	store_reader_close(reader);
	return line;
}

static void expect(const char *folder, uint64_t start_s, uint64_t fired, uint64_t lost)
{
	const struct store_window_line line = window_at(folder, start_s);

	assert_int_equal(line.start_ns, FIXTURE_DAY_NS + SECONDS(start_s));
	assert_int_equal(line.accounts.fired, fired);
	assert_int_equal(line.accounts.dropped[PILOTLIGHT_DROP_ENGINE], lost);
	assert_int_equal(line.samples, 7);
	assert_true(accounts_close(&line.accounts));
}

static size_t days_in(const char *folder)
{
	struct store_summary summary;
	struct store_reader *reader;
	struct fault fault = { 0 };

	assert_int_equal(store_reader_open(folder, &reader, &fault), 0);
	assert_int_equal(store_reader_summary(reader, &summary, &fault), 0);
	store_reader_close(reader);
	return summary.days;
}

/* With two windows of 5 and 6 counts from the 100th second on. */
static struct store *open_written(char folder[64])
{
	struct store *store;

	fixture_folder(folder);
	store = fixture_open(folder);
	write_window(store, 90, 40, "this boot", false);
	write_window(store, 100, 5, "this boot", false);
	write_window(store, 110, 6, "this boot", false);
	return store;
}

static void close_written(struct store *store, const char *folder)
{
	store_close(store);
	fixture_remove(folder);
}

static void what_was_written_is_not_told_of_again(void **state)
{
	char folder[64];
	struct store *store = open_written(folder);
	struct store_found found;
	struct profile *read;

	(void)state;
	/* Thought to be lost: 5 and 6, and 20 of a third window. */
	assert_int_equal(write_next(store, 110, 6 + 20, 110), 0);
	expect(folder, 120, 7 + 1 + 20 + 3 - 1, 20);
	read = fixture_read(folder, NULL, &found);
	assert_int_equal(found.windows, 4);
	/* 40, 5, 6 and 7 with one more each, what is lost, and two of what was dropped beside. */
	assert_int_equal(read->accounts.fired, 41 + 6 + 7 + 8 + 20 + 2);
	assert_int_equal(fixture_total(read), 40 + 5 + 6 + 7);
	assert_true(accounts_close(&read->accounts));
	profile_free(read);
	close_written(store, folder);
}

static void all_that_was_written_since_is_left_out(void **state)
{
	struct profile *profile = make_next(100, 5 + 6);
	char folder[64];
	struct store *store = open_written(folder);

	(void)state;
	/* Over two, and the names of some of it have come later. */
	write_window(store, 100, 3, "this boot", true);
	profile->end_ns += SECONDS(12);
	assert_int_equal(append_next(store, profile, 100, 100), 0);
	profile_free(profile);
	expect(folder, 120, 7 + 1 + 3 - 2, 0);
	close_written(store, folder);
}

static void what_is_no_overlap_stays(void **state)
{
	char folder[64];
	struct store *store = open_written(folder);

	(void)state;
	/* Fewer are lost than were written: these are others. */
	assert_int_equal(write_next(store, 110, 5, 110), 0);
	expect(folder, 110, 8 + 5 + 3, 5);
	/* Nobody has said since when. */
	write_window(store, 200, 6, "this boot", false);
	assert_int_equal(write_next(store, 200, 26, 0), 0);
	expect(folder, 200, 8 + 26 + 3, 26);
	/* Behind all that is written, and where that goes on for longer. */
	assert_int_equal(write_next(store, 300, 26, 300), 0);
	expect(folder, 300, 8 + 26 + 3, 26);
	write_window(store, 405, 6, "this boot", false);
	assert_int_equal(write_next(store, 400, 26, 400), 0);
	expect(folder, 400, 8 + 26 + 3, 26);
	/* Of another run of the machine, whose clock was there, too. */
	write_window(store, 500, 6, "another boot", false);
	assert_int_equal(write_next(store, 500, 26, 500), 0);
	expect(folder, 500, 8 + 26 + 3, 26);
	close_written(store, folder);
}

/* Of a service that was killed whole, the next one's window begins later. */
static void what_was_written_before_it_is_taken_back(void **state)
{
	char folder[64];
	struct store *store = open_written(folder);

	(void)state;
	assert_int_equal(write_next(store, 130, 6 + 20, 110), 0);
	expect(folder, 130, 7 + 1 + 20 + 3 - 1, 20);
	/* More was written since than is lost: it is not theirs. */
	assert_int_equal(write_next(store, 150, 200, 1), 0);
	expect(folder, 150, 8 + 200 + 3, 200);
	close_written(store, folder);
}

static void midnight_is_no_boundary(void **state)
{
	const uint64_t late_s = 86400 - 10;
	struct store_window_line line;
	char folder[64];
	struct store *store = open_written(folder);

	(void)state;
	/* One ends with the day, and one begins the next. */
	write_window(store, late_s, 6, "this boot", false);
	assert_int_equal(write_next(store, late_s, 26, late_s), 0);
	line = window_at(folder, 86400);
	assert_int_equal(line.start_ns, FIXTURE_DAY_NS + DAY_NS);
	assert_int_equal(line.accounts.dropped[PILOTLIGHT_DROP_ENGINE], 20);
	/* The next service begins in the next day, whose file is there or is not. */
	assert_int_equal(write_next(store, 86420, 26, late_s), 0);
	expect(folder, 86420, 8 + 26 + 3, 26);
	close_written(store, folder);
	store = open_written(folder);
	write_window(store, late_s, 6, "this boot", false);
	assert_int_equal(write_next(store, 86420, 26, late_s), 0);
	expect(folder, 86420, 7 + 1 + 20 + 3 - 1, 20);
	/* No day was made for looking. */
	assert_int_equal(write_next(store, 5 * 86400 + 5, 26, 86400), 0);
	expect(folder, 5 * 86400 + 5, 8 + 26 + 3, 26);
	assert_int_equal(days_in(folder), 3);
	close_written(store, folder);
}

/* What is done to the day between two windows. */
static void damage(const char *folder, const char *sql)
{
	char path[128];
	sqlite3 *connection;

	(void)snprintf(path, sizeof(path), "%s/2026-09-04.db", folder);
	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(connection);
}

static void what_cannot_be_read_leaves_all_as_it_is(void **state)
{
	static const char *const ways[] = {
		"UPDATE windows SET accounts = x'09'",
		"UPDATE windows SET boot_id = x'00'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char folder[64];
		struct store *store = open_written(folder);
		struct profile *read;
		struct store_found found;
		struct store_selection behind = { .start_ns = FIXTURE_DAY_NS + SECONDS(121),
			.end_ns = UINT64_MAX };

		damage(folder, ways[i]);
		assert_int_equal(write_next(store, 110, 26, 110), 0);
		damage(folder, "DELETE FROM windows WHERE id < 4");
		read = fixture_read(folder, &behind, &found);
		assert_int_equal(found.windows, 1);
		assert_int_equal(found.start_ns, FIXTURE_DAY_NS + SECONDS(110));
		assert_int_equal(read->accounts.dropped[PILOTLIGHT_DROP_ENGINE], 26);
		profile_free(read);
		close_written(store, folder);
	}
}

/* Windows can be told, but none can be added. */
static void damage_bodies(const char *folder)
{
	const char zeros[4096] = { 0 };
	sqlite3_stmt *statement;
	sqlite3 *connection;
	char path[128];
	off_t page;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/2026-09-04.db", folder);
	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(connection,
				 "SELECT rootpage FROM sqlite_schema WHERE name = 'bodies'", -1,
				 &statement, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	page = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(connection);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(
		pwrite(fd, zeros, sizeof(zeros), (page - 1) * (off_t)sizeof(zeros)), sizeof(zeros));
	(void)close(fd);
}

/* With the day those windows go that it would have left out. */
static void of_a_day_that_is_set_aside_all_is_told(void **state)
{
	char folder[64];
	struct store *store = open_written(folder);

	(void)state;
	store_close(store);
	damage_bodies(folder);
	store = fixture_open(folder);
	assert_int_equal(write_next(store, 110, 26, 110), 0);
	expect(folder, 110, 8 + 26 + 3, 26);
	close_written(store, folder);
}

static void failing_allocations_leave_all_as_it_is(void **state)
{
	char folder[64];
	struct store *store = open_written(folder);
	size_t n, failed = 0;

	(void)state;
	for (n = 0;; n++) {
		const uint64_t at_s = 1000 + 100 * n;
		struct profile *profile = make_next(at_s, 26);
		struct store_window_line line;
		bool has_failed;
		int r;

		write_window(store, at_s, 6, "this boot", false);
		fail_allocation(n);
		r = append_next(store, profile, at_s, at_s);
		has_failed = allocation_failed();
		profile_free(profile);
		if (!has_failed)
			break;
		failed++;
		if (r < 0)
			continue;
		line = window_at(folder, at_s + 11);
		assert_true(line.accounts.dropped[PILOTLIGHT_DROP_ENGINE] ==
			    (line.start_ns == FIXTURE_DAY_NS + SECONDS(at_s) ? 26 : 20));
		assert_true(accounts_close(&line.accounts));
	}
	assert_true(failed > 0);
	expect(folder, 1010 + 100 * n, 7 + 1 + 20 + 3 - 1, 20);
	close_written(store, folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_not_told_of_again),
		cmocka_unit_test(all_that_was_written_since_is_left_out),
		cmocka_unit_test(what_is_no_overlap_stays),
		cmocka_unit_test(what_was_written_before_it_is_taken_back),
		cmocka_unit_test(midnight_is_no_boundary),
		cmocka_unit_test(what_cannot_be_read_leaves_all_as_it_is),
		cmocka_unit_test(of_a_day_that_is_set_aside_all_is_told),
		cmocka_unit_test(failing_allocations_leave_all_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
