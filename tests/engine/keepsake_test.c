/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/keepsake.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t boot[16] = { 1, 2, 3 };
static const struct accounts none;
static char path[64];

static int make_path(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/keepsake_test.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static struct keepsake *opened(const uint8_t boot_id[16], uint64_t service)
{
	struct keepsake *keepsake;
	struct fault fault = { 0 };

	assert_int_equal(keepsake_open(path, boot_id, service, &keepsake, &fault), 0);
	return keepsake;
}

static void the_first_engine_has_lost_nothing(void **state)
{
	struct keepsake *keepsake;
	struct keepsake_beginning begun;

	(void)state;
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_memory_equal(&begun.lost, &none, sizeof(none));
	keepsake_close(keepsake);
}

static void what_was_stored_is_lost_with_its_engine(void **state)
{
	const struct accounts unsealed = {
		.fired = 100,
		.stored = { 60, 10 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 30 },
	};
	struct keepsake *keepsake;
	struct keepsake_beginning begun;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		keepsake = opened(boot, 1);
		keepsake_begin(keepsake, &none, &begun);
		assert_int_equal(begun.engines, i);
		assert_int_equal(begun.lost_samples, (i - 1) * 70);
		assert_true(accounts_close(&begun.lost));
		assert_int_equal(begun.lost.fired, i == 1 ? 0 : 100);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], i == 1 ? 0 : 70);
		assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_IDLE], i == 1 ? 0 : 30);
		assert_int_equal(accounts_stored(&begun.lost), 0);
		keepsake_update(keepsake, &unsealed, 0, 0);
		keepsake_close(keepsake);
	}
	/* One that ends well. */
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	keepsake_update(keepsake, &none, 0, 0);
	keepsake_close(keepsake);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.lost.fired, 0);
	assert_int_equal(begun.lost_samples, 210);
	keepsake_close(keepsake);
}

/* Killed before it could tell of what the one before it has lost. */
static void a_loss_is_kept_until_it_is_told(void **state)
{
	const struct accounts unsealed = { .fired = 5, .stored = { 5 } };
	struct keepsake *keepsake;
	struct keepsake_beginning first, second;

	(void)state;
	keepsake = opened(boot, 1);
	keepsake_update(keepsake, &unsealed, 0, 0);
	keepsake_begin(keepsake, &none, &first);
	/* By this engine, or by the one that was killed. */
	keepsake_close(keepsake);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &second);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 5);
	keepsake_update(keepsake, &first.lost, 0, 0);
	keepsake_begin(keepsake, &none, &second);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 5);
	keepsake_close(keepsake);
}

/* In maps that are gone, too: they are told with the rest, and kept as it is. */
static void what_was_left_in_maps_is_lost_as_well(void **state)
{
	const struct accounts unsealed = { .fired = 5, .stored = { 5 } };
	const struct accounts left_behind = {
		.fired = 40,
		.stored = { 8, 2 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 30 },
	};
	struct keepsake *keepsake = opened(boot, 1);
	struct keepsake_beginning first, second;

	(void)state;
	keepsake_update(keepsake, &unsealed, 0, 0);
	keepsake_begin(keepsake, &left_behind, &first);
	assert_true(accounts_close(&first.lost));
	assert_int_equal(first.lost.fired, 45);
	assert_int_equal(first.lost.dropped[PILOTLIGHT_DROP_ENGINE], 15);
	assert_int_equal(first.lost.dropped[PILOTLIGHT_DROP_IDLE], 30);
	assert_int_equal(first.lost_samples, 15);
	keepsake_close(keepsake);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &second);
	assert_memory_equal(&first.lost, &second.lost, sizeof(first.lost));
	assert_int_equal(second.lost_samples, 15);
	keepsake_close(keepsake);
}

/* Whenever it is killed, what is there is one of the states that it has told of. */
static void a_kill_leaves_a_whole_state(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct keepsake *keepsake;
		struct keepsake_beginning begun;
		int ready[2];
		char byte;
		pid_t pid;

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			keepsake = opened(boot, 1);
			for (uint64_t n = 0;; n++) {
				struct accounts accounts = { .fired = 2 * n, .stored = { n, n } };

				keepsake_update(keepsake, &accounts, n, n);
				if (n == 1000)
					(void)!write(ready[1], "", 1);
			}
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		keepsake = opened(boot, 1);
		keepsake_begin(keepsake, &none, &begun);
		assert_true(accounts_close(&begun.lost));
		assert_true(begun.lost_samples >= 2000);
		assert_int_equal(begun.lost.fired, begun.lost_samples);
		/* Of the same state, though 0 is none. */
		assert_int_equal(begun.since_ns * 2, begun.lost.fired);
		keepsake_close(keepsake);
		assert_int_equal(truncate(path, 0), 0);
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
}

static void the_next_engine_knows_until_when_all_is_sealed(void **state)
{
	struct keepsake *keepsake = opened(boot, 1);
	struct keepsake_beginning begun;

	(void)state;
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 0);
	keepsake_update(keepsake, &none, 7, 7);
	keepsake_close(keepsake);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 7);
	/* Killed before it could tell of more. */
	keepsake_close(keepsake);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 7);
	/* Where a service was away, nothing was sampled meanwhile. */
	keepsake_close(keepsake);
	keepsake = opened(boot, 2);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 0);
	assert_int_equal(begun.lost_since_ns, 7);
	keepsake_update(keepsake, &none, 9, 9);
	keepsake_close(keepsake);
	keepsake = opened(boot, 2);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 9);
	assert_int_equal(begun.lost_since_ns, 9);
	/* As long as it has not told of what the one before had lost. */
	keepsake_update(keepsake, &none, 20, 7);
	keepsake_close(keepsake);
	keepsake = opened(boot, 2);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 20);
	assert_int_equal(begun.lost_since_ns, 7);
	keepsake_close(keepsake);
	keepsake = opened(boot, 3);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.since_ns, 0);
	assert_int_equal(begun.lost_since_ns, 7);
	keepsake_close(keepsake);
	keepsake = opened(boot, 3);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.lost_since_ns, 7);
	keepsake_close(keepsake);
}

/* The service was started again, with a lost engine behind it, and then the machine was. */
static void services_and_boots_are_told_apart(void **state)
{
	const struct accounts unsealed = { .fired = 5, .stored = { 5 } };
	const uint8_t other[16] = { 9 };
	struct keepsake *keepsake = opened(boot, 1);
	struct keepsake_beginning begun;

	(void)state;
	keepsake_begin(keepsake, &none, &begun);
	keepsake_update(keepsake, &unsealed, 0, 0);
	keepsake_close(keepsake);
	keepsake = opened(boot, 2);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 5);
	assert_int_equal(begun.lost.dropped[PILOTLIGHT_DROP_ENGINE], 5);
	keepsake_close(keepsake);
	keepsake = opened(other, 2);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost_samples, 0);
	assert_int_equal(begun.lost.fired, 0);
	keepsake_close(keepsake);
}

/* A full disk is told of when the file is opened, and not by a signal later. */
static void a_full_disk_is_an_error(void **state)
{
	char folder[] = "/tmp/keepsake_test_XXXXXX", file[64];
	struct keepsake *keepsake;
	struct fault fault = { 0 };
	char bytes[4096] = { 0 };
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	if (mount("tmpfs", folder, "tmpfs", 0, "size=64k") < 0) {
		print_message("no tmpfs here: %s\n", strerror(errno));
		assert_int_equal(rmdir(folder), 0);
		skip();
	}
	(void)snprintf(file, sizeof(file), "%s/filler", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	(void)snprintf(file, sizeof(file), "%s/keepsake", folder);
	assert_int_equal(keepsake_open(file, boot, 1, &keepsake, &fault), -ENOSPC);
	assert_non_null(strstr(fault.text, file));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(keepsake_open(file, boot, 1, &keepsake, &fault), 0);
	keepsake_close(keepsake);
	assert_int_equal(umount(folder), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void other_files_are_begun_anew(void **state)
{
	static const char bytes[3000] = { [0 ... 2999] = 'x' };
	struct keepsake *keepsake;
	struct keepsake_beginning begun;
	int fd = open(path, O_WRONLY);

	(void)state;
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	(void)close(fd);
	keepsake = opened(boot, 1);
	keepsake_begin(keepsake, &none, &begun);
	assert_int_equal(begun.engines, 1);
	assert_int_equal(begun.lost.fired, 0);
	keepsake_close(keepsake);
}

static void no_file_is_an_error(void **state)
{
	struct keepsake *keepsake = NULL;
	struct fault fault = { 0 };

	(void)state;
	assert_int_equal(keepsake_open("/nonexistent/file", boot, 1, &keepsake, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/file"));
	assert_null(keepsake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test_setup_teardown(
			the_first_engine_has_lost_nothing, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			what_was_stored_is_lost_with_its_engine, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			a_loss_is_kept_until_it_is_told, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			what_was_left_in_maps_is_lost_as_well, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			a_kill_leaves_a_whole_state, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			the_next_engine_knows_until_when_all_is_sealed, make_path, remove_path),
		cmocka_unit_test_setup_teardown(
			services_and_boots_are_told_apart, make_path, remove_path),
		cmocka_unit_test_setup_teardown(other_files_are_begun_anew, make_path, remove_path),
		cmocka_unit_test(no_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
