/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture of time off the CPU, and programs that know where their time went: the kernel's own
 * account of a thread's time on the CPU and in run queues, and the clock, are the witnesses.
 */
#pragma once

#include "base/array.h"
#include "base/clock.h"
#include "capture/kernel_symbol.h"
#include "drain/drain.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	MAP_BYTES = 16 << 20,
	THREADS_MAX = 4,
	PERIOD_NS = 100000,
	PERIOD_BYTES = 4096,
	PLAY_NS = 500000000,
	BOTH = 1 << PILOTLIGHT_SOURCE_CPU | 1 << PILOTLIGHT_SOURCE_OFFCPU |
	       1 << PILOTLIGHT_SOURCE_RUNQUEUE,
};

#define STORM_NAME "storm"

/* What a thread knows of itself, of its whole life. */
struct life {
	pid_t tid;
	uint64_t begin_ns, end_ns;     /* CLOCK_MONOTONIC; it has not blocked before the begin */
	uint64_t begin_cpu_ns, cpu_ns; /* on the CPU, at both times */
	uint64_t begin_delay_ns, delay_ns;   /* in run queues */
	uint64_t begin_stolen_ns, stolen_ns; /* of all CPUs, by the hypervisor */
	/* In samples. */
	uint64_t samples[PILOTLIGHT_SOURCES], taken_ns[PILOTLIGHT_SOURCES];
	uint64_t waits[PILOTLIGHT_WAITS]; /* ns */
};

/* With the programs. */
struct shared {
	struct life lives[THREADS_MAX];
	uint32_t turn;
	/* Of a crowd: the threads that sleep; when the first wakes once, CLOCK_MONOTONIC, 0: none
	 * does. */
	uint32_t parked;
	uint64_t wake_ns;
	uint64_t delay_ns, blocked_ns, cpu_ns, life_ns; /* of the children of a storm */
};

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	uint32_t sources, allowed_percent;
	struct accounts total[PILOTLIGHT_SOURCES];
	struct shared *shared;
	struct life *lives;	       /* in it */
	struct kernel_symbol schedule; /* __schedule() */
	/* Of samples of time blocked of `lives`. */
	void (*check)(const struct raw_sample *sample);
	uint64_t still_blocked, kernel_leaf;
	size_t user_frames, block_user_frames;
	uint16_t block_disk; /* its number */
	uint64_t waits_seen; /* samples */
	enum pilotlight_path path;
	pid_t programs[THREADS_MAX]; /* that were started last */
	/* Threads with the same name as this program, other than those of `lives`. */
	uint64_t of_others_ns[PILOTLIGHT_SOURCES];
	/* A process with many threads: how many are still blocked, and for how long. */
	pid_t crowd;
	bool is_crowd_parked; /* none of them wakes, whatever the end of their stacks */
	uint64_t crowd_blocked, crowd_blocked_ns;
} fixture;

static inline uint64_t own_delay_ns(void)
{
	unsigned long long cpu, delay = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (file && fscanf(file, "%llu %llu", &cpu, &delay) != 2)
		delay = 0;
	if (file)
		(void)fclose(file);
	return delay;
}

/* Reads all in one turn on the CPU. */
static inline void read_times(uint64_t *time_ns, uint64_t *cpu_ns, uint64_t *delay_ns)
{
	do {
		*delay_ns = own_delay_ns();
		*cpu_ns = clock_thread_cpu_ns();
		*time_ns = clock_monotonic_ns();
	} while (own_delay_ns() != *delay_ns);
}

/* While it runs, a thread's clock excludes this time, so it is in none of the parts
 * (CONFIG_PARAVIRT_TIME_ACCOUNTING). In steps of the clock tick. */
static inline uint64_t all_stolen_ns(uint64_t tick_ns)
{
	FILE *file = fopen("/proc/stat", "re");
	unsigned long long ticks = 0;
	int count = file ? fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) : 0;

	if (file)
		(void)fclose(file);
	return count == 1 ? ticks * tick_ns : 0;
}

static inline uint64_t clock_tick_ns(void)
{
	return NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

static inline void begin_life(struct life *life)
{
	life->tid = gettid();
	life->begin_stolen_ns = all_stolen_ns(clock_tick_ns());
	read_times(&life->begin_ns, &life->begin_cpu_ns, &life->begin_delay_ns);
}

static inline void end_life(struct life *life)
{
	read_times(&life->end_ns, &life->cpu_ns, &life->delay_ns);
	life->stolen_ns = all_stolen_ns(clock_tick_ns());
	/* A step that is not full does not show. */
	if (life->stolen_ns > 0)
		life->stolen_ns += clock_tick_ns();
}

/* Set before it is opened. */
static bool is_sparing;
static uint32_t surveyed;
static uint64_t survey_ns;

/* Of the last test, if it did not fail. One that wants the same settings goes on with it: it takes
 * the kernel a second to attach and to detach all programs. */
static struct kept {
	bool is_clean;
	struct capture_settings settings;
	struct capture *capture;
	struct drain *drain;
} kept;

static inline int free_kept(void **state)
{
	drain_free(kept.drain);
	capture_free(kept.capture);
	kept = (struct kept){ 0 };
	return 0;
}

static inline void open_kept(const struct capture_settings *settings)
{
	struct fault fault = { 0 };

	if (capture_open(settings, &kept.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(kept.capture), &kept.drain), 0);
	if (capture_start(kept.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	kept.settings = *settings;
}

static inline int skip_sample(void *context, const struct raw_sample *sample)
{
	return 0;
}

/* What was sampled since the last test. */
static inline void drain_kept(void)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];

	assert_int_equal(drain_flip(kept.drain), 0);
	assert_int_equal(drain_window(kept.drain, skip_sample, NULL, accounts), 0);
}

static inline void open_fixture_in(uint32_t rate_hz, size_t map_bytes, size_t unwind_bytes,
	uint32_t sources, bool filters_processes)
{
	const uint64_t wait_ns = surveyed ? survey_ns : PERIOD_NS;
	struct capture_settings settings;

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	memset(&settings, 0, sizeof(settings)); /* padding, too, to compare them */
	settings.rate_hz = rate_hz;
	settings.wants_kernel = true;
	settings.map_budget_bytes = map_bytes;
	settings.unwind_budget_bytes = unwind_bytes;
	settings.skips_interpreted = true; /* faster to verify */
	settings.filters_processes = filters_processes;
	settings.is_sparing = is_sparing;
	settings.sources = sources;
	settings.surveyed = surveyed;
	settings.periods[PILOTLIGHT_SOURCE_OFFCPU] = wait_ns;
	settings.periods[PILOTLIGHT_SOURCE_RUNQUEUE] = wait_ns;
	settings.periods[PILOTLIGHT_SOURCE_LOCK] = PERIOD_NS;
	settings.periods[PILOTLIGHT_SOURCE_BLOCK] = PERIOD_NS;
	settings.periods[PILOTLIGHT_SOURCE_BLOCK_BYTES] = PERIOD_BYTES;
	if (kept.capture && memcmp(&settings, &kept.settings, sizeof(settings)) == 0) {
		drain_kept();
	} else {
		(void)free_kept(NULL);
		open_kept(&settings);
	}
	fixture = (struct fixture){ .capture = kept.capture,
		.drain = kept.drain,
		.sources = sources,
		.allowed_percent = 1 };
	fixture.shared = mmap(NULL, sizeof(*fixture.shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture.shared, MAP_FAILED);
	fixture.lives = fixture.shared->lives;
	(void)kernel_symbol_find("/proc/kallsyms", "__schedule", &fixture.schedule);
}

static inline void open_fixture_at(uint32_t rate_hz, uint32_t sources)
{
	open_fixture_in(rate_hz, MAP_BYTES, 1 << 20, sources, true);
}

/* The same without walks of user code: for each program that has them, the kernel takes a second to
 * verify them. */
static inline void open_fixture_without_walks(uint32_t rate_hz, uint32_t sources)
{
	open_fixture_in(rate_hz, MAP_BYTES, 0, sources, true);
}

/* Follows this process and its children, alone on a busy machine, at a rate with which samples do
 * not get rarer. */
static inline void open_fixture(uint32_t sources)
{
	open_fixture_at(1999, sources);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
}

/* A test that failed leaves its programs. */
static inline void end_programs(void)
{
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (fixture.programs[i] > 0 && waitpid(fixture.programs[i], NULL, WNOHANG) == 0) {
			(void)kill(fixture.programs[i], SIGKILL);
			(void)waitpid(fixture.programs[i], NULL, 0);
		}
}

static inline int close_fixture(void **state)
{
	end_programs();
	if (fixture.shared)
		(void)munmap(fixture.shared, sizeof(*fixture.shared));
	fixture = (struct fixture){ 0 };
	is_sparing = false;
	surveyed = 0;
	return 0;
}

/* A test that fails or skips does not return, and may leave samples behind, or a capture that is
 * stopped. */
static inline void run_kept(void **state)
{
	const CMUnitTestFunction test = (CMUnitTestFunction)*state;

	if (!kept.is_clean)
		(void)free_kept(NULL);
	kept.is_clean = false;
	test(NULL);
	kept.is_clean = true;
}

#define FIXTURE_TEST(test)                                           \
	{                                                            \
#test, run_kept, NULL, close_fixture, (void *)(test) \
	}

static inline int take_sample(void *context, const struct raw_sample *sample)
{
	bool is_of_life = false;

	fixture.waits_seen += sample->source != PILOTLIGHT_SOURCE_CPU;

	for (size_t i = 0; i < THREADS_MAX; i++) {
		struct life *life = &fixture.lives[i];

		/* It may still wait for something while it ends. */
		if (life->tid != (pid_t)sample->tid ||
			(life->end_ns && sample->first_ns > life->end_ns))
			continue;
		life->samples[sample->source]++;
		life->taken_ns[sample->source] += sample->count * PERIOD_NS;
		life->waits[sample->wait] += sample->count * PERIOD_NS;
		is_of_life = true;
		if (sample->source == PILOTLIGHT_SOURCE_BLOCK)
			fixture.block_user_frames = sample->walk_count;
		if (sample->kind)
			fixture.block_disk = sample->kind;
		if (sample->source != PILOTLIGHT_SOURCE_OFFCPU)
			continue;
		if (fixture.check)
			fixture.check(sample);
		fixture.still_blocked += sample->walk_end == PILOTLIGHT_WALK_BLOCKED;
		fixture.kernel_leaf = sample->kernel_count ? sample->kernel_ips[0] : 0;
		fixture.user_frames =
			sample->walk_count + sample->user_ip_count + sample->user_count;
		fixture.path = sample->path;
	}
	if (!is_of_life && strcmp(sample->comm, STORM_NAME) == 0)
		fixture.of_others_ns[sample->source] += sample->count * PERIOD_NS;
	if (sample->process.tgid == (uint32_t)fixture.crowd &&
		sample->source == PILOTLIGHT_SOURCE_OFFCPU &&
		(fixture.is_crowd_parked || sample->walk_end == PILOTLIGHT_WALK_BLOCKED)) {
		fixture.crowd_blocked++;
		fixture.crowd_blocked_ns += sample->count * PERIOD_NS;
	}
	return 0;
}

static inline void drain_once(void)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];

	assert_int_equal(drain_flip(fixture.drain), 0);
	assert_int_equal(drain_window(fixture.drain, take_sample, NULL, accounts), 0);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++) {
		assert_true(accounts_close(&accounts[i]));
		accounts_add(&fixture.total[i], &accounts[i]);
	}
}

static inline double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* allowed_percent of the wall time, and a period for the random phase; and as time blocked counts
 * what the hypervisor has taken from the thread while it ran. */
static inline void check_life(const struct life *life)
{
	uint64_t wall_ns = life->end_ns - life->begin_ns;
	uint64_t allowed_ns = wall_ns * fixture.allowed_percent / 100 + PERIOD_NS;
	uint64_t cpu_ns = life->cpu_ns - life->begin_cpu_ns;
	int64_t blocked_ns = (int64_t)(wall_ns - cpu_ns - (life->delay_ns - life->begin_delay_ns));
	int64_t blocked_error_ns = (int64_t)life->taken_ns[PILOTLIGHT_SOURCE_OFFCPU] - blocked_ns;
	int64_t queued_error_ns =
		(int64_t)(life->taken_ns[PILOTLIGHT_SOURCE_RUNQUEUE] - life->delay_ns);

	print_message("# wall %.3f ms = cpu %.3f + blocked %.3f (taken %.3f in %llu) + queued %.3f "
		      "(taken %.3f in %llu)\n",
		ms(wall_ns), ms(cpu_ns), (double)blocked_ns / 1e6,
		ms(life->taken_ns[PILOTLIGHT_SOURCE_OFFCPU]),
		(unsigned long long)life->samples[PILOTLIGHT_SOURCE_OFFCPU], ms(life->delay_ns),
		ms(life->taken_ns[PILOTLIGHT_SOURCE_RUNQUEUE]),
		(unsigned long long)life->samples[PILOTLIGHT_SOURCE_RUNQUEUE]);
	assert_true(blocked_error_ns < (int64_t)allowed_ns);
	assert_true(blocked_error_ns >
		    -(int64_t)(allowed_ns + life->stolen_ns - life->begin_stolen_ns));
	if (!(fixture.sources & 1 << PILOTLIGHT_SOURCE_RUNQUEUE))
		return;
	assert_true(queued_error_ns < (int64_t)allowed_ns);
	assert_true(queued_error_ns > -(int64_t)allowed_ns);
}

typedef void (*program_function)(struct life *life, int number);

static inline void start_program(program_function program, int processes, pid_t pids[THREADS_MAX])
{
	for (int i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			begin_life(&fixture.lives[i]);
			program(&fixture.lives[i], i);
			end_life(&fixture.lives[i]);
			_exit(0);
		}
		fixture.programs[i] = pids[i];
	}
}

/* Waits until the thread sleeps. */
static inline void await_blocked(pid_t pid, pid_t tid)
{
	char path[64], state = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	while (state != 'S') {
		const struct timespec pause = { .tv_nsec = 1000000 };
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		(void)fclose(file);
		(void)nanosleep(&pause, NULL);
	}
}

/* Drains meanwhile, whenever the ring is half full. */
static inline void await(pid_t pid)
{
	struct pollfd waited[] = {
		{ .fd = drain_poll_fd(fixture.drain), .events = POLLIN },
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
	};
	int status;

	assert_true(waited[1].fd >= 0);
	while (!waited[1].revents) {
		assert_true(poll(waited, ARRAY_SIZE(waited), -1) > 0);
		if (waited[0].revents)
			drain_once();
	}
	(void)close(waited[1].fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static inline void finish_program(int processes, const pid_t pids[THREADS_MAX])
{
	for (int i = 0; i < processes; i++)
		await(pids[i]);
	drain_once();
	for (int i = 0; i < processes; i++)
		check_life(&fixture.lives[i]);
	for (int i = PILOTLIGHT_SOURCE_OFFCPU; i < PILOTLIGHT_SOURCES; i++)
		assert_int_equal(accounts_lost(&fixture.total[i]), 0);
}

/* Runs a program in processes of their own, and checks where their time went. */
static inline void check_program(program_function program, int processes)
{
	pid_t pids[THREADS_MAX];

	start_program(program, processes, pids);
	finish_program(processes, pids);
}

static inline void sleep_ns(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC) };

	(void)nanosleep(&time, NULL);
}

static inline bool is_time_up(const struct life *life)
{
	return clock_monotonic_ns() >= life->begin_ns + PLAY_NS;
}

static inline long futex(uint32_t *word, int operation, uint32_t value)
{
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static inline void play_by_futex(struct life *life, int number)
{
	uint32_t *turn = &fixture.shared->turn;

	for (;;) {
		uint32_t now = __atomic_load_n(turn, __ATOMIC_ACQUIRE);

		if (now == 2)
			return;
		if (now != (uint32_t)number) {
			(void)futex(turn, FUTEX_WAIT, now);
			continue;
		}
		__atomic_store_n(turn, is_time_up(life) ? 2 : !number, __ATOMIC_RELEASE);
		(void)futex(turn, FUTEX_WAKE, 1);
	}
}
