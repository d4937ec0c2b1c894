/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for locks: of user code in futexes, and of the kernel.
 * Runs beside others: the waits are compared with the time that they took.
 */
#include "tests/drain/scheduler_fixture.h"

#include "capture/lock_programs.h"

#include <signal.h>
#include <sys/prctl.h>

enum {
	LOCK = PILOTLIGHT_SOURCE_LOCK,
	LOCKS = 1 << PILOTLIGHT_SOURCE_CPU | 1 << LOCK,
	WRITE_BYTES = 4 << 20,
};

static struct lock_support support;

static void open_locks(void)
{
	lock_support_read(&support);
	if (*support.missing) {
		print_message("skipped: the kernel lacks %s\n", support.missing);
		skip();
	}
	open_fixture(LOCKS);
}

static void run(program_function program, int processes)
{
	pid_t pids[THREADS_MAX];

	start_program(program, processes, pids);
	for (int i = 0; i < processes; i++)
		await(pids[i]);
	drain_once();
	assert_int_equal(accounts_lost(&fixture.total[LOCK]), 0);
}

/* Blocked in a futex, and for nothing else. That a woken thread waits for a CPU, too, counts. */
static void a_futex_is_waited_for(void **state)
{
	open_locks();
	if (!support.has_futexes) {
		print_message("skipped: the kernel lacks %s\n", support.scheduler.missing);
		skip();
	}
	run(play_by_futex, 2);
	for (int i = 0; i < 2; i++) {
		const struct life *life = &fixture.lives[i];
		const uint64_t wall_ns = life->end_ns - life->begin_ns;
		const uint64_t off_ns = wall_ns - (life->cpu_ns - life->begin_cpu_ns);
		const uint64_t blocked_ns = off_ns - (life->delay_ns - life->begin_delay_ns);
		const uint64_t waited_ns = life->waits[PILOTLIGHT_WAIT_FUTEX];

		print_message("# off the CPU %.3f ms, blocked %.3f ms, in futexes %.3f ms\n",
			ms(off_ns), ms(blocked_ns), ms(waited_ns));
		assert_in_range(waited_ns, blocked_ns / 10 * 8, off_ns / 10 * 12);
	}
	assert_true(fixture.lives[0].samples[LOCK] > 0);
}

static int file = -1;

/* A write holds the semaphore of the inode. */
static void write_much(struct life *life, int number)
{
	static char bytes[WRITE_BYTES];

	while (!is_time_up(life))
		if (pwrite(file, bytes, sizeof(bytes), 0) != sizeof(bytes))
			_exit(1);
}

static void a_lock_of_the_kernel_is_waited_for(void **state)
{
	uint64_t waited_ns;

	open_locks();
	file = memfd_create("locks", MFD_CLOEXEC);
	assert_true(file >= 0);
	run(write_much, 3);
	(void)close(file);
	waited_ns = 0;
	for (int i = 0; i < 3; i++)
		waited_ns += fixture.lives[i].waits[PILOTLIGHT_WAIT_RWSEM_WRITE];
	print_message("# %.3f ms\n", ms(waited_ns));
	/* One writes at a time, so two wait, or do not run. */
	assert_in_range(waited_ns, PLAY_NS / 2, 3ULL * PLAY_NS);
}

/* Without a lock that is waited for, nothing is sampled. */
static void free_locks_cost_nothing(void **state)
{
	open_locks();
	file = memfd_create("locks", MFD_CLOEXEC);
	assert_true(file >= 0);
	run(write_much, 1);
	(void)close(file);
	assert_int_equal(fixture.lives[0].waits[PILOTLIGHT_WAIT_RWSEM_WRITE], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_futex_is_waited_for),
		FIXTURE_TEST(a_lock_of_the_kernel_is_waited_for),
		FIXTURE_TEST(free_locks_cost_nothing),
	};

	return cmocka_run_group_tests_name("lock_kernel", tests, NULL, free_kept);
}
