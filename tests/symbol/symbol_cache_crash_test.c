/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several processes use one folder, and some are killed: every entry found is whole and right, and
 * drafts of dead processes are removed.
 */
#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { KILLS = 240, WRITERS = 3, IDENTITIES = 12, PROCESSES = 4, ROUNDS = 400 };

/* Each seed has its own sequence, the same in each run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* For a child, which must not return into the test. */
#define REQUIRE(condition)                                                                    \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                             \
		}                                                                             \
	} while (0)

static void report_step(int fd)
{
	REQUIRE(write(fd, "", 1) == 1);
}

/* Stores for ever, and reports each step before taking it. */
static void store_for_ever(const char *folder, uint32_t seed, int report_fd)
{
	struct symbol_file_fixture file;
	struct symbol_cache *cache;

	REQUIRE(symbol_cache_open(folder, 40 * 4096, &cache, NULL) == 0);
	for (;;) {
		uint32_t choice = next_random(&seed);
		struct symbol_identity identity = cache_fixture_identity(choice % IDENTITIES);
		struct symbol_cache_draft draft = { .fd = -1 };
		struct symbol_cache_pruned pruned;
		int r;

		report_step(report_fd);
		if (choice % 7 == 0) {
			r = symbol_cache_put_negative(
				cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x");
			REQUIRE(r == 0 || r == -EEXIST);
		} else if (choice % 31 == 0) {
			REQUIRE(symbol_cache_prune(cache, 30 * 4096, true, &pruned) == 0);
		} else {
			cache_fixture_build(
				&file, &identity, 1 + choice / 64 % 4, choice / 256 % 30000);
			REQUIRE(symbol_cache_begin(cache, &draft) == 0);
			report_step(report_fd);
			/* In two writes, so that it may be killed between them. */
			REQUIRE(write(draft.fd, file.bytes, file.size / 2) ==
				(ssize_t)(file.size / 2));
			report_step(report_fd);
			REQUIRE(write(draft.fd, file.bytes + file.size / 2,
					file.size - file.size / 2) ==
				(ssize_t)(file.size - file.size / 2));
			r = symbol_cache_commit(cache, &identity, &draft);
			REQUIRE(r == 0 || r == -EEXIST);
			symbol_cache_draft_done(cache, &draft);
		}
	}
}

struct checked {
	struct symbol_cache *cache;
	size_t entries, wrong;
};

static int check_entry(void *context, const struct symbol_cache_entry *entry)
{
	struct checked *checked = context;

	checked->entries++;
	if (entry->error < 0 ||
		cache_fixture_find(checked->cache, &entry->identity) != entry->header.rank)
		checked->wrong++;
	return 0;
}

static size_t drafts_of(const char *folder)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	const struct dirent *entry;
	size_t count = 0;
	DIR *stream;

	(void)snprintf(path, sizeof(path), "%s/tmp", folder);
	stream = opendir(path);
	if (!stream)
		return 0;
	while ((entry = readdir(stream)))
		count += entry->d_name[0] != '.';
	(void)closedir(stream);
	return count;
}

/* Kills the child after a number of steps. */
static void kill_after(pid_t child, int report_fd, uint32_t steps)
{
	char byte;
	int status;

	for (uint32_t i = 0; i < steps; i++)
		assert_int_equal(read(report_fd, &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static pid_t start_writer(const char *folder, uint32_t seed, int *ret_report_fd)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		store_for_ever(folder, seed, ends[1]);
	(void)close(ends[1]);
	*ret_report_fd = ends[0];
	return child;
}

static void killed_writers_leave_no_wrong_entries(void **state)
{
	struct symbol_cache_counters counters;
	struct symbol_cache_pruned pruned;
	struct cache_fixture fixture;
	struct checked checked;
	size_t drafts_seen = 0, entries_seen = 0;
	uint32_t seed = 1;

	assert_true(cache_fixture_open(&fixture, 1 << 20));
	checked = (struct checked){ .cache = fixture.cache };
	for (int i = 0; i < KILLS; i += WRITERS) {
		int report_fds[WRITERS];
		pid_t children[WRITERS];

		for (int j = 0; j < WRITERS; j++)
			children[j] =
				start_writer(fixture.folder, (uint32_t)(i + j + 1), &report_fds[j]);
		for (int j = 0; j < WRITERS; j++) {
			kill_after(children[j], report_fds[j], 1 + next_random(&seed) % 60);
			(void)close(report_fds[j]);
		}
		drafts_seen += drafts_of(fixture.folder);
		checked.entries = 0;
		assert_int_equal(symbol_cache_each(fixture.cache, true, check_entry, &checked), 0);
		entries_seen += checked.entries;
		assert_int_equal(checked.wrong, 0);
		assert_int_equal(symbol_cache_prune(fixture.cache, 1 << 20, true, &pruned), 0);
		assert_int_equal(pruned.entries, 0);
		assert_int_equal(drafts_of(fixture.folder), 0);
	}
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.damaged, 0);
	/* Otherwise no writer was killed during a store. */
	assert_true(drafts_seen > KILLS / 20);
	assert_true(entries_seen > KILLS);
	print_message("%d writers killed, %zu drafts left behind, %zu entries looked at\n", KILLS,
		drafts_seen, entries_seen);
	cache_fixture_close(&fixture);
}

static int wait_for(const pid_t *children)
{
	int failed = 0, status;

	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	return failed;
}

/* Stores, finds and evicts in a folder with room for a third of the entries. */
static void use(const char *folder, uint32_t seed)
{
	struct symbol_cache_counters counters;
	struct symbol_cache_pruned pruned;
	struct symbol_cache *cache;
	int r;

	REQUIRE(symbol_cache_open(folder, 12 * 4096, &cache, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t choice = next_random(&seed);
		struct symbol_identity identity = cache_fixture_identity(choice % IDENTITIES);

		switch (choice / 64 % 8) {
		case 0:
			r = symbol_cache_put_negative(
				cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x");
			REQUIRE(r == 0 || r == -EEXIST || r == -EBUSY);
			break;
		case 1:
			r = symbol_cache_remove(cache, &identity);
			REQUIRE(r == 0 || r == -ENOENT);
			break;
		case 2:
			r = symbol_cache_prune(cache, 8 * 4096, choice % 2, &pruned);
			REQUIRE(r == 0 || r == -EBUSY);
			break;
		case 3:
		case 4:
			r = cache_fixture_store(
				cache, &identity, 1 + choice / 1024 % 4, choice / 4096 % 12000);
			REQUIRE(r == 0 || r == -EEXIST || r == -EBUSY);
			break;
		default:
			r = cache_fixture_find(cache, &identity);
			REQUIRE(r >= 0 || r == -ENOENT);
			break;
		}
	}
	symbol_cache_counters(cache, &counters);
	REQUIRE(counters.damaged == 0 && counters.stored > 0 && counters.found > 0);
	symbol_cache_free(cache);
}

static void processes_share_a_folder(void **state)
{
	struct symbol_cache_pruned pruned;
	pid_t children[PROCESSES];
	struct cache_fixture fixture;
	struct checked checked;

	assert_true(cache_fixture_open(&fixture, 12 * 4096));
	for (uint32_t i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			use(fixture.folder, i + 1);
			_exit(0);
		}
	}
	assert_int_equal(wait_for(children), 0);
	checked = (struct checked){ .cache = fixture.cache };
	assert_int_equal(symbol_cache_each(fixture.cache, true, check_entry, &checked), 0);
	assert_int_equal(checked.wrong, 0);
	assert_int_equal(symbol_cache_prune(fixture.cache, 12 * 4096, true, &pruned), 0);
	assert_int_equal(pruned.drafts, 0);
	assert_true(pruned.left_bytes <= 12 * 4096);
	cache_fixture_close(&fixture);
}

/* After a reader has seen a rank, it never sees a lower one or a miss (nothing is evicted). */
static void raise_ranks(const char *folder, uint32_t seed)
{
	struct symbol_cache *cache;
	int seen[IDENTITIES];
	int r;

	for (int i = 0; i < IDENTITIES; i++)
		seen[i] = -ENOENT;
	REQUIRE(symbol_cache_open(folder, 1 << 20, &cache, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t choice = next_random(&seed), number = choice % IDENTITIES;
		struct symbol_identity identity = cache_fixture_identity(number);
		int rank = (int)(choice / 64 % 5);

		r = rank == 0 ? symbol_cache_put_negative(
					cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x")
			      : cache_fixture_store(cache, &identity, (unsigned int)rank, 10);
		REQUIRE(r == 0 || r == -EEXIST || r == -EBUSY);
		if (r == 0) {
			REQUIRE(rank >= seen[number]);
			seen[number] = rank;
		}
		r = cache_fixture_find(cache, &identity);
		REQUIRE(r >= seen[number]);
		seen[number] = r;
	}
	symbol_cache_free(cache);
}

static void ranks_only_rise_with_concurrent_writers(void **state)
{
	enum { TIMES = 3 };
	pid_t children[PROCESSES];
	struct cache_fixture fixture;

	for (uint32_t times = 0; times < TIMES; times++) {
		assert_true(cache_fixture_open(&fixture, 1 << 20));
		for (uint32_t i = 0; i < PROCESSES; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0) {
				raise_ranks(fixture.folder, times * PROCESSES + i + 1);
				_exit(0);
			}
		}
		assert_int_equal(wait_for(children), 0);
		cache_fixture_close(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writers_leave_no_wrong_entries),
		cmocka_unit_test(processes_share_a_folder),
		cmocka_unit_test(ranks_only_rise_with_concurrent_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
