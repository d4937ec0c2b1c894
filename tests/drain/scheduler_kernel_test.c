/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time off the CPU: all of it is taken, once, and as what it was.
 */
#include "tests/drain/scheduler_fixture.h"
#include "tests/harness/cgroup.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static void sleep_long(struct life *life, int number)
{
	sleep_ns(300000000);
}

static void sleep_short(struct life *life, int number)
{
	while (!is_time_up(life))
		sleep_ns(20000);
}

static void spin(struct life *life, int number)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	while (!is_time_up(life))
		;
}

static void sleep_is_blocked_time(void **state)
{
	open_fixture(BOTH);
	check_program(sleep_long, 1);
	assert_true(fixture.lives[0].waits[PILOTLIGHT_WAIT_INTERRUPTIBLE] > 290000000);
}

static void short_sleeps_add_up(void **state)
{
	open_fixture(BOTH);
	check_program(sleep_short, 2);
}

static void contention_is_queued_time(void **state)
{
	open_fixture(BOTH);
	check_program(spin, 3);
	assert_true(fixture.lives[0].waits[PILOTLIGHT_WAIT_PREEMPTED] > 100000000);
}

static int pipes[2][2];

static void open_pipes(void)
{
	assert_int_equal(pipe2(pipes[0], O_CLOEXEC), 0);
	assert_int_equal(pipe2(pipes[1], O_CLOEXEC), 0);
}

static void close_pipes(void)
{
	for (int i = 0; i < 4; i++)
		assert_int_equal(close(pipes[i / 2][i % 2]), 0);
}

/* Each writes into the pipe of its number. The first one ends it. */
static void play_by_pipe(struct life *life, int number)
{
	char byte = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(pipes[number][0]);
	(void)close(pipes[!number][1]);
	do {
		if (number == 0 && write(pipes[0][1], &byte, 1) != 1)
			break;
		if (read(pipes[!number][0], &byte, 1) != 1)
			break;
		if (number == 1 && write(pipes[1][1], &byte, 1) != 1)
			break;
	} while (number == 1 || !is_time_up(life));
	(void)close(pipes[number][1]);
}

static void pipes_block(void **state)
{
	pid_t pids[THREADS_MAX];

	open_fixture(BOTH);
	open_pipes();
	start_program(play_by_pipe, 2, pids);
	close_pipes();
	finish_program(2, pids);
}

/* The service has no other account of it. The kernel's is for comparison. */
static void switches_are_part_of_the_cost(void **state)
{
	const struct accounts *total = fixture.total;
	struct capture_cost before, after;
	pid_t pids[THREADS_MAX];

	open_fixture(BOTH);
	open_pipes();
	capture_read_cost(fixture.capture, &before);
	start_program(play_by_pipe, 2, pids);
	close_pipes();
	finish_program(2, pids);
	capture_read_cost(fixture.capture, &after);
	print_message("# noting %.3f ms, samples %.3f ms, by the kernel's account %.3f ms\n",
		ms(total[PILOTLIGHT_SOURCE_OFFCPU].watch_ns),
		ms(total[PILOTLIGHT_SOURCE_OFFCPU].run_ns +
			total[PILOTLIGHT_SOURCE_RUNQUEUE].run_ns),
		ms(after.program_ns - before.program_ns));
	assert_true(total[PILOTLIGHT_SOURCE_OFFCPU].watch_ns > 0);
	assert_int_equal(total[PILOTLIGHT_SOURCE_RUNQUEUE].watch_ns, 0);
}

static void futexes_block(void **state)
{
	open_fixture(BOTH);
	check_program(play_by_futex, 2);
}

static void write_to_disk(struct life *life, int number)
{
	char path[] = "/var/tmp/scheduler_kernel_test.XXXXXX", bytes[4096] = { 0 };
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || unlink(path) < 0)
		_exit(1);
	while (!is_time_up(life))
		if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || fsync(fd) < 0)
			_exit(1);
	/* It takes time to free the blocks. */
	(void)close(fd);
}

static void a_disk_blocks(void **state)
{
	open_fixture(BOTH);
	check_program(write_to_disk, 1);
}

static int write_text(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	r = fputs(text, file) < 0 ? -errno : 0;
	return fclose(file) < 0 ? -errno : r;
}

#define CGROUP_V1 "/sys/fs/cgroup/cpu"

static char throttled[PATH_MAX];

/* Makes a cgroup that has 2 % of a CPU, less than it gets on a busy machine. Returns NULL, or the
 * reason for a skip. */
static const char *make_throttled(void)
{
	const char *mount = test_cgroup_mount();
	bool is_v1 = access(CGROUP_V1 "/cpu.cfs_quota_us", W_OK) == 0 ||
		     access(CGROUP_V1 "/tasks", W_OK) == 0;
	int r;

	if (!is_v1 && (!mount || write_text(mount, "cgroup.subtree_control", "+cpu") < 0))
		return "there is no cgroup controller of the CPU";
	(void)snprintf(throttled, sizeof(throttled), "%s/pilotlight-throttled-%d",
		is_v1 ? CGROUP_V1 : mount, (int)getpid());
	if (mkdir(throttled, 0700) < 0 && errno != EEXIST)
		return "cannot make a cgroup";
	r = is_v1 ? write_text(throttled, "cpu.cfs_quota_us", "2000")
		  : write_text(throttled, "cpu.max", "2000 100000");
	return r < 0 ? "cannot limit a cgroup's CPU time" : NULL;
}

static void spin_in_cgroup(struct life *life, int number)
{
	if (write_text(throttled, "cgroup.procs", "0") < 0)
		_exit(1);
	while (!is_time_up(life))
		;
}

static void throttling_is_queued_time(void **state)
{
	const char *missing = make_throttled();

	if (missing) {
		print_message("skipped: %s\n", missing);
		skip();
	}
	open_fixture(BOTH);
	check_program(spin_in_cgroup, 1);
	/* Almost all the time, but for the last turn. */
	assert_true(fixture.lives[0].waits[PILOTLIGHT_WAIT_THROTTLED] > PLAY_NS / 2);
	assert_int_equal(rmdir(throttled), 0);
}

enum { STORM = 400 };

/* Children that live for less than a period, and say how they lived. */
static void storm(struct life *life, int number)
{
	(void)prctl(PR_SET_NAME, STORM_NAME);
	for (int i = 0; i < STORM; i++) {
		uint64_t begin_ns = clock_monotonic_ns();
		pid_t pid = fork();

		if (pid == 0) {
			struct life child;

			begin_life(&child);
			sleep_ns(1000);
			end_life(&child);
			__atomic_fetch_add(
				&fixture.shared->delay_ns, child.delay_ns, __ATOMIC_RELAXED);
			__atomic_fetch_add(&fixture.shared->cpu_ns, child.cpu_ns, __ATOMIC_RELAXED);
			__atomic_fetch_add(&fixture.shared->blocked_ns,
				child.end_ns - child.begin_ns -
					(child.cpu_ns - child.begin_cpu_ns) -
					(child.delay_ns - child.begin_delay_ns),
				__ATOMIC_RELAXED);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(1);
		fixture.shared->life_ns += clock_monotonic_ns() - begin_ns;
	}
}

/* The deviation of a sum of so many random phases is at most half a period times the root. A child
 * may also wait while it ends, which only the parent sees. */
static void short_lives_add_up(void **state)
{
	const uint64_t *taken_ns = fixture.of_others_ns;
	const uint64_t deviation_ns = 5 * 20 * PERIOD_NS / 2;
	uint64_t blocked_ns, delay_ns, off_ns;

	_Static_assert(20 * 20 == STORM, "the root");
	open_fixture(BOTH);
	check_program(storm, 1);
	blocked_ns = fixture.shared->blocked_ns;
	delay_ns = fixture.shared->delay_ns;
	off_ns = fixture.shared->life_ns - fixture.shared->cpu_ns;
	print_message("# blocked %.3f ms (taken %.3f), queued %.3f (taken %.3f), both %.3f\n",
		ms(blocked_ns), ms(taken_ns[PILOTLIGHT_SOURCE_OFFCPU]), ms(delay_ns),
		ms(taken_ns[PILOTLIGHT_SOURCE_RUNQUEUE]), ms(off_ns));
	assert_true(taken_ns[PILOTLIGHT_SOURCE_OFFCPU] + deviation_ns > blocked_ns / 100 * 99);
	assert_true(taken_ns[PILOTLIGHT_SOURCE_RUNQUEUE] + deviation_ns > delay_ns / 100 * 99);
	assert_true(taken_ns[PILOTLIGHT_SOURCE_OFFCPU] + taken_ns[PILOTLIGHT_SOURCE_RUNQUEUE] <
		    off_ns / 100 * 101 + 2 * deviation_ns);
}

static void fill_waits(struct life *life, int number)
{
	char byte;

	/* Nothing of the capture may stay open here. */
	if (dup2(pipes[0][0], STDIN_FILENO) < 0 || close_range(3, ~0U, 0) < 0 ||
		read(STDIN_FILENO, &byte, 1) != 0)
		_exit(1);
	/* Older kernels take with this wait what began before sampling. */
	sleep_ns(2 * PERIOD_NS);
}

/* A thread that has not woken yet. Its stack is read from outside. */
static void blocked_threads_are_taken(void **state)
{
	const struct life *life;
	uint64_t begin_ns, taken_ns;
	pid_t pids[THREADS_MAX];

	open_fixture(BOTH);
	life = &fixture.lives[0];
	open_pipes();
	start_program(fill_waits, 1, pids);
	await_blocked(pids[0], pids[0]);
	sleep_ns(200000000);
	begin_ns = clock_monotonic_ns();
	drain_once();
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], 0);

	/* It has not been blocked since before it was born. */
	assert_int_equal(capture_take_blocked(fixture.capture, begin_ns - 10ULL * NSEC_PER_SEC), 0);
	drain_once();
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], 0);

	assert_int_equal(capture_take_blocked(fixture.capture, begin_ns), 0);
	drain_once();
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], 1);
	assert_true(fixture.user_frames > 0);
	taken_ns = life->taken_ns[PILOTLIGHT_SOURCE_OFFCPU];
	assert_in_range(taken_ns, 150000000, clock_monotonic_ns() - life->begin_ns);

	/* Nothing is taken twice. */
	sleep_ns(50000000);
	assert_int_equal(capture_take_blocked(fixture.capture, clock_monotonic_ns()), 0);
	drain_once();
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], 2);
	assert_int_equal(fixture.still_blocked, 0);
	close_pipes();
	finish_program(1, pids);
}

/* Where the kernel's part of the stack ends: in __schedule(), or before Linux 6.16, which has no
 * tracepoint behind the switch, in schedule(). */
static void check_kernel_leaf(void)
{
	uint64_t end = fixture.schedule.address + 8192;
	struct kernel_symbol caller, tracepoint;

	if (fixture.schedule.address == 0 ||
		kernel_symbol_find("/proc/kallsyms", "schedule", &caller) < 0)
		return;
	if (kernel_symbol_find("/proc/kallsyms", "__traceiter_sched_exit_tp", &tracepoint) < 0) {
		assert_in_range(fixture.kernel_leaf, caller.address, caller.address + 255);
		return;
	}
	/* The one may follow the other. */
	if (caller.address > fixture.schedule.address && caller.address < end)
		end = caller.address;
	assert_in_range(fixture.kernel_leaf, fixture.schedule.address, end - 1);
}

static void check_stacks(void)
{
	check_program(sleep_long, 1);
	assert_int_equal(fixture.lives[0].samples[PILOTLIGHT_SOURCE_OFFCPU], 1);
	assert_true(fixture.user_frames > 0);
	check_kernel_leaf();
}

static void stacks_are_those_of_the_switch(void **state)
{
	open_fixture(BOTH);
	check_stacks();
}

/* The kernel walks, and the maps count: they have room, since no other process is sampled. */
static void counted_stacks_are_those_of_the_switch(void **state)
{
	open_fixture_in(1999, MAP_BYTES, 0, BOTH, true);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	check_stacks();
	assert_int_equal(fixture.path, PILOTLIGHT_PATH_MAP);
}

static void a_source_can_be_alone(void **state)
{
	open_fixture(1 << PILOTLIGHT_SOURCE_CPU | 1 << PILOTLIGHT_SOURCE_OFFCPU);
	check_program(sleep_long, 1);
	assert_int_equal(fixture.total[PILOTLIGHT_SOURCE_RUNQUEUE].fired, 0);
}

static void what_is_not_followed_is_filtered(void **state)
{
	const struct accounts *accounts = &fixture.total[PILOTLIGHT_SOURCE_OFFCPU];
	pid_t pids[THREADS_MAX];

	open_fixture_at(99, BOTH);
	start_program(sleep_long, 1, pids);
	await(pids[0]);
	drain_once();
	assert_true(accounts->fired > 300000000 / PERIOD_NS);
	assert_int_equal(accounts->dropped[PILOTLIGHT_DROP_FILTERED], accounts->fired);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	check_program(sleep_long, 1);
}

/* What passes while it is stopped is not taken, nor what was noted before. */
static void a_new_start_begins_anew(void **state)
{
	struct fault fault = { 0 };
	pid_t pids[THREADS_MAX];
	uint64_t begin_ns;

	open_fixture(BOTH);
	open_pipes();
	start_program(fill_waits, 1, pids);
	sleep_ns(50000000);
	capture_stop(fixture.capture);
	assert_int_equal(capture_take_blocked(fixture.capture, clock_monotonic_ns()), 0);
	sleep_ns(200000000);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(capture_start(fixture.capture, &fault), 0);
	sleep_ns(50000000);
	close_pipes();
	await(pids[0]);
	drain_once();
	assert_in_range(fixture.lives[0].taken_ns[PILOTLIGHT_SOURCE_OFFCPU], 40000000,
		clock_monotonic_ns() - begin_ns);
}

static void cpu_time_alone_takes_nothing_else(void **state)
{
	open_fixture(1 << PILOTLIGHT_SOURCE_CPU);
	assert_int_equal(capture_take_blocked(fixture.capture, clock_monotonic_ns()), -EOPNOTSUPP);
	sleep_ns(50000000);
	drain_once();
	assert_int_equal(fixture.total[PILOTLIGHT_SOURCE_OFFCPU].fired, 0);
	assert_int_equal(fixture.total[PILOTLIGHT_SOURCE_RUNQUEUE].fired, 0);
}

/* At 19 Hz at most 190 samples a second on each CPU, or soon no more. How many sleeps there are
 * depends on what else runs. */
static void too_many_samples_get_rarer(void **state)
{
	open_fixture_at(19, BOTH);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	fixture.allowed_percent = 10;
	check_program(sleep_short, THREADS_MAX);
	print_message("# %llu samples\n", (unsigned long long)fixture.waits_seen);
	assert_in_range(fixture.waits_seen, 20, 1500);
	assert_true(fixture.total[PILOTLIGHT_SOURCE_OFFCPU].events[PILOTLIGHT_EVENT_THINNED] > 0);
}

/* As the service: at 99 Hz, about 99 samples a second on each CPU. */
static void a_sparing_capture_takes_fewer(void **state)
{
	is_sparing = true;
	open_fixture_at(99, BOTH);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	fixture.allowed_percent = 40;
	check_program(sleep_short, THREADS_MAX);
	print_message("# %llu samples\n", (unsigned long long)fixture.waits_seen);
	assert_in_range(fixture.waits_seen, 20, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(sleep_is_blocked_time),
		FIXTURE_TEST(short_sleeps_add_up),
		FIXTURE_TEST(contention_is_queued_time),
		FIXTURE_TEST(pipes_block),
		FIXTURE_TEST(switches_are_part_of_the_cost),
		FIXTURE_TEST(futexes_block),
		FIXTURE_TEST(a_disk_blocks),
		FIXTURE_TEST(throttling_is_queued_time),
		FIXTURE_TEST(short_lives_add_up),
		FIXTURE_TEST(blocked_threads_are_taken),
		FIXTURE_TEST(stacks_are_those_of_the_switch),
		FIXTURE_TEST(a_new_start_begins_anew),
		FIXTURE_TEST(too_many_samples_get_rarer),
		FIXTURE_TEST(a_sparing_capture_takes_fewer),
		FIXTURE_TEST(counted_stacks_are_those_of_the_switch),
		FIXTURE_TEST(a_source_can_be_alone),
		FIXTURE_TEST(what_is_not_followed_is_filtered),
		FIXTURE_TEST(cpu_time_alone_takes_nothing_else),
	};

	return cmocka_run_group_tests_name("scheduler_kernel", tests, NULL, free_kept);
}
