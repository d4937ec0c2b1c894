/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/engine/loss_record_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* Begins an engine in a process of its own, so to speak. No history is kept. */
static struct loss_record_beginning begin_engine(uint64_t service)
{
	struct loss_record *record = open_record(boot, service);
	struct loss_record_beginning begun;

	loss_record_begin(record, NULL, &none, &begun);
	loss_record_close(record);
	return begun;
}

static void update_record(const struct source_accounts *drained,
	const struct source_accounts *closed, uint64_t service, uint64_t closed_until_ns)
{
	struct loss_record *record = open_record(boot, service);

	loss_record_update(record, drained, closed, closed_until_ns);
	loss_record_close(record);
}

/* --- without a history --- */

static void the_first_engine_has_lost_nothing(void **state)
{
	const struct loss_record_beginning begun = begin_engine(1);

	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_memory_equal(&begun.lost, &none, sizeof(none));
}

static void drained_samples_that_are_not_closed_are_lost(void **state)
{
	const struct source_accounts drained = { .of = { {
							 .fired = 150,
							 .stored = { 90, 20 },
							 .dropped = { [PILOTLIGHT_DROP_IDLE] = 40 },
						 } } };
	const struct source_accounts closed = { .of = { {
							.fired = 50,
							.stored = { 30, 10 },
							.dropped = { [PILOTLIGHT_DROP_IDLE] = 10 },
						} } };
	struct loss_record_beginning begun;

	for (uint64_t i = 1; i <= 3; i++) {
		begun = begin_engine(1);
		assert_int_equal(begun.engines, i);
		assert_int_equal(begun.lost_samples, (i - 1) * 70);
		assert_true(accounts_close(&begun.lost.of[CPU]));
		assert_int_equal(begun.lost.of[CPU].fired, i == 1 ? 0 : 100);
		assert_int_equal(
			begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], i == 1 ? 0 : 70);
		assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_IDLE], i == 1 ? 0 : 30);
		assert_int_equal(accounts_stored(&begun.lost.of[CPU]), 0);
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
	assert_int_equal(begun.lost.of[CPU].fired, 50);
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 40);
	assert_true(accounts_close(&begun.lost.of[CPU]));
}

/* The next engine is killed, too, before it could report. */
static void a_loss_is_kept_until_it_is_reported(void **state)
{
	const struct source_accounts drained = { .of = { { .fired = 5, .stored = { 5 } } } };
	struct loss_record_beginning first, second;

	update_record(&drained, &none, 1, 0);
	first = begin_engine(1);
	assert_int_equal(first.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 5);
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
	const struct source_accounts drained = { .of = { { .fired = 5, .stored = { 5 } } } };
	const struct source_accounts left_behind = {
		.of = { {
			.fired = 40,
			.stored = { 8, 2 },
			.dropped = { [PILOTLIGHT_DROP_IDLE] = 30 },
		} }
	};
	struct loss_record *record = open_record(boot, 1);
	struct loss_record_beginning first, second;

	loss_record_update(record, &drained, &none, 0);
	loss_record_begin(record, NULL, &left_behind, &first);
	loss_record_close(record);
	assert_true(accounts_close(&first.lost.of[CPU]));
	assert_int_equal(first.lost.of[CPU].fired, 45);
	assert_int_equal(first.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 15);
	assert_int_equal(first.lost.of[CPU].dropped[PILOTLIGHT_DROP_IDLE], 30);
	assert_int_equal(first.lost_samples, 15);
	second = begin_engine(1);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 15);
}

static void update_until_killed(int ready_fd)
{
	struct loss_record *record = open_record(boot, 1);

	for (uint64_t n = 0;; n++) {
		struct source_accounts drained = {
			.of = { { .fired = 3 * n, .stored = { 2 * n, n } } }
		};
		struct source_accounts closed = { .of = { { .fired = n, .stored = { n } } } };

		loss_record_update(record, &drained, &closed, n);
		if (n == 1000)
			(void)!write(ready_fd, "", 1);
	}
}

static void a_kill_leaves_totals_of_one_update(void **state)
{
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
		assert_true(accounts_close(&begun.lost.of[CPU]));
		assert_true(begun.lost_samples >= 2000);
		assert_int_equal(begun.lost.of[CPU].fired, begun.lost_samples);
		assert_int_equal(begun.closed_until_ns * 2, begun.lost.of[CPU].fired);
		assert_int_equal(truncate(path, 0), 0);
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
}

static void the_next_engine_of_the_service_continues_the_last_window(void **state)
{
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
	const struct source_accounts drained = { .of = { { .fired = 5, .stored = { 5 } } } };
	struct loss_record_beginning begun = begin_engine(1);
	struct loss_record *record;

	update_record(&drained, &none, 1, 0);
	begun = begin_engine(2);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 5);
	assert_int_equal(begun.lost.of[CPU].dropped[PILOTLIGHT_DROP_ENGINE], 5);
	record = open_record(other_boot, 2);
	loss_record_begin(record, NULL, &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_int_equal(begun.lost.of[CPU].fired, 0);
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

	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	(void)close(fd);
	begun = begin_engine(1);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost.of[CPU].fired, 0);
}

static void a_missing_folder_is_an_error(void **state)
{
	struct loss_record *record = NULL;
	struct fault fault = { 0 };

	assert_int_equal(loss_record_open("/nonexistent/file", boot, 1, &record, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/file"));
	assert_null(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_missing_folder_is_an_error),
		WITH_FILES(the_first_engine_has_lost_nothing),
		WITH_FILES(drained_samples_that_are_not_closed_are_lost),
		WITH_FILES(a_loss_is_kept_until_it_is_reported),
		WITH_FILES(samples_left_in_removed_maps_are_lost),
		WITH_FILES(a_kill_leaves_totals_of_one_update),
		WITH_FILES(the_next_engine_of_the_service_continues_the_last_window),
		WITH_FILES(services_and_boots_are_kept_apart),
		WITH_FILES(a_file_of_another_layout_is_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
