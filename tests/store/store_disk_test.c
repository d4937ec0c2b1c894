/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A disk that is full, small or read-only. */
#include "store/store.h"
#include "tests/store/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

/* What a disk that gives nothing back says, whatever is removed; NULL: the one that there is. */
static const struct statvfs *made_up_disk;

int statvfs(const char *path, struct statvfs *ret_disk)
{
	int fd, r;

	if (made_up_disk) {
		*ret_disk = *made_up_disk;
		return 0;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = fstatvfs(fd, ret_disk);
	(void)close(fd);
	return r;
}

static void mount_of(const char *folder, const char *size)
{
	if (mount("tmpfs", folder, "tmpfs", 0, size) < 0) {
		print_message("no tmpfs here: %s\n", strerror(errno));
		fixture_remove(folder);
		skip();
	}
}

static void mount_small(const char *folder)
{
	mount_of(folder, "size=512k");
}

static void a_full_disk_is_waited_out(void **state)
{
	char filler[80], bytes[4096] = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;
	uint64_t appended = 0;
	int fd, r;

	mount_small(store_folder);
	(void)snprintf(filler, sizeof(filler), "%s/filler", store_folder);
	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
	fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	for (uint32_t i = 1; i < 20; i++) {
		r = fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) * i, i + 1, 1);
		appended += r == 0;
		if (r < 0)
			assert_int_equal(r, -ENOSPC);
	}
	assert_true(appended < 19);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(close(fd), 0);
	for (uint32_t i = 20; i < 23; i++)
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) * i, i + 1, 1), 0);
	store_close(store);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(found.windows, 4 + appended);
	assert_int_equal(read->threads.count, 4 + appended);
	assert_int_equal(fixture_total(read), 4 + appended);
	profile_free(read);
	assert_int_equal(umount(store_folder), 0);
}

/* As far as a full disk lets it. */
static void maintain_full(struct store *store, uint64_t now_ns)
{
	struct fault fault = { 0 };
	int r = fixture_maintain(store, now_ns, &fault);

	if (r < 0 && r != -ENOSPC)
		fail_msg("%s", fault.text);
}

static void fill(const char *path)
{
	char bytes[1024] = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(close(fd), 0);
}

/* What is read of a day that is closed needs room beside it. */
static size_t count_days(const char *folder, uint32_t *ret_last)
{
	struct fault fault = { 0 };
	struct day_files files;
	size_t count;

	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	count = files.count;
	assert_true(count > 0);
	*ret_last = files.items[count - 1].day;
	day_files_done(&files);
	return count;
}

/* It has less room than the limit allows: days that are over make it, and only those. */
static void a_small_disk_keeps_the_last_days(void **state)
{
	char filler[80];
	struct store *store;
	uint64_t now_ns;
	size_t days, before;
	uint32_t last;

	mount_small(store_folder);
	(void)snprintf(filler, sizeof(filler), "%s/filler", store_folder);
	store = fixture_open(store_folder);
	for (uint32_t i = 0; i < 40; i++) {
		int r;

		now_ns = FIXTURE_DAY_NS + i * DAY_NS;
		r = fixture_append_one(store, now_ns, 1, 1);
		if (r < 0) {
			assert_int_equal(r, -ENOSPC);
			maintain_full(store, now_ns);
			r = fixture_append_one(store, now_ns, 1, 1);
		}
		assert_int_equal(r, 0);
		maintain_full(store, now_ns);
	}
	days = count_days(store_folder, &last);
	assert_true(days >= 2 && days < 32);
	do {
		before = days;
		fill(filler);
		maintain_full(store, now_ns);
		days = count_days(store_folder, &last);
		assert_true(before > 1 ? days < before : days == 1);
	} while (before > 1);
	assert_int_equal(last, day_of(now_ns));
	store_close(store);
	assert_int_equal(umount(store_folder), 0);
}

static uint64_t bytes_of(const char *folder)
{
	struct fault fault = { 0 };
	struct day_files files;
	uint64_t bytes;

	assert_int_equal(day_files_read(&files, folder, &fault), 0);
	bytes = files.bytes;
	day_files_done(&files);
	return bytes;
}

/* What is missing goes, and no more of it for being given back later. */
static void a_disk_that_frees_space_late_keeps_days(void **state)
{
	const uint64_t now_ns = FIXTURE_DAY_NS + 9 * DAY_NS, reserve = (1 << 30) / 100;
	struct store_limits limits = store_default_limits;
	struct statvfs full = { .f_frsize = 1, .f_blocks = 1 << 30 };
	struct fault fault = { 0 };
	struct store *store;
	uint32_t last;

	limits.minute_s = limits.minutes_s = limits.fine_s = UINT64_MAX;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	for (uint64_t n = 0; n < 10; n++)
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + n * DAY_NS, 1, 1), 0);
	store_close(store);
	/* Ten days of one size, and two and a half of them are wanted. */
	full.f_bavail = reserve - bytes_of(store_folder) / 4;
	assert_int_equal(store_open(store_folder, &limits, &store, &fault), 0);
	made_up_disk = &full;
	assert_int_equal(store_maintain(store, now_ns, UINT64_MAX, &fault), 0);
	made_up_disk = NULL;
	store_close(store);
	assert_int_equal(count_days(store_folder, &last), 7);
	assert_int_equal(last, day_of(now_ns));
}

/* As a disk is on which others have left little, and days that are over have the rest. */
static void fill_with_days(const char *folder, uint64_t end_ns)
{
	struct store *store = fixture_open(folder);

	for (uint64_t n = 1; n <= 30; n++)
		assert_int_equal(fixture_append_one(store, end_ns - n * DAY_NS, 1, 1), 0);
	store_close(store);
}

/* One that nothing in it is known of. */
static int append_new(const char *folder, uint64_t start_ns)
{
	struct store *store = fixture_open(folder);
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct profile_sample sample = { .count = 1 };
	struct fault fault = { 0 };
	uint64_t random = 1;
	int r;

	assert_int_equal(
		fixture_thread(profile, &(struct fixture_sample){ .pid = 1, .comm = "new" },
			&sample.thread),
		0);
	for (uint32_t n = 0; n < 30000; n++) {
		uint32_t location;

		random = random * 6364136223846793005U + 1442695040888963407U;
		assert_int_equal(profile_add_location(profile, 1, random >> 16, &location), 0);
		assert_int_equal(
			profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	r = fixture_append(store, profile, &fault);
	profile_free(profile);
	store_close(store);
	return r;
}

/* More than a hundredth of it: what is left must do for a window, however little that is. */
static void a_small_disk_has_room_for_a_window(void **state)
{
	uint64_t now_ns = FIXTURE_DAY_NS + 30 * DAY_NS;
	char filler[80];
	struct store *store;
	struct stat status;
	uint32_t last;

	mount_of(store_folder, "size=4m");
	(void)snprintf(filler, sizeof(filler), "%s/filler", store_folder);
	fill_with_days(store_folder, now_ns);
	fill(filler);
	assert_int_equal(stat(filler, &status), 0);
	assert_int_equal(truncate(filler, status.st_size - (150 << 10)), 0);
	/* As history_writer.c does: what has failed is begun anew, and nothing stays open
	 * meanwhile. */
	assert_int_equal(append_new(store_folder, now_ns), -ENOSPC);
	store = fixture_open(store_folder);
	maintain_full(store, now_ns);
	store_close(store);
	assert_int_equal(append_new(store_folder, now_ns), 0);
	assert_true(count_days(store_folder, &last) > 1);
	assert_int_equal(last, day_of(now_ns));
	assert_int_equal(umount(store_folder), 0);
}

/* A mount on top that is read-only: what is open stays writable, all else is not. */
static void a_disk_that_cannot_be_written(void **state)
{
	struct fault fault = { 0 };
	struct store *store, *other;

	mount_small(store_folder);
	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
	assert_int_equal(mount(store_folder, store_folder, NULL, MS_BIND, NULL), 0);
	assert_int_equal(
		mount(NULL, store_folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	assert_int_equal(store_open(store_folder, &store_default_limits, &other, &fault), -EROFS);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS * i, 1, 1), -EROFS);
		assert_int_equal(
			fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10) * i, 1, 1), -EROFS);
	}
	assert_int_equal(umount(store_folder), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(30), 1, 1), 0);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS, 1, 1), 0);
	store_close(store);
	fixture_expect_windows(store_folder, 3, 0);
	assert_int_equal(umount(store_folder), 0);
}

/* A day that was closed cleanly is read where nothing can be made beside it; another one says so.
 */
static void a_disk_that_can_only_be_read(void **state)
{
	char copy[80], command[384];
	struct fault fault = { 0 };
	struct store_found found;
	struct profile *read;
	struct store *store;

	mount_small(store_folder);
	fixture_write_one(store_folder, FIXTURE_DAY_NS);
	assert_int_equal(mount(NULL, store_folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	read = fixture_read(store_folder, NULL, &found);
	assert_int_equal(found.windows, 1);
	assert_int_equal(found.days_damaged, 0);
	assert_int_equal(fixture_summary(store_folder).windows, 1);
	profile_free(read);

	/* Of a copy the last window is in the -wal alone, and there is no -shm. */
	assert_int_equal(mount(NULL, store_folder, NULL, MS_REMOUNT, NULL), 0);
	store = fixture_open(store_folder);
	assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + SECONDS(10), 1, 1), 0);
	(void)snprintf(copy, sizeof(copy), "%s/copy", store_folder);
	(void)snprintf(command, sizeof(command), "mkdir %s && cp %s/*.db %s/*.db-wal %s", copy,
		store_folder, store_folder, copy);
	assert_int_equal(system(command), 0);
	store_close(store);
	assert_int_equal(mount(NULL, store_folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	read = NULL;
	assert_int_equal(store_reader_read(copy, &(struct store_selection){ .end_ns = UINT64_MAX },
				 1 << 20, &read, &found, &fault),
		-EROFS);
	assert_null(read);
	assert_string_not_equal(fault.text, "");
	assert_int_equal(umount(store_folder), 0);
}

/* Signs that mean something in the address of a database. */
static void a_folder_with_any_name(void **state)
{
	char odd[96], path[DAY_PATH_BYTES + 8];

	mount_small(store_folder);
	(void)snprintf(odd, sizeof(odd), "%s/a%%41?b=1#c d", store_folder);
	assert_int_equal(mkdir(odd, 0700), 0);
	fixture_write_one(odd, FIXTURE_DAY_NS);
	assert_int_equal(mount(NULL, store_folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	fixture_expect_windows(odd, 1, 0);
	fixture_path(path, odd);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(umount(store_folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_full_disk_is_waited_out),
		STORE_TEST(a_small_disk_keeps_the_last_days),
		STORE_TEST(a_disk_that_frees_space_late_keeps_days),
		STORE_TEST(a_small_disk_has_room_for_a_window),
		STORE_TEST(a_disk_that_cannot_be_written),
		STORE_TEST(a_disk_that_can_only_be_read),
		STORE_TEST(a_folder_with_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
