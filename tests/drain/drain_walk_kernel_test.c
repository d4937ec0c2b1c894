/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler's own walk, on this very program: every file that it asks for is said to keep frame
 * pointers, so that no unwind table is needed.
 */
#include "base/array.h"
#include "base/clock.h"
#include "drain/drain.h"
#include "pilotlight/walk.h"
#include "tests/drain/cpu_window.h"
#include "tests/harness/cgroup.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LOOP_FRAMES_MAX = 3 };
enum { RATE_HZ = 999, DEPTH = 40, FILES_MAX = 64, UNWIND_BYTES = 1 << 20, MAP_BYTES = 16 << 20 };

struct fixture {
	struct capture *capture;
	struct drain *drain;
	struct accounts total;
	struct pilotlight_file_key files[FILES_MAX];
	size_t file_count;
	struct stat due; /* the file whose entry is due */
	size_t due_requests;
	uint64_t walked, of_us, deep, of_us_by_kernel, ended[PILOTLIGHT_WALK_ENDS + 1];
	uint64_t by_path[PILOTLIGHT_PATH_COUNT], timed;
	/* Walks that begin in a loop, which may be generated code: their ends, and how many have
	 * so many frames. */
	uintptr_t loop_start, loop_end;
	uint64_t loop_ended[PILOTLIGHT_WALK_ENDS + 1], loop_frames[LOOP_FRAMES_MAX + 1];
	/* Ends of this program's walks that have more frames than that, or were cut. */
	size_t least_depth;
	uint64_t depth_ended[PILOTLIGHT_WALK_ENDS + 1];
	/* What this thread does in each cgroup, one after the other, and what is not said to be of
	 * the one where it was then. */
	struct stay {
		uint64_t cgroup_id, begin_ns, end_ns, samples;
	} stays[16];
	uint64_t of_another_cgroup;
};

/* Samples this program alone: on a busy machine, those of others would fill the ring, and samples
 * that it has no room for have no time, nor all their frames. */
static void open_fixture(
	struct fixture *fixture, size_t unwind_budget_bytes, size_t map_budget_bytes)
{
	const struct capture_settings settings = {
		.rate_hz = RATE_HZ,
		.wants_kernel = true,
		.filters_processes = true,
		.map_budget_bytes = map_budget_bytes,
		.unwind_budget_bytes = unwind_budget_bytes,
		.skips_interpreted = true, /* faster to verify */
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	*fixture = (struct fixture){ 0 };
	if (capture_open(&settings, &fixture->capture, &fault) < 0)
		fail_msg("%s", fault.text);
	if (unwind_budget_bytes > 0 && !capture_walk_maps(fixture->capture)) {
		capture_free(fixture->capture);
		print_message("skipped: this kernel keeps mappings in another way\n");
		skip();
	}
	assert_int_equal(capture_follow(fixture->capture, getpid()), 0);
	assert_int_equal(drain_new(capture_maps(fixture->capture), &fixture->drain), 0);
}

static void close_fixture(struct fixture *fixture)
{
	drain_free(fixture->drain);
	capture_free(fixture->capture);
}

static void tell_of_file(void *context, const struct pilotlight_file_key *key,
	const struct pilotlight_walk_request *request)
{
	struct fixture *fixture = context;
	struct pilotlight_walk_file file = { .flags = PILOTLIGHT_FILE_BY_FRAME_POINTER };

	assert_true(request->start < request->end);
	assert_true(request->process.tgid > 0);
	if (key->inode == fixture->due.st_ino &&
		key->size_bytes == (uint64_t)fixture->due.st_size) {
		file.flags |= PILOTLIGHT_FILE_IS_DUE;
		fixture->due_requests++;
	}
	if (fixture->file_count == FILES_MAX)
		return;
	fixture->files[fixture->file_count] = *key;
	file.id = (uint32_t)fixture->file_count++;
	assert_int_equal(walk_maps_put_file(capture_walk_maps(fixture->capture), key, &file), 0);
}

static void take_stay(struct fixture *fixture, const struct raw_sample *sample)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixture->stays); i++) {
		struct stay *stay = &fixture->stays[i];

		if (sample->tid != (uint32_t)gettid() || sample->first_ns <= stay->begin_ns ||
			sample->first_ns >= stay->end_ns)
			continue;
		stay->samples += sample->count;
		fixture->of_another_cgroup +=
			sample->cgroup_id == stay->cgroup_id ? 0 : sample->count;
	}
}

static bool is_in_loop(const struct fixture *fixture, const struct raw_sample *sample)
{
	uint64_t ip =
		sample->walk_count > 0 ? sample->walk_frames[0] & PILOTLIGHT_FRAME_ADDRESS_MASK : 0;

	return sample->process.tgid == (uint32_t)getpid() && ip >= fixture->loop_start &&
	       ip < fixture->loop_end;
}

static int take_sample(void *context, const struct raw_sample *sample)
{
	struct fixture *fixture = context;

	take_stay(fixture, sample);
	if (sample->walker != PILOTLIGHT_WALKER_TABLES) {
		fixture->of_us_by_kernel +=
			sample->process.tgid == (uint32_t)getpid() ? sample->count : 0;
		return 0;
	}
	fixture->walked += sample->count;
	fixture->ended[sample->walk_end] += sample->count;
	if (is_in_loop(fixture, sample)) {
		fixture->loop_ended[sample->walk_end] += sample->count;
		fixture->loop_frames[sample->walk_count < LOOP_FRAMES_MAX ? sample->walk_count
									  : LOOP_FRAMES_MAX] +=
			sample->count;
	}
	fixture->by_path[sample->path] += sample->count;
	fixture->timed += sample->path == PILOTLIGHT_PATH_RING && sample->count == 1 &&
			  sample->first_ns == sample->last_ns && sample->first_ns > 0;
	assert_true(sample->walk_count <= (sample->walk_end == PILOTLIGHT_WALK_DEEP
							  ? PILOTLIGHT_WALK_CUT_DEPTH
							  : PILOTLIGHT_WALK_DEPTH));
	assert_int_equal(sample->user_count + sample->user_ip_count, 0);
	if (sample->process.tgid == (uint32_t)getpid()) {
		fixture->of_us += sample->count;
		fixture->deep += sample->walk_count > DEPTH ? sample->count : 0;
		if (sample->walk_count > fixture->least_depth ||
			sample->walk_end == PILOTLIGHT_WALK_DEEP)
			fixture->depth_ended[sample->walk_end] += sample->count;
	}
	return 0;
}

static void drain_once(struct fixture *fixture)
{
	struct accounts accounts = { 0 };

	assert_int_equal(drain_flip(fixture->drain), 0);
	assert_int_equal(drain_cpu_window(fixture->drain, take_sample, fixture, &accounts), 0);
	assert_true(accounts_close(&accounts));
	accounts_add(&fixture->total, &accounts);
}

__attribute__((noinline)) static unsigned recurse(unsigned depth, unsigned rounds)
{
	volatile unsigned sum = 0;

	if (depth > 0) {
		sum = recurse(depth - 1, rounds); /* kept, so that no loop is made of it */
		return sum + 1;
	}
	for (unsigned i = 0; i < rounds; i++)
		sum += i;
	return sum;
}

static void record_turns(struct fixture *fixture, unsigned turns)
{
	struct fault fault = { 0 };

	if (capture_start(fixture->capture, &fault) < 0)
		fail_msg("%s", fault.text);
	for (unsigned i = 0; i < turns; i++) {
		(void)recurse(DEPTH, 100000000);
		if (capture_walk_maps(fixture->capture))
			assert_true(walk_maps_drain_requests(capture_walk_maps(fixture->capture),
					    tell_of_file, fixture) >= 0);
		drain_once(fixture);
	}
	capture_stop(fixture->capture);
	drain_once(fixture);
}

static void record(struct fixture *fixture)
{
	record_turns(fixture, 4);
}

static void stacks_come_with_their_frames(void **state)
{
	struct fixture fixture;
	uint64_t ends = 0;

	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	record(&fixture);
	assert_true(fixture.file_count > 0);
	assert_true(fixture.deep > 20);
	assert_true(fixture.deep * 10 > fixture.of_us * 9);
	assert_int_equal(fixture.walked, fixture.total.walked[PILOTLIGHT_WALKER_TABLES]);
	for (size_t i = 0; i < PILOTLIGHT_WALK_ENDS; i++) {
		assert_int_equal(fixture.ended[i], fixture.total.ends[i]);
		ends += fixture.total.ends[i];
	}
	assert_int_equal(ends, fixture.walked);
	assert_int_equal(fixture.ended[PILOTLIGHT_WALK_ENDS], 0); /* none is missing */
	/* Each with a time of its own. */
	assert_int_equal(fixture.timed, fixture.walked);
	close_fixture(&fixture);
}

/* By its entry, while it is requested again and again. */
static void a_file_that_is_due_is_walked_and_requested(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	assert_int_equal(stat("/proc/self/exe", &fixture.due), 0);
	record_turns(&fixture, 4);
	assert_true(fixture.due_requests >= 2);
	assert_true(fixture.deep > 0);
	close_fixture(&fixture);
}

/* The smallest ring, unread for long: samples that do not fit are counted. */
static void a_nearly_full_ring_counts_stacks_in_the_kernel(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, UNWIND_BYTES, 0);
	record(&fixture);
	fixture.of_us = fixture.deep = fixture.of_us_by_kernel = fixture.timed = 0;
	memset(fixture.by_path, 0, sizeof(fixture.by_path));
	for (unsigned turn = 0; turn < 20 && fixture.by_path[PILOTLIGHT_PATH_MAP] < 1000; turn++) {
		struct fault fault = { 0 };

		if (capture_start(fixture.capture, &fault) < 0)
			fail_msg("%s", fault.text);
		for (unsigned i = 0; i < 20; i++)
			(void)recurse(DEPTH, 100000000);
		capture_stop(fixture.capture);
		drain_once(&fixture);
	}
	assert_true(fixture.by_path[PILOTLIGHT_PATH_RING] > 0);
	assert_true(fixture.by_path[PILOTLIGHT_PATH_MAP] >= 1000);
	assert_int_equal(fixture.timed, fixture.by_path[PILOTLIGHT_PATH_RING]);
	/* They have their frames all the same, but for stacks that came when it was full: few, as
	 * they are mostly the same one. */
	assert_true(fixture.of_us > 100);
	assert_true(fixture.of_us_by_kernel < fixture.of_us / 10);
	assert_int_equal(fixture.ended[PILOTLIGHT_WALK_ENDS], 0);
	assert_true(fixture.deep * 10 > fixture.of_us * 9);
	/* Walked before they were lost. */
	assert_in_range(fixture.total.walked[PILOTLIGHT_WALKER_TABLES] - fixture.walked, 0,
		fixture.total.dropped[PILOTLIGHT_DROP_RING_FULL]);
	close_fixture(&fixture);
}

/* Of this thread. */
static void use_cpu_ms(uint64_t ms)
{
	const uint64_t end_ns = clock_thread_cpu_ns() + ms * 1000000;

	while (clock_thread_cpu_ns() < end_ns)
		(void)recurse(DEPTH, 100000);
}

/* Returns NULL, or why it cannot be. */
static const char *stay_in_new_cgroup(struct stay *stay, const struct test_cgroup *home)
{
	struct test_cgroup cgroup;
	const char *missing;
	char name[64];
	int r;

	(void)snprintf(name, sizeof(name), "drain_walk_kernel_test-%d", (int)getpid());
	missing = test_cgroup_make(&cgroup, name);
	if (missing)
		return missing;
	r = test_cgroup_enter(&cgroup, getpid());
	stay->cgroup_id = cgroup.id;
	stay->begin_ns = clock_monotonic_ns();
	use_cpu_ms(30);
	stay->end_ns = clock_monotonic_ns();
	if (test_cgroup_enter(home, getpid()) < 0 || test_cgroup_remove(&cgroup) < 0 || r < 0)
		return "the cgroup cannot be entered, or not be left";
	return NULL;
}

/* One after the other and all in one window, so that the kernel gives the memory of one to the
 * next: nothing that is remembered of the one is of the other. */
static void a_thread_that_is_moved_has_the_cgroup_where_it_is(void **state)
{
	struct test_cgroup home;
	struct fixture fixture;
	struct fault fault = { 0 };
	const char *missing = test_cgroup_current(&home);

	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	/* Samples that the kernel walks have no times of their own. */
	use_cpu_ms(100);
	assert_true(walk_maps_drain_requests(
			    capture_walk_maps(fixture.capture), tell_of_file, &fixture) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(fixture.stays) && !missing; i++) {
		missing = stay_in_new_cgroup(&fixture.stays[i], &home);
		/* The kernel frees the one behind a grace period. */
		(void)usleep(120000);
	}
	capture_stop(fixture.capture);
	drain_once(&fixture);
	close_fixture(&fixture);
	if (missing) {
		print_message("skipped: %s\n", missing);
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixture.stays); i++)
		assert_true(fixture.stays[i].samples > 0);
	assert_int_equal(fixture.of_another_cgroup, 0);
}

/* Runs a loop that has `frame_pointer` in %rbp. */
typedef void (*generated_loop)(const void *frame_pointer, uint64_t rounds);

enum { SLOW_SAMPLE_NS = 150 * 1000 };
enum { LOOP_SAMPLES = 20, LOOP_TURNS_MAX = 50, LOOP_BEGINS = 4, LOOP_ENDS = 9 };

/* Until `samples` counts enough, which takes a busy virtual machine several turns. */
static void sample_loop(struct fixture *fixture, generated_loop loop, const void *frame_pointer,
	const uint64_t *samples)
{
	for (unsigned turn = 0; turn < LOOP_TURNS_MAX && *samples < LOOP_SAMPLES; turn++) {
		const uint64_t end = clock_thread_cpu_ns() + 100000000;
		struct fault fault = { 0 };

		if (capture_start(fixture->capture, &fault) < 0)
			fail_msg("%s", fault.text);
		while (clock_thread_cpu_ns() < end)
			loop(frame_pointer, 1000000);
		capture_stop(fixture->capture);
		drain_once(fixture);
	}
}

/* In an emulated machine all deep walks take too long. */
static bool is_slow(const struct accounts *before, const struct accounts *after)
{
	return after->run_ns - before->run_ns > (after->fired - before->fired) * SLOW_SAMPLE_NS;
}

/* All walks of a recursion end so, except where the host took the time. */
static void check_depth(struct fixture *fixture, unsigned depth, enum pilotlight_walk_end wanted)
{
	const struct accounts before = fixture->total;
	const uint64_t *ended = fixture->depth_ended;

	fixture->least_depth = depth;
	memset(fixture->depth_ended, 0, sizeof(fixture->depth_ended));
	for (unsigned turn = 0; turn < LOOP_TURNS_MAX && ended[wanted] < LOOP_SAMPLES; turn++) {
		struct fault fault = { 0 };

		if (capture_start(fixture->capture, &fault) < 0)
			fail_msg("%s", fault.text);
		(void)recurse(depth, 100000000);
		capture_stop(fixture->capture);
		drain_once(fixture);
	}
	for (size_t end = 0; end <= PILOTLIGHT_WALK_ENDS; end++)
		if (end != wanted && end != PILOTLIGHT_WALK_DEEP)
			assert_int_equal(ended[end], 0);
	if (wanted != PILOTLIGHT_WALK_DEEP && is_slow(&before, &fixture->total)) {
		print_message("this machine is too slow for %u frames\n", depth);
		return;
	}
	assert_true(ended[wanted] >= LOOP_SAMPLES);
	if (wanted != PILOTLIGHT_WALK_DEEP)
		assert_true(ended[PILOTLIGHT_WALK_DEEP] <= ended[wanted] / 5);
}

static void recursions_reach_the_root_up_to_the_greatest_depth(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	record(&fixture);
	check_depth(&fixture, 400, PILOTLIGHT_WALK_ROOT);
	check_depth(&fixture, 900, PILOTLIGHT_WALK_ROOT);
	check_depth(&fixture, PILOTLIGHT_WALK_DEPTH - 1, PILOTLIGHT_WALK_DEEP);
	check_depth(&fixture, 3 * PILOTLIGHT_WALK_DEPTH, PILOTLIGHT_WALK_DEEP);
	close_fixture(&fixture);
}

static generated_loop generate_loop(struct fixture *fixture)
{
	static const uint8_t code[] = {
		0x55,		  /* push %rbp */
		0x48, 0x89, 0xfd, /* mov %rdi, %rbp */
		0x48, 0xff, 0xce, /* dec %rsi */
		0x75, 0xfb,	  /* jnz to the dec */
		0x5d,		  /* pop %rbp */
		0xc3,		  /* ret */
	};
	char *memory = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	memcpy(memory, code, sizeof(code));
	/* Without the code before and behind it, whose caller is known. */
	fixture->loop_start = (uintptr_t)memory + LOOP_BEGINS;
	fixture->loop_end = (uintptr_t)memory + LOOP_ENDS;
	return (generated_loop)(void *)memory;
}

/* The reason is neither where the register leads to nor what is there. */
static void generated_code_without_frame_pointer_is_the_reason(void **state)
{
	uint64_t *pair = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t on_stack[2] = { 0, 0 };
	const struct {
		const char *name;
		const void *frame_pointer;
	} cases[] = {
		{ "zero", NULL },
		{ "below the stack", pair },
		{ "no address", (const void *)(UINTPTR_MAX / 2) },
		{ "a pair whose second word leads to no memory", on_stack },
		{ "a pair whose second word leads to data", on_stack },
	};
	struct fixture fixture;

	assert_ptr_not_equal(pair, MAP_FAILED);
	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		generated_loop loop = generate_loop(&fixture);

		memset(fixture.loop_ended, 0, sizeof(fixture.loop_ended));
		on_stack[1] = i == ARRAY_SIZE(cases) - 1 ? (uintptr_t)pair + 64 : 4097;
		sample_loop(&fixture, loop, cases[i].frame_pointer,
			&fixture.loop_ended[PILOTLIGHT_WALK_NO_FRAME_POINTER]);
		assert_int_equal(
			munmap((void *)(fixture.loop_start - LOOP_BEGINS), (size_t)getpagesize()),
			0);
		for (size_t end = 0; end <= PILOTLIGHT_WALK_ENDS; end++)
			if (end == PILOTLIGHT_WALK_NO_FRAME_POINTER
					? fixture.loop_ended[end] < LOOP_SAMPLES
					: fixture.loop_ended[end] > 0)
				fail_msg("%s: %lu of end %zu", cases[i].name,
					fixture.loop_ended[end], end);
	}
	close_fixture(&fixture);
	assert_int_equal(munmap(pair, (size_t)getpagesize()), 0);
}

/* Runs a loop that has `frame_pointer` in %rbp. */
void loop_with(const void *frame_pointer, uint64_t rounds);
extern const char loop_begins[], loop_ends[], behind_call_of_loop[];
__asm__(".text\n"
	"loop_with:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rbp\n"
	"loop_begins:\n"
	"	dec %rsi\n"
	"	jnz loop_begins\n"
	"loop_ends:\n"
	"	pop %rbp\n"
	"	ret\n"
	"	call loop_with\n"
	"behind_call_of_loop:\n"
	"	nop\n" /* no epilogue, which would be a way on */
	"	ret\n");

/* The engine tells of no file. */
static void without_a_table_only_callers_behind_calls_are_drawn(void **state)
{
	const struct {
		uintptr_t return_address;
		size_t frames;
	} cases[] = {
		{ (uintptr_t)loop_begins, 1 },
		{ (uintptr_t)behind_call_of_loop + 1, 1 },
		{ (uintptr_t)behind_call_of_loop, 2 },
	};
	struct fixture fixture;

	open_fixture(&fixture, UNWIND_BYTES, MAP_BYTES);
	fixture.loop_start = (uintptr_t)loop_begins;
	fixture.loop_end = (uintptr_t)loop_ends;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uintptr_t on_stack[] = { 0, cases[i].return_address };

		memset(fixture.loop_ended, 0, sizeof(fixture.loop_ended));
		memset(fixture.loop_frames, 0, sizeof(fixture.loop_frames));
		sample_loop(&fixture, loop_with, on_stack, &fixture.loop_frames[cases[i].frames]);
		assert_true(fixture.loop_frames[cases[i].frames] >= LOOP_SAMPLES);
		for (size_t count = 0; count <= LOOP_FRAMES_MAX; count++)
			if (count != cases[i].frames)
				assert_int_equal(fixture.loop_frames[count], 0);
		/* Though a frame pointer of 0 ends the last one's chain. */
		assert_int_equal(fixture.loop_ended[PILOTLIGHT_WALK_NO_TABLE],
			fixture.loop_frames[cases[i].frames]);
		assert_int_equal(fixture.of_us_by_kernel, 0);
	}
	close_fixture(&fixture);
}

static void without_table_memory_the_kernel_walks(void **state)
{
	struct fixture fixture;

	open_fixture(&fixture, 0, MAP_BYTES);
	assert_null(capture_walk_maps(fixture.capture));
	record(&fixture);
	assert_int_equal(fixture.total.walked[PILOTLIGHT_WALKER_TABLES], 0);
	assert_true(fixture.total.walked[PILOTLIGHT_WALKER_KERNEL] > 0);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_come_with_their_frames),
		cmocka_unit_test(a_file_that_is_due_is_walked_and_requested),
		cmocka_unit_test(recursions_reach_the_root_up_to_the_greatest_depth),
		cmocka_unit_test(a_nearly_full_ring_counts_stacks_in_the_kernel),
		cmocka_unit_test(a_thread_that_is_moved_has_the_cgroup_where_it_is),
		cmocka_unit_test(generated_code_without_frame_pointer_is_the_reason),
		cmocka_unit_test(without_a_table_only_callers_behind_calls_are_drawn),
		cmocka_unit_test(without_table_memory_the_kernel_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
