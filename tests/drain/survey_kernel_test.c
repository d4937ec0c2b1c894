/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surveys: each thread that does not run gets what it should, and many cost a bounded number.
 */
#include "tests/drain/thread_crowd.h"

#include <sched.h>

enum {
	WAITS = 1 << PILOTLIGHT_SOURCE_OFFCPU | 1 << PILOTLIGHT_SOURCE_RUNQUEUE,
	SPINNERS = 3,
	SLEEPERS = 1000,
	SURVEYS = 50,
	PERIODS = 3,
};

/* No thread is idle before ten periods. */
#define LONG_NS	 10000000000ULL
#define SHORT_NS 10000000ULL

static void open_surveys(uint64_t period_ns)
{
	surveyed = WAITS;
	survey_ns = period_ns;
	open_fixture(BOTH);
}

static void survey(uint32_t periods)
{
	int r;

	while ((r = capture_survey(fixture.capture, periods)) == -EAGAIN)
		drain_once();
	assert_true(r >= 0);
	drain_once();
}

static void check_accounts(void)
{
	for (int i = PILOTLIGHT_SOURCE_OFFCPU; i <= PILOTLIGHT_SOURCE_RUNQUEUE; i++) {
		assert_int_equal(accounts_lost(&fixture.total[i]), 0);
		/* Nothing runs at switches. */
		assert_int_equal(fixture.total[i].watch_ns, 0);
	}
}

static void sleep_for_ever(struct life *life, int number)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
}

static void a_blocked_thread_has_a_sample_in_each_survey(void **state)
{
	const struct life *life;
	pid_t pids[THREADS_MAX];

	open_surveys(LONG_NS);
	life = &fixture.lives[0];
	start_program(sleep_for_ever, 1, pids);
	await_blocked(pids[0], pids[0]);
	for (int i = 0; i < SURVEYS; i++)
		survey(PERIODS);
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], SURVEYS);
	assert_int_equal(life->waits[PILOTLIGHT_WAIT_INTERRUPTIBLE], SURVEYS * PERIODS * PERIOD_NS);
	assert_true(fixture.kernel_leaf != 0);
	assert_true(fixture.user_frames > 0);
	assert_int_equal(fixture.still_blocked, 0);
	check_accounts();
	end_crowd(pids[0]);
}

static void an_idle_thread_has_no_stack(void **state)
{
	const struct life *life;
	pid_t pids[THREADS_MAX];

	open_surveys(SHORT_NS);
	life = &fixture.lives[0];
	start_program(sleep_for_ever, 1, pids);
	await_blocked(pids[0], pids[0]);
	sleep_ns(30 * SHORT_NS);
	survey(PERIODS);
	assert_int_equal(life->samples[PILOTLIGHT_SOURCE_OFFCPU], 1);
	assert_int_equal(life->waits[PILOTLIGHT_WAIT_LONG], PERIODS * PERIOD_NS);
	assert_int_equal(fixture.kernel_leaf, 0);
	assert_int_equal(fixture.user_frames, 0);
	end_crowd(pids[0]);
}

/* It may hang, and its stack tells where. */
static void a_stopped_thread_keeps_its_stack(void **state)
{
	const struct life *life;
	pid_t pids[THREADS_MAX];
	int status;

	open_surveys(SHORT_NS);
	life = &fixture.lives[0];
	start_program(sleep_for_ever, 1, pids);
	await_blocked(pids[0], pids[0]);
	assert_int_equal(kill(pids[0], SIGSTOP), 0);
	assert_int_equal(waitpid(pids[0], &status, WUNTRACED), pids[0]);
	assert_true(WIFSTOPPED(status));
	sleep_ns(30 * SHORT_NS);
	survey(PERIODS);
	assert_int_equal(life->waits[PILOTLIGHT_WAIT_STOPPED], PERIODS * PERIOD_NS);
	assert_int_equal(life->waits[PILOTLIGHT_WAIT_LONG], 0);
	assert_true(fixture.kernel_leaf != 0);
	end_crowd(pids[0]);
}

/* Threads of others with pids in between split the sample, no more. */
static void idle_threads_are_counted_together(void **state)
{
	pid_t pid;

	open_surveys(SHORT_NS);
	pid = start_crowd();
	fixture.is_crowd_parked = true;
	sleep_ns(30 * SHORT_NS);
	survey(PERIODS);
	print_message("# %d idle threads in %llu samples\n", CROWD + 1,
		(unsigned long long)fixture.crowd_blocked);
	assert_int_equal(fixture.crowd_blocked_ns, (CROWD + 1) * PERIODS * PERIOD_NS);
	assert_in_range(fixture.crowd_blocked, 1, CROWD / 20);
	check_accounts();
	end_crowd(pid);
}

static void sleep_in_processes(struct life *life, int number)
{
	(void)prctl(PR_SET_NAME, STORM_NAME);
	for (int i = 1; i < SLEEPERS; i++)
		if (fork() == 0)
			break;
	__atomic_fetch_add(&fixture.shared->parked, 1, __ATOMIC_RELAXED);
	sleep_for_ever(life, number);
}

/* The standard deviation of the sum is 3 % of it. */
static void the_samples_of_idle_processes_are_bounded(void **state)
{
	const uint64_t surveys = 5, all_ns = surveys * SLEEPERS * PERIOD_NS;
	const uint64_t *taken_ns = fixture.of_others_ns;
	pid_t pids[THREADS_MAX];

	open_surveys(SHORT_NS);
	start_program(sleep_in_processes, 1, pids);
	while (__atomic_load_n(&fixture.shared->parked, __ATOMIC_RELAXED) < SLEEPERS)
		sleep_ns(1000000);
	sleep_ns(30 * SHORT_NS);
	for (uint64_t i = 0; i < surveys; i++)
		survey(1);
	print_message("# %llu samples stand for %.0f of %d processes in %llu surveys\n",
		(unsigned long long)fixture.waits_seen,
		(double)taken_ns[PILOTLIGHT_SOURCE_OFFCPU] / PERIOD_NS, SLEEPERS,
		(unsigned long long)surveys);
	assert_in_range(fixture.waits_seen, surveys * 100, surveys * SLEEPERS / 2);
	assert_in_range(taken_ns[PILOTLIGHT_SOURCE_OFFCPU], all_ns / 4 * 3, all_ns / 4 * 5);
	check_accounts();
	end_crowd(pids[0]);
}

/* The standard deviation of the sum is 3 % of it. */
static void the_samples_of_a_user_are_bounded(void **state)
{
	const uint64_t surveys = 5, all_ns = surveys * (CROWD + 1) * PERIOD_NS;
	pid_t pid;

	open_surveys(LONG_NS);
	pid = start_crowd();
	fixture.is_crowd_parked = true;
	for (uint64_t i = 0; i < surveys; i++)
		survey(1);
	print_message("# %llu samples stand for %.0f of %d threads in %llu surveys\n",
		(unsigned long long)fixture.crowd_blocked,
		(double)fixture.crowd_blocked_ns / PERIOD_NS, CROWD + 1,
		(unsigned long long)surveys);
	assert_in_range(fixture.crowd_blocked, surveys * 100, surveys * CROWD / 3);
	assert_in_range(fixture.crowd_blocked_ns, all_ns / 4 * 3, all_ns / 4 * 5);
	check_accounts();
	end_crowd(pid);
}

/* The first CPU that this process may have, or the second. */
static int cpu_of(int number)
{
	static cpu_set_t allowed;
	static bool is_known;

	if (!is_known) {
		assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
		is_known = true;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && number-- == 0)
			return cpu;
	return -1;
}

static int pin(int number)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu_of(number), &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void spin_for_ever(struct life *life, int number)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pin(0) < 0)
		_exit(1);
	for (;;)
		;
}

/* Of a thread in real time, no other load of the machine has the CPU. */
static int set_priority(int priority)
{
	const struct sched_param parameters = { .sched_priority = priority };

	return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

static void spin_in_real_time(struct life *life, int number)
{
	(void)set_priority(1);
	spin_for_ever(life, number);
}

static uint64_t queued_samples(int processes)
{
	uint64_t samples = 0;

	for (int i = 0; i < processes; i++) {
		samples += fixture.lives[i].samples[PILOTLIGHT_SOURCE_RUNQUEUE];
		assert_int_equal(fixture.lives[i].samples[PILOTLIGHT_SOURCE_OFFCPU], 0);
	}
	return samples;
}

static void survey_spinners(program_function spinner, int processes)
{
	pid_t pids[THREADS_MAX];

	start_program(spinner, processes, pids);
	sleep_ns(50000000);
	/* What they did until then. */
	for (int i = 0; i < SURVEYS; i++) {
		sleep_ns(3000000);
		survey(1);
	}
	for (int i = 0; i < processes; i++)
		end_crowd(pids[i]);
}

/* Two of three, unless they are switched while they are visited. */
static void ready_threads_wait_for_a_cpu(void **state)
{
	uint64_t samples;

	open_surveys(LONG_NS);
	if (cpu_of(1) < 0)
		skip();
	assert_int_equal(pin(1), 0);
	survey_spinners(spin_for_ever, SPINNERS);
	samples = queued_samples(SPINNERS);
	print_message("# %llu samples of threads that wait in %d surveys\n",
		(unsigned long long)samples, SURVEYS);
	assert_in_range(samples, SURVEYS, SPINNERS * SURVEYS);
	check_accounts();
}

/* It would not wait if the survey did not run on its CPU. The kernel takes the CPU from both for a
 * twentieth of the time. */
static void the_survey_does_not_count_whom_it_displaces(void **state)
{
	uint64_t samples;

	open_surveys(LONG_NS);
	assert_int_equal(pin(0), 0);
	if (set_priority(2) < 0) {
		print_message("skipped: no thread can run in real time: %s\n", strerror(errno));
		skip();
	}
	survey_spinners(spin_in_real_time, 1);
	(void)set_priority(0);
	samples = queued_samples(1);
	print_message("# %llu samples of a thread that waits in %d surveys\n",
		(unsigned long long)samples, SURVEYS);
	assert_in_range(samples, 0, SURVEYS / 2);
	check_accounts();
}

/* Calls itself `calls` times, and sleeps in the last call. Each call keeps a frame pointer. The
 * code runs at any address, so the test copies it: the sampler walks such generated code without an
 * unwind table. */
void sleep_in_calls(uint64_t calls, const struct timespec *time);
extern const char sleep_in_calls_end[];
__asm__(".text\n"
	"sleep_in_calls:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	dec %rdi\n"
	"	jz 1f\n"
	"	call sleep_in_calls\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:	mov $35, %eax\n" /* nanosleep() */
	"	mov %rsi, %rdi\n"
	"	xor %esi, %esi\n"
	"	syscall\n"
	"	pop %rbp\n"
	"	ret\n"
	"sleep_in_calls_end:\n");

enum {
	CALLS = 200,
	COPIES = 2,
	COPY_BYTES = 4096,
	WALKS = 20, /* whole ones that are wanted, and as many that are given up */
	TRIES_MAX = 5000,
};

static struct {
	uint8_t *code; /* the copies */
	uint64_t whole, given_up, torn;
} walks;

static void alternate(struct life *life, int number)
{
	void (*sleeps[COPIES])(uint64_t calls, const struct timespec *time);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pin(0) < 0 || prctl(PR_SET_TIMERSLACK, 1) < 0)
		_exit(1);
	for (size_t i = 0; i < COPIES; i++)
		sleeps[i] = (void (*)(uint64_t, const struct timespec *))(
			void *)(walks.code + i * COPY_BYTES);
	/* From a microsecond, which is less than a walk takes anywhere, to a millisecond. */
	for (unsigned i = 0;; i++) {
		const struct timespec time = { .tv_nsec = 1000L << i / COPIES % 11 };

		sleeps[i % COPIES](CALLS, &time);
	}
}

/* The frames at the same depths are of the same size in both copies. So a walk that goes on while
 * the thread leaves one and enters the other finds callers of both. */
static void check_walk(const struct raw_sample *sample)
{
	uint64_t found[COPIES] = { 0 };

	if (sample->walk_end == PILOTLIGHT_WALK_BLOCKED) {
		walks.given_up++;
		assert_int_equal(sample->walk_count + sample->runtime_count, 0);
	}
	for (size_t i = 0; i < sample->walk_count; i++) {
		uint64_t place = (sample->walk_frames[i] & PILOTLIGHT_FRAME_ADDRESS_MASK) -
				 (uintptr_t)walks.code;

		if (sample->walk_frames[i] >> PILOTLIGHT_FRAME_KIND_SHIFT ==
				PILOTLIGHT_FRAME_ADDRESS &&
			place < COPIES * COPY_BYTES)
			found[place / COPY_BYTES]++;
	}
	walks.torn += found[0] > 0 && found[1] > 0;
	walks.whole += found[0] + found[1] == CALLS;
}

static void a_thread_that_runs_meanwhile_has_no_user_frames(void **state)
{
	pid_t pids[THREADS_MAX];

	if (cpu_of(1) < 0)
		skip();
	memset(&walks, 0, sizeof(walks));
	walks.code = mmap(NULL, COPIES * COPY_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(walks.code, MAP_FAILED);
	for (size_t i = 0; i < COPIES; i++)
		memcpy(walks.code + i * COPY_BYTES, (const void *)sleep_in_calls,
			(size_t)(sleep_in_calls_end - (const char *)sleep_in_calls));
	open_surveys(LONG_NS);
	fixture.check = check_walk;
	assert_int_equal(pin(1), 0);
	start_program(alternate, 1, pids);
	for (unsigned i = 0;
		i < TRIES_MAX && walks.torn == 0 && (walks.whole < WALKS || walks.given_up < WALKS);
		i++)
		survey(1);
	print_message("# %llu walks are whole, %llu were given up, %llu are torn\n",
		(unsigned long long)walks.whole, (unsigned long long)walks.given_up,
		(unsigned long long)walks.torn);
	assert_int_equal(walks.torn, 0);
	assert_true(walks.whole >= WALKS && walks.given_up >= WALKS);
	check_accounts();
	end_crowd(pids[0]);
	assert_int_equal(munmap(walks.code, COPIES * COPY_BYTES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_idle_thread_has_no_stack),
		FIXTURE_TEST(a_stopped_thread_keeps_its_stack),
		FIXTURE_TEST(idle_threads_are_counted_together),
		FIXTURE_TEST(the_samples_of_idle_processes_are_bounded),
		FIXTURE_TEST(a_blocked_thread_has_a_sample_in_each_survey),
		FIXTURE_TEST(the_samples_of_a_user_are_bounded),
		FIXTURE_TEST(ready_threads_wait_for_a_cpu),
		FIXTURE_TEST(a_thread_that_runs_meanwhile_has_no_user_frames),
		FIXTURE_TEST(the_survey_does_not_count_whom_it_displaces),
	};

	return cmocka_run_group_tests_name("survey_kernel", tests, NULL, free_kept);
}
