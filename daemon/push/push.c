/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/push.h"

#include "api/answer_job.h"
#include "base/clock.h"
#include "base/log.h"
#include "push/batch_job.h"
#include "push/late_names.h"
#include "push/sending.h"
#include "query/host_sample.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define MEMORY_BYTES_DEFAULT (96ULL << 20)
#define BATCH_BYTES_DEFAULT  (32ULL << 20)
#define TIMEOUT_NS_DEFAULT   (60ULL * NSEC_PER_SEC)

/* Windows end at round times, but for the jitter of a timer. */
#define JITTER_NS 100000000ULL

#define INTERVAL_NS_MIN ((uint64_t)NSEC_PER_SEC)

#define RETRY_NS_MIN ((uint64_t)NSEC_PER_SEC)
#define RETRY_NS_MAX (60ULL * NSEC_PER_SEC)

enum { STATUS_OK = 200, STATUS_NOT_FOUND = 404, STATUS_TOO_LARGE = 413 };

enum sink_state {
	SINK_WAITING, /* for the end of an interval, for names, for its turn, or to try again */
	SINK_MAKING,  /* a query process makes a batch */
	SINK_WRITING, /* the thread has a task */
};

struct sink {
	const struct push_sink_options *options;
	enum sink_state state;
	bool is_open;			       /* the spool has been read, so `until_ns` is known */
	uint64_t until_ns[PILOTLIGHT_SOURCES]; /* 0: begins with the next window */
	uint64_t behind_ns[PILOTLIGHT_SOURCES]; /* windows in a row that ended before `until_ns` */
	uint32_t ended; /* sources that are off, with no window left; 1 << enum pilotlight_source */
	struct batch batch;			       /* the one being made or written */
	uint64_t batch_bytes;			       /* 0: none is being written */
	struct late_names late_names, late_names_then; /* once `batch` is written */
	struct answer_job *job;
	uint64_t names_until_ns;       /* CLOCK_MONOTONIC: `batch` waits for names; 0: none does */
	uint64_t retry_ns, backoff_ns; /* CLOCK_MONOTONIC; 0: no failure */
	uint64_t interval_ns;	       /* shorter than the option's if batches were too large */
	bool is_window_too_large;      /* the receiver refused a batch that cannot be shorter */
	struct sending *sending;       /* NULL: no receiver */
	struct service_status_sink report;
};

struct push {
	struct push_options options;
	int epoll_fd;
	uint64_t sealed_ns; /* CLOCK_REALTIME; 0: unknown */
	uint64_t window_ns; /* how long the last window was; 0: unknown */
	bool is_making;	    /* some sink is */
	size_t senders;	    /* processes that send */
	struct sink sinks[SPOOLS_MAX];
};

static size_t index_of(const struct push *push, const struct sink *sink)
{
	return (size_t)(sink - push->sinks);
}

/* --- results --- */

static void fail(struct sink *sink, const char *what)
{
	struct service_status_sink *report = &sink->report;

	sink->backoff_ns = sink->backoff_ns == 0		 ? RETRY_NS_MIN
			   : sink->backoff_ns < RETRY_NS_MAX / 2 ? sink->backoff_ns * 2
								 : RETRY_NS_MAX;
	sink->retry_ns = clock_monotonic_ns() + sink->backoff_ns;
	sink->state = SINK_WAITING;
	sink->batch_bytes = 0;
	sink->names_until_ns = 0; /* the next attempt is for a new batch, up to the last window */
	report->failed++;
	(void)snprintf(report->fault, sizeof(report->fault), "%s", what);
	if (!report->is_failing)
		log_warning("sink %s: %s; trying again, the history keeps the profiles",
			report->name, what);
	report->is_failing = true;
}

static void succeed(struct sink *sink)
{
	sink->state = SINK_WAITING;
	sink->backoff_ns = sink->retry_ns = 0;
	sink->names_until_ns = 0;
	sink->batch_bytes = 0;
	if (sink->report.is_failing)
		log_info("sink %s: it works again", sink->report.name);
	sink->report.is_failing = false;
	sink->report.fault[0] = '\0';
}

/* A window that begins some milliseconds early belongs to the epoch that it is in. */
static uint64_t epoch_of(uint64_t start_ns)
{
	return (start_ns + JITTER_NS) / HOST_SAMPLE_EPOCH_NS;
}

static void skip(struct push *push, struct sink *sink)
{
	sink->batch_bytes = 0;
	sink->state = SINK_WRITING;
	spool_thread_add(push->options.spools, index_of(push, sink), &sink->batch, -1, 0);
}

/* Late names may be what made it too large: it is made again without. */
static void skip_too_large(struct push *push, struct sink *sink)
{
	if (sink->late_names.count > 0) {
		sink->late_names.count = 0;
		sink->state = SINK_WAITING;
		return;
	}
	sink->report.skipped_ns[SERVICE_SINK_TOO_LARGE] +=
		sink->batch.end_ns - sink->batch.start_ns;
	skip(push, sink);
}

/* Is this host one of those that push at the time of the batch? */
static bool is_sampled(const struct sink *sink)
{
	const struct push_sink_options *options = sink->options;

	return host_sample_has(options->host_id, epoch_of(sink->batch.start_ns),
		host_sample_seed(options->name), options->sample_hosts_ppm);
}

static void skip_unsampled(struct push *push, struct sink *sink)
{
	sink->report.skipped_ns[SERVICE_SINK_UNSAMPLED] +=
		sink->batch.end_ns - sink->batch.start_ns;
	skip(push, sink);
}

/* The last bytes of gzip say how much it holds (RFC 1952). */
static uint64_t plain_bytes_of(int fd, uint64_t bytes)
{
	uint8_t end[4];

	if (bytes < sizeof(end) ||
		pread(fd, end, sizeof(end), (off_t)(bytes - sizeof(end))) != sizeof(end))
		return 0;
	return end[0] | end[1] << 8 | end[2] << 16 | (uint64_t)end[3] << 24;
}

/* Makes a batch of its first half next. A window ends some milliseconds early or late. */
static void divide(struct push *push, struct sink *sink)
{
	const uint64_t duration_ns = sink->batch.end_ns - sink->batch.start_ns;

	if (sink->late_names.count > 0 || push->window_ns == 0 ||
		duration_ns + JITTER_NS < 2 * push->window_ns) {
		skip_too_large(push, sink);
		return;
	}
	sink->batch.end_ns = sink->batch.start_ns + duration_ns / 2 + JITTER_NS;
	sink->state = SINK_WAITING;
}

/* Of other sources the state may tell the time of a clock that was ahead. */
static void take_state(struct sink *sink, const struct spool_state *state)
{
	struct service_status_sink *report = &sink->report;

	if (sink->is_open)
		sink->until_ns[sink->batch.source] = sink->batch.end_ns;
	else
		memcpy(sink->until_ns, state->until_ns, sizeof(sink->until_ns));
	report->kept_files = state->files;
	report->kept_bytes = state->bytes;
	report->until_ns = sink->until_ns[PILOTLIGHT_SOURCE_CPU];
}

static void take_losses(struct sink *sink, const struct spool_state *state)
{
	sink->report.skipped_ns[SERVICE_SINK_EVICTED] += state->evicted_ns;
	sink->report.skipped_ns[SERVICE_SINK_EXPIRED] += state->expired_ns;
}

static void written(struct push *push, struct sink *sink)
{
	struct spool_result result;

	if (spool_thread_take(push->options.spools, index_of(push, sink), &result) < 0)
		return;
	take_losses(sink, &result.state);
	if (result.error == -EFBIG) {
		skip_too_large(push, sink);
		return;
	}
	if (result.error < 0) {
		char text[128];

		(void)snprintf(text, sizeof(text), "cannot write to its folder: %s",
			strerror(-result.error));
		fail(sink, text);
		return;
	}
	take_state(sink, &result.state);
	if (sink->batch_bytes > 0) {
		sink->report.batches++;
		sink->report.bytes += sink->batch_bytes;
		sink->late_names = sink->late_names_then;
		if (sink->sending)
			sending_wake(sink->sending, &sink->batch);
	}
	sink->is_open = true;
	succeed(sink);
}

static bool is_on(const struct push *push, enum pilotlight_source source)
{
	return push->options.sources & 1U << source;
}

static void made(struct push *push, struct sink *sink)
{
	struct answer_outcome outcome;

	if (answer_job_take(sink->job, &outcome) < 0)
		return;
	answer_job_free(TAKE_PTR(sink->job));
	push->is_making = false;
	switch (outcome.status) {
	case STATUS_OK:
		if (sink->options->plain_bytes_max > 0 &&
			plain_bytes_of(outcome.fd, outcome.bytes) >
				sink->options->plain_bytes_max) {
			closep(&outcome.fd);
			divide(push, sink);
			break;
		}
		sink->batch_bytes = outcome.bytes;
		sink->late_names_then = sink->late_names;
		late_names_read(&sink->late_names_then, outcome.fd, outcome.bytes);
		sink->state = SINK_WRITING;
		spool_thread_add(push->options.spools, index_of(push, sink), &sink->batch,
			outcome.fd, outcome.bytes);
		break;
	case STATUS_NOT_FOUND:
		/* These windows were dropped, and are counted as such; or the source is off. */
		sink->report.empty++;
		if (!is_on(push, sink->batch.source))
			sink->ended |= 1U << sink->batch.source;
		skip(push, sink);
		break;
	case STATUS_TOO_LARGE:
		divide(push, sink);
		break;
	default:
		sink->late_names.count = 0; /* these may be why */
		fail(sink, outcome.text);
	}
}

/* --- beginnings --- */

static int start_job(struct push *push, struct sink *sink)
{
	_cleanup_(answer_job_freep) struct answer_job *job = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	int r = batch_job_start(
		&push->options, sink->options, &sink->batch, &sink->late_names, &job);

	if (r < 0)
		return r;
	if (epoll_ctl(push->epoll_fd, EPOLL_CTL_ADD, answer_job_poll_fd(job), &event) < 0)
		return -errno;
	sink->job = TAKE_PTR(job);
	return 0;
}

static void make(struct push *push, struct sink *sink)
{
	char text[128];
	int r = start_job(push, sink);

	if (r < 0) {
		(void)snprintf(
			text, sizeof(text), "cannot start the query process: %s", strerror(-r));
		fail(sink, text);
		return;
	}
	sink->state = SINK_MAKING;
	push->is_making = true;
}

/* Skips what is too old, so that windows that were merged with age are in no batch. */
static void limit_age(const struct push *push, struct sink *sink, enum pilotlight_source source)
{
	uint64_t *until_ns = &sink->until_ns[source];
	uint64_t least_ns = push->sealed_ns > push->options.catch_up_ns
				    ? push->sealed_ns - push->options.catch_up_ns
				    : 0;

	if (*until_ns >= least_ns)
		return;
	sink->report.skipped_ns[SERVICE_SINK_TOO_OLD] += least_ns - *until_ns;
	*until_ns = least_ns;
}

/* Intervals end at round wall-clock times, as windows do, so that hosts compare. */
static bool has_interval_ended(
	const struct push *push, const struct sink *sink, enum pilotlight_source source)
{
	uint64_t interval_ns = sink->interval_ns;

	return (push->sealed_ns + JITTER_NS) / interval_ns >
	       (sink->until_ns[source] + JITTER_NS) / interval_ns;
}

/* A batch is of one epoch, in which this host is drawn or not. */
static void end_with_epoch(struct sink *sink)
{
	const uint64_t end_ns = (epoch_of(sink->batch.start_ns) + 1) * HOST_SAMPLE_EPOCH_NS;

	if (sink->options->sample_hosts_ppm < HOST_SAMPLE_ALL &&
		sink->batch.end_ns > end_ns + JITTER_NS)
		sink->batch.end_ns = end_ns + JITTER_NS;
}

/* Returns whether a batch is due, and which. */
static bool find_batch(const struct push *push, struct sink *sink)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		/* The last windows of a source that was turned off are still due. */
		if (push->sealed_ns == 0 || sink->until_ns[i] == 0 || sink->ended & 1U << i ||
			!has_interval_ended(push, sink, i))
			continue;
		limit_age(push, sink, i);
		sink->batch = (struct batch){
			.start_ns = sink->until_ns[i],
			.end_ns = push->sealed_ns,
			.source = i,
		};
		end_with_epoch(sink);
		return true;
	}
	return false;
}

static void run_waiting(
	struct push *push, struct sink *sink, uint64_t now_ns, bool are_names_pending)
{
	if (now_ns < sink->retry_ns)
		return;
	if (!sink->is_open) {
		sink->state = SINK_WRITING;
		spool_thread_open(push->options.spools, index_of(push, sink));
		return;
	}
	if (sink->names_until_ns == 0) {
		if (!find_batch(push, sink))
			return;
		if (!is_sampled(sink)) {
			skip_unsampled(push, sink);
			return;
		}
		sink->names_until_ns = now_ns + sink->options->name_wait_ns;
	}
	if (!push->is_making && (!are_names_pending || now_ns >= sink->names_until_ns))
		make(push, sink);
}

/* A window cannot be divided: for shorter intervals it would only cost more query processes. */
static void shorten(const struct push *push, struct sink *sink, uint64_t duration_ns)
{
	if (duration_ns + JITTER_NS < 2 * push->window_ns) {
		if (!sink->is_window_too_large)
			log_warning("sink %s: a single window is too large for its receiver: raise "
				    "the receiver's limit, or lower Window=",
				sink->report.name);
		sink->is_window_too_large = true;
		sink->interval_ns = sink->options->interval_ns;
		return;
	}
	if (duration_ns / 2 < sink->interval_ns)
		sink->interval_ns =
			duration_ns / 2 < INTERVAL_NS_MIN ? INTERVAL_NS_MIN : duration_ns / 2;
}

static void lengthen(struct sink *sink)
{
	sink->is_window_too_large = false;
	sink->interval_ns = sink->interval_ns < sink->options->interval_ns / 2
				    ? sink->interval_ns * 2
				    : sink->options->interval_ns;
}

static void run_sending(const struct push *push, struct sink *sink)
{
	uint64_t duration_ns;

	sending_run(sink->sending);
	if (sending_take_too_large(sink->sending, &duration_ns))
		shorten(push, sink, duration_ns);
	if (sending_take_room(sink->sending))
		lengthen(sink);
}

void push_run(struct push *push, bool are_names_pending)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < push->options.sink_count; i++) {
		struct sink *sink = &push->sinks[i];

		if (sink->state == SINK_MAKING)
			made(push, sink);
		else if (sink->state == SINK_WRITING)
			written(push, sink);
		if (sink->state == SINK_WAITING)
			run_waiting(push, sink, now_ns, are_names_pending);
		if (sink->sending)
			run_sending(push, sink);
	}
}

/*
 * A time that a sink has is not pushed again. A clock that stays behind for long was ahead before,
 * and would silence the sink for as long. One that is behind for a short time was not set yet: it
 * is not known at once which.
 */
static void take_window(const struct push *push, struct sink *sink, enum pilotlight_source source,
	uint64_t start_ns, uint64_t until_ns)
{
	if (sink->until_ns[source] == 0)
		sink->until_ns[source] = until_ns;
	if (until_ns >= sink->until_ns[source]) {
		sink->behind_ns[source] = 0;
		return;
	}
	sink->behind_ns[source] += until_ns - start_ns;
	if (sink->behind_ns[source] > push->options.catch_up_ns)
		sink->until_ns[source] = start_ns;
	else
		sink->report.skipped_ns[SERVICE_SINK_CLOCK_SET] += until_ns - start_ns;
}

void push_sealed(struct push *push, uint64_t start_ns, uint64_t until_ns)
{
	for (size_t s = 0; s < push->options.sink_count; s++) {
		struct sink *sink = &push->sinks[s];

		if (!sink->is_open)
			continue;
		for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
			if (is_on(push, i))
				take_window(push, sink, i, start_ns, until_ns);
	}
	push->window_ns = until_ns - start_ns;
	push->sealed_ns = until_ns;
}

/* --- */

static int open_sending(struct push *push, size_t i)
{
	struct sink *sink = &push->sinks[i];
	const struct sending_options options = {
		.name = sink->options->name,
		.type = sink->options->type,
		.timeout_ns = sink->options->send_timeout_ns,
		.spools = push->options.spools,
		.spool = i,
		.broker = push->options.broker,
		.program = push->options.program,
		.epoll_fd = push->epoll_fd,
		.senders = &push->senders,
		.report = &sink->report,
	};

	return sink->options->send_timeout_ns > 0 ? sending_new(&options, &sink->sending) : 0;
}

static int open_sendings(struct push *push)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < push->options.sink_count; i++)
		r = open_sending(push, i);
	return r;
}

int push_new(const struct push_options *options, struct push **ret_push)
{
	_cleanup_(push_freep) struct push *push = calloc(1, sizeof(*push));
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	if (!push)
		return -ENOMEM;
	assert(options->sink_count <= SPOOLS_MAX);
	push->options = *options;
	if (!push->options.memory_bytes)
		push->options.memory_bytes = MEMORY_BYTES_DEFAULT;
	if (!push->options.batch_bytes)
		push->options.batch_bytes = BATCH_BYTES_DEFAULT;
	if (!push->options.timeout_ns)
		push->options.timeout_ns = TIMEOUT_NS_DEFAULT;
	for (size_t i = 0; i < options->sink_count; i++) {
		struct sink *sink = &push->sinks[i];

		sink->options = &push->options.sinks[i];
		sink->interval_ns = sink->options->interval_ns;
		sink->state = SINK_WRITING; /* the thread opens the spool first */
		(void)snprintf(
			sink->report.name, sizeof(sink->report.name), "%s", sink->options->name);
		(void)snprintf(
			sink->report.type, sizeof(sink->report.type), "%s", sink->options->type);
	}
	push->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (push->epoll_fd < 0 || epoll_ctl(push->epoll_fd, EPOLL_CTL_ADD,
					  spool_thread_poll_fd(options->spools), &event) < 0)
		return -errno;
	r = open_sendings(push);
	if (r < 0)
		return r;
	*ret_push = TAKE_PTR(push);
	return 0;
}

void push_free(struct push *push)
{
	if (!push)
		return;
	for (size_t i = 0; i < SPOOLS_MAX; i++)
		answer_job_free(push->sinks[i].job);
	for (size_t i = 0; i < SPOOLS_MAX; i++)
		sending_free(push->sinks[i].sending);
	closep(&push->epoll_fd);
	free(push);
}

int push_poll_fd(const struct push *push)
{
	return push->epoll_fd;
}

uint64_t push_memory_bytes(const struct push *push)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < push->options.sink_count; i++)
		if (push->sinks[i].sending)
			bytes += sending_memory_bytes(push->sinks[i].sending);
	return bytes;
}

void push_report(const struct push *push, size_t sink, struct service_status_sink *ret_sink)
{
	*ret_sink = push->sinks[sink].report;
	if (push->sinks[sink].sending)
		sending_report(push->sinks[sink].sending, ret_sink);
}
