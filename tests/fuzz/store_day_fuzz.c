/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A day's database of arbitrary bytes is read, merged into coarser windows and appended to.
 * Appended windows can be read afterwards.
 */
#include "base/clock.h"
#include "store/day_file.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { DAY = 20700, INPUT_MAX = 1 << 18 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static bool wants(void *context, const struct store_thread *thread)
{
	*(size_t *)context += strlen(thread->comm) + strlen(thread->exe) + strlen(thread->cgroup);
	return true;
}

static uint64_t read_all(const char *folder)
{
	size_t length = 0;
	struct store_selection selection = {
		.end_ns = UINT64_MAX, .wants_thread = wants, .context = &length, .event = "fuzz"
	};
	struct profile *profile;
	struct store_found found = { 0 };
	struct store_summary summary;

	(void)store_reader_summary(folder, &summary, NULL);
	selection.event = NULL;
	if (store_reader_read(folder, &selection, 4 << 20, &profile, &found, NULL) == 0)
		profile_free(profile);
	selection.merges_threads = true;
	if (store_reader_read(folder, &selection, 4 << 20, &profile, &found, NULL) == 0)
		profile_free(profile);
	selection.merges_threads = false;
	selection.event = "fuzz";
	found = (struct store_found){ 0 };
	if (store_reader_read(folder, &selection, 4 << 20, &profile, &found, NULL) == 0)
		profile_free(profile);
	return found.windows;
}

static void append(struct store *store)
{
	struct store_window window = { .monotonic_ns = NSEC_PER_SEC };
	struct profile *profile;

	require(profile_new(1 << 20, &profile) == 0);
	profile->start_ns = DAY * DAY_NS + 3600ULL * NSEC_PER_SEC;
	profile->end_ns = profile->start_ns + NSEC_PER_SEC;
	profile->period_ns = 1000;
	require(profile_add_string(profile, "fuzz", &profile->event) == 0);
	require(store_append(store, &window, profile, NULL) == 0);
	profile_free(profile);
}

static void write_day(const char *folder, const uint8_t *bytes, size_t size)
{
	char path[DAY_PATH_BYTES];
	int fd;

	require(day_file_path(path, folder, DAY) == 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

static void remove_all(const char *folder)
{
	struct day_files files;
	char lock[64];

	require(day_files_read(&files, folder, NULL) == 0);
	for (size_t i = 0; i < files.count; i++)
		require(day_file_remove(folder, &files.items[i], NULL) == 0);
	day_files_done(&files);
	(void)snprintf(lock, sizeof(lock), "%s/lock", folder);
	require(unlink(lock) == 0 && rmdir(folder) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char folder[] = "/dev/shm/store_fuzz_XXXXXX";
	struct store *store;

	if (size > INPUT_MAX)
		return 0;
	require(mkdtemp(folder) != NULL);
	write_day(folder, bytes, size);
	(void)read_all(folder);
	require(store_open(folder, &store_default_limits, &store, NULL) == 0);
	(void)store_maintain(store, (DAY + 2) * DAY_NS, UINT64_MAX, NULL);
	append(store);
	/* SQLite may find a damaged page only now, and the window is set aside with the database.
	 */
	if (store_maintain(store, (DAY + 9) * DAY_NS, UINT64_MAX, NULL) == 0)
		(void)read_all(folder);
	store_close(store);
	remove_all(folder);
	return 0;
}
