/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel memory: what is allocated, and what of it lives. The programs here make the kernel
 * allocate a known number of objects: each pipe has two open files.
 * Runs beside others: the objects are those of its programs.
 */
#include "base/event_source.h"
#include "drain/drain.h"
#include "drain/live_map.h"
#include "resolve/kmem_frame.h"
#include "resolve/live_table.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	MAP_BYTES = 32 << 20,
	RATE_HZ = 1999,
	PIPES = 800,	   /* their samples fit into the ring, which is drained after each turn */
	FILES = 2 * PIPES, /* open files */
	SAMPLES_MAX = 1 << 18,
	WAIT_MS = 5000,
	UNWIND_BYTES = 1 << 20,
	NO_WALKS = 0, /* the kernel takes a second to verify those of one program */
};

#define ALLOC PILOTLIGHT_SOURCE_KMEM_ALLOC
#define LIVE  PILOTLIGHT_SOURCE_KMEM_LIVE
#define WASTE PILOTLIGHT_SOURCE_KMEM_WASTE

/* A sample of the process under test. */
struct taken {
	struct pilotlight_live_key key;
	uint64_t time_ns, bytes;
	enum pilotlight_source source;
	char frame[KMEM_FRAME_BYTES];
};

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	uint64_t period;
	pid_t pid;
	struct taken *taken;
	size_t count;
	size_t without_stack;
	struct accounts total[PILOTLIGHT_SOURCES];
} fixture;

static int take(void *context, const struct raw_sample *sample)
{
	struct taken *taken = &fixture.taken[fixture.count];
	char frame[KMEM_FRAME_BYTES];

	if (!event_source_is_kmem(sample->source))
		return 0;
	assert_int_equal(sample->process.tgid, fixture.pid);
	assert_true((sample->address != 0) == (sample->source == LIVE));
	assert_true(fixture.count < SAMPLES_MAX);
	fixture.count++;
	fixture.without_stack += sample->kernel_count == 0;
	*taken = (struct taken){
		.key = live_key_of(sample),
		.time_ns = sample->first_ns,
		.bytes = sample->count * fixture.period,
		.source = sample->source,
	};
	(void)snprintf(taken->frame, sizeof(taken->frame), "%s",
		kmem_frame_of(sample, capture_maps(fixture.capture)->cache_names_fd, frame));
	return 0;
}

static void drain_once(void)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];

	assert_int_equal(drain_flip(fixture.drain), 0);
	assert_int_equal(drain_window(fixture.drain, take, NULL, accounts), 0);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++) {
		assert_true(accounts_close(&accounts[i]));
		accounts_add(&fixture.total[i], &accounts[i]);
	}
}

static void open_fixture(uint32_t sources, uint64_t period, size_t unwind_bytes)
{
	struct capture_settings settings = {
		.rate_hz = RATE_HZ,
		.wants_kernel = true,
		.map_budget_bytes = MAP_BYTES,
		.unwind_budget_bytes = unwind_bytes,
		.skips_interpreted = true, /* faster to verify */
		.filters_processes = true,
		.sources = sources | 1U << PILOTLIGHT_SOURCE_CPU,
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	for (int i = 1; i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			settings.periods[i] = period;
	fixture = (struct fixture){ .period = period };
	fixture.taken = calloc(SAMPLES_MAX, sizeof(*fixture.taken));
	assert_non_null(fixture.taken);
	if (capture_open(&settings, &fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(fixture.capture), &fixture.drain), 0);
	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
}

static int close_fixture(void **state)
{
	drain_free(fixture.drain);
	capture_free(fixture.capture);
	free(fixture.taken);
	fixture = (struct fixture){ 0 };
	return 0;
}

/* --- the program --- */

/* Both ends of two pipes, by which the test and the program take turns. */
static int turns[2][2];

static void open_pipes(int fds[PIPES][2])
{
	for (int i = 0; i < PIPES; i++)
		if (pipe2(fds[i], O_CLOEXEC) < 0)
			_exit(1);
}

static void close_pipes(int fds[PIPES][2])
{
	for (int i = 0; i < PIPES; i++) {
		(void)close(fds[i][0]);
		(void)close(fds[i][1]);
	}
}

static void say(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void listen_for(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

/* In turns: opens the pipes, closes them, ends. */
static void play(void)
{
	static int fds[PIPES][2];
	struct rlimit limit = { .rlim_cur = FILES + 1024, .rlim_max = FILES + 1024 };

	(void)setrlimit(RLIMIT_NOFILE, &limit);
	listen_for(turns[0][0]);
	open_pipes(fds);
	say(turns[1][1]);
	listen_for(turns[0][0]);
	close_pipes(fds);
	say(turns[1][1]);
	listen_for(turns[0][0]);
	_exit(0);
}

static void start_program(void)
{
	assert_int_equal(pipe2(turns[0], O_CLOEXEC), 0);
	assert_int_equal(pipe2(turns[1], O_CLOEXEC), 0);
	fixture.pid = fork();
	if (fixture.pid == 0) {
		/* If the program fails, the test must not wait for it. */
		(void)close(turns[0][1]);
		(void)close(turns[1][0]);
		play();
	}
	(void)close(turns[0][0]);
	(void)close(turns[1][1]);
	assert_true(fixture.pid > 0);
	assert_int_equal(capture_follow(fixture.capture, fixture.pid), 0);
}

/* The program takes its next turn. */
static void take_turn(void)
{
	say(turns[0][1]);
	listen_for(turns[1][0]);
	drain_once();
}

static void end_program(void)
{
	int status;

	say(turns[0][1]);
	assert_int_equal(waitpid(fixture.pid, &status, 0), fixture.pid);
	assert_int_equal(status, 0);
	(void)close(turns[0][1]);
	(void)close(turns[1][0]);
}

/* What the slab allocator takes for an open file; or what of it was requested. */
static uint64_t file_bytes(const char *attribute)
{
	unsigned long long bytes = 0;
	char path[64];
	FILE *file;

	(void)snprintf(path, sizeof(path), "/sys/kernel/slab/filp/%s", attribute);
	file = fopen(path, "re");
	if (!file)
		skip();
	assert_int_equal(fscanf(file, "%llu", &bytes), 1);
	(void)fclose(file);
	return bytes;
}

static uint64_t sum_of(enum pilotlight_source source, const char *frame)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < fixture.count; i++)
		if (fixture.taken[i].source == source && strcmp(fixture.taken[i].frame, frame) == 0)
			bytes += fixture.taken[i].bytes;
	return bytes;
}

static uint64_t live_sum_of(const char *frame)
{
	const int map_fd = capture_maps(fixture.capture)->live_fd;
	uint64_t bytes = 0;

	for (size_t i = 0; i < fixture.count; i++) {
		const struct taken *taken = &fixture.taken[i];

		if (taken->source == LIVE && strcmp(taken->frame, frame) == 0 &&
			live_map_has(map_fd, &taken->key, taken->time_ns))
			bytes += taken->bytes;
	}
	return bytes;
}

/* A few more files are those of the turns. */
static void assert_is_about(uint64_t bytes, uint64_t expected, double share)
{
	double error = (double)bytes - (double)expected;

	print_message("# %llu bytes, expected %llu: %+.2f %%\n", (unsigned long long)bytes,
		(unsigned long long)expected, 100 * error / (double)expected);
	assert_true(fabs(error) <= (double)expected * share);
}

/* At a period of a byte each allocation is a sample, so the sum is exact. */
static void what_is_allocated_is_counted(void **state)
{
	open_fixture(1U << ALLOC | 1U << WASTE, 1, UNWIND_BYTES);
	start_program();
	take_turn();
	assert_is_about(sum_of(ALLOC, "[filp]"), FILES * file_bytes("slab_size"), 0.01);
	assert_is_about(sum_of(ALLOC, "[filp]") - sum_of(WASTE, "[filp]"),
		FILES * file_bytes("object_size"), 0.01);
	assert_int_equal(fixture.without_stack, 0);
	take_turn();
	end_program();
	assert_int_equal(fixture.total[ALLOC].dropped[PILOTLIGHT_DROP_RING_FULL], 0);
	assert_int_equal(fixture.total[ALLOC].dropped[PILOTLIGHT_DROP_BPF_ERROR], 0);
}

/* A sample of 4 KiB stands for 16 to 21 files: 75 to 100 samples, with a standard deviation of 10
 * to 12 %. */
static void samples_stand_for_what_is_not_sampled(void **state)
{
	open_fixture(1U << ALLOC, 4096, NO_WALKS);
	start_program();
	take_turn();
	assert_is_about(sum_of(ALLOC, "[filp]"), FILES * file_bytes("slab_size"), 0.5);
	take_turn();
	end_program();
}

static void what_lives_is_known_until_it_is_freed(void **state)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t held, left = UINT64_MAX;

	open_fixture(1U << LIVE, 1, NO_WALKS);
	start_program();
	take_turn();
	held = live_sum_of("[filp]");
	assert_is_about(held, FILES * file_bytes("slab_size"), 0.01);
	assert_is_about(sum_of(LIVE, "[filp]"), held, 0.01);
	take_turn();
	/* A file may wait for RCU before it is freed. */
	for (int i = 0; i < WAIT_MS / 10 && left > held / 100; i++) {
		left = live_sum_of("[filp]");
		(void)nanosleep(&pause, NULL);
	}
	print_message("# %llu bytes are left\n", (unsigned long long)left);
	assert_true(left <= held / 100);
	end_program();
	assert_int_equal(live_map_clear(capture_maps(fixture.capture)->live_fd), 0);
	assert_int_equal(live_sum_of("[filp]"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_allocated_is_counted, close_fixture),
		cmocka_unit_test_teardown(samples_stand_for_what_is_not_sampled, close_fixture),
		cmocka_unit_test_teardown(what_lives_is_known_until_it_is_freed, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
