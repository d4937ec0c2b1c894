/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deletes history beyond the limits: whole days, the oldest first. If only one day is left, its
 * first generation goes.
 *
 * Past days are also deleted if the file system has less room than the byte limit. Otherwise a
 * small disk, once full, would keep old days and never accept a new window. The file system may
 * free deleted space late: XFS and btrfs free it in the background, and a file that a reader has
 * open is freed when the reader closes it. The room is therefore measured once for all deletions.
 */
#include "base/clock.h"
#include "store/day_file.h"
#include "store/store_state.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

/*
 * Space to leave free: a hundredth of the file system for others, up to a bound. On a small disk at
 * least the space that writing a window takes, hardly more than the -wal keeps.
 */
enum {
	RESERVE_PARTS = 100,
	RESERVE_BYTES_MAX = 64 << 20,
	WINDOW_PARTS = 8,
	WINDOW_BYTES_MAX = 4 << 20,
};

static int remove_file(struct store *store, const struct day_file *file, struct fault *fault)
{
	if (file->damaged == 0) {
		if (store->old && store->old->day == file->day)
			day_database_close(TAKE_PTR(store->old));
		if (store->database && store->database->day == file->day)
			store_leave_day(store);
	}
	return day_file_remove(store->folder, file, fault);
}

/*
 * True if the day is older than the limit. Age counts from now or from the last day but one,
 * whichever is earlier. A clock that was set ahead for a while makes one distant day, which must
 * not delete the history.
 */
static bool is_too_old(const struct store *store, const struct day_files *files, uint64_t now_ns,
	const struct day_file *file)
{
	uint32_t last = 0, before = 0, today = day_of(now_ns);
	uint64_t age_days = store->limits.age_s / 86400;

	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].damaged > 0 || files->items[i].day == last)
			continue;
		before = last;
		last = files->items[i].day;
	}
	if (today > before)
		today = before;
	return today > file->day && today - file->day > age_days;
}

/*
 * Deletes a generation of stacks with its windows, and the thread generations that no remaining
 * window uses.
 */
static int drop_generation(
	struct day_database *database, int64_t generation, int64_t threads, struct fault *fault)
{
	int r = day_database_begin(database, fault);

	if (r == 0)
		r = day_database_change(database, DAY_DROP_TIMES, generation, 0, fault);
	if (r == 0)
		r = day_database_change(database, DAY_DROP_BODIES, generation, 0, fault);
	if (r == 0)
		r = day_database_change(database, DAY_DROP_WINDOWS, generation, 0, fault);
	if (r == 0)
		r = day_database_change(database, DAY_DROP_DICTIONARY, generation, 0, fault);
	if (r == 0)
		r = day_database_change(database, DAY_DROP_THREADS, threads, 0, fault);
	if (r == 0)
		return day_database_commit(database, fault);
	day_database_rollback(database);
	return r;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
	return n < most ? n : most;
}

static int measure(const struct store *store, uint64_t *ret_bytes, struct fault *fault)
{
	struct day_files files;
	int r = day_files_read(&files, store->folder, fault);

	if (r < 0)
		return r;
	*ret_bytes = files.bytes;
	day_files_done(&files);
	return 0;
}

int store_room(const struct store *store, uint64_t *ret_bytes, struct fault *fault)
{
	struct statvfs disk;
	uint64_t own, size, room, reserve, window;
	int r = measure(store, &own, fault);

	if (r < 0)
		return r;
	if (statvfs(store->folder, &disk) < 0)
		return fault_set(fault, -errno, "cannot tell the room in %s: %s", store->folder,
			strerror(errno));
	*ret_bytes = UINT64_MAX;
	/* Some file systems have no size or report none. */
	if (disk.f_blocks == 0 ||
		__builtin_mul_overflow((uint64_t)disk.f_blocks, disk.f_frsize, &size) ||
		__builtin_mul_overflow((uint64_t)disk.f_bavail, disk.f_frsize, &room) ||
		__builtin_add_overflow(room, own, &room))
		return 0;
	reserve = at_most(size / RESERVE_PARTS, RESERVE_BYTES_MAX);
	window = at_most(size / WINDOW_PARTS, WINDOW_BYTES_MAX);
	if (reserve < window)
		reserve = window;
	*ret_bytes = room > reserve ? room - reserve : 0;
	return 0;
}

/*
 * Deletes the day's first generation, after shrinking has released the pages of the last deletion.
 */
static int drop_oldest_part(struct store *store, uint32_t day, struct fault *fault)
{
	struct store_part *stacks = &store->parts[DAY_STACKS];
	int64_t generation = 0, used = 0;
	uint64_t bytes = 0;
	int r = store_use_day(store, day, fault);

	if (r == 0)
		r = day_database_shrink(store->database, fault);
	if (r != 0)
		return r;
	/*
	 * Pages in a -wal that a reader holds are released later. They are no reason to delete
	 * more.
	 */
	r = measure(store, &bytes, fault);
	if (r == 0 && store->database->is_held) {
		r = day_database_number(store->database, DAY_USED_BYTES, 0, 0, &used, fault);
		bytes = (uint64_t)used;
	}
	if (r == 0)
		r = day_database_number(
			store->database, DAY_FIRST_GENERATION, 0, 0, &generation, fault);
	if (r < 0 || bytes <= store->limits.bytes || generation == 0)
		return r;
	r = generation == stacks->generation ? store_part_next_generation(stacks) : 0;
	if (r == 0)
		r = drop_generation(
			store->database, generation, store->parts[DAY_THREADS].generation, fault);
	return r < 0 ? r : 1;
}

/* Lack of disk space alone never deletes a day that is still being written. */
static bool is_in_use(const struct day_file *file, size_t days, uint64_t now_ns)
{
	return days == 1 || file->day >= day_of(now_ns);
}

static int keep_limits(struct store *store, const struct day_files *files, uint64_t now_ns,
	uint64_t room, struct fault *fault)
{
	const struct day_file *oldest = NULL;
	size_t days = 0;
	int r;

	for (size_t i = 0; i < files->count; i++) {
		const struct day_file *file = &files->items[i];

		days += file->damaged == 0;
		if (!oldest || (oldest->damaged == 0 && file->damaged > 0))
			oldest = file;
		if (!is_too_old(store, files, now_ns, file))
			continue;
		r = remove_file(store, file, fault);
		return r < 0 ? r : 1;
	}
	if (!oldest)
		return 0;
	if (files->bytes <= store->limits.bytes &&
		(files->bytes <= room || (oldest->damaged == 0 && is_in_use(oldest, days, now_ns))))
		return 0;
	if (oldest->damaged == 0 && days == 1)
		return drop_oldest_part(store, oldest->day, fault);
	r = remove_file(store, oldest, fault);
	return r < 0 ? r : 1;
}

static int keep_within_limits(
	struct store *store, uint64_t now_ns, uint64_t room_bytes, struct fault *fault)
{
	struct day_files files;
	int r = day_files_read(&files, store->folder, fault);

	if (r < 0)
		return r;
	r = keep_limits(store, &files, now_ns, room_bytes, fault);
	day_files_done(&files);
	return r;
}

static int bound_times(struct store *store, uint64_t until_ns, struct fault *fault)
{
	struct fault damage = { 0 };
	uint32_t day;
	int r = store_bound_times(store, until_ns, &damage);

	if (r == -EBADMSG) {
		day = store->database->day;
		store_leave_day(store);
		return store_set_aside(store, day, fault);
	}
	return r < 0 ? fault_set(fault, r, "cannot drop times: %s",
			       damage.text[0] ? damage.text : strerror(-r))
		     : r;
}

int store_maintain(
	struct store *store, uint64_t now_realtime_ns, uint64_t until_ns, struct fault *fault)
{
	uint64_t room_bytes;
	int r = store_room(store, &room_bytes, fault), times = 0;

	if (r == 0)
		r = times = bound_times(store, until_ns, fault);
	if (r < 0)
		return r;
	do {
		r = keep_within_limits(store, now_realtime_ns, room_bytes, fault);
		if (r == 0)
			r = store_merge_step(store, now_realtime_ns, fault);
	} while (r == 1 && clock_monotonic_ns() < until_ns);
	return r == 0 ? times : r;
}
