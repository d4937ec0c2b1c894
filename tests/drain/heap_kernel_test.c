/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that a program allocates by each function of the C library, and what of it lives: not
 * sampled, so that all sums are exact. One program does all, since the kernel takes seconds to
 * place its probes.
 * Runs beside others: it mostly waits for the kernel, which takes its time to place probes.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "drain/drain.h"
#include "drain/live_map.h"
#include "pilotlight/probe_argument.h"
#include "tests/harness/privilege.h"

#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	MAP_BYTES = 32 << 20,
	MAP_SLOTS = 1 << 16,
	RATE_HZ = 1999,
	TIMES = 64, /* so few, in all uses, that no sample stands for more periods */
	SAMPLES_MAX = 1 << 14,
	ALLOC = 1 << PILOTLIGHT_SOURCE_HEAP_ALLOC,
	LIVE = 1 << PILOTLIGHT_SOURCE_HEAP_LIVE,
	UNWIND_BYTES = 1 << 20,
	NO_WALKS = 0, /* the kernel takes a second to verify those of one program */
};

struct taken {
	struct pilotlight_live_key key;
	uint64_t time_ns, bytes;
};

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	struct taken taken[SAMPLES_MAX];
	size_t count;
	uint64_t allocated_bytes;
} fixture;

/* --- what the program does; this test is linked with wrapped allocators, so it asks the library -
 */

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *);
} library;

static void *kept[TIMES];

static void call_malloc(int i)
{
	kept[i] = library.malloc(1000);
}

static void call_calloc(int i)
{
	kept[i] = library.calloc(10, 100);
}

static void call_realloc(int i)
{
	kept[i] = library.realloc(library.realloc(NULL, 400), 600);
}

static void call_aligned_alloc(int i)
{
	kept[i] = library.aligned_alloc(i % 2 ? 16 : 256, 1024);
}

static void call_posix_memalign(int i)
{
	if (library.posix_memalign(&kept[i], 64, 1000))
		_exit(1);
}

static void call_valloc(int i)
{
	kept[i] = library.valloc(1000);
}

static void fail_to_grow(int i)
{
	kept[i] = library.malloc(1000);
	if (library.realloc(kept[i], SIZE_MAX / 2))
		_exit(1);
}

static void shrink_to_nothing(int i)
{
	(void)!library.realloc(library.malloc(1000), 0);
}

static void free_at_once(int i)
{
	library.free(library.malloc(1000));
}

static void fork_and_free(int i)
{
	pid_t pid;

	kept[i] = library.malloc(1000);
	if (i > 0)
		return;
	pid = fork();
	if (pid == 0) {
		library.free(kept[i]);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

/* An allocator that gives up. */
static jmp_buf given_up;

static __attribute__((noinline)) void *give_up(size_t bytes)
{
	if (bytes)
		longjmp(given_up, 1);
	return NULL;
}

static __attribute__((noinline)) void give_up_below(size_t bytes)
{
	char below[64];

	__asm__ volatile("" : : "r"(below) : "memory");
	(void)give_up(bytes);
	__asm__ volatile("" : : "r"(below) : "memory");
}

static void allocate_after_all(int i)
{
	if (setjmp(given_up) == 0)
		give_up_below(1000);
	kept[i] = library.malloc(1000);
}

/* Where an allocator that samples itself has its probes. Their arguments are those of the call. */
static __attribute__((noinline)) void report_alloc(void *address, size_t bytes, uint64_t weight)
{
	__asm__ volatile("" : : "r"(address), "r"(bytes), "r"(weight) : "memory");
}

static __attribute__((noinline)) void report_free(void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

static void report_each(int i)
{
	kept[i] = library.malloc(777);
	report_alloc(kept[i], 100, 1000);
	if (i % 2)
		report_free(kept[i]);
}

static const struct use {
	const char *name;
	void (*call)(int i);
	uint64_t allocated, live; /* by a call */
} uses[] = {
	{ "malloc", call_malloc, 1000, 1000 },
	{ "calloc", call_calloc, 1000, 1000 },
	{ "realloc", call_realloc, 1000, 600 },
	{ "aligned_alloc", call_aligned_alloc, 1024, 1024 },
	{ "posix_memalign", call_posix_memalign, 1000, 1000 },
	{ "valloc", call_valloc, 1000, 1000 },
	{ "a realloc that fails", fail_to_grow, 1000, 1000 },
	{ "realloc to 0", shrink_to_nothing, 1000, 0 },
	{ "free", free_at_once, 1000, 0 },
	{ "free of a copy", fork_and_free, 1000, 1000 },
	{ "calls that do not return", allocate_after_all, 1000, 1000 },
	{ "reports", report_each, 1000, 500 },
};

/* --- sampling it --- */

static int take(void *context, const struct raw_sample *sample)
{
	struct taken *taken = &fixture.taken[fixture.count];

	if (sample->source == PILOTLIGHT_SOURCE_HEAP_ALLOC)
		fixture.allocated_bytes += sample->count;
	if (sample->source != PILOTLIGHT_SOURCE_HEAP_LIVE)
		return 0;
	assert_true(fixture.count < SAMPLES_MAX);
	assert_true(sample->address != 0);
	fixture.count++;
	*taken = (struct taken){
		.key = { .address = sample->address,
			.tgid = sample->process.tgid,
			.source = PILOTLIGHT_SOURCE_HEAP_LIVE },
		.time_ns = sample->first_ns,
		.bytes = sample->count,
	};
	return 0;
}

static void drain_once(void)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];

	assert_int_equal(drain_flip(fixture.drain), 0);
	assert_int_equal(drain_window(fixture.drain, take, NULL, accounts), 0);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++) {
		assert_true(accounts_close(&accounts[i]));
		assert_int_equal(accounts_lost(&accounts[i]), 0);
	}
}

static uint64_t live_bytes(void)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < fixture.count; i++)
		if (live_map_has(capture_maps(fixture.capture)->live_fd, &fixture.taken[i].key,
			    fixture.taken[i].time_ns))
			bytes += fixture.taken[i].bytes;
	return bytes;
}

static void open_fixture(uint32_t sources, size_t unwind_bytes)
{
	struct capture_settings settings = {
		.rate_hz = RATE_HZ,
		.map_budget_bytes = MAP_BYTES,
		.unwind_budget_bytes = unwind_bytes,
		.skips_interpreted = true, /* faster to verify */
		.filters_processes = true,
		.sources = sources | 1U << PILOTLIGHT_SOURCE_CPU,
	};
	struct fault fault = { 0 };

	fixture = (struct fixture){ 0 };
	for (int i = 1; i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			settings.periods[i] = 1;
	if (capture_open(&settings, &fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(fixture.capture), &fixture.drain), 0);
	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
}

static void close_fixture(void)
{
	drain_free(fixture.drain);
	capture_free(fixture.capture);
}

/* The mapping of a function, which is at the same place in the processes that this one forks. */
static struct pilotlight_capture_probe probe_of(const void *function)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/maps", "re");
	uint64_t address = (uintptr_t)function, start, end, offset;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
				3 &&
			address >= start && address < end)
			return (struct pilotlight_capture_probe){
				.mapping_start = start,
				.mapping_end = end,
				.offset = address - start + offset,
			};
	fail();
	return (struct pilotlight_capture_probe){ 0 };
}

static int set_probe(pid_t pid, const char *name, enum pilotlight_heap_function function)
{
	struct pilotlight_capture_probe probe = probe_of(dlsym(RTLD_DEFAULT, name));

	probe.pid = (uint32_t)pid;
	probe.function = function;
	return capture_set_probe(fixture.capture, &probe);
}

static void set_probes(pid_t pid)
{
	static const struct {
		const char *name;
		enum pilotlight_heap_function function;
	} functions[] = {
		{ "free", PILOTLIGHT_HEAP_FREE },
		{ "posix_memalign", PILOTLIGHT_HEAP_POSIX_MEMALIGN },
		{ "realloc", PILOTLIGHT_HEAP_REALLOC },
		{ "calloc", PILOTLIGHT_HEAP_CALLOC },
		{ "aligned_alloc", PILOTLIGHT_HEAP_ALIGNED_ALLOC },
		{ "valloc", PILOTLIGHT_HEAP_NEW },
		{ "malloc", PILOTLIGHT_HEAP_MALLOC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		assert_int_equal(set_probe(pid, functions[i].name, functions[i].function), 0);
}

static uint32_t argument(uint32_t index)
{
	return (uint32_t)PILOTLIGHT_ARGUMENT_REGISTER << PILOTLIGHT_ARGUMENT_KIND_SHIFT |
	       3U << PILOTLIGHT_ARGUMENT_SIZE_SHIFT | index << PILOTLIGHT_ARGUMENT_REGISTER_SHIFT;
}

/* Of 16 registers and more, %rdi is the 15th that the kernel pushes, %rdx the 13th. */
static void set_report_probes(pid_t pid)
{
	struct pilotlight_capture_probe probe = probe_of((const void *)(uintptr_t)report_free);

	probe.pid = (uint32_t)pid;
	probe.function = PILOTLIGHT_HEAP_REPORT_FREE;
	probe.arguments = argument(14);
	assert_int_equal(capture_set_probe(fixture.capture, &probe), 0);
	probe = probe_of((const void *)(uintptr_t)report_alloc);
	probe.pid = (uint32_t)pid;
	probe.function = PILOTLIGHT_HEAP_REPORT_ALLOC;
	probe.arguments = argument(14) | (uint64_t)argument(12) << 32;
	assert_int_equal(capture_set_probe(fixture.capture, &probe), 0);
	probe = (struct pilotlight_capture_probe){
		.pid = (uint32_t)pid,
		.function = PILOTLIGHT_HEAP_REPORTS,
	};
	assert_int_equal(capture_set_probe(fixture.capture, &probe), 0);
}

static void set_giving_up_probe(pid_t pid)
{
	struct pilotlight_capture_probe probe = probe_of((const void *)(uintptr_t)give_up);

	probe.pid = (uint32_t)pid;
	probe.function = PILOTLIGHT_HEAP_NEW;
	assert_int_equal(capture_set_probe(fixture.capture, &probe), 0);
}

/* The program: a byte for each use that it shall make, and one back when it has made it. */
struct program {
	pid_t pid;
	int turns[2][2];
};

static void start_program(struct program *program)
{
	uint8_t use;

	assert_int_equal(pipe(program->turns[0]), 0);
	assert_int_equal(pipe(program->turns[1]), 0);
	program->pid = fork();
	assert_true(program->pid >= 0);
	if (program->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(program->turns[0][0], &use, 1) == 1) {
			for (int i = 0; i < TIMES; i++)
				uses[use].call(i);
			if (write(program->turns[1][1], &use, 1) != 1)
				_exit(1);
		}
		_exit(1);
	}
	assert_int_equal(capture_follow(fixture.capture, program->pid), 0);
	set_probes(program->pid);
	set_giving_up_probe(program->pid);
}

static void end_program(struct program *program)
{
	(void)kill(program->pid, SIGKILL);
	(void)waitpid(program->pid, NULL, 0);
	for (int i = 0; i < 4; i++)
		(void)close(program->turns[i / 2][i % 2]);
}

/* Leaves what it allocated and what of it lives in the fixture. */
static void play(const struct program *program, uint8_t use)
{
	fixture.count = 0;
	fixture.allocated_bytes = 0;
	/* From then on its calls of malloc() do not count. */
	if (uses[use].call == report_each)
		set_report_probes(program->pid);
	assert_int_equal(write(program->turns[0][1], &use, 1), 1);
	assert_int_equal(read(program->turns[1][0], &use, 1), 1);
	drain_once();
}

static uint64_t calls_lost(void)
{
	struct capture_cost cost;

	capture_read_cost(fixture.capture, &cost);
	return cost.allocator_calls_lost;
}

static void each_byte_is_counted(uint32_t sources, size_t unwind_bytes)
{
	struct program program;

	open_fixture(sources, unwind_bytes);
	start_program(&program);
	for (uint8_t i = 0; i < ARRAY_SIZE(uses); i++) {
		uint64_t lost = calls_lost();

		play(&program, i);
		lost = calls_lost() - lost;
		if (sources & ALLOC && fixture.allocated_bytes != uses[i].allocated * TIMES)
			fail_msg("%s: %" PRIu64 " bytes allocated instead of %" PRIu64,
				uses[i].name, fixture.allocated_bytes, uses[i].allocated * TIMES);
		if (sources & LIVE && live_bytes() != uses[i].live * TIMES)
			fail_msg("%s: %" PRIu64 " bytes live instead of %" PRIu64, uses[i].name,
				live_bytes(), uses[i].live * TIMES);
		/* malloc() finds the notes, if it leaves one. */
		if (sources & LIVE && lost != (uses[i].call == allocate_after_all) * TIMES)
			fail_msg("%s: %" PRIu64 " calls lost", uses[i].name, lost);
	}
	end_program(&program);
	close_fixture();
}

static void each_byte_that_is_allocated_is_counted(void **state)
{
	each_byte_is_counted(ALLOC, NO_WALKS);
}

static void each_byte_that_lives_is_counted(void **state)
{
	each_byte_is_counted(LIVE, NO_WALKS);
}

static void both_are_counted_together(void **state)
{
	each_byte_is_counted(ALLOC | LIVE, UNWIND_BYTES);
}

static void only_followed_processes_get_probes(void **state)
{
	open_fixture(ALLOC, NO_WALKS);
	assert_int_equal(set_probe(getpid(), "malloc", PILOTLIGHT_HEAP_MALLOC), -EPERM);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	assert_int_equal(set_probe(getpid(), "malloc", PILOTLIGHT_HEAP_FUNCTIONS), -EINVAL);
	close_fixture();
	open_fixture(0, NO_WALKS);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
	assert_int_equal(set_probe(getpid(), "malloc", PILOTLIGHT_HEAP_MALLOC), -EOPNOTSUPP);
	close_fixture();
}

static void heaps_of_all_processes_are_refused(void **state)
{
	struct capture_settings settings = {
		.rate_hz = RATE_HZ,
		.map_budget_bytes = MAP_BYTES,
		.sources = ALLOC | 1U << PILOTLIGHT_SOURCE_CPU,
		.periods = { [PILOTLIGHT_SOURCE_HEAP_ALLOC] = 1 },
	};
	struct capture *capture = NULL;
	struct fault fault = { 0 };

	assert_int_equal(capture_open(&settings, &capture, &fault), -EOPNOTSUPP);
	assert_non_null(strstr(fault.text, "-p"));
	assert_null(capture);
}

static void a_full_map_is_cleared(void **state)
{
	_cleanup_close_ int map_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct pilotlight_live_key),
			sizeof(struct pilotlight_live), MAP_SLOTS, NULL);
	const struct pilotlight_live live = { .time_ns = 1 };
	struct pilotlight_live_key key = { .source = PILOTLIGHT_SOURCE_HEAP_LIVE };

	assert_true(map_fd >= 0);
	assert_int_equal(live_map_clear(map_fd), 0);
	for (key.address = 0; key.address < MAP_SLOTS; key.address++)
		assert_int_equal(bpf_map_update_elem(map_fd, &key, &live, BPF_NOEXIST), 0);
	assert_int_equal(live_map_clear(map_fd), 0);
	assert_true(bpf_map_get_next_key(map_fd, NULL, &key) < 0);
	assert_int_equal(live_map_clear(-1), -EBADF);
}

static int load_library(void **state)
{
	*(void **)&library.malloc = dlsym(RTLD_DEFAULT, "malloc");
	*(void **)&library.calloc = dlsym(RTLD_DEFAULT, "calloc");
	*(void **)&library.realloc = dlsym(RTLD_DEFAULT, "realloc");
	*(void **)&library.aligned_alloc = dlsym(RTLD_DEFAULT, "aligned_alloc");
	*(void **)&library.valloc = dlsym(RTLD_DEFAULT, "valloc");
	*(void **)&library.posix_memalign = dlsym(RTLD_DEFAULT, "posix_memalign");
	*(void **)&library.free = dlsym(RTLD_DEFAULT, "free");
	return library.valloc && library.free ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_that_is_allocated_is_counted),
		cmocka_unit_test(each_byte_that_lives_is_counted),
		cmocka_unit_test(both_are_counted_together),
		cmocka_unit_test(only_followed_processes_get_probes),
		cmocka_unit_test(heaps_of_all_processes_are_refused),
		cmocka_unit_test(a_full_map_is_cleared),
	};

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		return EXIT_SUCCESS;
	}
	return cmocka_run_group_tests(tests, load_library, NULL);
}
