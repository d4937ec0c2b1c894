/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block I/O: its time and its bytes, by the thread that began it.
 * Runs beside others: the I/O is of its own threads.
 */
#include "capture/block_programs.h"
#include "tests/drain/scheduler_fixture.h"

#include <bpf/bpf.h>
#include <linux/magic.h>
#include <sys/vfs.h>

enum {
	TIME = PILOTLIGHT_SOURCE_BLOCK,
	BYTES = PILOTLIGHT_SOURCE_BLOCK_BYTES,
	BOTH_OF_BLOCK = 1 << PILOTLIGHT_SOURCE_CPU | 1 << TIME | 1 << BYTES,
	WRITES = 200,
	WRITE_BYTES = 64 << 10,
};

static int file = -1;

static void open_file(void)
{
	char path[] = "/var/tmp/block_kernel_test.XXXXXX";
	struct block_support support;
	struct statfs status;

	block_support_read(&support);
	file = mkostemp(path, O_CLOEXEC | O_DIRECT);
	if (file >= 0)
		(void)unlink(path);
	if (*support.missing || file < 0 || fstatfs(file, &status) < 0 ||
		status.f_type == TMPFS_MAGIC || status.f_type == OVERLAYFS_SUPER_MAGIC) {
		print_message("skipped: no file of a disk can be written directly\n");
		skip();
	}
}

static void open_block_without_walks(uint32_t sources)
{
	open_file();
	open_fixture_without_walks(1999, sources);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
}

/* Each write is done when it returns. */
static void write_directly(struct life *life, int number)
{
	static _Alignas(4096) char bytes[WRITE_BYTES];

	for (int i = 0; i < WRITES; i++)
		if (pwrite(file, bytes, sizeof(bytes), (off_t)i * WRITE_BYTES) != WRITE_BYTES)
			_exit(1);
}

static void run(program_function program)
{
	pid_t pids[THREADS_MAX];

	start_program(program, 1, pids);
	await(pids[0]);
	drain_once();
	(void)close(file);
	assert_int_equal(accounts_lost(&fixture.total[TIME]), 0);
	assert_int_equal(accounts_lost(&fixture.total[BYTES]), 0);
}

/* The last sample's disk has a name that the kernel also shows elsewhere. */
static void check_disk(void)
{
	const int fd = capture_maps(fixture.capture)->block_disks_fd;
	uint32_t index = fixture.block_disk - 1U;
	struct pilotlight_block_disk disk;
	char path[64];

	assert_true(fixture.block_disk > 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &index, &disk), 0);
	print_message("# disk %.*s\n", (int)sizeof(disk.name), disk.name);
	(void)snprintf(path, sizeof(path), "/sys/block/%.*s", (int)sizeof(disk.name), disk.name);
	assert_int_equal(access(path, F_OK), 0);
}

static void writes_are_counted(void **state)
{
	const struct life *life;
	uint64_t bytes, wall_ns;

	open_file();
	open_fixture(BOTH_OF_BLOCK);
	life = &fixture.lives[0];
	run(write_directly);
	wall_ns = life->end_ns - life->begin_ns;
	bytes = life->taken_ns[BYTES] / PERIOD_NS * PERIOD_BYTES;
	print_message("# %.3f ms of %.3f ms, %llu bytes of %d\n", ms(life->taken_ns[TIME]),
		ms(wall_ns), (unsigned long long)bytes, WRITES * WRITE_BYTES);
	assert_in_range(life->taken_ns[TIME], wall_ns / 100, wall_ns / 10 * 11);
	/* The file system may write more. */
	assert_in_range(bytes, WRITES * WRITE_BYTES / 10 * 9, WRITES * WRITE_BYTES * 2ULL);
	/* ... and read what it needs for that. */
	assert_true(life->waits[PILOTLIGHT_WAIT_BLOCK_READ] <
		    life->waits[PILOTLIGHT_WAIT_BLOCK_WRITE] / 2);
	assert_true(fixture.block_user_frames > 0);
	check_disk();
}

static void bytes_can_be_alone(void **state)
{
	open_block_without_walks(1 << PILOTLIGHT_SOURCE_CPU | 1 << BYTES);
	run(write_directly);
	assert_true(fixture.total[BYTES].fired > 0);
	assert_int_equal(fixture.total[TIME].fired, 0);
	check_disk();
}

static void time_can_be_alone(void **state)
{
	open_block_without_walks(1 << PILOTLIGHT_SOURCE_CPU | 1 << TIME);
	run(write_directly);
	assert_true(fixture.total[TIME].fired > 0);
	assert_int_equal(fixture.total[BYTES].fired, 0);
}

/* Starts before its parent is followed, and so is not followed itself. Writes when it is told to.
 */
static pid_t start_stranger(int wait_fd)
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		if (read(wait_fd, &byte, 1) == 1)
			write_directly(NULL, 0);
		_exit(0);
	}
	return pid;
}

/* Once samples come too fast, each one that is kept stands for others. What is filtered is none. */
static void what_is_filtered_is_not_thinned_out(void **state)
{
	const uint64_t *thinned = &fixture.total[TIME].events[PILOTLIGHT_EVENT_THINNED];
	pid_t stranger, pids[THREADS_MAX];
	uint64_t before;
	int pipe_fds[2];

	open_file();
	assert_int_equal(pipe(pipe_fds), 0);
	stranger = start_stranger(pipe_fds[0]);
	is_sparing = true;
	open_fixture_without_walks(1, 1 << PILOTLIGHT_SOURCE_CPU | 1 << TIME);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	start_program(write_directly, 1, pids);
	await(pids[0]);
	drain_once();
	before = *thinned;
	assert_true(before > 0);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	await(stranger);
	drain_once();
	assert_int_equal(*thinned, before);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	(void)close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(writes_are_counted),
		FIXTURE_TEST(bytes_can_be_alone),
		FIXTURE_TEST(time_can_be_alone),
		FIXTURE_TEST(what_is_filtered_is_not_thinned_out),
	};

	return cmocka_run_group_tests_name("block_kernel", tests, NULL, free_kept);
}
