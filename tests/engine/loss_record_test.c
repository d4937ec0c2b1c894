/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "engine/loss_record.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const uint8_t boot[16] = "this boot", other_boot[16] = "another boot";
static const struct accounts none;

/* --- clocks: the machine was started when the fixture's day began --- */

static uint64_t fake_now_s; /* CLOCK_MONOTONIC; 0: the true clocks */
static int64_t fake_set_s;  /* by how much CLOCK_REALTIME was set ahead since then */

int clock_gettime(clockid_t clock, struct timespec *time);
int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (fake_now_s == 0 || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ .tv_sec = (time_t)fake_now_s };
	if (clock == CLOCK_REALTIME)
		time->tv_sec += (time_t)(FIXTURE_DAY_NS / NSEC_PER_SEC) + fake_set_s;
	return 0;
}

/* --- a record, and a history --- */

static char path[64], folder[64];

static int make_files(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/loss_record_test.XXXXXX");
	fd = mkstemp(path);
	fixture_folder(folder);
	return fd < 0 ? -1 : close(fd);
}

static int remove_files(void **state)
{
	(void)state;
	fake_now_s = 0;
	fake_set_s = 0;
	fixture_remove(folder);
	return unlink(path);
}

static struct loss_record *open_record(const uint8_t boot_id[16], uint64_t service)
{
	struct loss_record *record;
	struct fault fault = { 0 };

	assert_int_equal(loss_record_open(path, boot_id, service, &record, &fault), 0);
	return record;
}

/* Begins an engine in a process of its own, so to speak. No history is kept. */
static struct loss_record_beginning begin_engine(uint64_t service)
{
	struct loss_record *record = open_record(boot, service);
	struct loss_record_beginning begun;

	loss_record_begin(record, "", &none, &begun);
	loss_record_close(record);
	return begun;
}

static void update_record(const struct accounts *drained, const struct accounts *closed,
	uint64_t service, uint64_t closed_until_ns)
{
	struct loss_record *record = open_record(boot, service);

	loss_record_update(record, drained, closed, closed_until_ns);
	loss_record_close(record);
}

/* --- without a history --- */

static void the_first_engine_has_lost_nothing(void **state)
{
	const struct loss_record_beginning begun = begin_engine(1);

	(void)state;
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_memory_equal(&begun.lost, &none, sizeof(none));
}

static void drained_samples_that_are_not_closed_are_lost(void **state)
{
	const struct accounts drained = {
		.fired = 150,
		.stored = { 90, 20 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 40 },
	};
	const struct accounts closed = {
		.fired = 50,
		.stored = { 30, 10 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 10 },
	};
	struct loss_record_beginning begun;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		begun = begin_engine(1);
		assert_int_equal(begun.engines, i);
		assert_int_equal(begun.lost_samples, (i - 1) * 70);
		assert_true(accounts_close(&begun.lost));
		assert_int_equal(begun.lost.fired, i == 1 ? 0 : 100);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], i == 1 ? 0 : 70);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_IDLE], i == 1 ? 0 : 30);
		assert_int_equal(accounts_stored(&begun.lost), 0);
		update_record(&drained, &closed, 1, 0);
	}
	/* One that ends well. */
	(void)begin_engine(1);
	update_record(&drained, &drained, 1, 0);
	begun = begin_engine(1);
	assert_memory_equal(&begun.lost, &none, sizeof(none));
	assert_int_equal(begun.lost_samples, 210);
	/* A broken engine closed more than it drained: it lost what it drained, at most. */
	update_record(&closed, &drained, 1, 0);
	begun = begin_engine(1);
	assert_int_equal(begun.lost.fired, 50);
	assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], 40);
	assert_true(accounts_close(&begun.lost));
}

/* The next engine is killed, too, before it could report. */
static void a_loss_is_kept_until_it_is_reported(void **state)
{
	const struct accounts drained = { .fired = 5, .stored = { 5 } };
	struct loss_record_beginning first, second;

	(void)state;
	update_record(&drained, &none, 1, 0);
	first = begin_engine(1);
	assert_int_equal(first.lost.dropped[PILOTLIGHT_DROP_ENGINE], 5);
	second = begin_engine(1);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 5);
	update_record(&first.lost, &none, 1, 0);
	second = begin_engine(1);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 5);
}

static void samples_left_in_removed_maps_are_lost(void **state)
{
	const struct accounts drained = { .fired = 5, .stored = { 5 } };
	const struct accounts left_behind = {
		.fired = 40,
		.stored = { 8, 2 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 30 },
	};
	struct loss_record *record = open_record(boot, 1);
	struct loss_record_beginning first, second;

	(void)state;
	loss_record_update(record, &drained, &none, 0);
	loss_record_begin(record, "", &left_behind, &first);
	loss_record_close(record);
	assert_true(accounts_close(&first.lost));
	assert_int_equal(first.lost.fired, 45);
	assert_int_equal(first.lost.dropped[PILOTLIGHT_DROP_ENGINE], 15);
	assert_int_equal(first.lost.dropped[PILOTLIGHT_DROP_IDLE], 30);
	assert_int_equal(first.lost_samples, 15);
	second = begin_engine(1);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 15);
}

static void update_until_killed(int ready_fd)
{
	struct loss_record *record = open_record(boot, 1);

	for (uint64_t n = 0;; n++) {
		struct accounts drained = { .fired = 3 * n, .stored = { 2 * n, n } };
		struct accounts closed = { .fired = n, .stored = { n } };

		loss_record_update(record, &drained, &closed, n);
		if (n == 1000)
			(void)!write(ready_fd, "", 1);
	}
}

static void a_kill_leaves_totals_of_one_update(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct loss_record_beginning begun;
		int ready[2];
		char byte;
		pid_t pid;

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			update_until_killed(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		begun = begin_engine(1);
		assert_true(accounts_close(&begun.lost));
		assert_true(begun.lost_samples >= 2000);
		assert_int_equal(begun.lost.fired, begun.lost_samples);
		assert_int_equal(begun.closed_until_ns * 2, begun.lost.fired);
		assert_int_equal(truncate(path, 0), 0);
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
}

static void the_next_engine_of_the_service_continues_the_last_window(void **state)
{
	(void)state;
	assert_int_equal(begin_engine(1).closed_until_ns, 0);
	update_record(&none, &none, 1, 7);
	assert_int_equal(begin_engine(1).closed_until_ns, 7);
	/* It was killed before its first update. */
	assert_int_equal(begin_engine(1).closed_until_ns, 7);
	/* Nothing was sampled between two services. */
	assert_int_equal(begin_engine(2).closed_until_ns, 0);
	assert_int_equal(begin_engine(2).closed_until_ns, 0);
	update_record(&none, &none, 2, 9);
	assert_int_equal(begin_engine(2).closed_until_ns, 9);
}

static void services_and_boots_are_kept_apart(void **state)
{
	const struct accounts drained = { .fired = 5, .stored = { 5 } };
	struct loss_record_beginning begun = begin_engine(1);
	struct loss_record *record;

	(void)state;
	update_record(&drained, &none, 1, 0);
	begun = begin_engine(2);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 5);
	assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], 5);
	record = open_record(other_boot, 2);
	loss_record_begin(record, "", &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_int_equal(begun.lost.fired, 0);
	loss_record_close(record);
}

/* Opening the file fails, instead of a later write by SIGBUS. */
static void a_full_disk_is_an_error(void **state)
{
	char disk[] = "/tmp/loss_record_test_XXXXXX", file[64];
	struct loss_record *record;
	struct fault fault = { 0 };
	char bytes[4096] = { 0 };
	int fd;

	(void)state;
	assert_non_null(mkdtemp(disk));
	if (mount("tmpfs", disk, "tmpfs", 0, "size=64k") < 0) {
		print_message("no tmpfs here: %s\n", strerror(errno));
		assert_int_equal(rmdir(disk), 0);
		skip();
	}
	(void)snprintf(file, sizeof(file), "%s/filler", disk);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	(void)snprintf(file, sizeof(file), "%s/losses", disk);
	assert_int_equal(loss_record_open(file, boot, 1, &record, &fault), -ENOSPC);
	assert_non_null(strstr(fault.text, file));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(loss_record_open(file, boot, 1, &record, &fault), 0);
	loss_record_close(record);
	assert_int_equal(umount(disk), 0);
	assert_int_equal(rmdir(disk), 0);
}

static void a_file_of_another_layout_is_cleared(void **state)
{
	static const char bytes[3000] = { [0 ... 2999] = 'x' };
	struct loss_record_beginning begun;
	int fd = open(path, O_WRONLY);

	(void)state;
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	(void)close(fd);
	begun = begin_engine(1);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost.fired, 0);
}

static void a_missing_folder_is_an_error(void **state)
{
	struct loss_record *record = NULL;
	struct fault fault = { 0 };

	(void)state;
	assert_int_equal(loss_record_open("/nonexistent/file", boot, 1, &record, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/file"));
	assert_null(record);
}

/* --- windows that the history holds, and the record does not --- */

/* Ten seconds with `count` stored samples, one dropped, and `lost` by an earlier engine. */
struct written {
	uint64_t at_s, count;
	const uint8_t *boot_id; /* NULL: this one */
	uint64_t lost;
};

static void write_window(const struct written *written)
{
	const struct fixture_sample sample = {
		.pid = 10, .address = 0x3000, .count = written->count, .comm = "one"
	};
	struct profile *profile =
		fixture_profile(FIXTURE_DAY_NS + SECONDS(written->at_s), &sample, 1);
	struct store_window window = { .monotonic_ns = SECONDS(written->at_s) };
	struct store *store = fixture_open(folder);
	struct fault fault = { 0 };

	profile->accounts.fired += written->lost;
	profile->accounts.dropped[PILOTLIGHT_DROP_ENGINE] += written->lost;
	memcpy(window.boot_id, written->boot_id ? written->boot_id : boot, sizeof(window.boot_id));
	if (store_append(store, &window, profile, &fault) < 0)
		fail_msg("%s", fault.text);
	profile_free(profile);
	store_close(store);
}

/* Stored and dropped samples that are not in a closed window, beside others that are. */
static void record_losses(
	struct loss_record *record, uint64_t stored, uint64_t dropped, uint64_t closed_until_s)
{
	const struct accounts closed = {
		.fired = 1100,
		.stored = { 1000 },
		.dropped = { [PILOTLIGHT_DROP_RING_FULL] = 100 },
	};
	const struct accounts drained = {
		.fired = 1100 + stored + dropped,
		.stored = { 1000 + stored },
		.dropped = { [PILOTLIGHT_DROP_RING_FULL] = 100 + dropped },
	};

	loss_record_update(record, &drained, &closed, SECONDS(closed_until_s));
}

static struct loss_record_beginning begin_with_history(
	struct loss_record *record, const char *history)
{
	struct loss_record_beginning begun;

	loss_record_begin(record, history, &none, &begun);
	assert_true(accounts_close(&begun.lost));
	assert_int_equal(accounts_stored(&begun.lost), 0);
	assert_int_equal(begun.lost.fired, begun.lost.dropped[PILOTLIGHT_DROP_ENGINE] +
						   begun.lost.dropped[PILOTLIGHT_DROP_RING_FULL]);
	return begun;
}

static const struct history_case {
	const char *name;
	uint64_t until_s; /* when the record's last closed window ended */
	uint64_t now_s;
	int64_t set_s;		   /* the clock was set by so much since the windows */
	struct written written[2]; /* beside those of open_written() */
	uint64_t stored, dropped;  /* that the record alone says are lost */
	uint64_t ret_stored, ret_dropped, ret_until_s;
} history_cases[] = {
	{ "one window", 110, 130, 0, { { 0 } }, 6 + 20, 3, 20, 2, 120 },
	{ "two windows", 100, 130, 0, { { 0 } }, 5 + 6, 3, 0, 1, 120 },
	{ "all that was sampled", 100, 130, 0, { { 0 } }, 5 + 6, 2, 0, 0, 120 },
	{ "a service that was killed, and begun later", 110, 3000, 0, { { 0 } }, 26, 3, 20, 2,
		120 },
	{ "no window since", 120, 130, 0, { { 0 } }, 26, 3, 26, 3, 120 },
	{ "no window was begun", 0, 130, 0, { { 0 } }, 226, 13, 226, 13, 0 },
	{ "fewer are lost than were written", 110, 130, 0, { { 0 } }, 5, 3, 5, 3, 110 },
	{ "more windows than were lost", 90, 130, 0, { { 0 } }, 200, 2, 200, 2, 90 },
	{ "another boot", 200, 230, 0, { { 200, 6, other_boot, 0 } }, 26, 3, 26, 3, 200 },
	{ "this boot and another", 200, 230, 0, { { 200, 6, other_boot, 0 }, { 200, 7, boot, 0 } },
		27, 3, 20, 2, 210 },
	{ "the day before", 86390, 86420, 0, { { 86390, 6, NULL, 0 } }, 26, 3, 20, 2, 86400 },
	{ "both sides of midnight", 86390, 86420, 0,
		{ { 86390, 6, NULL, 0 }, { 86400, 4, NULL, 0 } }, 30, 3, 20, 1, 86410 },
	{ "days later", 86390, 5 * 86400, 0, { { 86390, 6, NULL, 0 } }, 26, 3, 20, 2, 86400 },
	{ "the clock was set back", 110, 130, -3600, { { 0 } }, 26, 3, 20, 2, 120 },
	{ "the clock was set back by days", 110, 130, -2 * 86400, { { 0 } }, 26, 3, 20, 2, 120 },
	/* The limit that the header names: the loss is reported twice, and never hidden. */
	{ "the clock was set ahead", 110, 130, 3600, { { 0 } }, 26, 3, 26, 3, 110 },
};

/* 40, 5 and 6 samples from the 90th, 100th and 110th second on. */
static struct loss_record *open_written(void)
{
	static const struct written windows[] = { { .at_s = 90, .count = 40 },
		{ .at_s = 100, .count = 5 }, { .at_s = 110, .count = 6 } };

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
		write_window(&windows[i]);
	return open_record(boot, 1);
}

static void windows_in_the_history_are_not_lost(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(history_cases); i++) {
		const struct history_case *item = &history_cases[i];
		struct loss_record_beginning begun;
		struct loss_record *record;
		uint64_t days;

		assert_int_equal(make_files(state), 0);
		record = open_written();
		for (size_t n = 0; n < ARRAY_SIZE(item->written); n++)
			if (item->written[n].at_s > 0)
				write_window(&item->written[n]);
		days = fixture_summary(folder).days;
		record_losses(record, item->stored, item->dropped, item->until_s);
		fake_now_s = item->now_s;
		fake_set_s = item->set_s;
		begun = begin_with_history(record, folder);
		print_message("%s\n", item->name);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], item->ret_stored);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_RING_FULL], item->ret_dropped);
		assert_int_equal(begun.lost_samples, item->ret_stored);
		assert_int_equal(begun.closed_until_ns, SECONDS(item->ret_until_s));
		/* Reading makes no day. */
		assert_int_equal(fixture_summary(folder).days, days);
		loss_record_close(record);
		assert_int_equal(remove_files(state), 0);
	}
}

/* Three engines are killed, two of them between a commit and its note. */
static void each_of_several_kills_is_counted_once(void **state)
{
	struct loss_record *record = open_written();
	struct loss_record_beginning begun, again;
	struct accounts drained, own = {
		.fired = 9, .stored = { 8 }, .dropped = { [PILOTLIGHT_DROP_RING_FULL] = 1 }
	};

	(void)state;
	fake_now_s = 150;
	record_losses(record, 6 + 20, 3, 110);
	begun = begin_with_history(record, folder);
	assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], 20);
	/* Killed before its first update. */
	again = begin_with_history(record, folder);
	assert_memory_equal(&again.lost, &begun.lost, sizeof(begun.lost));
	assert_int_equal(again.closed_until_ns, begun.closed_until_ns);
	/* This one commits the loss with samples of its own, is killed, and had drained 4 more. */
	drained = begun.lost;
	accounts_add(&drained, &own);
	drained.fired += 4;
	drained.stored[0] += 4;
	loss_record_update(record, &drained, &none, SECONDS(120));
	write_window(&(struct written){ .at_s = 120, .count = 8, .lost = 20 });
	again = begin_with_history(record, folder);
	/* The fixture drops one sample a window, the record had two more from the first engine. */
	assert_int_equal(again.lost.dropped[PILOTLIGHT_DROP_RING_FULL], 2);
	assert_int_equal(again.lost.dropped[PILOTLIGHT_DROP_ENGINE], 4);
	assert_int_equal(again.lost_samples, 20 + 4);
	assert_int_equal(again.closed_until_ns, SECONDS(130));
	loss_record_close(record);
}

static void begin_expecting(struct loss_record *record, const char *history, uint64_t lost)
{
	struct loss_record_beginning begun;

	record_losses(record, 26, 3, 110);
	fake_now_s = 130;
	begun = begin_with_history(record, history);
	fake_now_s = 0;
	assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], lost);
	assert_int_equal(begun.closed_until_ns, SECONDS(lost == 26 ? 110 : 120));
}

/* Runs the statement on the day. */
static void damage(const char *sql)
{
	char day[DAY_PATH_BYTES];
	sqlite3 *connection;

	fixture_path(day, folder);
	assert_int_equal(sqlite3_open(day, &connection), SQLITE_OK);
	assert_int_equal(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(connection);
}

static void without_a_readable_history_the_record_alone_counts(void **state)
{
	static const char *const ways[] = {
		"UPDATE windows SET accounts = x'09'",
		"UPDATE windows SET boot_id = x'00'",
		/* The blob is whole, and its accounts do not close: one fired, none stored. */
		"UPDATE windows SET accounts = x'010101'",
		"DROP TABLE windows",
	};
	struct loss_record *record = open_written();
	char day[DAY_PATH_BYTES];

	begin_expecting(record, folder, 20);
	begin_expecting(record, "", 26);
	begin_expecting(record, "/nonexistent/history", 26);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		damage(ways[i]);
		begin_expecting(record, folder, 26);
		fixture_remove(folder);
		fixture_folder(folder);
		loss_record_close(record);
		record = open_written();
	}
	fixture_path(day, folder);
	assert_int_equal(truncate(day, 100), 0);
	begin_expecting(record, folder, 26);
	loss_record_close(record);
	(void)state;
}

static void failing_allocations_leave_the_whole_loss(void **state)
{
	struct loss_record *record = open_written();
	size_t n, failed = 0, whole = 0;

	(void)state;
	fake_now_s = 130;
	for (n = 0;; n++) {
		struct loss_record_beginning begun;
		uint64_t lost;

		record_losses(record, 26, 3, 110);
		fail_allocation(n);
		begun = begin_with_history(record, folder);
		lost = begun.lost.dropped[PILOTLIGHT_DROP_ENGINE];
		if (!allocation_failed()) {
			assert_int_equal(lost, 20);
			break;
		}
		failed++;
		whole += lost == 26;
		assert_true(lost == 26 || lost == 20);
		assert_int_equal(begun.closed_until_ns, SECONDS(lost == 26 ? 110 : 120));
	}
	assert_true(failed > 0);
	assert_true(whole > 0);
	loss_record_close(record);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, make_files, remove_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_missing_folder_is_an_error),
		cmocka_unit_test(windows_in_the_history_are_not_lost),
		WITH_FILES(the_first_engine_has_lost_nothing),
		WITH_FILES(drained_samples_that_are_not_closed_are_lost),
		WITH_FILES(a_loss_is_kept_until_it_is_reported),
		WITH_FILES(samples_left_in_removed_maps_are_lost),
		WITH_FILES(a_kill_leaves_totals_of_one_update),
		WITH_FILES(the_next_engine_of_the_service_continues_the_last_window),
		WITH_FILES(services_and_boots_are_kept_apart),
		WITH_FILES(a_file_of_another_layout_is_cleared),
		WITH_FILES(each_of_several_kills_is_counted_once),
		WITH_FILES(without_a_readable_history_the_record_alone_counts),
		WITH_FILES(failing_allocations_leave_the_whole_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
