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
enum task_kind { TASK_OPEN, TASK_ADD, TASK_SKIP, TASK_FIND_OLDEST, TASK_FIND_NEWEST, TASK_REMOVE };

struct task {
	enum task_state state;
	enum task_kind kind;
	struct batch batch; /* to be added, skipped or removed; or found */
	uint32_t sources;   /* the search is for a batch of any of them */
	int fd;
	uint64_t bytes;
	struct spool_result result;
};

/* The tasks of a spool: one may fill it, another may empty it. */
enum { FILLING, EMPTYING, TASKS };

struct spool_thread {
	struct spool_thread_options options;
	pthread_t thread;
	bool has_thread;
	int event_fd;
	struct spool *spools[SPOOLS_MAX]; /* used by the thread only; NULL: not open */

	pthread_mutex_t lock; /* protects the fields below, but not what a running task uses */
	pthread_cond_t changed;
	struct task tasks[SPOOLS_MAX][TASKS];
	bool is_ending, has_entered;
	int enter_error;
};

static int run_task(struct spool_thread *thread, size_t i, struct task *task)
{
	struct spool **spool = &thread->spools[i];
	int r = *spool ? 0 : spool_open(&thread->options.spools[i], spool);

	if (r < 0)
		return r;
	switch (task->kind) {
	case TASK_OPEN:
		return 0;
	case TASK_ADD:
		return spool_add(*spool, &task->batch, task->fd, task->bytes, clock_realtime_ns());
	case TASK_SKIP:
		return spool_skip(*spool, &task->batch);
	case TASK_FIND_OLDEST:
		spool_choose(*spool, task->sources);
		return spool_next(
			*spool, NULL, clock_realtime_ns(), &task->batch, &task->fd, &task->bytes);
	case TASK_FIND_NEWEST:
		spool_choose(*spool, task->sources);
		return spool_newest(*spool, &task->batch, &task->fd, &task->bytes);
	case TASK_REMOVE:
		return spool_remove(*spool, &task->batch);
	}
	return -EINVAL;
}

static bool is_search(const struct task *task)
{
	return task->kind == TASK_FIND_OLDEST || task->kind == TASK_FIND_NEWEST;
}

/* Closes the spool after a failure of the disk: the folder may be replaced until the next task. */
static void finish_task(struct spool_thread *thread, size_t i, struct task *task, int error)
{
	task->result = (struct spool_result){ .error = error };
	if (thread->spools[i])
		spool_take_state(thread->spools[i], &task->result.state);
	if (error < 0 && error != -EFBIG && !(error == -ENOENT && is_search(task))) {
		spool_close(thread->spools[i]);
		thread->spools[i] = NULL;
	}
	if (task->kind == TASK_ADD) {
		closep(&task->fd);
		task->fd = -1;
	}
	task->state = TASK_DONE;
}

/* Returns the next task and the number of its spool, or NULL. */
static struct task *find_waiting(struct spool_thread *thread, size_t *ret_spool)
{
	for (size_t i = 0; i < thread->options.count; i++)
		for (size_t n = 0; n < TASKS; n++)
			if (thread->tasks[i][n].state == TASK_WAITING) {
				*ret_spool = i;
				return &thread->tasks[i][n];
			}
	return NULL;
}

static void run_tasks(struct spool_thread *thread)
{
	const uint64_t one = 1;
	struct task *task;
	size_t i;

	(void)pthread_mutex_lock(&thread->lock);
	while (!thread->is_ending) {
		int r;

		task = find_waiting(thread, &i);
		if (!task) {
			(void)pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		task->state = TASK_RUNNING;
		(void)pthread_mutex_unlock(&thread->lock);
		r = run_task(thread, i, task);
		(void)pthread_mutex_lock(&thread->lock);
		finish_task(thread, i, task, r);
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
		thread->tasks[i][FILLING].fd = thread->tasks[i][EMPTYING].fd = -1;
		if (i < options->count)
			thread->tasks[i][FILLING].state = TASK_WAITING;
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
		spool_close(thread->spools[i]);
		closep(&thread->tasks[i][FILLING].fd);
		closep(&thread->tasks[i][EMPTYING].fd);
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
		if (thread->tasks[i][FILLING].state == TASK_DONE ||
			thread->tasks[i][EMPTYING].state == TASK_DONE)
			return true;
	return false;
}

/* Returns 0 and the task's result, once; or -EAGAIN. */
static int take(struct spool_thread *thread, struct task *task, struct task *ret_task)
{
	uint64_t times;
	int r = -EAGAIN;

	(void)pthread_mutex_lock(&thread->lock);
	if (task->state == TASK_DONE) {
		*ret_task = *task;
		task->fd = -1;
		task->state = TASK_NONE;
		r = 0;
	}
	/* Under the lock, so that a task done after this makes the descriptor readable again. */
	if (!has_done(thread))
		(void)!read(thread->event_fd, &times, sizeof(times));
	(void)pthread_mutex_unlock(&thread->lock);
	return r;
}

int spool_thread_take(struct spool_thread *thread, size_t spool, struct spool_result *ret_result)
{
	struct task task;
	int r = take(thread, &thread->tasks[spool][FILLING], &task);

	if (r == 0)
		*ret_result = task.result;
	return r;
}

int spool_thread_take_found(
	struct spool_thread *thread, size_t spool, struct spool_found *ret_found)
{
	struct task task;
	int r = take(thread, &thread->tasks[spool][EMPTYING], &task);

	if (r == 0)
		*ret_found = (struct spool_found){
			.error = task.result.error,
			.batch = task.batch,
			.fd = task.fd,
			.bytes = task.bytes,
			.state = task.result.state,
		};
	return r;
}

static void begin(struct spool_thread *thread, struct task *task, const struct task *wanted)
{
	(void)pthread_mutex_lock(&thread->lock);
	assert(task->state == TASK_NONE);
	*task = *wanted;
	task->state = TASK_WAITING;
	(void)pthread_cond_broadcast(&thread->changed);
	(void)pthread_mutex_unlock(&thread->lock);
}

void spool_thread_add(struct spool_thread *thread, size_t spool, const struct batch *batch, int fd,
	uint64_t bytes)
{
	begin(thread, &thread->tasks[spool][FILLING],
		&(struct task){ .kind = fd < 0 ? TASK_SKIP : TASK_ADD,
			.batch = *batch,
			.fd = fd,
			.bytes = bytes });
}

void spool_thread_open(struct spool_thread *thread, size_t spool)
{
	begin(thread, &thread->tasks[spool][FILLING],
		&(struct task){ .kind = TASK_OPEN, .fd = -1 });
}

void spool_thread_find(
	struct spool_thread *thread, size_t spool, enum spool_search search, uint32_t sources)
{
	begin(thread, &thread->tasks[spool][EMPTYING],
		&(struct task){
			.kind = search == SPOOL_NEWEST ? TASK_FIND_NEWEST : TASK_FIND_OLDEST,
			.sources = sources,
			.fd = -1 });
}

void spool_thread_remove(struct spool_thread *thread, size_t spool, const struct batch *batch)
{
	begin(thread, &thread->tasks[spool][EMPTYING],
		&(struct task){ .kind = TASK_REMOVE, .batch = *batch, .fd = -1 });
}
