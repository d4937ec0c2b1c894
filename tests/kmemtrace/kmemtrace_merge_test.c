/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_merge.h"

#include "tests/harness/failing_allocation.h"
#include "tests/kmemtrace/kmemtrace_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { STREAMS = 2 };

struct world {
	struct kmemtrace_merge *merge;
	int writers[STREAMS]; /* files or FIFOs */
};

static void set_up(struct world *world)
{
	*world = (struct world){ .writers = { -1, -1 } };
	assert_int_equal(kmemtrace_merge_new(&world->merge), 0);
}

static void tear_down(struct world *world)
{
	for (int i = 0; i < STREAMS; i++)
		if (world->writers[i] >= 0)
			(void)close(world->writers[i]);
	kmemtrace_merge_free(world->merge);
}

static void add(struct world *world, int fd)
{
	struct kmemtrace_stream *stream;

	assert_true(fd >= 0);
	assert_int_equal(kmemtrace_stream_new(fd, "cpu0", &stream), 0);
	assert_int_equal(kmemtrace_merge_add(world->merge, stream), 0);
}

/* A file with frees of these sequence numbers, and with `extra` bytes behind them. */
static void add_file(struct world *world, const int32_t *sequences, size_t count, size_t extra)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);
	unsigned char bytes[32] = { 0 };

	for (size_t i = 0; i < count; i++) {
		size_t size = put_free(bytes, sequences[i], SITE_A, 0x1000);

		assert_int_equal(write(fd, bytes, size), size);
	}
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(write(fd, bytes, extra), extra);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	add(world, fd);
}

static void add_pipe(struct world *world, int i)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	world->writers[i] = fds[1];
	add(world, fds[0]);
}

static void send_free(struct world *world, int i, int32_t sequence)
{
	unsigned char bytes[32];
	size_t size = put_free(bytes, sequence, SITE_A, 0x1000);

	assert_int_equal(write(world->writers[i], bytes, size), size);
}

static void expect(struct world *world, int32_t sequence)
{
	struct kmemtrace_event event;

	assert_int_equal(kmemtrace_merge_next(world->merge, -1, &event), 1);
	assert_int_equal(event.sequence, sequence);
}

static void expect_end(struct world *world, uint64_t missing, uint64_t late)
{
	struct kmemtrace_merge_counters counters;
	struct kmemtrace_event event = { .sequence = 77 };

	assert_int_equal(kmemtrace_merge_next(world->merge, -1, &event), 0);
	assert_int_equal(event.sequence, 77);
	kmemtrace_merge_counters(world->merge, &counters);
	assert_int_equal(counters.missing, missing);
	assert_int_equal(counters.late, late);
}

static void streams_are_merged(void **state)
{
	static const int32_t first[] = { 1, 4, 5 }, second[] = { 2, 3, 6 };
	struct world world;

	set_up(&world);
	add_file(&world, first, 3, 0);
	add_file(&world, second, 3, 0);
	for (int32_t i = 1; i <= 6; i++)
		expect(&world, i);
	expect_end(&world, 0, 0);
	tear_down(&world);
}

static void no_stream_has_no_event(void **state)
{
	struct world world;

	set_up(&world);
	expect_end(&world, 0, 0);
	tear_down(&world);
}

static void nested_events_are_put_in_order(void **state)
{
	int32_t sequences[KMEMTRACE_AHEAD];
	struct world world;

	for (int i = 0; i < KMEMTRACE_AHEAD; i++)
		sequences[i] = KMEMTRACE_AHEAD - i;
	set_up(&world);
	add_file(&world, sequences, KMEMTRACE_AHEAD, 0);
	for (int32_t i = 1; i <= KMEMTRACE_AHEAD; i++)
		expect(&world, i);
	expect_end(&world, 0, 0);
	tear_down(&world);
}

static void the_order_wraps(void **state)
{
	static const int32_t first[] = { INT32_MAX - 1, INT32_MIN, INT32_MIN + 1 };
	static const int32_t second[] = { INT32_MAX, INT32_MIN + 2 };
	struct world world;

	set_up(&world);
	add_file(&world, first, 3, 0);
	add_file(&world, second, 2, 0);
	expect(&world, INT32_MAX - 1);
	expect(&world, INT32_MAX);
	expect(&world, INT32_MIN);
	expect(&world, INT32_MIN + 1);
	expect(&world, INT32_MIN + 2);
	expect_end(&world, 0, 0);
	tear_down(&world);
}

static void gaps_are_counted(void **state)
{
	static const int32_t first[] = { 1, 5 }, second[] = { 2, 10 };
	struct world world;

	set_up(&world);
	add_file(&world, first, 2, 0);
	add_file(&world, second, 2, 0);
	expect(&world, 1);
	expect(&world, 2);
	expect(&world, 5);
	expect(&world, 10);
	expect_end(&world, 6, 0);
	tear_down(&world);
}

static void bytes_that_are_no_event_end_a_stream(void **state)
{
	static const int32_t first[] = { 1 }, second[] = { 2, 3 };
	uint64_t offset = 0;
	struct world world;

	set_up(&world);
	add_file(&world, first, 1, 24); /* an ALLOC of size 0 */
	add_file(&world, second, 2, 5); /* the start of an event */
	expect(&world, 1);
	expect(&world, 2);
	expect(&world, 3);
	expect_end(&world, 0, 0);
	assert_true(kmemtrace_stream_is_damaged(kmemtrace_merge_stream(world.merge, 0), &offset));
	assert_int_equal(offset, 24);
	assert_true(kmemtrace_stream_is_damaged(kmemtrace_merge_stream(world.merge, 1), &offset));
	assert_int_equal(offset, 48);
	assert_null(kmemtrace_merge_stream(world.merge, 2));
	tear_down(&world);
}

static void what_continues_the_order_does_not_wait(void **state)
{
	struct world world;

	set_up(&world);
	add_pipe(&world, 0);
	add_pipe(&world, 1);
	send_free(&world, 0, 1); /* the first number has no predecessor: this waits */
	send_free(&world, 0, 2);
	expect(&world, 1);
	/* Now there is something to wait for, and 2 comes at once. */
	send_free(&world, 1, 3);
	expect(&world, 2);
	expect(&world, 3);
	(void)close(world.writers[0]);
	(void)close(world.writers[1]);
	world.writers[0] = world.writers[1] = -1;
	expect_end(&world, 0, 0);
	tear_down(&world);
}

static void a_gap_waits_for_other_streams(void **state)
{
	struct world world;

	set_up(&world);
	add_pipe(&world, 0);
	add_pipe(&world, 1);
	send_free(&world, 0, 1);
	expect(&world, 1);
	send_free(&world, 0, 3);
	send_free(&world, 1, 2);
	expect(&world, 2);
	expect(&world, 3);
	/* Nothing comes from the second one: the gap is taken for a loss. */
	send_free(&world, 0, 5);
	expect(&world, 5);
	/* It comes after all. */
	send_free(&world, 1, 4);
	expect(&world, 4);
	(void)close(world.writers[0]);
	(void)close(world.writers[1]);
	world.writers[0] = world.writers[1] = -1;
	expect_end(&world, 0, 1);
	tear_down(&world);
}

/* A busy stream with gaps keeps the merge from waiting, but not from looking. */
static void a_quiet_stream_is_not_forgotten(void **state)
{
	struct world world;

	set_up(&world);
	add_pipe(&world, 0);
	add_pipe(&world, 1);
	send_free(&world, 0, 1);
	for (int32_t i = 3; i < 400; i += 2)
		send_free(&world, 0, i);
	expect(&world, 1);
	expect(&world, 3);
	send_free(&world, 1, 300);
	for (int32_t i = 5; i < 300; i += 2)
		expect(&world, i);
	expect(&world, 300);
	expect(&world, 301);
	tear_down(&world);
}

static void a_fifo_waits_for_its_writer(void **state)
{
	char folder[] = "/tmp/kmemtrace-test.XXXXXX", path[64];
	struct kmemtrace_stream *stream;
	uint64_t offset;
	int writer;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/cpu0", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kmemtrace_stream_new(
				 open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), "cpu0", &stream),
		0);
	assert_int_equal(kmemtrace_stream_fill(stream), -EAGAIN);
	assert_false(kmemtrace_stream_has_ended(stream));
	writer = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(writer >= 0);
	assert_int_equal(kmemtrace_stream_fill(stream), -EAGAIN);
	(void)close(writer);
	assert_int_equal(kmemtrace_stream_fill(stream), 0);
	assert_true(kmemtrace_stream_has_ended(stream));
	assert_false(kmemtrace_stream_is_damaged(stream, &offset));
	assert_string_equal(kmemtrace_stream_name(stream), "cpu0");
	kmemtrace_stream_free(stream);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void a_signal_ends_the_wait(void **state)
{
	struct kmemtrace_event event;
	int stop = eventfd(1, EFD_CLOEXEC);
	struct world world;

	set_up(&world);
	add_pipe(&world, 0);
	assert_int_equal(kmemtrace_merge_next(world.merge, stop, &event), -EINTR);
	(void)close(stop);
	tear_down(&world);
}

static void errors_of_reading_are_reported(void **state)
{
	struct kmemtrace_event event;
	struct world world;

	set_up(&world);
	add(&world, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_int_equal(kmemtrace_merge_next(world.merge, -1, &event), -EISDIR);
	tear_down(&world);
}

static int make(void)
{
	_cleanup_(kmemtrace_merge_freep) struct kmemtrace_merge *merge = NULL;
	struct kmemtrace_stream *stream = NULL;
	int r = kmemtrace_merge_new(&merge);

	if (r == 0)
		r = kmemtrace_stream_new(open("/dev/null", O_RDONLY | O_CLOEXEC), "cpu0", &stream);
	if (r == 0)
		r = kmemtrace_merge_add(merge, stream);
	return r;
}

static void allocations_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(make(), -ENOMEM, true, 0) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_merged),
		cmocka_unit_test(no_stream_has_no_event),
		cmocka_unit_test(nested_events_are_put_in_order),
		cmocka_unit_test(the_order_wraps),
		cmocka_unit_test(gaps_are_counted),
		cmocka_unit_test(bytes_that_are_no_event_end_a_stream),
		cmocka_unit_test(what_continues_the_order_does_not_wait),
		cmocka_unit_test(a_gap_waits_for_other_streams),
		cmocka_unit_test(a_quiet_stream_is_not_forgotten),
		cmocka_unit_test(a_fifo_waits_for_its_writer),
		cmocka_unit_test(a_signal_ends_the_wait),
		cmocka_unit_test(errors_of_reading_are_reported),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
