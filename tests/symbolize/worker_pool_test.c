/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the pool with good and bad workers: started as `symbol-worker`, this program plays the role
 * that the origin of its request names.
 */
#include "symbolize/worker_pool.h"

#include "base/array.h"
#include "base/clock.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbolize/worker_pool_fixture.h"
#include "tests/symbolize/worker_roles.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct worker_result run_one(const struct worker_pool_options *options, const char *role)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, role, NULL);
	struct results results = { 0 };

	job.debug_fd = memory_file(NULL);
	job.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;
	assert_int_equal(worker_pool_new(options, &pool), 0);
	results.pool = pool;
	assert_int_equal(worker_pool_add(pool, &job), 0);
	run_until(&results, 1);
	assert_int_equal(worker_pool_pending(pool), 0);
	return results.items[0];
}

static void worker_gets_only_its_files(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = {
		.broker = broker,
		.memory_bytes = 1 << 20,
		.scratch_bytes = 2 << 20,
		.cpu_s = 77,
	};
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, "good", &output_fd);
	const struct worker_result *result;
	struct results results = { 0 };
	char text[32] = "";

	/* Descriptors without close-on-exec. */
	int careless[] = { fcntl(output_fd, F_DUPFD, PILOTLIGHT_WORKER_DEBUG_FD),
		fcntl(output_fd, F_DUPFD, 20), fcntl(output_fd, F_DUPFD, 40) };

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	assert_int_equal(worker_pool_add(pool, &job), 0);
	assert_int_equal(worker_pool_pending(pool), 1);
	run_until(&results, 1);
	result = &results.items[0];
	assert_ptr_equal(result->context, &output_fd);
	assert_int_equal(result->failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(result->signal, 0);
	assert_int_equal(result->report.error, 0);
	/* 0, 1, 2, the socket, the output, the scratch file, the binary. */
	assert_int_equal(result->report.output_bytes, 0x7f);
	assert_int_equal(result->report.scratch_bytes, 2 << 20);
	assert_int_equal(result->report.reserved, 1 << 20);
	assert_int_equal(result->report.cpu_ns, 77);
	assert_int_equal(result->report.units_failed, 0); /* no environment */
	assert_int_equal(pread(output_fd, text, sizeof(text) - 1, 0), 10);
	assert_string_equal(text, "the binary");
	assert_int_equal(fcntl(job.binary_fd, F_GETFD), -1);
	assert_int_equal(fcntl(job.scratch_fd, F_GETFD), -1);
	for (size_t i = 0; i < ARRAY_SIZE(careless); i++)
		(void)close(careless[i]);
}

static void reports_of_workers_are_checked_and_returned(void **state)
{
	static const struct {
		const char *role;
		enum pilotlight_symbol_failure failure;
	} cases[] = {
		{ "error 61", PILOTLIGHT_SYMBOL_NOTHING },   /* ENODATA */
		{ "error 8", PILOTLIGHT_SYMBOL_DAMAGED },    /* ENOEXEC */
		{ "error 27", PILOTLIGHT_SYMBOL_TOO_BIG },   /* EFBIG */
		{ "error 12", PILOTLIGHT_SYMBOL_NO_MEMORY }, /* ENOMEM */
		{ "error 28", PILOTLIGHT_SYMBOL_NO_SPACE },  /* ENOSPC */
		{ "error 5", PILOTLIGHT_SYMBOL_UNREADABLE }, /* EIO */
		{ "error 4096", PILOTLIGHT_SYMBOL_CRASHED }, /* not an errno */
		{ "error -5", PILOTLIGHT_SYMBOL_CRASHED },   /* not negated */
		{ "rank 1", PILOTLIGHT_SYMBOL_OK },
		{ "rank 3", PILOTLIGHT_SYMBOL_OK }, /* the debug file's */
		{ "rank 0", PILOTLIGHT_SYMBOL_CRASHED },
		{ "rank 4", PILOTLIGHT_SYMBOL_CRASHED }, /* above the rank of its files */
		{ "version 1", PILOTLIGHT_SYMBOL_CRASHED },
		{ "taken", PILOTLIGHT_SYMBOL_OK },
	};
	const struct worker_pool_options options = { .broker = broker };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(run_one(&options, cases[i].role).failure, cases[i].failure);
}

static void ends_of_workers_are_reported(void **state)
{
	static const struct {
		const char *role;
		enum pilotlight_symbol_failure failure;
		int signal;
	} cases[] = {
		{ "exit 0", PILOTLIGHT_SYMBOL_CRASHED, 0 },
		{ "exit 1", PILOTLIGHT_SYMBOL_NO_MEMORY, 0 },
		{ "exit 3", PILOTLIGHT_SYMBOL_CRASHED, 0 },
		{ "signal 11", PILOTLIGHT_SYMBOL_CRASHED, SIGSEGV },
		{ "signal 31", PILOTLIGHT_SYMBOL_CRASHED, SIGSYS },
		{ "signal 24", PILOTLIGHT_SYMBOL_TIMEOUT, SIGXCPU },
		{ "signal 25", PILOTLIGHT_SYMBOL_TOO_BIG, SIGXFSZ },
		{ "close", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "size 0", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "size 10", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "size 48", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "size 200", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "size 16384", PILOTLIGHT_SYMBOL_CRASHED, SIGKILL },
		{ "linger", PILOTLIGHT_SYMBOL_OK, 0 },
		{ "flood", PILOTLIGHT_SYMBOL_OK, 0 },
		{ "smuggle", PILOTLIGHT_SYMBOL_OK, 0 },
	};
	const struct worker_pool_options options = { .broker = broker };
	uint64_t open = descriptor_set();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct worker_result result = run_one(&options, cases[i].role);

		assert_int_equal(result.failure, cases[i].failure);
		assert_int_equal(result.signal, cases[i].signal);
		if (result.failure != PILOTLIGHT_SYMBOL_OK)
			assert_int_equal(result.report.version, 0);
	}
	assert_int_equal(descriptor_set(), open);
}

static void worker_is_killed_at_the_timeout(void **state)
{
	const struct worker_pool_options options = { .broker = broker,
		.timeout_ns = NSEC_PER_SEC / 20 };
	struct worker_result result;

	result = run_one(&options, "sleep");
	assert_int_equal(result.failure, PILOTLIGHT_SYMBOL_TIMEOUT);
	assert_int_equal(result.signal, SIGKILL);
}

static void output_over_the_limit_is_too_big(void **state)
{
	const struct worker_pool_options options = { .broker = broker, .output_bytes = 1000 };

	assert_int_equal(run_one(&options, "huge 1000").failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(run_one(&options, "huge 1001").failure, PILOTLIGHT_SYMBOL_TOO_BIG);
}

static uint64_t scratch_bytes_for(uint64_t limit, off_t debug_bytes)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .broker = broker, .scratch_bytes = limit };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, "good", NULL);
	struct results results = { 0 };

	job.debug_fd = memory_file(NULL);
	assert_int_equal(ftruncate(job.debug_fd, debug_bytes), 0);
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	assert_int_equal(worker_pool_add(pool, &job), 0);
	run_until(&results, 1);
	return results.items[0].report.scratch_bytes;
}

/* The binary has 10 bytes. */
static void scratch_limit_grows_with_the_files(void **state)
{
	assert_int_equal(scratch_bytes_for(0, 0), (512ULL << 20) + 320);
	assert_int_equal(scratch_bytes_for(0, 1000), (512ULL << 20) + 32320);
	assert_int_equal(scratch_bytes_for(0, INT64_MAX / 2), 8ULL << 30);
	assert_int_equal(scratch_bytes_for(UINT64_MAX, INT64_MAX), UINT64_MAX);
	assert_int_equal(scratch_bytes_for(1000, 1 << 20), 1000);
}

/* One worker at a time: results come in the order of the jobs. */
static void queue_is_ordered_and_bounded(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = {
		.broker = broker, .workers_max = 1, .queue_max = 2
	};
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { 0 };
	int contexts[4], waits[2];
	struct worker_job job;

	assert_int_equal(pipe2(waits, O_CLOEXEC), 0);
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	for (size_t i = 0; i < 4; i++) {
		job = make_job(output_fd, i == 0 ? "wait" : "good", &contexts[i]);
		if (i == 0) {
			(void)close(job.binary_fd);
			job.binary_fd = waits[0];
		}
		assert_int_equal(worker_pool_add(pool, &job), i < 3 ? 0 : -E2BIG);
		/* Those of the running and the refused job are closed, the others are kept. */
		assert_int_equal(fcntl(job.scratch_fd, F_GETFD) < 0, i == 0 || i == 3);
	}
	assert_int_equal(worker_pool_pending(pool), 3);
	assert_int_equal(worker_pool_run(pool, keep_result, &results), 0);
	assert_int_equal(results.count, 0);
	(void)close(waits[1]);
	run_until(&results, 3);
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(results.items[i].context, &contexts[i]);
	assert_int_equal(worker_pool_pending(pool), 0);
	assert_int_equal(fcntl(job.scratch_fd, F_GETFD), -1);
}

static void results_may_add_jobs(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = {
		.broker = broker, .workers_max = 2, .queue_max = 3
	};
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { .output_fd = output_fd, .jobs_to_add = 8 };

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	for (size_t i = 0; i < 4; i++) {
		struct worker_job job = make_job(output_fd, "good", NULL);

		assert_int_equal(worker_pool_add(pool, &job), 0);
	}
	run_until(&results, 12);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(results.items[i].failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(worker_pool_pending(pool), 0);
}

/* A pool whose first worker sleeps. `ret_alive` is a pipe whose other end only the worker has: it
 * reaches its end when the worker dies. */
static struct worker_pool *pool_with_sleeper(int output_fd, int *ret_alive, pid_t *ret_pid)
{
	const struct worker_pool_options options = { .broker = broker, .workers_max = 1 };
	struct worker_job job = make_job(output_fd, "sleep", NULL);
	struct worker_pool *pool;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	job.debug_fd = ends[1];
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	assert_int_equal(worker_pool_add(pool, &job), 0);
	assert_int_equal(read(ends[0], ret_pid, sizeof(*ret_pid)), sizeof(*ret_pid));
	*ret_alive = ends[0];
	return pool;
}

static void free_kills_workers_and_closes_files(void **state)
{
	_cleanup_close_ int output_fd = memory_file(NULL), alive = -1;
	struct worker_pool *pool;
	struct worker_job job;
	pid_t pid;

	pool = pool_with_sleeper(output_fd, &alive, &pid);
	job = make_job(output_fd, "good", NULL);
	assert_int_equal(worker_pool_add(pool, &job), 0);
	worker_pool_free(pool);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(fcntl(job.binary_fd, F_GETFD), -1);
	assert_int_equal(fcntl(job.scratch_fd, F_GETFD), -1);
	assert_true(fcntl(output_fd, F_GETFD) >= 0);
}

/* Kills the owner: read() returns when no process has the other end of the pipe. */
static void workers_die_with_their_owner(void **state)
{
	int ends[2], status;
	pid_t owner, pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	owner = fork();
	assert_true(owner >= 0);
	if (owner == 0) {
		const struct worker_pool_options options = { .broker = broker, .workers_max = 1 };
		struct worker_job job = make_job(memory_file(NULL), "sleep", NULL);
		struct worker_pool *pool;

		job.debug_fd = ends[1];
		if (worker_pool_new(&options, &pool) == 0 && worker_pool_add(pool, &job) == 0)
			sleep_for_ever();
		_exit(1);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(kill(owner, SIGKILL), 0);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
}

static void failure_to_start_a_worker_is_reported(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .program = "/nonexistent/program" };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, "good", NULL);
	uint64_t open;

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	open = descriptor_set() & ~(1ULL << job.binary_fd | 1ULL << job.scratch_fd);
	assert_int_equal(worker_pool_add(pool, &job), -ENOENT);
	assert_int_equal(descriptor_set(), open);
	assert_int_equal(worker_pool_pending(pool), 0);
}

/* Removes the program while jobs wait. They wait as long as a worker runs. */
static void failure_to_start_a_queued_job_is_reported(void **state)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	char folder[] = "/tmp/worker_pool_test.XXXXXX", program[64], self[4096] = "";
	struct worker_pool_options options = { .program = program };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { 0 };
	int waits[2], contexts[4];

	assert_non_null(mkdtemp(folder));
	(void)snprintf(program, sizeof(program), "%s/program", folder);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(symlink(self, program), 0);
	assert_int_equal(pipe2(waits, O_CLOEXEC), 0);
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	for (size_t i = 0; i < 4; i++) {
		struct worker_job job = make_job(output_fd, i == 0 ? "wait" : "good", &contexts[i]);

		if (i == 0) {
			(void)close(job.binary_fd);
			job.binary_fd = waits[0];
		}
		assert_int_equal(worker_pool_add(pool, &job), 0);
	}
	assert_int_equal(unlink(program), 0);
	assert_int_equal(rmdir(folder), 0);
	run_until(&results, 1);
	assert_int_equal(results.items[0].failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(worker_pool_pending(pool), 3);
	(void)close(waits[1]);
	run_until(&results, 4);
	assert_int_equal(results.items[1].failure, PILOTLIGHT_SYMBOL_OK);
	for (size_t i = 2; i < 4; i++) {
		assert_ptr_equal(results.items[i].context, &contexts[i]);
		assert_int_equal(results.items[i].failure, PILOTLIGHT_SYMBOL_UNREADABLE);
		assert_int_equal(results.items[i].report.error, -ENOENT);
	}
	assert_int_equal(worker_pool_pending(pool), 0);
}

static void add_job(struct worker_pool *pool, int output_fd, const char *role)
{
	struct worker_job job = make_job(output_fd, role, NULL);

	assert_int_equal(worker_pool_add(pool, &job), 0);
}

static void wait_until_written(int fd)
{
	char byte;

	while (pread(fd, &byte, 1, 0) != 1)
		(void)usleep(1000);
}

/* Each worker succeeds when it gets the policy for which it waits. */
static void check_policies(bool is_hurried)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .broker = broker, .workers_max = 1 };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct results results = { 0 };
	char other[16];

	(void)snprintf(other, sizeof(other), "policy %d", SCHED_OTHER);
	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	add_job(pool, output_fd, "hurried");
	add_job(pool, output_fd, other);
	wait_until_written(output_fd);
	if (!is_hurried)
		return;
	worker_pool_hurry(pool);
	run_until(&results, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(results.items[i].failure, PILOTLIGHT_SYMBOL_OK);
}

static bool may_raise_a_priority(void)
{
	const struct sched_param parameters = { 0 };
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(sched_setscheduler(0, SCHED_IDLE, &parameters) < 0 ||
			sched_setscheduler(0, SCHED_OTHER, &parameters) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

static void workers_are_idle_until_hurried(void **state)
{
	if (sched_getscheduler(0) != SCHED_OTHER) {
		print_message("skipped: this test does not run at an ordinary priority itself\n");
		skip();
	}
	check_policies(false);
	if (!may_raise_a_priority()) {
		print_message("skipped: a priority cannot be raised again without privilege\n");
		skip();
	}
	check_policies(true);
}

/* The worker writes the shortened origin to its output. */
static void check_origin(const char *origin, const char *expected)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = NULL;
	const struct worker_pool_options options = { .broker = broker };
	_cleanup_close_ int output_fd = memory_file(NULL);
	struct worker_job job = make_job(output_fd, origin, NULL);
	struct results results = { 0 };
	char origin_seen[256] = "";

	assert_int_equal(worker_pool_new(&options, &pool), 0);
	results.pool = pool;
	assert_int_equal(worker_pool_add(pool, &job), 0);
	run_until(&results, 1);
	assert_int_equal(results.items[0].failure, PILOTLIGHT_SYMBOL_OK);
	assert_true(pread(output_fd, origin_seen, sizeof(origin_seen) - 1, 0) >= 0);
	assert_string_equal(origin_seen, expected);
}

static void long_origins_lose_their_beginning(void **state)
{
	char path[400], expected[128];

	(void)memset(path, '/', sizeof(path));
	path[127] = '\0';
	check_origin(path, path);
	path[127] = '/';
	path[200] = 'x';
	path[399] = '\0';
	(void)snprintf(expected, sizeof(expected), "…%s", path + 399 - 124);
	check_origin(path, expected);
	/* A character that would be cut in two is left out. */
	(void)memcpy(path + 399 - 125, "ä", 2);
	(void)snprintf(expected, sizeof(expected), "…%s", path + 399 - 123);
	check_origin(path, expected);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
	const struct worker_pool_options options = {
		.broker = broker,
		.program = "/proc/self/exe",
		.workers_max = 1,
	};
	_cleanup_close_ int output_fd = memory_file(NULL);
	uint64_t open = descriptor_set();
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct worker_job job = make_job(output_fd, "sleep", NULL);
		struct worker_pool *pool = NULL;

		fail_allocation(n);
		r = worker_pool_new(&options, &pool);
		if (r == 0) {
			r = worker_pool_add(pool, &job);
		} else {
			(void)close(job.binary_fd);
			(void)close(job.scratch_fd);
		}
		worker_pool_free(pool);
		assert_int_equal(descriptor_set(), open);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 4);
}

#define IN_BOTH_WAYS(test) cmocka_unit_test(test), BY_A_BROKER(test)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH_WAYS(worker_gets_only_its_files),
		IN_BOTH_WAYS(reports_of_workers_are_checked_and_returned),
		IN_BOTH_WAYS(ends_of_workers_are_reported),
		IN_BOTH_WAYS(worker_is_killed_at_the_timeout),
		IN_BOTH_WAYS(output_over_the_limit_is_too_big),
		IN_BOTH_WAYS(scratch_limit_grows_with_the_files),
		IN_BOTH_WAYS(queue_is_ordered_and_bounded),
		IN_BOTH_WAYS(results_may_add_jobs),
		IN_BOTH_WAYS(free_kills_workers_and_closes_files),
		IN_BOTH_WAYS(workers_die_with_their_owner),
		cmocka_unit_test(failure_to_start_a_worker_is_reported),
		cmocka_unit_test(failure_to_start_a_queued_job_is_reported),
		IN_BOTH_WAYS(workers_are_idle_until_hurried),
		IN_BOTH_WAYS(long_origins_lose_their_beginning),
		IN_BOTH_WAYS(failing_allocations_leave_nothing_behind),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		return worker_role_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
