/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/spool_thread.h"

#include "tests/harness/failing_allocation.h"
#include "tests/push/spool_fixture.h"

#include <errno.h>
#include <poll.h>

enum { GUARD_MS = 20000 };

static struct spool_thread *thread;

static int tear_down(void **state)
{
	spool_thread_free(TAKE_PTR(thread));
	return spool_tear_down(state);
}

static struct spool_thread_options options_of(void)
{
	struct spool_thread_options options = { .count = 2 };

	options.spools[0] = spool_options_of(1 << 20);
	options.spools[1] = spool_options_of(1 << 20);
	options.spools[1].folder = "/tmp/no/such/folder";
	return options;
}

static struct spool_result result_of(size_t spool)
{
	struct spool_result result;

	while (spool_thread_take(thread, spool, &result) == -EAGAIN) {
		struct pollfd fd = { .fd = spool_thread_poll_fd(thread), .events = POLLIN };

		assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	}
	return result;
}

static void batches_are_written_by_the_thread(void **state)
{
	const struct spool_thread_options options = options_of();
	struct batch batch = minute_batch(0);
	struct spool_result result;

	assert_int_equal(spool_thread_new(&options, &thread), 0);
	assert_int_equal(result_of(0).error, 0);
	assert_int_equal(spool_thread_take(thread, 0, &result), -EAGAIN);
	spool_thread_add(thread, 0, &batch, bytes_fd(10), 10);
	result = result_of(0);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.state.files, 1);
	assert_int_equal(result.state.until_ns[0], batch.end_ns);
	batch = minute_batch(1);
	spool_thread_add(thread, 0, &batch, -1, 0);
	result = result_of(0);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.state.until_ns[0], batch.end_ns);
	assert_int_equal(count_files(), 1);
}

static void a_spool_is_opened_again_after_a_failure(void **state)
{
	struct spool_thread_options options = options_of();
	const struct batch batch = minute_batch(0);
	char later[128];

	(void)snprintf(later, sizeof(later), "%s/later", spool_folder);
	options.spools[1].folder = later;
	assert_int_equal(spool_thread_new(&options, &thread), 0);
	assert_int_equal(result_of(0).error, 0);
	assert_int_equal(result_of(1).error, -ENOENT);
	spool_thread_add(thread, 1, &batch, bytes_fd(10), 10);
	assert_int_equal(result_of(1).error, -ENOENT);
	make_folder(spool_folder, "later");
	spool_thread_open(thread, 1);
	assert_int_equal(result_of(1).error, 0);
	spool_thread_add(thread, 1, &batch, bytes_fd(10), 10);
	assert_int_equal(result_of(1).error, 0);
	spool_thread_free(TAKE_PTR(thread));
}

static int refuse(void)
{
	return -EPERM;
}

static void a_thread_that_cannot_enter_its_sandbox_is_an_error(void **state)
{
	struct spool_thread_options options = options_of();

	options.enter = refuse;
	assert_int_equal(spool_thread_new(&options, &thread), -EPERM);
	assert_null(thread);
}

static void failing_allocations_leave_nothing(void **state)
{
	const struct spool_thread_options options = options_of();

	fail_allocation(0);
	assert_int_equal(spool_thread_new(&options, &thread), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(thread);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, spool_set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(batches_are_written_by_the_thread),
		WITH_FOLDER(a_spool_is_opened_again_after_a_failure),
		WITH_FOLDER(a_thread_that_cannot_enter_its_sandbox_is_an_error),
		WITH_FOLDER(failing_allocations_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
