/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that appends and makes history coarser is killed at any moment, again and again. What
 * it has told to be appended is there, every database is whole, and the next one goes on (I7).
 */
#include "store/store.h"
#include "tests/store/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { KILLS = 50 };

/* Windows from `number` on, ten seconds apart, beginning before midnight; each is told of. */
static void append_for_ever(const char *folder, uint64_t number, int told)
{
	struct fault fault = { 0 };
	struct store *store;

	if (store_open(folder, &store_default_limits, &store, &fault) < 0)
		_exit(2);
	for (;; number++) {
		uint64_t start_ns = FIXTURE_DAY_NS + DAY_NS - SECONDS(600) + SECONDS(10) * number;

		if (fixture_append_one(store, start_ns, (uint32_t)(1 + number % 100), 1) < 0 ||
			write(told, &number, sizeof(number)) != sizeof(number) ||
			store_maintain(store, start_ns + SECONDS(7200), 0, &fault) < 0)
			_exit(3);
	}
}

static void check_databases(const char *folder)
{
	for (uint32_t day = FIXTURE_DAY; day < FIXTURE_DAY + 3; day++) {
		char path[DAY_PATH_BYTES];

		assert_int_equal(day_file_path(path, folder, day), 0);
		if (access(path, F_OK) < 0)
			continue;
		assert_int_equal(fixture_sql(path, "SELECT integrity_check = 'ok' "
						   "FROM pragma_integrity_check"),
			1);
	}
}

/* How many have been told of, when `wanted` were told or nothing more comes. */
static uint64_t listen_to(int told, uint64_t next, uint64_t wanted)
{
	uint64_t number;

	for (uint64_t n = 0; n < wanted; n++) {
		ssize_t size = read(told, &number, sizeof(number));

		if (size == 0)
			return next;
		assert_int_equal(size, sizeof(number));
		assert_int_equal(number, next);
		next++;
	}
	return next;
}

/* Kills it somewhere between the window that it told of last and the next ones. */
static uint64_t kill_one(const char *folder, uint64_t next, unsigned int moment)
{
	int told[2], status;
	pid_t child;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(told[0]);
		append_for_ever(folder, next, told[1]);
	}
	assert_int_equal(close(told[1]), 0);
	next = listen_to(told[0], next, 1 + moment % 7);
	/* A moment is a number of turns of a loop: some tens of microseconds each. */
	for (volatile unsigned int i = 0; i < moment * 9973 % 2000000; i++)
		;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	next = listen_to(told[0], next, UINT64_MAX);
	assert_int_equal(close(told[0]), 0);
	return next;
}

static void appended_windows_survive_a_kill(void **state)
{
	static const struct store_selection merged = {
		.end_ns = UINT64_MAX,
		.merges_threads = true,
	};
	uint64_t next = 0, lost = 0;

	for (unsigned int i = 0; i < KILLS; i++) {
		struct store_summary summary;
		struct fault fault = { 0 };
		struct store_found found;
		struct profile *read;
		uint64_t total;

		next = kill_one(store_folder, next, i * 7 + 1);
		/* A reader comes first, then whatever looks into the files. */
		read = fixture_read(store_folder, NULL, &found);
		total = fixture_total(read);
		assert_int_equal(found.days_damaged, 0);
		/* It may have been killed between the appending and the telling. */
		assert_in_range(total, next + lost, next + lost + 1);
		lost = total - next;
		assert_int_equal(read->accounts.fired, 2 * total);
		profile_free(read);
		/* And its folds have neither too little nor too much. */
		read = fixture_read(store_folder, &merged, &found);
		assert_int_equal(fixture_total(read), total);
		assert_int_equal(read->accounts.fired, 2 * total);
		profile_free(read);
		check_databases(store_folder);
		assert_int_equal(store_reader_summary(store_folder, &summary, &fault), 0);
		assert_int_equal(summary.days_set_aside, 0);
	}
	assert_true(next >= KILLS);
	print_message("%d kills, %llu windows, %llu of them not told of\n", KILLS,
		(unsigned long long)next, (unsigned long long)lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(appended_windows_survive_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
