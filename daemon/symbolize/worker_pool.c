/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/worker_pool.h"

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "child/child_process.h"
#include "symbol/symbol_header.h"
#include "symbolize/worker_outcome.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

enum {
	WORKERS_DEFAULT = 2,
	QUEUE_DEFAULT = 1024,
	CPU_S_DEFAULT = 120,
	RETRY_S = 1,
};
#define TIMEOUT_NS_DEFAULT    (5 * 60 * (uint64_t)NSEC_PER_SEC)
#define MEMORY_BYTES_DEFAULT  (256ULL << 20)
#define SCRATCH_BYTES_DEFAULT (8ULL << 30)
#define OUTPUT_BYTES_DEFAULT  (1ULL << 30)

/*
 * The scratch limit of a job grows with its files, so that a small file that unpacks to a thousand
 * times its size is stopped early. Debug information unpacks to four times its size, and its
 * symbols take about as much again.
 */
#define SCRATCH_BYTES_MIN (512ULL << 20)
enum { SCRATCH_SHARES = 32 };

struct job {
	struct pilotlight_symbol_request request;
	/* The pool's, until the job starts; -1: none. */
	int binary_fd, debug_fd, alternate_fd, package_fd, scratch_fd;
	int output_fd; /* borrowed */
	void *context;
	struct child_process *child; /* NULL: it waits */
	struct split_channel channel;
};

static const struct job no_job = {
	.binary_fd = -1,
	.debug_fd = -1,
	.alternate_fd = -1,
	.package_fd = -1,
	.scratch_fd = -1,
	.output_fd = -1,
	.channel.fd = -1,
};

struct worker_pool {
	struct worker_pool_options options;
	char *program; /* NULL: this one */
	int epoll_fd;
	int retry_fd; /* a timer: the broker may be able to start a worker again */
	bool is_hurried;
	struct job *jobs; /* in their order: first those that run, then those that wait */
	size_t count, capacity, running;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void close_files(struct job *job)
{
	close_fd(&job->binary_fd);
	close_fd(&job->debug_fd);
	close_fd(&job->alternate_fd);
	close_fd(&job->package_fd);
	close_fd(&job->scratch_fd);
}

static void job_done(struct job *job)
{
	close_files(job);
	child_process_free(job->child);
	split_channel_done(&job->channel);
}

static void remove_job(struct worker_pool *pool, size_t i)
{
	job_done(&pool->jobs[i]);
	pool->running -= i < pool->running;
	pool->count--;
	memmove(&pool->jobs[i], &pool->jobs[i + 1], (pool->count - i) * sizeof(*pool->jobs));
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->count; i++)
		job_done(&pool->jobs[i]);
	close_fd(&pool->epoll_fd);
	close_fd(&pool->retry_fd);
	free(pool->jobs);
	free(pool->program);
	free(pool);
}

static void set_defaults(struct worker_pool_options *options)
{
	if (!options->workers_max)
		options->workers_max = WORKERS_DEFAULT;
	if (!options->queue_max)
		options->queue_max = QUEUE_DEFAULT;
	if (!options->timeout_ns)
		options->timeout_ns = TIMEOUT_NS_DEFAULT;
	if (!options->memory_bytes)
		options->memory_bytes = MEMORY_BYTES_DEFAULT;
	if (!options->scratch_bytes)
		options->scratch_bytes = SCRATCH_BYTES_DEFAULT;
	if (!options->output_bytes)
		options->output_bytes = OUTPUT_BYTES_DEFAULT;
	if (!options->cpu_s)
		options->cpu_s = CPU_S_DEFAULT;
}

static int open_descriptors(struct worker_pool *pool)
{
	struct epoll_event event = { .events = EPOLLIN };

	pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pool->retry_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (pool->epoll_fd < 0 || pool->retry_fd < 0 ||
		epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, pool->retry_fd, &event) < 0)
		return -errno;
	return 0;
}

int worker_pool_new(const struct worker_pool_options *options, struct worker_pool **ret_pool)
{
	_cleanup_(worker_pool_freep) struct worker_pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	pool->epoll_fd = pool->retry_fd = -1;
	pool->options = *options;
	set_defaults(&pool->options);
	if (options->program) {
		pool->program = strdup(options->program);
		if (!pool->program)
			return -ENOMEM;
	}
	r = open_descriptors(pool);
	if (r < 0)
		return r;
	*ret_pool = TAKE_PTR(pool);
	return 0;
}

static uint64_t length_of(int fd)
{
	struct stat stat;

	return fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0 ? (uint64_t)stat.st_size : 0;
}

static uint64_t scratch_bytes(const struct worker_pool *pool, const struct worker_job *job)
{
	const int fds[] = { job->binary_fd, job->debug_fd, job->alternate_fd, job->package_fd };
	const uint64_t limit = pool->options.scratch_bytes;
	uint64_t left;

	if (limit <= SCRATCH_BYTES_MIN)
		return limit;
	left = limit - SCRATCH_BYTES_MIN;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		uint64_t length = length_of(fds[i]);

		if (length > left / SCRATCH_SHARES)
			return limit;
		left -= length * SCRATCH_SHARES;
	}
	return limit - left;
}

static struct job describe(const struct worker_pool *pool, const struct worker_job *job)
{
	struct job waiting = {
		.request = {
			.version = PILOTLIGHT_WORKER_VERSION,
			.has_binary = job->binary_fd >= 0,
			.has_debug = job->debug_fd >= 0,
			.has_alternate = job->alternate_fd >= 0,
			.identity_kind = (uint8_t)job->identity.kind,
			.identity_bytes = job->identity.id.size,
			.debug_rank = (uint8_t)job->debug_rank,
			.product = (uint8_t)job->product,
			.has_package = job->package_fd >= 0,
			.has_split_files = job->has_split_files && pool->options.open_split_file,
			.scratch_bytes_max = scratch_bytes(pool, job),
			.memory_bytes_max = pool->options.memory_bytes,
			.cpu_s_max = pool->options.cpu_s,
		},
		.binary_fd = job->binary_fd,
		.debug_fd = job->debug_fd,
		.alternate_fd = job->alternate_fd,
		.package_fd = job->package_fd,
		.output_fd = job->output_fd,
		.scratch_fd = job->scratch_fd,
		.context = job->context,
		.channel.fd = -1,
	};

	memcpy(waiting.request.identity, job->identity.id.bytes, sizeof(waiting.request.identity));
	_Static_assert(sizeof(waiting.request.origin) == SYMBOL_HEADER_ORIGIN_BYTES, "origin");
	symbol_header_set_origin(waiting.request.origin, job->origin ? job->origin : "");
	return waiting;
}

static bool is_started_here(const struct worker_pool *pool)
{
	return !pool->options.broker || !broker_is_remote(pool->options.broker);
}

static int start_child(struct worker_pool *pool, const struct job *job, int channel_fd,
	struct child_process **ret_child)
{
	const struct child_descriptor descriptors[] = {
		{ job->output_fd, PILOTLIGHT_WORKER_OUTPUT_FD },
		{ job->scratch_fd, PILOTLIGHT_WORKER_SCRATCH_FD },
		{ job->binary_fd, PILOTLIGHT_WORKER_BINARY_FD },
		{ job->debug_fd, PILOTLIGHT_WORKER_DEBUG_FD },
		{ job->alternate_fd, PILOTLIGHT_WORKER_ALTERNATE_FD },
		{ job->package_fd, PILOTLIGHT_WORKER_PACKAGE_FD },
		{ channel_fd, PILOTLIGHT_WORKER_SPLIT_FD },
	};
	const struct child_process_options options = {
		.broker = pool->options.broker,
		.kind = BROKER_CHILD_SYMBOL_WORKER,
		.program = pool->program,
		.descriptors = descriptors,
		.descriptor_count = ARRAY_SIZE(descriptors),
		.request = &job->request,
		.request_bytes = sizeof(job->request),
		.timeout_ns = pool->options.timeout_ns,
	};

	_Static_assert((int)PILOTLIGHT_WORKER_SOCKET_FD == (int)CHILD_SOCKET_NUMBER &&
			       (int)PILOTLIGHT_WORKER_SPLIT_FD <= (int)CHILD_DESCRIPTOR_NUMBER_MAX,
		"the child's descriptors");
	return child_process_start(&options, ret_child);
}

/* Starts the first job that waits. */
static int start(struct worker_pool *pool)
{
	_cleanup_(child_process_freep) struct child_process *child = NULL;
	_cleanup_(split_channel_done) struct split_channel channel = { .fd = -1 };
	_cleanup_close_ int channel_fd = -1;
	struct epoll_event event = { .events = EPOLLIN };
	struct job *job = &pool->jobs[pool->running];
	int r = 0;

	if (job->request.has_split_files)
		r = split_channel_open(&channel, pool->epoll_fd, &channel_fd);
	if (r == 0)
		r = start_child(pool, job, channel_fd, &child);
	if (r < 0)
		return r;
	/*
	 * The idle policy is also the lowest priority for the disk, so a nice value would add
	 * nothing. A worker that set the policy itself might do so after it was hurried.
	 */
	if (!pool->is_hurried)
		child_process_set_idle(child, true);
	if (epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, child_process_poll_fd(child), &event) < 0)
		return -errno;
	job->child = TAKE_PTR(child);
	job->channel = channel;
	channel.fd = -1;
	close_files(job);
	pool->running++;
	return 0;
}

/* The broker starts processes for others, too, and does not report their ends. */
static void retry_later(struct worker_pool *pool)
{
	const struct itimerspec timer = { .it_value.tv_sec = RETRY_S };

	(void)timerfd_settime(pool->retry_fd, 0, &timer, NULL);
}

int worker_pool_add(struct worker_pool *pool, const struct worker_job *job)
{
	_cleanup_(job_done) struct job added = describe(pool, job);
	const struct worker_pool_options *options = &pool->options;
	int r;

	if (pool->count - pool->running == options->queue_max)
		return -E2BIG;
	r = ARRAY_RESERVE(pool->jobs, &pool->capacity, pool->count + 1,
		options->workers_max + options->queue_max);
	if (r < 0)
		return r;
	pool->jobs[pool->count++] = added;
	added = no_job;
	if (pool->count - 1 > pool->running || pool->running == options->workers_max)
		return 0;
	r = start(pool);
	if (r == -EAGAIN && !is_started_here(pool)) {
		retry_later(pool);
		return 0;
	}
	if (r < 0)
		remove_job(pool, pool->running);
	return r;
}

int worker_pool_poll_fd(const struct worker_pool *pool)
{
	return pool->epoll_fd;
}

/* Has the worker ended? Then its job is removed. */
static bool take_result(struct worker_pool *pool, size_t i, struct worker_result *ret_result)
{
	const struct job *job = &pool->jobs[i];
	struct child_process_end end;

	if (child_process_finish(job->child, &end) < 0)
		return false;
	worker_outcome(&end, &job->request, job->output_fd, pool->options.output_bytes, ret_result);
	ret_result->context = job->context;
	remove_job(pool, i);
	return true;
}

/* Returns 0, or -errno if the first job that waits can never be started. */
static int start_waiting(struct worker_pool *pool)
{
	int r = 0;

	while (r == 0 && pool->running < pool->count && pool->running < pool->options.workers_max)
		r = start(pool);
	if (r == -EAGAIN && !is_started_here(pool)) {
		retry_later(pool);
		return 0;
	}
	return r;
}

int worker_pool_run(struct worker_pool *pool,
	void (*done)(void *context, const struct worker_result *result), void *context)
{
	struct worker_result result;
	uint64_t expirations;
	int r;

	(void)!read(pool->retry_fd, &expirations, sizeof(expirations));
	for (size_t i = 0; i < pool->running; i++)
		split_channel_serve(&pool->jobs[i].channel, pool->options.open_split_file,
			pool->options.open_split_file_context, pool->jobs[i].context);
	for (size_t i = 0; i < pool->running;) {
		if (!take_result(pool, i, &result)) {
			i++;
			continue;
		}
		/* First, so that the queue has room for a job from `done`. */
		(void)start_waiting(pool);
		done(context, &result);
	}
	/*
	 * A lack of processes or descriptors may end with a running worker. If none runs, nothing
	 * would trigger another attempt. UNREADABLE, because the cache must not record a failure
	 * that does not come from the binary.
	 */
	while ((r = start_waiting(pool)) < 0 && pool->running == 0) {
		result = (struct worker_result){
			.context = pool->jobs[0].context,
			.failure = PILOTLIGHT_SYMBOL_UNREADABLE,
			.report.error = r,
		};
		remove_job(pool, 0);
		done(context, &result);
	}
	return 0;
}

bool worker_pool_has_free_worker(const struct worker_pool *pool)
{
	return pool->count < pool->options.workers_max;
}

size_t worker_pool_pending(const struct worker_pool *pool)
{
	return pool->count;
}

void worker_pool_hurry(struct worker_pool *pool)
{
	if (pool->is_hurried)
		return;
	pool->is_hurried = true;
	for (size_t i = 0; i < pool->running; i++)
		child_process_set_idle(pool->jobs[i].child, false);
}
