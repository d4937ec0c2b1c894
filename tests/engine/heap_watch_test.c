/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library of this process is watched; the capture that sets the probes is made up. */
#include "engine/heap_watch.h"

#include "base/clock.h"
#include "broker/broker.h"
#include "capture/capture.h"
#include "process/process_table.h"
#include "tests/dwarf/usdt_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILD = 2000000001, ORPHAN, STRANGER };

static struct {
	unsigned probes, reporters;
	int error;
	struct pilotlight_capture_probe last;
	struct capture_maps maps;
} world;

int capture_set_probe(struct capture *capture, const struct pilotlight_capture_probe *probe)
{
	if (world.error)
		return world.error;
	if (probe->function == PILOTLIGHT_HEAP_REPORTS) {
		world.reporters++;
		return 0;
	}
	world.probes++;
	world.last = *probe;
	return 0;
}

const struct capture_maps *capture_maps(const struct capture *capture)
{
	return &world.maps;
}

static struct fixture {
	struct broker *broker;
	struct process_table *processes;
	struct heap_watch *watch;
	struct process_mapping library;
} fixture;

/* Tells the table of a file that this process executes, as if process `pid` had mapped it. */
static struct process_mapping map_file(pid_t pid, const char *name)
{
	struct process_mapping mapping;
	_cleanup_fclose_ FILE *file = fopen("/proc/self/maps", "re");
	char line[512], path[256];
	struct process_mapping_event event = { .path = path };

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char kind[8];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %255s",
			    &event.start, &event.end, kind, &event.offset, &event.inode,
			    path) == 6 &&
			strstr(path, name) && kind[2] == 'x')
			break;
	}
	assert_non_null(strstr(path, name));
	mapping = (struct process_mapping){
		.start = event.start,
		.end = event.end,
		.offset = event.offset,
	};
	assert_int_equal(process_table_map(fixture.processes, pid, clock_monotonic_ns(), &event,
				 &mapping.file),
		0);
	return mapping;
}

static void map_library(pid_t pid)
{
	fixture.library = map_file(pid, "/libc.so");
}

/* Maps a file with an allocator that samples itself. */
static struct process_mapping map_reporter(void)
{
	static struct usdt_fixture file;
	char path[] = "/tmp/heap_watch_test.XXXXXX";
	int fd = mkstemp(path);
	struct process_mapping mapping;

	usdt_fixture_init(&file);
	usdt_fixture_add_with(&file, USDT_FIXTURE_CODE, USDT_FIXTURE_BASE, 0, "otel_memory",
		"alloc", "8@%rdi 8@%rsi 8@%rdx");
	usdt_fixture_add_with(&file, USDT_FIXTURE_CODE + 16, USDT_FIXTURE_BASE, 0, "otel_memory",
		"free", "8@%rdi");
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	(void)close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_ptr_not_equal(
		mmap(NULL, sizeof(file), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	(void)close(fd);
	mapping = map_file(getpid(), path);
	assert_int_equal(unlink(path), 0);
	return mapping;
}

/* Handles a file that is being read. */
static void await_file(void)
{
	struct pollfd waited = { .fd = heap_watch_poll_fd(fixture.watch), .events = POLLIN };

	assert_int_equal(poll(&waited, 1, -1), 1);
	heap_watch_run(fixture.watch);
}

static int set_up(void **state)
{
	memset(&world, 0, sizeof(world));
	world.maps.live_fd = -1;
	assert_int_equal(broker_new(NULL, &fixture.broker), 0);
	assert_int_equal(process_table_new(&process_table_default_limits, &fixture.processes), 0);
	assert_int_equal(
		heap_watch_new(NULL, fixture.broker, fixture.processes, NULL, &fixture.watch), 0);
	return 0;
}

static int tear_down(void **state)
{
	heap_watch_free(fixture.watch);
	process_table_free(fixture.processes);
	broker_free(fixture.broker);
	return 0;
}

static void begin(void)
{
	struct fault fault = { 0 };

	map_library(getpid());
	assert_int_equal(heap_watch_follow(fixture.watch, getpid()), 0);
	assert_int_equal(heap_watch_begin(fixture.watch, &fault), 0);
}

static void what_is_mapped_gets_probes(void **state)
{
	struct heap_watch_counters counters;

	begin();
	assert_true(world.probes >= 7);
	assert_int_equal(world.last.pid, getpid());
	assert_int_equal(world.last.mapping_start, fixture.library.start);
	assert_int_equal(world.last.mapping_end, fixture.library.end);
	/* Those that free come first. */
	assert_int_equal(world.last.function, PILOTLIGHT_HEAP_MALLOC);
	heap_watch_counters(fixture.watch, &counters);
	assert_int_equal(counters.allocators, 1);
	assert_int_equal(counters.probes, world.probes);
	assert_int_equal(counters.refused, 0);
}

/* More files than may wait are mapped, by processes that come before this one. */
static void many_processes_leave_room_for_the_last(void **state)
{
	enum { PROCESSES = 50, FILES = 100 };
	struct heap_watch_counters counters;
	char path[64];
	struct process_mapping_event event = { .path = path };
	uint32_t file;

	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(heap_watch_follow(fixture.watch, CHILD + i), 0);
		for (int j = 0; j < FILES; j++) {
			(void)snprintf(path, sizeof(path), "/none/%d/%d", i, j);
			event.start = 0x100000 * (uint64_t)(j + 1);
			event.end = event.start + 0x1000;
			event.inode = (uint64_t)(i * FILES + j + 1);
			assert_int_equal(process_table_map(fixture.processes, CHILD + i,
						 clock_monotonic_ns(), &event, &file),
				0);
		}
	}
	begin();
	assert_true(world.probes >= 7);
	heap_watch_counters(fixture.watch, &counters);
	assert_int_equal(counters.refused, 0);
}

/* Before it is read, a file that is mapped often waits once. */
static void mappings_of_one_file_wait_once(void **state)
{
	enum { MAPPINGS = 5000 };
	struct heap_watch_counters counters;
	struct process_mapping mapping;

	begin();
	mapping = map_reporter();
	for (int i = 0; i < MAPPINGS; i++)
		heap_watch_mapped(fixture.watch, getpid(), &mapping);
	await_file();
	assert_int_equal(world.reporters, 1);
	heap_watch_counters(fixture.watch, &counters);
	assert_int_equal(counters.refused, 0);
}

static void a_file_gets_probes_once(void **state)
{
	unsigned probes;

	begin();
	probes = world.probes;
	heap_watch_mapped(fixture.watch, getpid(), &fixture.library);
	assert_int_equal(world.probes, probes);
}

static void a_child_has_its_parents_probes(void **state)
{
	unsigned probes;

	begin();
	probes = world.probes;
	heap_watch_forked(fixture.watch, getpid(), CHILD, clock_monotonic_ns());
	heap_watch_mapped(fixture.watch, CHILD, &fixture.library);
	assert_int_equal(world.probes, probes);
	/* A thread is no child. */
	heap_watch_forked(fixture.watch, CHILD, CHILD, clock_monotonic_ns());
}

static void others_are_left_alone(void **state)
{
	unsigned probes;

	begin();
	probes = world.probes;
	heap_watch_mapped(fixture.watch, STRANGER, &fixture.library);
	heap_watch_forked(fixture.watch, STRANGER, ORPHAN, clock_monotonic_ns());
	heap_watch_mapped(fixture.watch, ORPHAN, &fixture.library);
	heap_watch_ended(fixture.watch, getpid());
	heap_watch_mapped(fixture.watch, getpid(), &fixture.library);
	assert_int_equal(world.probes, probes);
}

static void a_reporter_has_no_other_probes(void **state)
{
	struct fault fault = { 0 };

	map_library(getpid());
	(void)map_reporter();
	assert_int_equal(heap_watch_follow(fixture.watch, getpid()), 0);
	assert_int_equal(heap_watch_begin(fixture.watch, &fault), 0);
	assert_int_equal(world.probes, 2);
	assert_int_equal(world.reporters, 1);
	assert_int_equal(world.last.function, PILOTLIGHT_HEAP_REPORT_ALLOC);
	assert_int_equal(world.last.offset, 0x1000);
	assert_true(world.last.arguments != 0);
	/* Its child reports as well; a program that it executes has an allocator of its own. */
	heap_watch_forked(fixture.watch, getpid(), CHILD, clock_monotonic_ns());
	map_library(CHILD);
	heap_watch_mapped(fixture.watch, CHILD, &fixture.library);
	assert_int_equal(world.probes, 2);
	heap_watch_executed(fixture.watch, CHILD);
	heap_watch_mapped(fixture.watch, CHILD, &fixture.library);
	assert_true(world.probes >= 2 + 7);
}

/* Others' probes were set before: only the flag says that they do not count. */
static void a_reporter_that_is_mapped_later_is_read_meanwhile(void **state)
{
	struct process_mapping mapping;
	unsigned probes;

	begin();
	probes = world.probes;
	mapping = map_reporter();
	heap_watch_mapped(fixture.watch, getpid(), &mapping);
	heap_watch_forked(fixture.watch, getpid(), CHILD, clock_monotonic_ns());
	assert_int_equal(
		process_table_fork(fixture.processes, CHILD, getpid(), clock_monotonic_ns()), 0);
	assert_int_equal(world.reporters, 0);
	await_file();
	assert_int_equal(world.reporters, 2);
	assert_int_equal(world.probes, probes + 4);
}

static void what_is_unmapped_meanwhile_gets_no_probes(void **state)
{
	struct process_mapping mapping;
	unsigned probes;

	begin();
	probes = world.probes;
	mapping = map_reporter();
	heap_watch_mapped(fixture.watch, getpid(), &mapping);
	assert_int_equal(process_table_exec(fixture.processes, getpid(), clock_monotonic_ns()), 0);
	heap_watch_executed(fixture.watch, getpid());
	await_file();
	assert_int_equal(world.probes, probes);
	assert_int_equal(world.reporters, 0);
}

static void without_any_probe_nothing_begins(void **state)
{
	struct heap_watch_counters counters;
	struct fault fault = { 0 };

	world.error = -EACCES;
	map_library(getpid());
	assert_int_equal(heap_watch_follow(fixture.watch, getpid()), 0);
	assert_int_equal(heap_watch_begin(fixture.watch, &fault), -EACCES);
	assert_non_null(strstr(fault.text, "pilotlight doctor"));
	heap_watch_counters(fixture.watch, &counters);
	assert_int_equal(counters.refused, 1);
}

static void a_process_holds_its_memory_until_it_ends(void **state)
{
	uint64_t time_ns;

	begin();
	assert_int_equal(
		process_table_fork(fixture.processes, CHILD, getpid(), clock_monotonic_ns()), 0);
	time_ns = clock_monotonic_ns();
	assert_int_equal(heap_watch_holder(fixture.watch, CHILD, time_ns), HEAP_HOLDER_PROCESS);
	process_table_exit(fixture.processes, CHILD, clock_monotonic_ns());
	assert_int_equal(heap_watch_holder(fixture.watch, CHILD, time_ns), HEAP_HOLDER_NONE);
	process_table_retire(fixture.processes, clock_monotonic_ns());
	assert_int_equal(heap_watch_holder(fixture.watch, CHILD, time_ns), HEAP_HOLDER_NONE);
}

static void a_named_process_holds_it_at_its_end(void **state)
{
	uint64_t time_ns, ended_ns;

	begin();
	time_ns = clock_monotonic_ns();
	assert_int_equal(process_table_exec(fixture.processes, getpid(), clock_monotonic_ns()), 0);
	assert_int_equal(heap_watch_holder(fixture.watch, getpid(), time_ns), HEAP_HOLDER_NONE);
	ended_ns = clock_monotonic_ns();
	process_table_exit(fixture.processes, getpid(), clock_monotonic_ns());
	assert_int_equal(heap_watch_holder(fixture.watch, getpid(), ended_ns), HEAP_HOLDER_PROCESS);
}

static void allocations_fail_cleanly(void **state)
{
	struct heap_watch *watch = NULL;

	assert_int_equal(FAIL_EACH_ALLOCATION(heap_watch_new(NULL, NULL, NULL, NULL, &watch),
				 -ENOMEM, !watch, 0),
		3);
	for (size_t n = 0; n < 2; n++) {
		fail_allocation(n);
		assert_int_equal(heap_watch_follow(watch, CHILD + (pid_t)n), -ENOMEM);
		assert_true(allocation_failed());
	}
	assert_int_equal(heap_watch_follow(watch, CHILD), 0);
	heap_watch_free(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_mapped_gets_probes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			many_processes_leave_room_for_the_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mappings_of_one_file_wait_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_gets_probes_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_child_has_its_parents_probes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reporter_has_no_other_probes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_reporter_that_is_mapped_later_is_read_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_unmapped_meanwhile_gets_no_probes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_any_probe_nothing_begins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_process_holds_its_memory_until_it_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_named_process_holds_it_at_its_end, set_up, tear_down),
		cmocka_unit_test(allocations_fail_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
