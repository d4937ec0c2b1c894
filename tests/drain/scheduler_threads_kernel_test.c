/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time off the CPU of many threads: none is missed, and what they take in the kernel is bounded.
 */
#include "capture/map_sizes.h"
#include "tests/drain/thread_crowd.h"

#include <limits.h>

enum {
	NO_WALKS = 0, /* then samples of threads that are still blocked have an end of their own */
};

/* More of them than the ring has room for: nothing of theirs is lost. */
static void a_crowd_is_taken_in_steps(void **state)
{
	const uint64_t blocked_ns = 300000000;
	uint64_t begin_ns;
	int r, pauses = 0;
	pid_t pid;

	/* Room for all threads, but a small ring. */
	open_fixture_in(99, 9 << 20, 4 << 20, BOTH, false);
	fixture.is_crowd_parked = true;
	pid = start_crowd();
	sleep_ns(blocked_ns);
	begin_ns = clock_monotonic_ns();
	while ((r = capture_take_blocked(fixture.capture, begin_ns)) == -EAGAIN) {
		drain_once();
		pauses++;
	}
	assert_int_equal(r, 0);
	drain_once();
	print_message("# %d threads in %d steps\n", CROWD, pauses + 1);
	assert_true(pauses > 0);
	assert_int_equal(fixture.crowd_blocked, CROWD + 1);
	assert_true(fixture.crowd_blocked_ns >= (CROWD + 1) * blocked_ns);
	end_crowd(pid);
}

/* The start takes some time, in which threads wake and sleep again: each of them is noted. */
static void a_start_misses_no_thread(void **state)
{
	struct shared *shared;
	struct fault fault = { 0 };
	uint64_t begin_ns;
	pid_t pid;
	int r;

	open_fixture_in(99, MAP_BYTES, NO_WALKS, BOTH, false);
	capture_stop(fixture.capture);
	shared = fixture.shared;
	shared->wake_ns = 1;
	pid = start_crowd();
	shared->wake_ns = clock_monotonic_ns() + 300000000;
	__atomic_store_n(&shared->turn, 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &shared->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	sleep_ns(400000000);
	assert_int_equal(capture_start(fixture.capture, &fault), 0);
	sleep_ns((uint64_t)CROWD * WAKE_SPACING_NS);
	begin_ns = clock_monotonic_ns();
	while ((r = capture_take_blocked(fixture.capture, begin_ns)) == -EAGAIN)
		drain_once();
	assert_int_equal(r, 0);
	drain_once();
	assert_int_equal(fixture.crowd_blocked, CROWD + 1);
	end_crowd(pid);
}

static void doze(struct life *life, int number)
{
	sleep_ns(100000000);
}

static uint64_t map_bytes(void)
{
	struct capture_cost cost;

	capture_read_cost(fixture.capture, &cost);
	return cost.map_bytes;
}

static uint64_t refused_threads(void)
{
	return fixture.total[PILOTLIGHT_SOURCE_OFFCPU].events[PILOTLIGHT_EVENT_THREAD_REFUSED];
}

static void take_all_blocked(void)
{
	uint64_t begin_ns = clock_monotonic_ns();
	int r;

	while ((r = capture_take_blocked(fixture.capture, begin_ns)) == -EAGAIN)
		drain_once();
	assert_int_equal(r, 0);
	drain_once();
}

/* A thread beyond the bound is counted, and not sampled. What a thread took is free when it has
 * ended, and when there is room, threads are begun that were refused. */
static void threads_are_bounded(void **state)
{
	const size_t budget_bytes = 2 << 20,
		     bound_bytes = map_sizes_thread_bytes(BOTH, budget_bytes);
	const uint64_t bound = bound_bytes / MAP_SIZES_THREAD_BYTES;
	uint64_t before_bytes, refused;
	pid_t pids[THREADS_MAX], pid;

	assert_true(bound < CROWD / 2);
	open_fixture_in(99, budget_bytes, 1 << 20, BOTH, false);
	fixture.is_crowd_parked = true;
	before_bytes = map_bytes();
	pid = start_crowd();
	take_all_blocked();
	print_message("# %llu of %d threads are sampled, %llu times one was refused, %llu bytes "
		      "more\n",
		(unsigned long long)fixture.crowd_blocked, CROWD,
		(unsigned long long)refused_threads(),
		(unsigned long long)(map_bytes() - before_bytes));
	assert_in_range(fixture.crowd_blocked, 1, bound);
	assert_true(refused_threads() >= CROWD - bound);
	assert_true(map_bytes() > before_bytes);
	assert_true(map_bytes() - before_bytes <= bound_bytes);

	end_crowd(pid);
	while (map_bytes() >= before_bytes + bound_bytes / 2)
		sleep_ns(1000000);
	take_all_blocked();
	refused = refused_threads();
	start_program(doze, 1, pids);
	await(pids[0]);
	take_all_blocked();
	assert_int_equal(refused_threads(), refused);
	assert_true(fixture.lives[0].samples[PILOTLIGHT_SOURCE_OFFCPU] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(a_crowd_is_taken_in_steps),
		FIXTURE_TEST(a_start_misses_no_thread),
		FIXTURE_TEST(threads_are_bounded),
	};

	return cmocka_run_group_tests_name("scheduler_threads_kernel", tests, NULL, free_kept);
}
