/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool whose workers the test process or a broker starts. */
#pragma once

#include "symbolize/worker_pool.h"
#include "tests/broker/served_broker.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RESULTS_MAX = 16 };

static struct placed_broker placed;
static struct broker *broker; /* NULL: this process starts the workers */

static inline int serve_workers(void **state)
{
	placed_broker_start(&placed, BROKER_SERVED, NULL);
	broker = placed.broker;
	return 0;
}

static inline int stop_serving(void **state)
{
	broker = NULL;
	placed_broker_stop(&placed);
	return 0;
}

struct results {
	struct worker_pool *pool;
	struct worker_result items[RESULTS_MAX];
	size_t count;
	int output_fd;
	size_t jobs_to_add; /* each result adds one */
};

static inline int memory_file(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	if (text)
		assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static inline struct worker_job make_job(int output_fd, const char *role, void *context)
{
	return (struct worker_job){
		.identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
			.id = { .bytes = { 1, 2, 3 }, .size = 3 } },
		.binary_fd = memory_file("the binary"),
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		.output_fd = output_fd,
		.scratch_fd = memory_file(NULL),
		.origin = role,
		.context = context,
	};
}

static inline void keep_result(void *context, const struct worker_result *result)
{
	struct results *results = context;

	assert_true(results->count < RESULTS_MAX);
	results->items[results->count++] = *result;
	if (results->jobs_to_add > 0) {
		struct worker_job job = make_job(results->output_fd, "good", NULL);

		results->jobs_to_add--;
		assert_int_equal(worker_pool_add(results->pool, &job), 0);
	}
}

static inline void run_once(struct results *results)
{
	struct pollfd poll_fd = { .fd = worker_pool_poll_fd(results->pool), .events = POLLIN };

	assert_int_equal(poll(&poll_fd, 1, -1), 1);
	assert_int_equal(worker_pool_run(results->pool, keep_result, results), 0);
}

static inline void run_until(struct results *results, size_t count)
{
	while (results->count < count)
		run_once(results);
}

#define BY_A_BROKER(test)                                                       \
	{                                                                       \
#test " (by a broker)", test, serve_workers, stop_serving, NULL \
	}
