/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/sending.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "push/batch_size.h"
#include "send/known_rows.h"

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

/* Of one batch, until another is tried, and again until it is given up. */
enum { TRIES = 5 };

enum state {
	STATE_IDLE,	/* the spool is empty */
	STATE_WAITING,	/* until `retry_ns` */
	STATE_HOLDING,	/* the same, while only batches of `passed_over` sources are there */
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
	int fd, known_fd;   /* the latter for all batches: send/known_rows.h */
	uint64_t bytes;
	/* Batches that end by then may have been sent before. UINT64_MAX: all that are there, as an
	 * earlier engine left them. No clock tells these, as it may have been set meanwhile. */
	uint64_t tried_ns[PILOTLIGHT_SOURCES];
	struct send_job *job;
	bool is_woken;	  /* the spool got a batch since the last search began */
	bool must_remove; /* the receiver has taken `batch`, or it is given up */

	bool has_refused; /* `batch` was tried after `refused` had been refused */
	struct batch refused;
	enum service_sink_skip refused_as;
	char refusal[SEND_TEXT_BYTES];

	/* Of sources, 1 << enum pilotlight_source: */
	uint32_t passed_over; /* until `retry_ns`, as their batches are refused */
	uint32_t refused_one; /* their last batch was refused */
	uint32_t refused_all; /* the newest, too */
	uint32_t taken;	      /* their last batch was taken */
	uint32_t alarmed;

	struct batch stuck;	   /* no answer came to it, or a proxy's that promises another */
	unsigned tries;		   /* of `stuck`; since another was taken if it is a suspect */
	bool is_suspect, is_probe; /* the newest was taken after it; `batch` is that one */

	struct batch_size size;
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
	_cleanup_(sending_freep) struct sending *sending = calloc(1, sizeof(*sending));
	int r;

	if (!sending)
		return -ENOMEM;
	sending->options = *options;
	if (!sending->options.backoff_ns_min)
		sending->options.backoff_ns_min = BACKOFF_NS_MIN;
	if (!sending->options.backoff_ns_max)
		sending->options.backoff_ns_max = BACKOFF_NS_MAX;
	if (!sending->options.random)
		sending->options.random = random_number;
	sending->fd = sending->known_fd = -1;
	if (strcmp(options->type, "clickhouse") == 0) {
		r = known_rows_create(&sending->known_fd);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		sending->tried_ns[i] = UINT64_MAX;
	/* What an earlier engine left. */
	sending->state = STATE_WAITING;
	options->report->is_sent = true;
	*ret_sending = TAKE_PTR(sending);
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
	closep(&sending->known_fd);
	free(sending);
}

uint64_t sending_memory_bytes(const struct sending *sending)
{
	return known_rows_bytes(sending->known_fd);
}

void sending_wake(struct sending *sending, const struct batch *batch)
{
	uint64_t *tried_ns = &sending->tried_ns[batch->source];

	if (*tried_ns == UINT64_MAX)
		*tried_ns = batch->start_ns;
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
static void raise_alarm(struct sending *sending, const char *text)
{
	struct service_status_sink *report = sending->options.report;

	if (!report->is_held)
		log_error("sink %s: its receiver refuses every batch, so they are kept, up to "
			  "MaxBytes= and MaxAge=: %s",
			sending->options.name, text);
	report->is_held = sending->is_failing = true;
}

static uint32_t bit_of(const struct batch *batch)
{
	return 1U << batch->source;
}

static void find(struct sending *sending, enum spool_search search)
{
	uint32_t sources = sending->has_refused ? bit_of(&sending->refused) : ~sending->passed_over;

	closep(&sending->fd);
	sending->fd = -1;
	sending->state = STATE_FINDING;
	sending->is_woken = false;
	sending->is_probe = search == SPOOL_NEWEST && !sending->has_refused;
	spool_thread_find(sending->options.spools, sending->options.spool, search, sources);
}

static void remove_batch(struct sending *sending)
{
	closep(&sending->fd);
	sending->fd = -1;
	sending->must_remove = true;
	sending->state = STATE_REMOVING;
	spool_thread_remove(sending->options.spools, sending->options.spool, &sending->batch);
}

static void succeed(struct sending *sending, const struct send_outcome *outcome)
{
	struct service_status_sink *report = sending->options.report;

	report->sent_batches++;
	report->sent_bytes += outcome->sent_bytes;
	if (__builtin_add_overflow(report->rejected, outcome->rejected, &report->rejected))
		report->rejected = UINT64_MAX;
	if (outcome->rejected > 0)
		log_debug("sink %s: profiles or names rejected: %s", report->name, outcome->text);
	if (sending->is_probe) {
		sending->is_suspect = true;
		sending->tries = 0;
	}
	report->is_held = false;
	sending->taken |= bit_of(&sending->batch);
	sending->refused_one &= ~bit_of(&sending->batch);
	sending->refused_all &= ~bit_of(&sending->batch);
	sending->alarmed &= ~bit_of(&sending->batch);
	if (sending->refused_one == 0) {
		if (sending->is_failing)
			log_info("sink %s: its receiver takes batches again", report->name);
		sending->is_failing = false;
		sending->fault[0] = '\0';
		sending->backoff_ns = 0;
	}
	batch_size_note_taken(&sending->size, sending->bytes);
	remove_batch(sending);
}

/* The receiver may take batches of other sources. */
static void pass_over(struct sending *sending, bool is_all)
{
	const uint32_t bit = bit_of(&sending->refused);

	sending->has_refused = false;
	sending->passed_over |= bit;
	sending->taken &= ~bit;
	sending->refused_one |= bit;
	if (is_all)
		sending->refused_all |= bit;
	find(sending, SPOOL_OLDEST);
}

static void refuse(struct sending *sending, const struct send_outcome *outcome,
	enum service_sink_skip refused_as)
{
	const bool is_second = sending->has_refused;

	(void)snprintf(sending->refusal, sizeof(sending->refusal), "%s", outcome->text);
	if (is_second) {
		pass_over(sending, true);
		return;
	}
	sending->has_refused = true;
	sending->refused = sending->batch;
	sending->refused_as = refused_as;
	find(sending, SPOOL_NEWEST);
}

/* Alarms, once: somebody must mend the receiver or the configuration. */
static void raise_alarms(struct sending *sending)
{
	struct service_status_sink *report = sending->options.report;
	const uint32_t added = sending->refused_all & ~sending->alarmed;

	if (sending->refused_all == 0)
		return;
	if (sending->taken == 0) {
		raise_alarm(sending, sending->refusal);
		return;
	}
	sending->is_failing = true;
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (added & 1U << i)
			log_error("sink %s: its receiver refuses every batch of the source %s, so "
				  "these are kept, up to MaxBytes= and MaxAge=: %s",
				report->name, event_sources[i].name, sending->refusal);
	sending->alarmed |= added;
}

/* All batches that are left are of sources that are passed over. */
static void hold_sources(struct sending *sending)
{
	enum pilotlight_source source = (enum pilotlight_source)__builtin_ctz(sending->passed_over);

	raise_alarms(sending);
	/* New batches of other sources were looked for meanwhile. */
	if (clock_monotonic_ns() < sending->retry_ns) {
		sending->state = STATE_HOLDING;
		return;
	}
	if (sending->taken != 0)
		fail(sending, 0, "held: source %s: %.110s", event_sources[source].name,
			sending->refusal);
	else
		fail(sending, 0, "held: %.150s", sending->refusal);
	sending->state = STATE_HOLDING;
}

/*
 * A proxy may answer 502 to one batch for ever. If another batch is taken meanwhile, and this one
 * fails as often again, it is at fault: a receiver that is away or overloaded takes neither for
 * long.
 */
static void try_again(struct sending *sending, const struct send_outcome *outcome)
{
	if (sending->is_probe) {
		sending->tries = 0;
	} else if (!sending->has_refused) {
		if (!batch_is_same(&sending->batch, &sending->stuck)) {
			sending->stuck = sending->batch;
			sending->tries = 0;
			sending->is_suspect = false;
		}
		sending->tries++;
	}
	if (sending->is_suspect && sending->tries >= TRIES) {
		log_warning("sink %s: a batch was given up, as others are taken: %s",
			sending->options.name, outcome->text);
		sending->options.report->skipped_ns[SERVICE_SINK_REFUSED] +=
			duration_of(&sending->batch);
		sending->is_suspect = false;
		remove_batch(sending);
		return;
	}
	fail(sending, outcome->retry_after_ns, "%s", outcome->text);
}

static bool must_probe(const struct sending *sending)
{
	return sending->tries >= TRIES && !sending->is_suspect;
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
		if (sending->passed_over != 0)
			hold_sources(sending);
		else /* The batch may have come behind the thread's look at the folder. */
			sending->state = sending->is_woken ? STATE_WAITING : STATE_IDLE;
		return;
	}
	if (result.error < 0 && result.error != -ENOENT) {
		fail(sending, 0, "cannot read its folder: %s", strerror(-result.error));
		return;
	}
	sending->fd = result.fd;
	sending->bytes = result.bytes;
	/* It is the only one of its source, so there is no telling who is at fault. */
	if (result.error == -ENOENT ||
		(sending->has_refused && batch_is_same(&result.batch, &sending->refused))) {
		pass_over(sending, false);
		return;
	}
	if (batch_is_same(&result.batch, &sending->stuck))
		sending->is_probe = false;
	sending->batch = result.batch;
	sending->state = STATE_READY;
}

static const char *explain_start(int error)
{
	return error == -ENETDOWN
		       ? "nothing listens at the socket for senders: run `systemctl enable --now "
			 "pilotlight-send.socket`"
		       : strerror(-error);
}

static void start(struct sending *sending)
{
	uint64_t *tried_ns = &sending->tried_ns[sending->batch.source];
	const struct send_job_options options = {
		.broker = sending->options.broker,
		.program = sending->options.program,
		.sink = sending->options.name,
		.type = sending->options.type,
		.timeout_ns = sending->options.timeout_ns,
		.fd = sending->fd,
		.bytes = sending->bytes,
		.known_fd = sending->known_fd,
		.may_be_there = sending->batch.end_ns <= *tried_ns,
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
	if (sending->batch.end_ns > *tried_ns)
		*tried_ns = sending->batch.end_ns;
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
		batch_size_note_refused(
			&sending->size, sending->bytes, duration_of(&sending->batch));
		refuse(sending, &outcome, SERVICE_SINK_REFUSED_SIZE);
		break;
	case SEND_REFUSED_BATCH:
		refuse(sending, &outcome, SERVICE_SINK_REFUSED);
		break;
	case SEND_REFUSED:
		raise_alarm(sending, outcome.text);
		fail(sending, outcome.retry_after_ns, "held: %.150s", outcome.text);
		break;
	case SEND_TRY_AGAIN:
		try_again(sending, &outcome);
		break;
	case SEND_TRY_LATER:
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
	case STATE_HOLDING:
		if (sending->is_woken && !sending->options.report->is_held) {
			find(sending, SPOOL_OLDEST);
			break;
		}
		__attribute__((fallthrough));
	case STATE_WAITING:
		if (clock_monotonic_ns() < sending->retry_ns)
			break;
		sending->passed_over = 0;
		if (sending->must_remove)
			remove_batch(sending);
		else
			find(sending, must_probe(sending) ? SPOOL_NEWEST : SPOOL_OLDEST);
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
	if (sending->size.refused_ns == 0)
		return false;
	*ret_duration_ns = sending->size.refused_ns;
	sending->size.refused_ns = 0;
	return true;
}

uint64_t sending_retry_ns(const struct sending *sending)
{
	return sending->state == STATE_WAITING || sending->state == STATE_HOLDING
		       ? sending->retry_ns
		       : 0;
}

bool sending_take_room(struct sending *sending)
{
	bool has_room = sending->size.has_room;

	sending->size.has_room = false;
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
