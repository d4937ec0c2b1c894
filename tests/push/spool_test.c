/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/push/spool_fixture.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static struct spool *open_spool(uint64_t bytes_max)
{
	const struct spool_options options = spool_options_of(bytes_max);
	struct spool *spool = NULL;

	assert_int_equal(spool_open(&options, &spool), 0);
	return spool;
}

static struct spool_state state_of(struct spool *spool)
{
	struct spool_state state;

	spool_take_state(spool, &state);
	return state;
}

static int add_at(struct spool *spool, unsigned minute, size_t bytes, uint64_t now_ns)
{
	const struct batch batch = minute_batch(minute);
	_cleanup_close_ int fd = bytes_fd(bytes);

	return spool_add(spool, &batch, fd, bytes, now_ns);
}

static int add(struct spool *spool, unsigned minute, size_t bytes)
{
	return add_at(spool, minute, bytes, minute_batch(minute).end_ns);
}

static void a_batch_is_a_file_with_exactly_its_bytes(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	struct spool_state state = state_of(spool);
	_cleanup_free_ char *bytes = calloc(1, 70001);
	const char *path;
	struct stat status;
	int fd;

	assert_int_equal(state.files + state.bytes + state.until_ns[0], 0);
	assert_int_equal(add(spool, 0, 70000), 0);
	path = file_path(spool_folder, "20261120T031000.000000000Z_60000000000ns_cpu.pb.gz");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 70000);
	assert_int_equal(status.st_mode & 0137, 0);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, bytes, 70001), 70000);
	assert_int_equal(close(fd), 0);
	for (size_t i = 0; i < 70000; i++)
		assert_int_equal(bytes[i], "abcdefghijklmnopqrstuvwxyz"[i % 26]);
	state = state_of(spool);
	assert_int_equal(state.files, 1);
	assert_int_equal(state.bytes, 70000);
	assert_int_equal(state.until_ns[PILOTLIGHT_SOURCE_CPU], minute_batch(0).end_ns);
	assert_int_equal(state.until_ns[PILOTLIGHT_SOURCE_OFFCPU], 0);
}

/* As when the clock was ahead. */
static void a_batch_of_an_earlier_time_is_where_they_end(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	struct batch batch = minute_batch(7);

	assert_int_equal(add(spool, 9, 10), 0);
	batch.source = PILOTLIGHT_SOURCE_OFFCPU;
	assert_int_equal(spool_skip(spool, &batch), 0);
	assert_int_equal(add(spool, 1, 10), 0);
	remove_file(spool_folder, "20261120T031900.000000000Z_60000000000ns_cpu.pb.gz");
	for (int i = 0; i < 2; i++) {
		const struct spool_state state = state_of(spool);

		assert_int_equal(state.until_ns[PILOTLIGHT_SOURCE_CPU], minute_batch(1).end_ns);
		assert_int_equal(state.until_ns[PILOTLIGHT_SOURCE_OFFCPU], minute_batch(7).end_ns);
		spool_close(TAKE_PTR(spool));
		spool = open_spool(1 << 20);
	}
	batch = minute_batch(0);
	assert_int_equal(spool_skip(spool, &batch), 0);
	assert_int_equal(state_of(spool).until_ns[PILOTLIGHT_SOURCE_CPU], batch.end_ns);
}

static void the_time_survives_the_files(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	struct batch skipped = minute_batch(7);

	assert_int_equal(add(spool, 0, 10), 0);
	assert_int_equal(add(spool, 1, 10), 0);
	skipped.source = PILOTLIGHT_SOURCE_RUNQUEUE;
	assert_int_equal(spool_skip(spool, &skipped), 0);
	spool_close(TAKE_PTR(spool));
	remove_file(spool_folder, "20261120T031100.000000000Z_60000000000ns_cpu.pb.gz");
	spool = open_spool(1 << 20);
	assert_int_equal(state_of(spool).files, 1);
	assert_int_equal(state_of(spool).until_ns[PILOTLIGHT_SOURCE_CPU], minute_batch(1).end_ns);
	assert_int_equal(
		state_of(spool).until_ns[PILOTLIGHT_SOURCE_RUNQUEUE], minute_batch(7).end_ns);
}

/* As after a crash between a batch and its record, or damage to that. */
static void the_files_say_how_far_they_reach_if_nothing_else_does(void **context)
{
	static const char *const damaged[] = { "", "pilotlight-until 1 ", "pilotlight-until 1 5",
		"pilotlight-until 2 5\n", "pilotlight-until 1 5\nx", "pilotlight-until 1 x\n",
		"pilotlight-until 1 99999999999999999999\n",
		"pilotlight-until 1 9999999999999999999\n", "\xff" };
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);

	assert_int_equal(add(spool, 3, 10), 0);
	spool_close(TAKE_PTR(spool));
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		write_file(spool_folder, ".until-cpu", damaged[i]);
		spool = open_spool(1 << 20);
		assert_int_equal(state_of(spool).until_ns[0], minute_batch(3).end_ns);
		spool_close(TAKE_PTR(spool));
	}
	remove_file(spool_folder, ".until-cpu");
	spool = open_spool(1 << 20);
	assert_int_equal(state_of(spool).until_ns[0], minute_batch(3).end_ns);
}

static void the_oldest_make_room(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(100);
	struct spool_state state;

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(add(spool, i, 10), 0);
	assert_int_equal(state_of(spool).evicted_ns, 0);
	assert_int_equal(add(spool, 10, 15), 0);
	state = state_of(spool);
	assert_int_equal(state.evicted_ns, 2 * SPOOL_MINUTE_NS);
	assert_int_equal(state.bytes, 95);
	assert_int_equal(state.files, 9);
	assert_int_equal(count_files(), 9);
	assert_int_equal(access(file_path(spool_folder,
					"20261120T031100.000000000Z_60000000000ns_cpu.pb.gz"),
				 F_OK),
		-1);
	/* Each sum is told once. */
	assert_int_equal(state_of(spool).evicted_ns, 0);
	assert_int_equal(add(spool, 11, 100), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(add(spool, 12, 101), -EFBIG);
	assert_int_equal(count_files(), 1);
}

/* More than one look at the folder finds. */
static void many_small_ones_make_room_for_a_large_one(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1000);

	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(add_at(spool, i, 1, SPOOL_NOW_NS), 0);
	assert_int_equal(add_at(spool, 300, 990, SPOOL_NOW_NS), 0);
	assert_int_equal(count_files(), 11);
	assert_int_equal(state_of(spool).evicted_ns, 290 * SPOOL_MINUTE_NS);
}

static void others_may_remove_files_and_have_their_own(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(100);

	write_file(spool_folder, "README",
		"of somebody else, and longer than the bound of this "
		"spool, which it does not count nor delete at all ...");
	make_folder(spool_folder, "20261120T031000.000000000Z_60000000000ns_cpu.pb.gz");
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(add(spool, i, 10), 0);
	for (unsigned i = 1; i < 10; i++) {
		const struct batch batch = minute_batch(i);
		char name[BATCH_NAME_BYTES];

		batch_name_format(&batch, ".pb.gz", name);
		remove_file(spool_folder, name);
	}
	assert_int_equal(add(spool, 10, 90), 0);
	assert_int_equal(state_of(spool).evicted_ns, 0);
	assert_int_equal(state_of(spool).bytes, 90);
	assert_int_equal(access(file_path(spool_folder, "README"), F_OK), 0);
}

static void old_batches_are_deleted(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	struct spool_state state;

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(add(spool, i, 10), 0);
	spool_close(TAKE_PTR(spool));
	spool = open_spool(1 << 20);
	/* Age is looked at now and then. */
	for (unsigned i = 5; i < 25; i++)
		assert_int_equal(add_at(spool, i, 10, minute_batch(102).end_ns), 0);
	state = state_of(spool);
	assert_int_equal(state.expired_ns, 2 * SPOOL_MINUTE_NS);
	assert_int_equal(state.evicted_ns, 0);
	assert_int_equal(count_files(), 23);
}

/* Nothing unfinished stays, and what failed can be added afterwards. */
static void a_full_disk_leaves_nothing(void **context)
{
	const struct rlimit small = { 4096, RLIM_INFINITY },
			    large = { RLIM_INFINITY, RLIM_INFINITY };
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(add(spool, 0, 10), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	{
		const struct batch batch = minute_batch(1);
		_cleanup_close_ int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

		assert_int_equal(spool_add(spool, &batch, fd, 8192, SPOOL_NOW_NS), -EFBIG);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &large), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(access(file_path(spool_folder, ".unfinished"), F_OK), -1);
	assert_int_equal(state_of(spool).until_ns[0], minute_batch(0).end_ns);
	assert_int_equal(add(spool, 1, 8192), 0);
}

static void a_file_shorter_than_it_should_be_is_no_batch(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	const struct batch batch = minute_batch(1);
	_cleanup_close_ int fd = bytes_fd(10);

	assert_int_equal(spool_add(spool, &batch, fd, 11, SPOOL_NOW_NS), -EIO);
	assert_int_equal(count_files(), 0);
	assert_int_equal(spool_add(spool, &batch, -1, 11, SPOOL_NOW_NS), -EBADF);
}

static void what_a_crash_left_does_no_harm(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = NULL;

	write_file(spool_folder, "target", "untouched");
	make_link(spool_folder, ".unfinished", "target");
	spool = open_spool(1 << 20);
	assert_int_equal(add(spool, 0, 10), 0);
	assert_int_equal(count_files(), 2);
	/* A link is no record, either. */
	spool_close(TAKE_PTR(spool));
	remove_file(spool_folder, ".until-cpu");
	make_link(spool_folder, ".until-cpu", "target");
	{
		const struct spool_options options = spool_options_of(1 << 20);

		assert_int_equal(spool_open(&options, &spool), -ELOOP);
	}
}

static void a_folder_that_is_gone_is_an_error(void **context)
{
	struct spool_options options = spool_options_of(1 << 20);
	_cleanup_(spool_closep) struct spool *spool = NULL;
	const struct batch batch = minute_batch(0);

	options.folder = "/tmp/no/such/folder";
	assert_int_equal(spool_open(&options, &spool), -ENOENT);
	options.folder = "/etc/passwd";
	assert_int_equal(spool_open(&options, &spool), -ENOTDIR);
	spool = open_spool(1 << 20);
	remove_folder(spool_folder);
	assert_int_equal(add(spool, 0, 10), -ENOENT);
	assert_int_equal(spool_skip(spool, &batch), -ENOENT);
	assert_int_equal(mkdir(spool_folder, 0700), 0);
}

static int open_and_add(void)
{
	const struct spool_options options = spool_options_of(1 << 20);
	_cleanup_(spool_closep) struct spool *spool = NULL;
	const struct batch batch = minute_batch(0);
	_cleanup_close_ int fd = bytes_fd(10);
	int r = spool_open(&options, &spool);

	return r < 0 ? r : spool_add(spool, &batch, fd, 10, SPOOL_NOW_NS);
}

/* Returns the minute of the batch behind that of minute `after` (-1: of the oldest); -1: none. */
static int next_minute_of(struct spool *spool, int after, uint64_t bytes_wanted, uint64_t now_ns)
{
	const struct batch last = minute_batch(after < 0 ? 0 : (unsigned)after);
	_cleanup_close_ int fd = -1;
	struct batch batch;
	uint64_t bytes;
	int r = spool_next(spool, after < 0 ? NULL : &last, now_ns, &batch, &fd, &bytes);

	if (r == -ENOENT)
		return -1;
	assert_int_equal(r, 0);
	assert_int_equal(bytes, bytes_wanted);
	return (int)((batch.start_ns - SPOOL_NOW_NS) / SPOOL_MINUTE_NS);
}

static int next_minute(struct spool *spool, int after, uint64_t now_ns)
{
	return next_minute_of(spool, after, 10, now_ns);
}

/* More than one look at the folder finds. */
static void batches_are_taken_from_the_oldest_on(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	const uint64_t now_ns = minute_batch(90).end_ns;

	assert_int_equal(next_minute(spool, -1, now_ns), -1);
	for (unsigned i = 0; i < 90; i++)
		assert_int_equal(add(spool, i, 10), 0);
	for (int i = 0; i < 90; i++) {
		const struct batch batch = minute_batch((unsigned)i);

		assert_int_equal(next_minute(spool, i - 1, now_ns), i);
		/* Some are gone before they are looked for. */
		assert_int_equal(spool_remove(spool, &batch), 0);
		assert_int_equal(spool_remove(spool, &batch), 0);
		assert_int_equal(next_minute(spool, -1, now_ns), i == 89 ? -1 : i + 1);
	}
	assert_int_equal(state_of(spool).files, 0);
	assert_int_equal(state_of(spool).bytes, 0);
	assert_int_equal(add(spool, 90, 10), 0);
	assert_int_equal(next_minute(spool, -1, now_ns), 90);
}

static void what_is_too_old_is_not_taken(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(add(spool, i, 10), 0);
	(void)state_of(spool);
	assert_int_equal(next_minute(spool, -1, minute_batch(101).end_ns), 2 - 1);
	assert_int_equal(state_of(spool).expired_ns, SPOOL_MINUTE_NS);
	assert_int_equal(count_files(), 2);
}

static void the_newest_is_found(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);
	struct batch batch;
	uint64_t bytes;
	int fd = -1;

	assert_int_equal(spool_newest(spool, &batch, &fd, &bytes), -ENOENT);
	for (unsigned i = 0; i < 70; i++)
		assert_int_equal(add(spool, i, 10), 0);
	assert_int_equal(spool_newest(spool, &batch, &fd, &bytes), 0);
	assert_int_equal(batch.start_ns, minute_batch(69).start_ns);
	assert_int_equal(close(fd), 0);
	assert_int_equal(fd >= 0 && bytes == 10, 1);
	/* The chosen sources have none; what the last search knew does not count. */
	assert_int_equal(spool_next(spool, NULL, SPOOL_NOW_NS, &batch, &fd, &bytes), 0);
	assert_int_equal(close(fd), 0);
	spool_choose(spool, 1U << PILOTLIGHT_SOURCE_OFFCPU);
	assert_int_equal(spool_newest(spool, &batch, &fd, &bytes), -ENOENT);
	assert_int_equal(spool_next(spool, NULL, SPOOL_NOW_NS, &batch, &fd, &bytes), -ENOENT);
}

/* A process may be sending it: it counts as sent if that succeeds, else as evicted. */
static void a_batch_that_makes_room_while_it_is_open_counts_once(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(100);
	const uint64_t now_ns = minute_batch(20).end_ns;
	const struct batch first = minute_batch(0);
	struct batch newest;
	uint64_t bytes;
	int fd = -1;

	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(add(spool, i, 10), 0);
	assert_int_equal(next_minute(spool, -1, now_ns), 0);
	assert_int_equal(add(spool, 10, 20), 0); /* in place of 0 and 1 */
	assert_int_equal(count_files(), 9);
	assert_int_equal(state_of(spool).evicted_ns, SPOOL_MINUTE_NS);
	assert_int_equal(spool_remove(spool, &first), 0);
	assert_int_equal(state_of(spool).evicted_ns, 0);
	/* It was not taken, so it is looked for again. */
	assert_int_equal(next_minute(spool, -1, now_ns), 2);
	assert_int_equal(add(spool, 11, 10), 0);
	assert_int_equal(state_of(spool).evicted_ns, 0);
	assert_int_equal(next_minute(spool, -1, now_ns), 3);
	assert_int_equal(state_of(spool).evicted_ns, SPOOL_MINUTE_NS);
	/* The newest is tried in place of the oldest, and both are done with. */
	assert_int_equal(spool_newest(spool, &newest, &fd, &bytes), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(newest.start_ns, minute_batch(11).start_ns);
	assert_int_equal(add(spool, 12, 100), 0); /* in place of all, of which 3 and 11 are open */
	assert_int_equal(state_of(spool).evicted_ns, 7 * SPOOL_MINUTE_NS);
	assert_int_equal(spool_remove(spool, &newest), 0);
	assert_int_equal(next_minute_of(spool, -1, 100, now_ns), 12);
	assert_int_equal(state_of(spool).evicted_ns, SPOOL_MINUTE_NS);
}

/* A link or a folder with a batch's name is another program's. */
static void only_files_are_taken(void **context)
{
	_cleanup_(spool_closep) struct spool *spool = open_spool(1 << 20);

	assert_int_equal(symlink("/etc/passwd",
				 file_path(spool_folder, "20261120T031000.000000000Z_60000000000ns_"
							 "cpu.pb.gz")),
		0);
	assert_int_equal(
		mkdir(file_path(spool_folder, "20261120T031100.000000000Z_60000000000ns_cpu.pb.gz"),
			0700),
		0);
	assert_int_equal(next_minute(spool, -1, minute_batch(3).end_ns), -1);
}

static void failing_allocations_leave_nothing(void **context)
{
	assert_true(FAIL_EACH_ALLOCATION(open_and_add(), -ENOMEM, count_files() == 0, 0) >= 2);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, spool_set_up, spool_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(a_batch_is_a_file_with_exactly_its_bytes),
		WITH_FOLDER(a_batch_of_an_earlier_time_is_where_they_end),
		WITH_FOLDER(the_time_survives_the_files),
		WITH_FOLDER(the_files_say_how_far_they_reach_if_nothing_else_does),
		WITH_FOLDER(the_oldest_make_room),
		WITH_FOLDER(many_small_ones_make_room_for_a_large_one),
		WITH_FOLDER(others_may_remove_files_and_have_their_own),
		WITH_FOLDER(old_batches_are_deleted),
		WITH_FOLDER(a_full_disk_leaves_nothing),
		WITH_FOLDER(a_file_shorter_than_it_should_be_is_no_batch),
		WITH_FOLDER(what_a_crash_left_does_no_harm),
		WITH_FOLDER(a_folder_that_is_gone_is_an_error),
		WITH_FOLDER(batches_are_taken_from_the_oldest_on),
		WITH_FOLDER(what_is_too_old_is_not_taken),
		WITH_FOLDER(the_newest_is_found),
		WITH_FOLDER(a_batch_that_makes_room_while_it_is_open_counts_once),
		WITH_FOLDER(only_files_are_taken),
		WITH_FOLDER(failing_allocations_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
