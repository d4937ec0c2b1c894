/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A full disk, a file size limit, and folders that are read-only or of another user. */
#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { CANNOT = 77, NOBODY = 65534, ENOUGH_BYTES = 1 << 30 };

/* For a child, which must not return into the test. */
#define REQUIRE(condition)                                                                    \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                             \
		}                                                                             \
	} while (0)

/* Runs a test that changes the process in a child, which may ask to skip it. */
static void run_apart(void (*body)(struct cache_fixture *fixture), struct cache_fixture *fixture,
	const char *why_not)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		body(fixture);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	cache_fixture_close(fixture);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT) {
		print_message("%s\n", why_not);
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool has_drafts(const char *folder)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	const struct dirent *entry;
	bool has = false;
	DIR *stream;

	(void)snprintf(path, sizeof(path), "%s/tmp", folder);
	stream = opendir(path);
	if (!stream)
		return false;
	while ((entry = readdir(stream)))
		has = has || entry->d_name[0] != '.';
	(void)closedir(stream);
	return has;
}

static bool may_mount(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Stores until the disk is full, and tries more. */
static void fill_the_disk(struct cache_fixture *fixture)
{
	struct symbol_identity first = cache_fixture_identity(0);
	int r, stored = 0, refused = 0, found;

	for (uint32_t i = 0; i < 60; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);
		struct symbol_file_fixture file;

		cache_fixture_build(&file, &identity, 1, 10000);
		/* A part of it may still fit: that is not a valid symbol file. */
		r = cache_fixture_commit_bytes(fixture->cache, &identity, file.bytes, file.size);
		REQUIRE(r == 0 || r == -ENOSPC || r == -EBADMSG);
		stored += r == 0;
		refused += r < 0;
		found = cache_fixture_find(fixture->cache, &identity);
		REQUIRE(found == (r == 0 ? 1 : -ENOENT));
		r = symbol_cache_put_negative(
			fixture->cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x");
		REQUIRE(r == -EEXIST || r == -ENOSPC || (r == 0 && found < 0));
		REQUIRE(!has_drafts(fixture->folder));
	}
	REQUIRE(stored > 0 && refused > 10);
	REQUIRE(cache_fixture_find(fixture->cache, &first) == 1);
}

static void use_a_full_disk(struct cache_fixture *fixture)
{
	struct symbol_identity identity = cache_fixture_identity(99);
	struct symbol_cache_pruned pruned;
	struct symbol_cache_counters counters;

	if (!may_mount() || mount("none", fixture->folder, "tmpfs", 0, "size=256k") < 0)
		_exit(CANNOT);
	/* The mount hides the old folder. */
	symbol_cache_free(fixture->cache);
	REQUIRE(symbol_cache_open(fixture->folder, ENOUGH_BYTES, &fixture->cache, NULL) == 0);
	fill_the_disk(fixture);
	REQUIRE(symbol_cache_prune(fixture->cache, 64 * 1024, true, &pruned) == 0);
	REQUIRE(pruned.entries > 0 && pruned.left_entries > 0 && pruned.drafts == 0);
	REQUIRE(cache_fixture_store(fixture->cache, &identity, 1, 10000) == 0);
	REQUIRE(cache_fixture_find(fixture->cache, &identity) == 1);
	symbol_cache_counters(fixture->cache, &counters);
	REQUIRE(counters.damaged == 0);
}

static void full_disks_fail_only_stores(void **state)
{
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	run_apart(use_a_full_disk, &fixture, "file systems cannot be mounted here");
}

static void run_out_of_files(struct cache_fixture *fixture)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_identity kept = cache_fixture_identity(2);
	const struct rlimit limit = { 100, 100 };

	REQUIRE(cache_fixture_store(fixture->cache, &kept, 1, 10) == 0);
	REQUIRE(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	/* The first hundred bytes are written. */
	REQUIRE(cache_fixture_store(fixture->cache, &identity, 1, 5000) == -EBADMSG);
	REQUIRE(symbol_cache_put_negative(
			fixture->cache, &identity, PILOTLIGHT_SYMBOL_NOTHING, "x") == -EFBIG);
	REQUIRE(!has_drafts(fixture->folder));
	REQUIRE(cache_fixture_find(fixture->cache, &identity) == -ENOENT);
	REQUIRE(cache_fixture_find(fixture->cache, &kept) == 1);
}

static void file_size_limits_fail_only_larger_stores(void **state)
{
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	run_apart(run_out_of_files, &fixture, "");
}

/* Entries can be used; operations that write return the error. */
static void use_without_writing(struct cache_fixture *fixture, int error)
{
	struct symbol_identity good = cache_fixture_identity(1), bad = cache_fixture_identity(2);
	struct symbol_identity expired = cache_fixture_identity(3);
	struct symbol_identity absent = cache_fixture_identity(4);
	struct symbol_cache_draft draft = { .fd = -1 };
	struct symbol_cache_pruned pruned = { .entries = 77 };
	struct symbol_cache_counters counters;
	struct symbol_cache *cache;

	REQUIRE(symbol_cache_open(fixture->folder, 4096, &cache, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		REQUIRE(cache_fixture_find(cache, &good) == 1);
		REQUIRE(cache_fixture_find(cache, &bad) == -ENOENT);
		REQUIRE(cache_fixture_find(cache, &expired) == -ENOENT);
		REQUIRE(cache_fixture_find(cache, &absent) == -ENOENT);
	}
	REQUIRE(symbol_cache_begin(cache, &draft) == error);
	REQUIRE(draft.fd == -1 && !draft.name[0]);
	REQUIRE(symbol_cache_put_negative(cache, &absent, PILOTLIGHT_SYMBOL_NOTHING, "x") == error);
	REQUIRE(symbol_cache_remove(cache, &good) == error);
	REQUIRE(symbol_cache_prune(cache, ENOUGH_BYTES, false, &pruned) == error);
	REQUIRE(symbol_cache_prune(cache, 0, true, &pruned) == error);
	REQUIRE(pruned.entries == 77);
	symbol_cache_counters(cache, &counters);
	REQUIRE(counters.found == 2 && counters.missed == 6 && counters.stored == 0);
	REQUIRE(counters.damaged >= 2 && counters.evicted == 0);
	symbol_cache_free(cache);
	REQUIRE(cache_fixture_has(fixture, &good) && cache_fixture_has(fixture, &bad));
}

/* Lets everybody read the folder. */
static int open_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)walk;
	return chmod(path, type == FTW_F ? 0644 : 0755);
}

/* A good entry that was used long ago, a damaged and an expired one. */
static void fill(struct cache_fixture *fixture)
{
	struct symbol_identity good = cache_fixture_identity(1), bad = cache_fixture_identity(2);
	struct symbol_identity expired = cache_fixture_identity(3);
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_file_fixture file;

	assert_true(cache_fixture_open(fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture->cache, &good, 1, 10), 0);
	assert_int_equal(cache_fixture_age(fixture, &good, 1000000), 0);
	assert_int_equal(cache_fixture_store(fixture->cache, &bad, 1, 10), 0);
	assert_int_equal(truncate(cache_fixture_path(fixture, &bad, path), 300), 0);
	cache_fixture_build(&file, &expired, PILOTLIGHT_SYMBOL_RANK_NONE, 0);
	symbol_file_fixture_header(&file)->created_s -= 2 * SYMBOL_CACHE_NEGATIVE_S;
	symbol_file_fixture_seal(file.bytes, file.size);
	assert_int_equal(
		cache_fixture_commit_bytes(fixture->cache, &expired, file.bytes, file.size), 0);
	assert_int_equal(nftw(fixture->folder, open_one, 16, FTW_PHYS), 0);
	(void)snprintf(path, sizeof(path), "%s/lock", fixture->folder);
	assert_true(access(path, F_OK) < 0 || chmod(path, 0600) == 0);
}

static void use_read_only(struct cache_fixture *fixture)
{
	int flags = MS_REMOUNT | MS_BIND | MS_RDONLY;

	if (!may_mount() || mount(fixture->folder, fixture->folder, NULL, MS_BIND, NULL) < 0 ||
		mount(NULL, fixture->folder, NULL, (unsigned long)flags, NULL) < 0)
		_exit(CANNOT);
	use_without_writing(fixture, -EROFS);
}

static void read_only_folders_are_used(void **state)
{
	struct cache_fixture fixture;

	fill(&fixture);
	run_apart(use_read_only, &fixture, "file systems cannot be mounted here");
}

static void become_nobody(void)
{
	if (geteuid() != 0)
		_exit(CANNOT);
	REQUIRE(setgroups(0, NULL) == 0);
	REQUIRE(setresgid(NOBODY, NOBODY, NOBODY) == 0);
	REQUIRE(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

static void use_as_nobody(struct cache_fixture *fixture)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_cache *cache;
	struct fault fault = { "" };

	become_nobody();
	use_without_writing(fixture, -EACCES);
	(void)snprintf(path, sizeof(path), "%s/deeper/folder", fixture->folder);
	REQUIRE(symbol_cache_open(path, 4096, &cache, &fault) == -EACCES);
	REQUIRE(strstr(fault.text, "PILOTLIGHT_SYMBOL_CACHE"));
}

static void folders_of_other_users_are_used_read_only(void **state)
{
	struct cache_fixture fixture;

	fill(&fixture);
	run_apart(use_as_nobody, &fixture, "becoming another user takes root");
}

static void look_at_what_is_private(struct cache_fixture *fixture)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct pilotlight_symbol_header header;
	struct symbol_cache_counters counters;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_cache *cache;

	become_nobody();
	REQUIRE(symbol_cache_open(fixture->folder, 4096, &cache, NULL) == 0);
	REQUIRE(cache_fixture_find(cache, &identity) == -EACCES);
	REQUIRE(symbol_cache_peek(cache, &identity, &header) == -EACCES);
	symbol_cache_counters(cache, &counters);
	REQUIRE(counters.found == 0 && counters.missed == 0);
	REQUIRE(access(cache_fixture_path(fixture, &identity, path), F_OK) < 0 && errno == EACCES);
	symbol_cache_free(cache);
}

static void stored_entries_have_private_modes(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	run_apart(look_at_what_is_private, &fixture, "becoming another user takes root");
}

static void meet_what_cannot_be_read(struct cache_fixture *fixture)
{
	struct symbol_identity unreadable = cache_fixture_identity(1);
	struct symbol_identity hidden = cache_fixture_identity(2);
	struct symbol_identity good = cache_fixture_identity(3);
	struct symbol_cache_pruned pruned;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct symbol_cache *cache;

	(void)cache_fixture_path(fixture, &unreadable, path);
	REQUIRE(chmod(path, 0) == 0);
	(void)snprintf(path, sizeof(path), "%s/02", fixture->folder);
	REQUIRE(chmod(path, 0700) == 0);
	(void)snprintf(path, sizeof(path), "%s/01", fixture->folder);
	REQUIRE(chmod(path, 0755) == 0);
	(void)cache_fixture_path(fixture, &good, path);
	REQUIRE(chmod(path, 0644) == 0);
	(void)snprintf(path, sizeof(path), "%s/lock", fixture->folder);
	REQUIRE(unlink(path) == 0);
	REQUIRE(chmod(fixture->folder, 0777) == 0);
	(void)snprintf(path, sizeof(path), "%s/03", fixture->folder);
	REQUIRE(chmod(path, 0777) == 0);
	(void)snprintf(path, sizeof(path), "%s/tmp", fixture->folder);
	REQUIRE(chmod(path, 0777) == 0);
	become_nobody();
	REQUIRE(symbol_cache_open(fixture->folder, 4096, &cache, NULL) == 0);
	REQUIRE(cache_fixture_find(cache, &unreadable) == -EACCES);
	REQUIRE(cache_fixture_find(cache, &hidden) == -EACCES);
	REQUIRE(cache_fixture_find(cache, &good) == 1);
	/* Entries that cannot be evicted do not prevent other operations. */
	REQUIRE(cache_fixture_store(cache, &good, 2, 10) == 0);
	good.id.bytes[1] = 1;
	REQUIRE(cache_fixture_store(cache, &good, 2, 10) == 0);
	REQUIRE(cache_fixture_find(cache, &good) == 2);
	good.id.bytes[1] = 0;
	REQUIRE(cache_fixture_find(cache, &good) == -ENOENT);
	REQUIRE(symbol_cache_prune(cache, ENOUGH_BYTES, true, &pruned) == -EACCES);
	symbol_cache_free(cache);
}

static void unreadable_entries_do_not_affect_others(void **state)
{
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	for (uint32_t i = 1; i <= 3; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	}
	run_apart(meet_what_cannot_be_read, &fixture, "becoming another user takes root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_disks_fail_only_stores),
		cmocka_unit_test(file_size_limits_fail_only_larger_stores),
		cmocka_unit_test(read_only_folders_are_used),
		cmocka_unit_test(folders_of_other_users_are_used_read_only),
		cmocka_unit_test(stored_entries_have_private_modes),
		cmocka_unit_test(unreadable_entries_do_not_affect_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
