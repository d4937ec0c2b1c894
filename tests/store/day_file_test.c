/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_file.h"
#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>
#include <fcntl.h>

static void touch(const char *folder, const char *name, size_t size)
{
	char path[512], bytes[8192] = { 1 };
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	assert_int_equal(close(fd), 0);
}

static bool is_there(const char *folder, const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void only_names_of_ours_are_seen(void **state)
{
	static const char *const others[] = { "2026-09-4.db", "2026-13-01.db", "2026-02-30.db",
		"x2026-09-04.db", "2026-09-04.db2", "2026-09-04.db.damaged-0",
		"2026-09-04.db.damaged-", "2026-09-04.db.damaged-1x", "1969-12-31.db",
		"9999-01-01.db", "+026-09-04.db", "2026-09-04", "lock" };
	struct fault fault = { 0 };
	struct day_files files;
	char folder[64], path[DAY_PATH_BYTES];

	fixture_folder(folder);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		touch(folder, others[i], 1);
	touch(folder, "2026-09-05.db", 10);
	touch(folder, "2026-09-04.db", 10);
	touch(folder, "2026-09-04.db-wal", 8192);
	touch(folder, "2026-09-04.db.damaged-12", 10);
	touch(folder, "1970-01-01.db", 10);
	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	assert_int_equal(files.count, 4);
	assert_int_equal(files.items[0].day, 0);
	assert_int_equal(files.items[1].day, FIXTURE_DAY);
	assert_int_equal(files.items[1].damaged, 0);
	assert_int_equal(files.items[1].bytes, 4096 + 8192);
	assert_int_equal(files.items[2].damaged, 12);
	assert_int_equal(files.items[3].day, FIXTURE_DAY + 1);
	assert_int_equal(files.bytes, 5 * 4096 + 4096);
	assert_int_equal(day_file_path(path, folder, files.items[3].day), 0);
	assert_non_null(strstr(path, "/2026-09-05.db"));
	day_files_done(&files);
	fixture_remove(folder);
}

static void removing_a_day_removes_its_journal(void **state)
{
	struct fault fault = { 0 };
	char folder[64];

	fixture_folder(folder);
	touch(folder, "2026-09-04.db", 1);
	touch(folder, "2026-09-04.db-wal", 1);
	touch(folder, "2026-09-04.db-shm", 1);
	touch(folder, "2026-09-05.db", 1);
	assert_int_equal(
		day_file_remove(folder, &(struct day_file){ .day = FIXTURE_DAY }, &fault), 0);
	assert_false(is_there(folder, "2026-09-04.db"));
	assert_false(is_there(folder, "2026-09-04.db-wal"));
	assert_false(is_there(folder, "2026-09-04.db-shm"));
	assert_true(is_there(folder, "2026-09-05.db"));
	fixture_remove(folder);
}

static void files_set_aside_are_bounded(void **state)
{
	struct fault fault = { 0 };
	struct day_files files;
	char folder[64];

	fixture_folder(folder);
	assert_int_equal(day_file_set_aside(folder, FIXTURE_DAY, &fault), -ENOENT);
	assert_true(fault.text[0] != '\0');
	for (int i = 0; i < 7; i++) {
		touch(folder, "2026-09-04.db", 1);
		touch(folder, "2026-09-04.db-wal", 1);
		assert_int_equal(day_file_set_aside(folder, FIXTURE_DAY, &fault), 0);
		assert_false(is_there(folder, "2026-09-04.db"));
		assert_false(is_there(folder, "2026-09-04.db-wal"));
	}
	assert_false(is_there(folder, "2026-09-04.db.damaged-3"));
	assert_true(is_there(folder, "2026-09-04.db.damaged-4"));
	assert_true(is_there(folder, "2026-09-04.db.damaged-7"));
	assert_true(is_there(folder, "2026-09-04.db.damaged-7-wal"));
	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	assert_int_equal(files.count, DAY_DAMAGED_MAX);
	day_files_done(&files);
	fixture_remove(folder);
}

static void orphans_alone_are_removed(void **state)
{
	struct fault fault = { 0 };
	char folder[64];

	fixture_folder(folder);
	touch(folder, "2026-09-04.db", 1);
	touch(folder, "2026-09-04.db-wal", 1);
	touch(folder, "2026-09-05.db-wal", 1);
	touch(folder, "2026-09-05.db-shm", 1);
	touch(folder, "2026-09-06.db.damaged-1-wal", 1);
	touch(folder, "other-wal", 1);
	assert_int_equal(day_files_remove_orphans(folder, &fault), 0);
	assert_true(is_there(folder, "2026-09-04.db-wal"));
	assert_false(is_there(folder, "2026-09-05.db-wal"));
	assert_false(is_there(folder, "2026-09-05.db-shm"));
	assert_false(is_there(folder, "2026-09-06.db.damaged-1-wal"));
	assert_true(is_there(folder, "other-wal"));
	fixture_remove(folder);
}

static void a_failing_allocation(void **state)
{
	struct fault fault = { 0 };
	struct day_files files;
	char folder[64];

	fixture_folder(folder);
	touch(folder, "2026-09-04.db", 1);
	fail_allocation(0);
	assert_int_equal(day_files_read(&files, folder, &fault), -ENOMEM);
	assert_true(allocation_failed());
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_names_of_ours_are_seen),
		cmocka_unit_test(removing_a_day_removes_its_journal),
		cmocka_unit_test(files_set_aside_are_bounded),
		cmocka_unit_test(orphans_alone_are_removed),
		cmocka_unit_test(a_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
