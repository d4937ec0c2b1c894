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

/* A queued job. The pool owns all descriptors except `output_fd`. */
struct waiting_job {
	struct pilotlight_symbol_request request;
	int binary_fd, debug_fd, alternate_fd, package_fd, output_fd, scratch_fd;
	void *context;
};

static const struct waiting_job no_job = {
	.binary_fd = -1,
	.debug_fd = -1,
	.alternate_fd = -1,
	.package_fd = -1,
	.output_fd = -1,
	.scratch_fd = -1,
};

struct worker {
	struct child_process *child; /* NULL: the slot is free */
	struct pilotlight_symbol_request request;
	struct split_channel channel;
	int output_fd;
	void *context;
};

struct worker_pool {
	struct worker_pool_options options;
	char *program; /* NULL: this one */
	int epoll_fd;
	int retry_fd; /* a timer: the broker may be able to start a worker again */
	bool is_hurried;
	struct worker *workers; /* workers_max of them */
	size_t running;
	struct waiting_job *queue; /* a ring of queue_max */
	size_t queue_first, queue_count;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void waiting_job_done(struct waiting_job *job)
{
	close_fd(&job->binary_fd);
	close_fd(&job->debug_fd);
	close_fd(&job->alternate_fd);
	close_fd(&job->package_fd);
	close_fd(&job->scratch_fd);
}

static void worker_done(struct worker *worker)
{
	child_process_free(worker->child);
	split_channel_done(&worker->channel);
	*worker = (struct worker){ .channel.fd = -1 };
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	if (pool->workers)
		for (size_t i = 0; i < pool->options.workers_max; i++)
			worker_done(&pool->workers[i]);
	for (size_t i = 0; i < pool->queue_count; i++)
		waiting_job_done(&pool->queue[(pool->queue_first + i) % pool->options.queue_max]);
	close_fd(&pool->epoll_fd);
	close_fd(&pool->retry_fd);
	free(pool->workers);
	free(pool->queue);
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
	pool->workers = calloc(pool->options.workers_max, sizeof(*pool->workers));
	pool->queue = calloc(pool->options.queue_max, sizeof(*pool->queue));
	for (size_t i = 0; pool->workers && i < pool->options.workers_max; i++)
		pool->workers[i].channel.fd = -1;
	if (!pool->workers || !pool->queue)
		return -ENOMEM;
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

static struct waiting_job describe(const struct worker_pool *pool, const struct worker_job *job)
{
	struct waiting_job waiting = {
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

static int start_child(struct worker_pool *pool, const struct waiting_job *job, int channel_fd,
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

/* Takes the job's descriptors on success. */
static int start(struct worker_pool *pool, struct waiting_job *job)
{
	_cleanup_(child_process_freep) struct child_process *child = NULL;
	_cleanup_(split_channel_done) struct split_channel channel = { .fd = -1 };
	_cleanup_close_ int channel_fd = -1;
	struct epoll_event event = { .events = EPOLLIN };
	struct worker *worker = pool->workers;
	int r = 0;

	while (worker->child)
		worker++;
	assert(worker < pool->workers + pool->options.workers_max);
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
	*worker = (struct worker){
		.child = TAKE_PTR(child),
		.request = job->request,
		.channel = channel,
		.output_fd = job->output_fd,
		.context = job->context,
	};
	channel.fd = -1;
	pool->running++;
	waiting_job_done(job);
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
	_cleanup_(waiting_job_done) struct waiting_job waiting = describe(pool, job);
	size_t last;
	int r;

	if (pool->queue_count == 0 && pool->running < pool->options.workers_max) {
		r = start(pool, &waiting);
		if (r != -EAGAIN || is_started_here(pool))
			return r;
		retry_later(pool);
	}
	if (pool->queue_count == pool->options.queue_max)
		return -E2BIG;
	last = (pool->queue_first + pool->queue_count++) % pool->options.queue_max;
	pool->queue[last] = waiting;
	waiting = no_job;
	return 0;
}

int worker_pool_poll_fd(const struct worker_pool *pool)
{
	return pool->epoll_fd;
}

/* Has the worker ended? Then its slot is free. */
static bool take_result(
	struct worker_pool *pool, struct worker *worker, struct worker_result *ret_result)
{
	struct child_process_end end;

	if (!worker->child || child_process_finish(worker->child, &end) < 0)
		return false;
	worker_outcome(
		&end, &worker->request, worker->output_fd, pool->options.output_bytes, ret_result);
	ret_result->context = worker->context;
	worker_done(worker);
	pool->running--;
	return true;
}

static void drop_first(struct worker_pool *pool)
{
	waiting_job_done(&pool->queue[pool->queue_first]);
	pool->queue_first = (pool->queue_first + 1) % pool->options.queue_max;
	pool->queue_count--;
}

/* Returns 0, or -errno if the first job in the queue can never be started. */
static int start_waiting(struct worker_pool *pool)
{
	while (pool->queue_count > 0 && pool->running < pool->options.workers_max) {
		int r = start(pool, &pool->queue[pool->queue_first]);

		if (r == -EAGAIN && !is_started_here(pool)) {
			retry_later(pool);
			return 0;
		}
		if (r < 0)
			return r;
		drop_first(pool);
	}
	return 0;
}

int worker_pool_run(struct worker_pool *pool,
	void (*done)(void *context, const struct worker_result *result), void *context)
{
	struct worker_result result;
	uint64_t expirations;
	int r;

	(void)!read(pool->retry_fd, &expirations, sizeof(expirations));
	for (size_t i = 0; i < pool->options.workers_max; i++)
		split_channel_serve(&pool->workers[i].channel, pool->options.open_split_file,
			pool->options.open_split_file_context, pool->workers[i].context);
	for (size_t i = 0; i < pool->options.workers_max; i++)
		if (take_result(pool, &pool->workers[i], &result)) {
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
			.context = pool->queue[pool->queue_first].context,
			.failure = PILOTLIGHT_SYMBOL_UNREADABLE,
			.report.error = r,
		};
		drop_first(pool);
		done(context, &result);
	}
	return 0;
}

size_t worker_pool_pending(const struct worker_pool *pool)
{
	return pool->running + pool->queue_count;
}

void worker_pool_hurry(struct worker_pool *pool)
{
	if (pool->is_hurried)
		return;
	pool->is_hurried = true;
	for (size_t i = 0; i < pool->options.workers_max; i++)
		if (pool->workers[i].child)
			child_process_set_idle(pool->workers[i].child, false);
}
