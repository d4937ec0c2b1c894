/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests a pool with a busy and with a lost broker, and the real worker with and without a broker.
 * Started as `symbol-worker`, this program plays the role that the origin of its request names, or
 * runs the real worker.
 */
#include "symbolize/worker_pool.h"

#include "tests/symbolize/worker_pool_fixture.h"
#include "tests/symbolize/worker_roles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

/* Another pool uses all the broker's slots and then frees them. */
static void jobs_wait_until_the_broker_can_start_a_worker(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *other = NULL, *pool = NULL;
	const struct worker_pool_options others = { .broker = broker, .workers_max = 8 };
	const struct worker_pool_options options = { .broker = broker };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { 0 };

	assert_int_equal(worker_pool_new(&others, &other), 0);
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	for (size_t i = 0; i < 8; i++) {
		struct worker_job job = make_job(output_fd, "sleep", NULL);

		job.debug_fd = memory_file(NULL);
		assert_int_equal(worker_pool_add(other, &job), 0);
	}
	results.pool = pool;
	for (size_t i = 0; i < 2; i++) {
		struct worker_job job = make_job(output_fd, "good", NULL);

		assert_int_equal(worker_pool_add(pool, &job), 0);
	}
	assert_int_equal(worker_pool_pending(pool), 2);
	run_once(&results);
	assert_int_equal(results.count, 0);
	worker_pool_free(TAKE_PTR(other));
	run_until(&results, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(results.items[i].failure, PILOTLIGHT_SYMBOL_OK);
}

/* No worker can be started any more: every job fails. */
static void lost_broker_is_reported(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .broker = broker, .workers_max = 1 };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { 0 };
	struct worker_job job;

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	for (size_t i = 0; i < 2; i++) {
		job = make_job(output_fd, "sleep", NULL);
		job.debug_fd = memory_file(NULL);
		assert_int_equal(worker_pool_add(pool, &job), 0);
	}
	assert_int_equal(kill(placed.server, SIGKILL), 0);
	run_until(&results, 2);
	assert_int_equal(results.items[0].failure, PILOTLIGHT_SYMBOL_CRASHED);
	assert_int_equal(results.items[0].signal, SIGKILL);
	assert_int_equal(results.items[1].failure, PILOTLIGHT_SYMBOL_UNREADABLE);
	assert_int_equal(results.items[1].report.error, -EPIPE);
	job = make_job(output_fd, "good", NULL);
	assert_int_equal(worker_pool_add(pool, &job), -EPIPE);
}

/* The real worker in its sandbox extracts symbols of this program. */
static void real_worker_extracts_symbols(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .broker = broker };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, "true worker", NULL);
	struct results results = { 0 };
	uint32_t magic = 0;

	(void)close(job.binary_fd);
	job.binary_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	job.identity = (struct symbol_identity){ .kind = PILOTLIGHT_SYMBOL_HTLHASH,
		.id = { .bytes = { 1 }, .size = 16 } };
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	assert_int_equal(worker_pool_add(pool, &job), 0);
	run_until(&results, 1);
	if (results.items[0].failure != PILOTLIGHT_SYMBOL_OK)
		print_message("error %d, signal %d\n", results.items[0].report.error,
			results.items[0].signal);
	assert_int_equal(results.items[0].failure, PILOTLIGHT_SYMBOL_OK);
	assert_true(results.items[0].report.cpu_ns > 0);
	assert_int_equal(pread(output_fd, &magic, sizeof(magic), 0), sizeof(magic));
	assert_true(magic != 0);
}

/* For a broker that the test has killed. */
static int forget_server(void **state)
{
	broker = NULL;
	broker_free(placed.broker);
	assert_int_equal(open_descriptors(), placed.descriptors);
	return waitpid(placed.server, NULL, 0) == placed.server ? 0 : -1;
}

/* Is the received request one without a role? Leaves it in the socket. */
static bool is_true_worker(void)
{
	struct {
		unsigned char table[16]; /* child/child_request.c */
		struct pilotlight_symbol_request request;
	} message;

	return recv(PILOTLIGHT_WORKER_SOCKET_FD, &message, sizeof(message), MSG_PEEK) ==
		       sizeof(message) &&
	       strcmp(message.request.origin, "true worker") == 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		BY_A_BROKER(jobs_wait_until_the_broker_can_start_a_worker),
		cmocka_unit_test_setup_teardown(
			lost_broker_is_reported, serve_workers, forget_server),
		cmocka_unit_test(real_worker_extracts_symbols),
		BY_A_BROKER(real_worker_extracts_symbols),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return is_true_worker() ? worker_main(argc, argv) : worker_role_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
