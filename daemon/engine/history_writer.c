/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/history_writer.h"

#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/* The time limit of one maintenance step, after each window. */
#define MAINTENANCE_NS 50000000ULL

/* How often the thread reads a summary of the whole folder, in windows. */
enum { SUMMARY_PERIOD = 6 };

struct job {
	struct store_window window;
	struct incident incident;
	bool has_incident;
	struct profile_set profiles; /* none: done */
	size_t bytes;		     /* of the profiles */
	struct history_result result;
};

struct history_writer {
	struct history_writer_options options;
	struct store *store;	    /* used by the thread only; NULL: not open */
	unsigned windows;	    /* used by the thread only */
	struct store_shares shares; /* the thread's: after the last window that was written */
	bool is_maintenance_failing;
	pthread_t thread;
	bool has_thread;
	int event_fd;

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	/* A ring, from `first` on: done jobs, then the one being written, then waiting ones. */
	struct job jobs[HISTORY_WRITER_WAITING_MAX];
	size_t first, done, count;
	size_t waiting_bytes; /* of jobs that are not done */
	bool is_ending, has_entered, has_read_first;
	int enter_error;
	struct store_summary summary;
	uint64_t untimed[STORE_UNTIMED_REASONS];
};

static struct job *job_at(struct history_writer *writer, size_t i)
{
	return &writer->jobs[(writer->first + i) % HISTORY_WRITER_WAITING_MAX];
}

static int open_store(struct history_writer *writer, struct fault *fault)
{
	int r;

	if (writer->store)
		return 0;
	r = store_open(writer->options.folder, &writer->options.limits, &writer->store, fault);
	if (r == 0)
		store_set_shares(writer->store, &writer->shares);
	return r;
}

static void count_untimed(struct history_writer *writer)
{
	(void)pthread_mutex_lock(&writer->lock);
	if (writer->store)
		store_take_untimed(writer->store, writer->untimed);
	(void)pthread_mutex_unlock(&writer->lock);
}

static int append(struct history_writer *writer, struct job *job, struct fault *fault)
{
	const struct profile *profiles[PILOTLIGHT_SOURCES];
	size_t count = 0;
	int r = open_store(writer, fault);

	if (r < 0)
		return r;
	job->window.excess = &job->result.excess;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (job->profiles.of[i])
			profiles[count++] = job->profiles.of[i];
	r = store_append_all(writer->store, &job->window, profiles, count, fault);
	if (r == 0)
		writer->shares = *store_shares(writer->store);
	count_untimed(writer);
	return r;
}

/* An incident that cannot be noted costs nothing else. */
static void write_incident(struct history_writer *writer, struct job *job)
{
	struct fault fault = { 0 };
	int r;

	if (!job->has_incident)
		return;
	r = store_add_incident(writer->store, &job->incident, &fault);
	job->result.incident = job->incident;
	if (r < 0)
		log_warning("the history: %s", fault.text[0] ? fault.text : strerror(-r));
}

/* Closes the store after a failure: the folder may be replaced before the next window. */
static void write_job(struct history_writer *writer, struct job *job)
{
	struct fault fault = { 0 };
	int r = append(writer, job, &fault);

	job->result.error = r;
	user_holdings_add(&job->result.holdings, USER_HISTORY, &writer->shares.of_day);
	if (r == 0) {
		write_incident(writer, job);
		return;
	}
	job->result.incident = job->incident;
	(void)snprintf(job->result.fault, sizeof(job->result.fault), "%s",
		fault.text[0] ? fault.text : strerror(-r));
	store_close(writer->store);
	writer->store = NULL;
}

static void read_summary(struct history_writer *writer)
{
	struct store_summary summary;
	struct fault fault = { 0 };

	if (store_reader_summary(writer->options.folder, &summary, &fault) < 0)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->summary = summary;
	(void)pthread_mutex_unlock(&writer->lock);
}

/*
 * Runs one maintenance step: merging, and freeing space. It also runs after a failed write, because
 * it may free space; it then closes the store, so that the disk can be remounted read-only or
 * unmounted. The next window retries a failed step.
 */
static void maintain(struct history_writer *writer)
{
	struct fault fault = { 0 };
	bool has_failed = !writer->store;
	int r = open_store(writer, &fault);

	if (r == 0)
		r = store_maintain(writer->store, clock_realtime_ns(),
			clock_monotonic_ns() + MAINTENANCE_NS, &fault);
	count_untimed(writer);
	if (has_failed) {
		store_close(writer->store);
		writer->store = NULL;
		return;
	}
	if (r < 0 && !writer->is_maintenance_failing)
		log_warning("the history: %s, trying again with each window",
			fault.text[0] ? fault.text : strerror(-r));
	writer->is_maintenance_failing = r < 0;
	if (writer->windows++ % SUMMARY_PERIOD == 0)
		read_summary(writer);
}

/* Waits for the next job to write. Returns NULL at the end. */
static struct job *wait_for_job(struct history_writer *writer)
{
	struct job *job = NULL;

	(void)pthread_mutex_lock(&writer->lock);
	while (writer->done == writer->count && !writer->is_ending)
		(void)pthread_cond_wait(&writer->changed, &writer->lock);
	if (writer->done < writer->count)
		job = job_at(writer, writer->done);
	(void)pthread_mutex_unlock(&writer->lock);
	return job;
}

static void finish_job(struct history_writer *writer, struct job *job)
{
	const uint64_t one = 1;

	profile_set_done(&job->profiles);
	(void)pthread_mutex_lock(&writer->lock);
	writer->done++;
	writer->waiting_bytes -= job->bytes;
	(void)pthread_cond_broadcast(&writer->changed);
	(void)pthread_mutex_unlock(&writer->lock);
	while (write(writer->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static bool enter(struct history_writer *writer)
{
	int r = writer->options.enter ? writer->options.enter() : 0;

	(void)pthread_mutex_lock(&writer->lock);
	writer->has_entered = true;
	writer->enter_error = r;
	(void)pthread_cond_broadcast(&writer->changed);
	(void)pthread_mutex_unlock(&writer->lock);
	return r == 0;
}

static void read_first(struct history_writer *writer)
{
	if (writer->options.read_first)
		writer->options.read_first(writer->options.context);
	(void)pthread_mutex_lock(&writer->lock);
	writer->has_read_first = true;
	(void)pthread_cond_broadcast(&writer->changed);
	(void)pthread_mutex_unlock(&writer->lock);
}

static void *run(void *context)
{
	struct history_writer *writer = context;
	struct job *job;

	(void)prctl(PR_SET_NAME, "pilotlightd-db");
	if (!enter(writer))
		return NULL;
	read_first(writer);
	read_summary(writer);
	while ((job = wait_for_job(writer))) {
		write_job(writer, job);
		finish_job(writer, job);
		maintain(writer);
	}
	return NULL;
}

static int start_thread(struct history_writer *writer)
{
	int r = -pthread_create(&writer->thread, NULL, run, writer);

	if (r < 0)
		return r;
	writer->has_thread = true;
	(void)pthread_mutex_lock(&writer->lock);
	while (!writer->has_entered)
		(void)pthread_cond_wait(&writer->changed, &writer->lock);
	r = writer->enter_error;
	(void)pthread_mutex_unlock(&writer->lock);
	return r;
}

int history_writer_new(
	const struct history_writer_options *options, struct history_writer **ret_writer)
{
	_cleanup_(history_writer_freep) struct history_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->options = *options;
	writer->event_fd = -1;
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_cond_init(&writer->changed, NULL);
	writer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->event_fd < 0)
		return -errno;
	r = start_thread(writer);
	if (r < 0)
		return r;
	*ret_writer = TAKE_PTR(writer);
	return 0;
}

bool history_writer_wait_first(struct history_writer *writer, uint64_t timeout_ns)
{
	const uint64_t end_ns = clock_monotonic_ns() + timeout_ns;
	const struct timespec end = {
		.tv_sec = (time_t)(end_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(end_ns % NSEC_PER_SEC),
	};
	bool has_read_first;
	int r = 0;

	(void)pthread_mutex_lock(&writer->lock);
	while (!writer->has_read_first && r == 0)
		r = pthread_cond_clockwait(&writer->changed, &writer->lock, CLOCK_MONOTONIC, &end);
	has_read_first = writer->has_read_first;
	(void)pthread_mutex_unlock(&writer->lock);
	return has_read_first;
}

void history_writer_finish(struct history_writer *writer)
{
	if (!writer->has_thread)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->is_ending = true;
	(void)pthread_cond_broadcast(&writer->changed);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	writer->has_thread = false;
}

void history_writer_free(struct history_writer *writer)
{
	if (!writer)
		return;
	history_writer_finish(writer);
	for (size_t i = 0; i < HISTORY_WRITER_WAITING_MAX; i++)
		profile_set_done(&writer->jobs[i].profiles);
	store_close(writer->store);
	if (writer->event_fd >= 0)
		(void)close(writer->event_fd);
	(void)pthread_cond_destroy(&writer->changed);
	(void)pthread_mutex_destroy(&writer->lock);
	free(writer);
}

int history_writer_add(struct history_writer *writer, const struct store_window *window,
	const struct incident *incident, struct profile_set *profiles)
{
	const struct profile *profile = profiles->of[PILOTLIGHT_SOURCE_CPU];
	uint64_t end_monotonic_ns = window->monotonic_ns + (profile->end_ns - profile->start_ns);
	size_t bytes = profile_set_bytes(profiles);
	int r = 0;

	(void)pthread_mutex_lock(&writer->lock);
	if (writer->count == HISTORY_WRITER_WAITING_MAX ||
		(writer->waiting_bytes > 0 &&
			writer->waiting_bytes + bytes > writer->options.waiting_bytes_max)) {
		r = -EAGAIN;
		/* The queue is not empty: the last job's result also covers this lost window. */
		job_at(writer, writer->count - 1)->result.end_monotonic_ns = end_monotonic_ns;
	} else {
		struct job *job = job_at(writer, writer->count++);

		*job = (struct job){
			.window = *window,
			.profiles = *profiles,
			.bytes = bytes,
			.result = {
				.start_ns = profile->start_ns,
				.end_ns = profile->end_ns,
				.end_monotonic_ns = end_monotonic_ns,
			},
		};
		if (incident)
			job->incident = *incident;
		job->has_incident = job->result.has_incident = incident != NULL;
		profile_set_accounts(profiles, &job->result.accounts);
		*profiles = (struct profile_set){ 0 };
		writer->waiting_bytes += bytes;
		(void)pthread_cond_broadcast(&writer->changed);
	}
	(void)pthread_mutex_unlock(&writer->lock);
	profile_set_done(profiles);
	return r;
}

int history_writer_poll_fd(const struct history_writer *writer)
{
	return writer->event_fd;
}

int history_writer_next_result(struct history_writer *writer, struct history_result *ret_result)
{
	uint64_t times;
	int r = -EAGAIN;

	(void)pthread_mutex_lock(&writer->lock);
	if (writer->done > 0) {
		*ret_result = job_at(writer, 0)->result;
		writer->first = (writer->first + 1) % HISTORY_WRITER_WAITING_MAX;
		writer->done--;
		writer->count--;
		r = 0;
	}
	/* Under the lock, so that a job finished after this makes the descriptor readable again. */
	if (writer->done == 0)
		(void)!read(writer->event_fd, &times, sizeof(times));
	(void)pthread_mutex_unlock(&writer->lock);
	return r;
}

void history_writer_untimed(
	struct history_writer *writer, uint64_t ret_untimed[STORE_UNTIMED_REASONS])
{
	(void)pthread_mutex_lock(&writer->lock);
	memcpy(ret_untimed, writer->untimed, sizeof(writer->untimed));
	(void)pthread_mutex_unlock(&writer->lock);
}

void history_writer_summary(struct history_writer *writer, struct store_summary *ret_summary)
{
	(void)pthread_mutex_lock(&writer->lock);
	*ret_summary = writer->summary;
	(void)pthread_mutex_unlock(&writer->lock);
}
