/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_folder.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint32_t cpus[] = { 0, 1 };
enum { CPUS = 2, EVENT_BYTES = 48, PATH_BYTES = 128 };

struct world {
	char parent[32], root[PATH_BYTES];
	struct kmemtrace_folder *folder;
};

static void path_of(const struct world *world, const char *name, char path[PATH_BYTES])
{
	(void)snprintf(path, PATH_BYTES, "%.64s/%.32s", world->root, name);
}

static void set_up(struct world *world, bool is_files)
{
	*world = (struct world){ .parent = "/tmp/kmemtrace-test.XXXXXX" };
	(void)signal(SIGPIPE, SIG_IGN);
	assert_non_null(mkdtemp(world->parent));
	(void)snprintf(world->root, sizeof(world->root), "%s/trace", world->parent);
	assert_int_equal(
		kmemtrace_folder_new(world->root, is_files, cpus, CPUS, &world->folder, NULL), 0);
}

static void tear_down(struct world *world)
{
	static const char *const files[] = { "cpu0.out", "cpu1.out", "total_overruns", "cpu0" };
	char path[PATH_BYTES];

	kmemtrace_folder_free(world->folder);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		path_of(world, files[i], path);
		(void)unlink(path);
	}
	/* Fails if the folder left a file that it should have removed. */
	assert_int_equal(rmdir(world->root), 0);
	assert_int_equal(rmdir(world->parent), 0);
}

static int open_reader(const struct world *world, const char *name)
{
	char path[PATH_BYTES];
	int fd;

	path_of(world, name, path);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void append(struct world *world, uint32_t cpu, unsigned char value)
{
	unsigned char event[EVENT_BYTES];

	memset(event, value, sizeof(event));
	kmemtrace_folder_append(world->folder, cpu, event, sizeof(event));
}

static void expect(int fd, unsigned char value)
{
	unsigned char event[EVENT_BYTES];

	assert_int_equal(read(fd, event, sizeof(event)), EVENT_BYTES);
	for (int i = 0; i < EVENT_BYTES; i++)
		assert_int_equal(event[i], value);
}

static void expect_nothing(int fd)
{
	unsigned char byte;

	assert_int_equal(read(fd, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
}

static void a_reader_gets_what_came_before_it(void **state)
{
	struct world world;
	int reader;

	set_up(&world, false);
	append(&world, 0, 1);
	append(&world, 1, 2);
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	reader = open_reader(&world, "cpu0");
	append(&world, 0, 3);
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	assert_true(kmemtrace_folder_is_flushed(world.folder));
	expect(reader, 1);
	expect(reader, 3);
	expect_nothing(reader);
	(void)close(reader);
	assert_int_equal(kmemtrace_folder_overrun_bytes(world.folder), 0);
	/* The other stream has no reader. */
	kmemtrace_folder_end(world.folder);
	assert_int_equal(kmemtrace_folder_overrun_bytes(world.folder), EVENT_BYTES);
	tear_down(&world);
}

static void an_absent_reader_costs_its_own_stream(void **state)
{
	const size_t kept = KMEMTRACE_STREAM_BYTES / EVENT_BYTES;
	struct world world;
	int reader;

	set_up(&world, false);
	for (size_t i = 0; i < kept + 10; i++)
		append(&world, 0, (unsigned char)i);
	append(&world, 1, 7);
	assert_int_equal(kmemtrace_folder_overrun_bytes(world.folder), 10 * EVENT_BYTES);
	reader = open_reader(&world, "cpu1");
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	expect(reader, 7);
	(void)close(reader);
	/* The stream has the oldest events, and whole ones. */
	reader = open_reader(&world, "cpu0");
	for (size_t i = 0; i < kept; i++) {
		assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
		expect(reader, (unsigned char)i);
	}
	expect_nothing(reader);
	(void)close(reader);
	tear_down(&world);
}

/* Its first reader took half an event. */
static void the_next_reader_begins_with_a_whole_event(void **state)
{
	unsigned char half[EVENT_BYTES / 2];
	struct world world;
	int reader;

	set_up(&world, false);
	reader = open_reader(&world, "cpu0");
	append(&world, 0, 1);
	append(&world, 0, 2);
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	assert_int_equal(read(reader, half, sizeof(half)), sizeof(half));
	(void)close(reader);
	/* The writer notices without an event to write. */
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	assert_int_equal(
		kmemtrace_folder_overrun_bytes(world.folder), 2 * EVENT_BYTES - sizeof(half));
	append(&world, 0, 4);
	reader = open_reader(&world, "cpu0");
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	expect(reader, 4);
	(void)close(reader);
	tear_down(&world);
}

/* CPUs 1 and 2 are offline. */
static void offline_cpus_have_no_stream(void **state)
{
	static const uint32_t online[] = { 0, 3 };
	struct world world;
	char path[PATH_BYTES];
	int reader;

	set_up(&world, true);
	kmemtrace_folder_free(TAKE_PTR(world.folder));
	path_of(&world, "cpu1.out", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(kmemtrace_folder_new(world.root, true, online, 2, &world.folder, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	append(&world, 3, 4);
	append(&world, 0, 5);
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	reader = open_reader(&world, "cpu3.out");
	expect(reader, 4);
	(void)close(reader);
	reader = open_reader(&world, "cpu0.out");
	expect(reader, 5);
	(void)close(reader);
	path_of(&world, "cpu3.out", path);
	assert_int_equal(unlink(path), 0);
	tear_down(&world);
}

static void a_slow_reader_is_waited_for_by_poll(void **state)
{
	struct pollfd polls[CPUS];
	struct world world;
	size_t events = 0;
	int reader;

	set_up(&world, false);
	reader = open_reader(&world, "cpu0");
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	kmemtrace_folder_polls(world.folder, polls);
	assert_int_equal(polls[0].fd, -1);
	/* More than the pipe and the stream hold. */
	for (; events < 10 * KMEMTRACE_STREAM_BYTES / EVENT_BYTES; events++) {
		append(&world, 0, 1);
		if (kmemtrace_folder_overrun_bytes(world.folder) > 0)
			break;
	}
	assert_int_equal(kmemtrace_folder_overrun_bytes(world.folder), EVENT_BYTES);
	assert_false(kmemtrace_folder_is_flushed(world.folder));
	kmemtrace_folder_polls(world.folder, polls);
	assert_true(polls[0].fd >= 0);
	assert_int_equal(polls[1].fd, -1);
	assert_int_equal(poll(polls, CPUS, 0), 0);
	for (size_t i = 0; i < events; i++) {
		assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
		expect(reader, 1);
	}
	assert_true(kmemtrace_folder_is_flushed(world.folder));
	(void)close(reader);
	tear_down(&world);
}

static void files_have_all(void **state)
{
	struct world world;
	struct stat status;
	int reader;

	set_up(&world, true);
	for (size_t i = 0; i < 3 * KMEMTRACE_STREAM_BYTES / EVENT_BYTES; i++)
		append(&world, 1, (unsigned char)i);
	assert_int_equal(kmemtrace_folder_flush(world.folder, NULL), 0);
	assert_int_equal(kmemtrace_folder_overrun_bytes(world.folder), 0);
	reader = open_reader(&world, "cpu1.out");
	assert_int_equal(fstat(reader, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0400);
	for (size_t i = 0; i < 3 * KMEMTRACE_STREAM_BYTES / EVENT_BYTES; i++)
		expect(reader, (unsigned char)i);
	(void)close(reader);
	tear_down(&world);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	struct world world;
	char text[8] = "";
	int reader;

	set_up(&world, false);
	assert_int_equal(kmemtrace_folder_put(world.folder, "total_overruns", "100\n", 4), 0);
	assert_int_equal(kmemtrace_folder_put(world.folder, "total_overruns", "7\n", 2), 0);
	reader = open_reader(&world, "total_overruns");
	assert_int_equal(read(reader, text, sizeof(text)), 2);
	assert_string_equal(text, "7\n");
	(void)close(reader);
	tear_down(&world);
}

static void one_trace_has_the_folder(void **state)
{
	struct kmemtrace_folder *second = NULL;
	struct fault fault = { "" };
	struct world world;
	char path[PATH_BYTES];

	set_up(&world, false);
	assert_int_equal(
		kmemtrace_folder_new(world.root, false, cpus, CPUS, &second, &fault), -EBUSY);
	assert_non_null(strstr(fault.text, world.root));
	/* The refused one has not removed the streams. */
	path_of(&world, "cpu0", path);
	assert_int_equal(access(path, F_OK), 0);
	tear_down(&world);
}

static void the_streams_of_an_earlier_trace_go(void **state)
{
	struct world world;
	char path[PATH_BYTES];

	set_up(&world, false);
	kmemtrace_folder_free(TAKE_PTR(world.folder));
	path_of(&world, "cpu0", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(
		kmemtrace_folder_new(world.root, false, cpus, CPUS, &world.folder, NULL), 0);
	tear_down(&world);
}

static void other_files_stay(void **state)
{
	struct fault fault = { "" };
	struct world world;
	char path[PATH_BYTES];

	set_up(&world, false);
	kmemtrace_folder_free(TAKE_PTR(world.folder));
	path_of(&world, "cpu0", path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(kmemtrace_folder_new(world.root, false, cpus, CPUS, &world.folder, &fault),
		-EEXIST);
	assert_non_null(strstr(fault.text, "cpu0"));
	assert_int_equal(unlink(path), 0);
	tear_down(&world);
}

static void a_folder_needs_its_parent(void **state)
{
	struct kmemtrace_folder *folder = NULL;
	struct fault fault = { "" };

	assert_int_equal(
		kmemtrace_folder_new("/nonexistent/trace", false, cpus, CPUS, &folder, &fault),
		-ENOENT);
	assert_non_null(strstr(fault.text, "/nonexistent/trace"));
}

static int make(const char *root)
{
	_cleanup_(kmemtrace_folder_freep) struct kmemtrace_folder *folder = NULL;

	return kmemtrace_folder_new(root, false, cpus, CPUS, &folder, NULL);
}

static void allocations_may_fail(void **state)
{
	struct world world;

	set_up(&world, false);
	kmemtrace_folder_free(TAKE_PTR(world.folder));
	assert_int_equal(FAIL_EACH_ALLOCATION(make(world.root), -ENOMEM, true, 0), 2 + CPUS);
	tear_down(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_gets_what_came_before_it),
		cmocka_unit_test(an_absent_reader_costs_its_own_stream),
		cmocka_unit_test(the_next_reader_begins_with_a_whole_event),
		cmocka_unit_test(offline_cpus_have_no_stream),
		cmocka_unit_test(a_slow_reader_is_waited_for_by_poll),
		cmocka_unit_test(files_have_all),
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
		cmocka_unit_test(one_trace_has_the_folder),
		cmocka_unit_test(the_streams_of_an_earlier_trace_go),
		cmocka_unit_test(other_files_stay),
		cmocka_unit_test(a_folder_needs_its_parent),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
