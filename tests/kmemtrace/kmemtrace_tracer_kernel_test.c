/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_tracer.h"

#include "kmemtrace/kmemtrace_event.h"
#include "tests/harness/privilege.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIPES = 50, PIPE_BYTES = 65536 };
enum { CALLS = 2000, SEQUENCES_MAX = 1 << 22 };

struct world {
	struct kmemtrace_tracer *tracer;
	uint64_t events, bytes, with_stack, pages, without_site;
	bool is_damaged, is_repeated;
	uint8_t has[SEQUENCES_MAX / 8]; /* by sequence number */
};

static void skip_without_bpf(void)
{
	if (!privilege_lacks_bpf())
		return;
	print_message("skipped: %s\n", privilege_lacks_bpf());
	skip();
}

static bool is_traced(const struct kmemtrace_tracer *tracer, uint32_t cpu)
{
	size_t count;
	const uint32_t *cpus = kmemtrace_tracer_cpus(tracer, &count);

	for (size_t i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static void take(void *context, uint32_t cpu, const void *bytes, size_t size)
{
	struct world *world = context;
	struct kmemtrace_event event;
	uint32_t number;

	world->events++;
	world->bytes += size;
	if (!is_traced(world->tracer, cpu) ||
		kmemtrace_event_parse(bytes, size, &event) != (int)size) {
		world->is_damaged = true;
		return;
	}
	world->with_stack += event.has_stack;
	if (event.type_id == PILOTLIGHT_KMEMTRACE_PAGES) {
		world->pages += event.event_id == PILOTLIGHT_KMEMTRACE_ALLOC && event.pointer != 0;
		world->without_site += event.call_site == 0;
	}
	number = (uint32_t)event.sequence;
	if (number == 0 || number >= SEQUENCES_MAX)
		return;
	world->is_repeated |= world->has[number / 8] >> number % 8 & 1;
	world->has[number / 8] |= (uint8_t)(1 << number % 8);
}

static struct world *set_up_with(const struct kmemtrace_tracer_settings *settings)
{
	struct world *world = calloc(1, sizeof(*world));
	struct fault fault = { "" };

	assert_non_null(world);
	if (kmemtrace_tracer_new(settings, take, world, &world->tracer, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(kmemtrace_tracer_start(world->tracer, &fault), 0);
	return world;
}

static struct world *set_up(uint32_t ring_bytes, bool wants_stacks)
{
	return set_up_with(&(struct kmemtrace_tracer_settings){
		.ring_bytes = ring_bytes, .wants_stacks = wants_stacks });
}

static void tear_down(struct world *world)
{
	kmemtrace_tracer_free(world->tracer);
	free(world);
}

/* Each call allocates in the kernel, and close() frees. */
static void allocate(void)
{
	for (int i = 0; i < CALLS; i++) {
		int fd = eventfd(0, EFD_CLOEXEC);

		assert_true(fd >= 0);
		(void)close(fd);
	}
}

static void drain_all(struct world *world)
{
	kmemtrace_tracer_stop(world->tracer);
	while (kmemtrace_tracer_drain(world->tracer) > 0)
		;
	assert_false(world->is_damaged);
	assert_false(world->is_repeated);
}

static void all_events_arrive(void **state)
{
	struct world *world;

	skip_without_bpf();
	world = set_up(16 << 20, false);
	allocate();
	drain_all(world);
	/* An allocation and a free for each call, at least. */
	assert_true(world->events >= 2 * CALLS);
	assert_int_equal(world->with_stack, 0);
	tear_down(world);
}

/* A pipe holds what is written into it in pages. */
static void fill_pipes(void)
{
	static const char bytes[PIPE_BYTES];

	for (int i = 0; i < PIPES; i++) {
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
}

static void pages_have_call_sites(void **state)
{
	const struct kmemtrace_tracer_settings settings = { .ring_bytes = 16 << 20,
		.wants_pages = true };
	struct world *world;

	skip_without_bpf();
	world = set_up_with(&settings);
	fill_pipes();
	drain_all(world);
	assert_in_range(world->pages, PIPES * (PIPE_BYTES / 4096), UINT64_MAX);
	assert_int_equal(world->without_site, 0);
	tear_down(world);
	/* Who does not want them gets none. */
	world = set_up(16 << 20, false);
	fill_pipes();
	drain_all(world);
	assert_int_equal(world->pages, 0);
	tear_down(world);
}

static void stacks_are_numbered(void **state)
{
	_cleanup_free_ struct output *output = calloc(1, sizeof(*output));
	struct output_memory memory = { .limit_bytes = 64 << 20 };
	struct world *world;

	skip_without_bpf();
	assert_non_null(output);
	world = set_up(16 << 20, true);
	allocate();
	drain_all(world);
	assert_true(world->with_stack >= 2 * CALLS);
	assert_true(world->with_stack + kmemtrace_tracer_stackless_events(world->tracer) >=
		    world->events);
	output_init(output, output_to_memory, &memory);
	kmemtrace_tracer_write_stacks(world->tracer, output);
	assert_int_equal(output_finish(output), 0);
	assert_true(memory.size > 0);
	free(memory.bytes);
	tear_down(world);
}

static void a_full_ring_counts_overruns(void **state)
{
	struct world *world;
	size_t cpus;

	skip_without_bpf();
	world = set_up(4096, false);
	(void)kmemtrace_tracer_cpus(world->tracer, &cpus);
	allocate();
	drain_all(world);
	assert_true(world->bytes <= 4096 * cpus);
	/* 48 bytes and 24 bytes for each call, less the events that the rings hold. */
	assert_true(kmemtrace_tracer_overrun_bytes(world->tracer) + world->bytes >=
		    (uint64_t)CALLS * (48 + 24));
	tear_down(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_events_arrive),
		cmocka_unit_test(pages_have_call_sites),
		cmocka_unit_test(stacks_are_numbered),
		cmocka_unit_test(a_full_ring_counts_overruns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
