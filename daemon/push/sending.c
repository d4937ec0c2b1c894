/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/sending.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define BACKOFF_NS_MIN ((uint64_t)NSEC_PER_SEC)
#define BACKOFF_NS_MAX (300ULL * NSEC_PER_SEC)

/* After the broker was too busy to start a process. */
#define BUSY_NS (NSEC_PER_SEC / 2)

enum state {
	STATE_IDLE,	/* the spool is empty */
	STATE_WAITING,	/* until `retry_ns` */
	STATE_FINDING,	/* the thread looks for a batch */
	STATE_READY,	/* has a batch, and waits for its turn */
	STATE_SENDING,	/* a process sends it */
	STATE_REMOVING, /* the thread deletes a batch */
};

struct sending {
	struct sending_options options;
	enum state state;
	uint64_t retry_ns, backoff_ns; /* CLOCK_MONOTONIC */

	struct batch batch; /* found, being sent, or being removed */
	int fd;
	uint64_t bytes;
	struct send_job *job;
	bool is_woken;	  /* the spool got a batch since the last search began */
	bool must_remove; /* the receiver has taken `batch`, or it is given up */

	bool has_refused; /* `batch` was tried after `refused` had been refused */
	struct batch refused;
	enum service_sink_skip refused_as;

	uint64_t too_large_ns;	  /* how long the last such batch is; 0: none was */
	uint64_t too_large_bytes; /* the least size that was refused; 0: none is known */
	unsigned small_batches;	  /* taken in a row */
	bool has_room;
	uint64_t failed;
	bool is_failing;
	char fault[sizeof(((struct service_status_sink *)NULL)->fault)];
};

/* `number` / UINT32_MAX of it. */
static uint64_t part_of(uint64_t time_ns, uint32_t number)
{
	return (uint64_t)((double)time_ns * number / UINT32_MAX);
}

static uint32_t random_number(void)
{
	return (uint32_t)(clock_monotonic_ns() * 0x9e3779b97f4a7c15ULL >> 32);
}

int sending_new(const struct sending_options *options, struct sending **ret_sending)
{
	struct sending *sending = calloc(1, sizeof(*sending));

	if (!sending)
		return -ENOMEM;
	sending->options = *options;
	if (!sending->options.backoff_ns_min)
		sending->options.backoff_ns_min = BACKOFF_NS_MIN;
	if (!sending->options.backoff_ns_max)
		sending->options.backoff_ns_max = BACKOFF_NS_MAX;
	if (!sending->options.random)
		sending->options.random = random_number;
	sending->fd = -1;
	/* What an earlier engine left. */
	sending->state = STATE_WAITING;
	options->report->is_sent = true;
	*ret_sending = sending;
	return 0;
}

void sending_free(struct sending *sending)
{
	if (!sending)
		return;
	if (sending->job)
		--*sending->options.senders;
	send_job_free(sending->job);
	closep(&sending->fd);
	free(sending);
}

void sending_wake(struct sending *sending)
{
	sending->is_woken = true;
	if (sending->state == STATE_IDLE)
		sending->state = STATE_WAITING;
}

/* --- results --- */

static uint64_t duration_of(const struct batch *batch)
{
	return batch->end_ns - batch->start_ns;
}

/*
 * Hosts that failed together must not come back together: between half and all of the backoff. A
 * receiver that asks for a wait asks all hosts for the same: up to half of it is added.
 */
static uint64_t with_jitter(
	const struct sending *sending, uint64_t backoff_ns, uint64_t retry_after_ns)
{
	const uint32_t number = sending->options.random();
	const uint64_t wait_ns = backoff_ns / 2 + part_of(backoff_ns / 2, number);
	const uint64_t asked_ns = retry_after_ns + part_of(retry_after_ns / 2, number);

	return wait_ns > asked_ns ? wait_ns : asked_ns;
}

static void wait_for(struct sending *sending, uint64_t wait_ns)
{
	sending->retry_ns = clock_monotonic_ns() + wait_ns;
	sending->state = STATE_WAITING;
	closep(&sending->fd);
	sending->fd = -1;
}

__attribute__((format(printf, 3, 4))) static void fail(
	struct sending *sending, uint64_t retry_after_ns, const char *format, ...)
{
	uint64_t most_ns = sending->options.backoff_ns_max;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(sending->fault, sizeof(sending->fault), format, arguments);
	va_end(arguments);
	sending->backoff_ns = sending->backoff_ns == 0		  ? sending->options.backoff_ns_min
			      : sending->backoff_ns < most_ns / 2 ? sending->backoff_ns * 2
								  : most_ns;
	sending->failed++;
	sending->has_refused = false;
	if (!sending->is_failing)
		log_warning("sink %s: %s; trying again, its folder keeps the batches",
			sending->options.name, sending->fault);
	sending->is_failing = true;
	wait_for(sending, with_jitter(sending, sending->backoff_ns, retry_after_ns));
}

/* An alarm, once: somebody must mend the receiver or the configuration. */
static void hold(struct sending *sending, const struct send_outcome *outcome)
{
	struct service_status_sink *report = sending->options.report;

	if (!report->is_held)
		log_error("sink %s: its receiver refuses every batch, so they are kept, up to "
			  "MaxBytes= and MaxAge=: %s",
			sending->options.name, outcome->text);
	report->is_held = true;
	sending->is_failing = true;
	fail(sending, outcome->retry_after_ns, "held: %.150s", outcome->text);
}

static void find(struct sending *sending, enum spool_search search)
{
	closep(&sending->fd);
	sending->fd = -1;
	sending->state = STATE_FINDING;
	sending->is_woken = false;
	spool_thread_find(sending->options.spools, sending->options.spool, search);
}

static void remove_batch(struct sending *sending)
{
	closep(&sending->fd);
	sending->fd = -1;
	sending->must_remove = true;
	sending->state = STATE_REMOVING;
	spool_thread_remove(sending->options.spools, sending->options.spool, &sending->batch);
}

/* Twice the time is at most about twice the bytes: growing must not cost a batch. */
static void note_size_taken(struct sending *sending)
{
	/* It takes more than it did: it was mended. */
	if (sending->bytes >= sending->too_large_bytes)
		sending->too_large_bytes = 0;
	if (sending->too_large_bytes > 0 && sending->bytes > sending->too_large_bytes / 2) {
		sending->small_batches = 0;
		return;
	}
	if (++sending->small_batches < SENDING_GROW_AFTER)
		return;
	sending->small_batches = 0;
	sending->has_room = true;
}

static void note_size_refused(struct sending *sending)
{
	sending->too_large_ns = duration_of(&sending->batch);
	if (sending->too_large_bytes == 0 || sending->bytes < sending->too_large_bytes)
		sending->too_large_bytes = sending->bytes;
	sending->small_batches = 0;
	sending->has_room = false;
}

static void succeed(struct sending *sending, const struct send_outcome *outcome)
{
	struct service_status_sink *report = sending->options.report;

	report->sent_batches++;
	report->sent_bytes += sending->bytes;
	if (__builtin_add_overflow(report->rejected, outcome->rejected, &report->rejected))
		report->rejected = UINT64_MAX;
	if (outcome->rejected > 0)
		log_debug("sink %s: profiles rejected: %s", report->name, outcome->text);
	if (sending->is_failing)
		log_info("sink %s: its receiver takes batches again", report->name);
	report->is_held = sending->is_failing = false;
	sending->fault[0] = '\0';
	sending->backoff_ns = 0;
	note_size_taken(sending);
	remove_batch(sending);
}

static void refuse(struct sending *sending, const struct send_outcome *outcome,
	enum service_sink_skip refused_as)
{
	if (sending->has_refused) {
		hold(sending, outcome);
		return;
	}
	sending->has_refused = true;
	sending->refused = sending->batch;
	sending->refused_as = refused_as;
	(void)snprintf(sending->fault, sizeof(sending->fault), "held: %.150s", outcome->text);
	find(sending, SPOOL_NEWEST);
}

static bool is_same(const struct batch *a, const struct batch *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->source == b->source;
}

/* --- the states --- */

static void take_state(struct sending *sending, const struct spool_found *found)
{
	struct service_status_sink *report = sending->options.report;

	report->skipped_ns[SERVICE_SINK_EVICTED] += found->state.evicted_ns;
	report->skipped_ns[SERVICE_SINK_EXPIRED] += found->state.expired_ns;
	if (found->error < 0 && found->error != -ENOENT)
		return;
	report->kept_files = found->state.files;
	report->kept_bytes = found->state.bytes;
}

static void found(struct sending *sending)
{
	struct spool_found result;

	if (spool_thread_take_found(sending->options.spools, sending->options.spool, &result) < 0)
		return;
	take_state(sending, &result);
	if (result.error == -ENOENT && !sending->has_refused) {
		/* The batch may have come behind the thread's look at the folder. */
		sending->state = sending->is_woken ? STATE_WAITING : STATE_IDLE;
		return;
	}
	if (result.error < 0 && result.error != -ENOENT) {
		fail(sending, 0, "cannot read its folder: %s", strerror(-result.error));
		return;
	}
	sending->fd = result.fd;
	sending->bytes = result.bytes;
	/* The refused batch is the only one, so there is no telling who is at fault. */
	if (result.error == -ENOENT ||
		(sending->has_refused && is_same(&result.batch, &sending->refused))) {
		char text[sizeof(sending->fault)];

		memcpy(text, sending->fault, sizeof(text));
		fail(sending, 0, "%s", text);
		return;
	}
	sending->batch = result.batch;
	sending->state = STATE_READY;
}

static const char *explain_start(int error)
{
	switch (-error) {
	case ENETDOWN:
		return "nothing listens at the socket for senders: run `systemctl enable --now "
		       "pilotlight-send.socket`";
	case E2BIG:
		return "Url=, Header= or the name of a file is too long";
	}
	return strerror(-error);
}

static void start(struct sending *sending)
{
	const struct send_job_options options = {
		.broker = sending->options.broker,
		.program = sending->options.program,
		.receiver = sending->options.receiver,
		.fd = sending->fd,
		.bytes = sending->bytes,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	if (*sending->options.senders >= SENDERS_MAX)
		return;
	r = send_job_start(&options, &sending->job);
	if (r == 0 && epoll_ctl(sending->options.epoll_fd, EPOLL_CTL_ADD,
			      send_job_poll_fd(sending->job), &event) < 0) {
		r = -errno;
		send_job_free(TAKE_PTR(sending->job));
	}
	if (r == -EAGAIN) {
		wait_for(sending, BUSY_NS);
		sending->has_refused = false;
		return;
	}
	if (r < 0) {
		fail(sending, 0, "cannot send: %s", explain_start(r));
		return;
	}
	++*sending->options.senders;
	sending->state = STATE_SENDING;
}

static void sent(struct sending *sending)
{
	struct send_outcome outcome;

	if (send_job_take(sending->job, &outcome) < 0)
		return;
	send_job_free(TAKE_PTR(sending->job));
	--*sending->options.senders;
	switch (outcome.verdict) {
	case SEND_TAKEN:
		succeed(sending, &outcome);
		break;
	case SEND_TOO_LARGE:
		note_size_refused(sending);
		refuse(sending, &outcome, SERVICE_SINK_REFUSED_SIZE);
		break;
	case SEND_REFUSED_BATCH:
		refuse(sending, &outcome, SERVICE_SINK_REFUSED);
		break;
	case SEND_REFUSED:
		hold(sending, &outcome);
		break;
	case SEND_TRY_AGAIN:
		fail(sending, outcome.retry_after_ns, "%s", outcome.text);
		break;
	}
}

static void removed(struct sending *sending)
{
	struct spool_found result;

	if (spool_thread_take_found(sending->options.spools, sending->options.spool, &result) < 0)
		return;
	take_state(sending, &result);
	/* It must not be sent once more: removing it is tried again. */
	if (result.error < 0) {
		fail(sending, 0, "cannot delete what was sent: %s", strerror(-result.error));
		return;
	}
	sending->must_remove = false;
	if (!sending->has_refused) {
		find(sending, SPOOL_OLDEST);
		return;
	}
	/* The receiver took another one, so this one is at fault. */
	sending->has_refused = false;
	sending->batch = sending->refused;
	sending->options.report->skipped_ns[sending->refused_as] += duration_of(&sending->batch);
	remove_batch(sending);
}

static void step(struct sending *sending)
{
	switch (sending->state) {
	case STATE_IDLE:
		break;
	case STATE_WAITING:
		if (clock_monotonic_ns() < sending->retry_ns)
			break;
		if (sending->must_remove)
			remove_batch(sending);
		else
			find(sending, SPOOL_OLDEST);
		break;
	case STATE_FINDING:
		found(sending);
		break;
	case STATE_READY:
		start(sending);
		break;
	case STATE_SENDING:
		sent(sending);
		break;
	case STATE_REMOVING:
		removed(sending);
		break;
	}
}

void sending_run(struct sending *sending)
{
	enum state before;

	/* What began may be done already. */
	do {
		before = sending->state;
		step(sending);
	} while (sending->state != before);
}

bool sending_take_too_large(struct sending *sending, uint64_t *ret_duration_ns)
{
	if (sending->too_large_ns == 0)
		return false;
	*ret_duration_ns = sending->too_large_ns;
	sending->too_large_ns = 0;
	return true;
}

uint64_t sending_retry_ns(const struct sending *sending)
{
	return sending->state == STATE_WAITING ? sending->retry_ns : 0;
}

bool sending_take_room(struct sending *sending)
{
	bool has_room = sending->has_room;

	sending->has_room = false;
	return has_room;
}

void sending_report(const struct sending *sending, struct service_status_sink *report)
{
	report->failed += sending->failed;
	if (!sending->is_failing || report->is_failing)
		return;
	report->is_failing = true;
	memcpy(report->fault, sending->fault, sizeof(report->fault));
}
