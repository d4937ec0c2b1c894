/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/spool_thread.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

enum task_state { TASK_NONE, TASK_WAITING, TASK_RUNNING, TASK_DONE };

struct task {
	enum task_state state;
	struct spool *spool; /* used by the thread only; NULL: not open */
	bool has_batch;
	struct batch batch;
	int fd;
	uint64_t bytes;
	struct spool_result result;
};

struct spool_thread {
	struct spool_thread_options options;
	pthread_t thread;
	bool has_thread;
	int event_fd;

	pthread_mutex_t lock; /* protects the fields below, but not what a running task uses */
	pthread_cond_t changed;
	struct task tasks[SPOOLS_MAX];
	bool is_ending, has_entered;
	int enter_error;
};

static int run_task(const struct spool_thread *thread, struct task *task)
{
	const struct spool_options *options = &thread->options.spools[task - thread->tasks];
	int r = task->spool ? 0 : spool_open(options, &task->spool);

	if (r < 0 || !task->has_batch)
		return r;
	return task->fd < 0 ? spool_skip(task->spool, &task->batch)
			    : spool_add(task->spool, &task->batch, task->fd, task->bytes,
				      clock_realtime_ns());
}

/* Closes the spool after a failure of the disk: the folder may be replaced until the next task. */
static void finish_task(struct task *task, int error)
{
	task->result = (struct spool_result){ .error = error };
	if (task->spool)
		spool_take_state(task->spool, &task->result.state);
	if (error < 0 && error != -EEXIST && error != -EFBIG) {
		spool_close(task->spool);
		task->spool = NULL;
	}
	closep(&task->fd);
	task->fd = -1;
	task->state = TASK_DONE;
}

static struct task *find_waiting(struct spool_thread *thread)
{
	for (size_t i = 0; i < thread->options.count; i++)
		if (thread->tasks[i].state == TASK_WAITING)
			return &thread->tasks[i];
	return NULL;
}

static void run_tasks(struct spool_thread *thread)
{
	const uint64_t one = 1;
	struct task *task;

	(void)pthread_mutex_lock(&thread->lock);
	while (!thread->is_ending) {
		int r;

		task = find_waiting(thread);
		if (!task) {
			(void)pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		task->state = TASK_RUNNING;
		(void)pthread_mutex_unlock(&thread->lock);
		r = run_task(thread, task);
		(void)pthread_mutex_lock(&thread->lock);
		finish_task(task, r);
		while (write(thread->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	(void)pthread_mutex_unlock(&thread->lock);
}

static void *run(void *context)
{
	struct spool_thread *thread = context;
	int r;

	(void)prctl(PR_SET_NAME, "pilotlightd-sp");
	r = thread->options.enter ? thread->options.enter() : 0;
	(void)pthread_mutex_lock(&thread->lock);
	thread->has_entered = true;
	thread->enter_error = r;
	(void)pthread_cond_broadcast(&thread->changed);
	(void)pthread_mutex_unlock(&thread->lock);
	if (r == 0)
		run_tasks(thread);
	return NULL;
}

static int start_thread(struct spool_thread *thread)
{
	int r = -pthread_create(&thread->thread, NULL, run, thread);

	if (r < 0)
		return r;
	thread->has_thread = true;
	(void)pthread_mutex_lock(&thread->lock);
	while (!thread->has_entered)
		(void)pthread_cond_wait(&thread->changed, &thread->lock);
	r = thread->enter_error;
	(void)pthread_mutex_unlock(&thread->lock);
	return r;
}

int spool_thread_new(const struct spool_thread_options *options, struct spool_thread **ret_thread)
{
	_cleanup_(spool_thread_freep) struct spool_thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	assert(options->count <= SPOOLS_MAX);
	thread->options = *options;
	(void)pthread_mutex_init(&thread->lock, NULL);
	(void)pthread_cond_init(&thread->changed, NULL);
	for (size_t i = 0; i < SPOOLS_MAX; i++) {
		thread->tasks[i].fd = -1;
		thread->tasks[i].state = i < options->count ? TASK_WAITING : TASK_NONE;
	}
	thread->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->event_fd < 0)
		return -errno;
	r = start_thread(thread);
	if (r < 0)
		return r;
	*ret_thread = TAKE_PTR(thread);
	return 0;
}

void spool_thread_free(struct spool_thread *thread)
{
	if (!thread)
		return;
	if (thread->has_thread) {
		(void)pthread_mutex_lock(&thread->lock);
		thread->is_ending = true;
		(void)pthread_cond_broadcast(&thread->changed);
		(void)pthread_mutex_unlock(&thread->lock);
		(void)pthread_join(thread->thread, NULL);
	}
	for (size_t i = 0; i < SPOOLS_MAX; i++) {
		spool_close(thread->tasks[i].spool);
		closep(&thread->tasks[i].fd);
	}
	closep(&thread->event_fd);
	(void)pthread_cond_destroy(&thread->changed);
	(void)pthread_mutex_destroy(&thread->lock);
	free(thread);
}

int spool_thread_poll_fd(const struct spool_thread *thread)
{
	return thread->event_fd;
}

static bool has_done(const struct spool_thread *thread)
{
	for (size_t i = 0; i < thread->options.count; i++)
		if (thread->tasks[i].state == TASK_DONE)
			return true;
	return false;
}

int spool_thread_take(struct spool_thread *thread, size_t spool, struct spool_result *ret_result)
{
	struct task *task = &thread->tasks[spool];
	uint64_t times;
	int r = -EAGAIN;

	(void)pthread_mutex_lock(&thread->lock);
	if (task->state == TASK_DONE) {
		*ret_result = task->result;
		task->state = TASK_NONE;
		r = 0;
	}
	/* Under the lock, so that a task done after this makes the descriptor readable again. */
	if (!has_done(thread))
		(void)!read(thread->event_fd, &times, sizeof(times));
	(void)pthread_mutex_unlock(&thread->lock);
	return r;
}

static void begin(struct spool_thread *thread, size_t spool, const struct batch *batch, int fd,
	uint64_t bytes)
{
	struct task *task = &thread->tasks[spool];

	(void)pthread_mutex_lock(&thread->lock);
	assert(spool < thread->options.count && task->state == TASK_NONE);
	task->has_batch = batch != NULL;
	if (batch)
		task->batch = *batch;
	task->fd = fd;
	task->bytes = bytes;
	task->state = TASK_WAITING;
	(void)pthread_cond_broadcast(&thread->changed);
	(void)pthread_mutex_unlock(&thread->lock);
}

void spool_thread_add(struct spool_thread *thread, size_t spool, const struct batch *batch, int fd,
	uint64_t bytes)
{
	begin(thread, spool, batch, fd, bytes);
}

void spool_thread_open(struct spool_thread *thread, size_t spool)
{
	begin(thread, spool, NULL, -1, 0);
}
