/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send_job.h"

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "child/child_process.h"
#include "send/receiver_answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The process gives up before it is killed, and says why. */
enum { KILL_AFTER_S = 5 };

struct send_job {
	struct child_process *child;
	uint64_t bytes; /* of the batch */
};

int send_job_start(const struct send_job_options *options, struct send_job **ret_job)
{
	const struct child_descriptor descriptors[] = {
		{ options->fd, SEND_BATCH_FD },
		{ options->known_fd, SEND_KNOWN_FD },
	};
	struct send_request request = {
		.version = SEND_VERSION,
		.may_be_there = options->may_be_there,
		.bytes = options->bytes,
	};
	_cleanup_(send_job_freep) struct send_job *job = calloc(1, sizeof(*job));
	const struct child_process_options child = {
		.broker = options->broker,
		.kind = BROKER_CHILD_SINK_SEND,
		.program = options->program,
		.descriptors = descriptors,
		.descriptor_count = ARRAY_SIZE(descriptors),
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = options->timeout_ns + KILL_AFTER_S * (uint64_t)NSEC_PER_SEC,
	};
	int r;

	_Static_assert((int)SEND_SOCKET_FD == (int)CHILD_SOCKET_NUMBER, "the child's socket");
	if (!job)
		return -ENOMEM;
	/* Names of the configuration, which fit. */
	(void)snprintf(request.sink, sizeof(request.sink), "%s", options->sink);
	(void)snprintf(request.type, sizeof(request.type), "%s", options->type);
	job->bytes = options->bytes;
	r = child_process_start(&child, &job->child);
	if (r < 0)
		return r;
	*ret_job = TAKE_PTR(job);
	return 0;
}

void send_job_free(struct send_job *job)
{
	if (!job)
		return;
	child_process_free(job->child);
	free(job);
}

int send_job_poll_fd(const struct send_job *job)
{
	return child_process_poll_fd(job->child);
}

/* ClickHouse answers 500 to almost all that it refuses, and says in numbers why. */
static enum send_verdict verdict_of_code(unsigned code)
{
	switch (code) {
	case 202: /* too many queries at a time, too many parts of a table */
	case 252:
		return SEND_TRY_LATER;
	case 16: /* no such column, table, database, setting */
	case 60:
	case 81:
	case 115:
	case 192: /* no such user, wrong password, not allowed */
	case 193:
	case 194:
	case 497:
	case 516:
		return SEND_REFUSED;
	}
	return SEND_TRY_AGAIN;
}

enum send_verdict send_verdict_of(unsigned status, const char *text)
{
	unsigned code;

	if (status >= 200 && status < 300)
		return SEND_TAKEN;
	if (sscanf(text, "Code: %u", &code) == 1)
		return verdict_of_code(code);
	/* The OpenTelemetry Collector's answer to a body beyond max_request_body_size. */
	if (status == 400 && strstr(text, "request body too large"))
		return SEND_TOO_LARGE;
	switch (status) {
	case 429: /* too many requests */
		return SEND_TRY_LATER;
	case 502: /* of proxies: bad gateway, unavailable, timed out */
	case 503:
	case 504:
		return SEND_TRY_AGAIN;
	case 413:
		return SEND_TOO_LARGE;
	case 400:
	case 422:
	case 500: /* some receivers' answer to what they cannot convert */
		return SEND_REFUSED_BATCH;
	}
	return SEND_REFUSED;
}

static void explain_end(const struct child_process_end *end, struct send_outcome *outcome)
{
	outcome->verdict = SEND_TRY_AGAIN;
	if (end->has_timed_out)
		(void)snprintf(outcome->text, sizeof(outcome->text), "the receiver took too long");
	else if (end->signal != 0)
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"the process that sends was killed by signal %d", end->signal);
	else
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"the process that sends failed with status %d", end->exit_status);
}

/* The process is not trusted. */
static bool is_valid(const struct send_reply *reply)
{
	return reply->version == SEND_VERSION && reply->error <= 0 &&
	       (reply->error < 0 || (reply->status >= 100 && reply->status < 600)) &&
	       reply->rejected <= INT64_MAX && /* an int64 of the protocol */
	       memchr(reply->text, '\0', sizeof(reply->text));
}

static void take_reply(
	const struct send_job *job, const struct send_reply *reply, struct send_outcome *outcome)
{
	char text[SEND_TEXT_BYTES];

	receiver_answer_clean(reply->text, strlen(reply->text), text);
	if (reply->error < 0) {
		outcome->verdict = SEND_TRY_AGAIN;
		(void)snprintf(outcome->text, sizeof(outcome->text), "%s", text);
		return;
	}
	outcome->verdict = send_verdict_of(reply->status, text);
	outcome->retry_after_ns =
		(reply->retry_after_s < RECEIVER_RETRY_AFTER_MAX_S ? reply->retry_after_s
								   : RECEIVER_RETRY_AFTER_MAX_S) *
		(uint64_t)NSEC_PER_SEC;
	outcome->rejected = outcome->verdict == SEND_TAKEN ? reply->rejected : 0;
	outcome->sent_bytes = reply->sent_bytes < job->bytes ? reply->sent_bytes : job->bytes;
	(void)snprintf(outcome->text, sizeof(outcome->text), "it answers %u%s%.*s", reply->status,
		text[0] ? ": " : "", SEND_TEXT_BYTES - 24, text);
}

int send_job_take(struct send_job *job, struct send_outcome *ret_outcome)
{
	struct send_outcome outcome = { 0 };
	struct child_process_end end;
	struct send_reply reply;
	int r = child_process_finish(job->child, &end);

	if (r < 0)
		return r;
	if (end.reply_bytes == sizeof(reply)) {
		memcpy(&reply, end.reply, sizeof(reply));
		if (is_valid(&reply)) {
			take_reply(job, &reply, &outcome);
			*ret_outcome = outcome;
			return 0;
		}
	}
	explain_end(&end, &outcome);
	*ret_outcome = outcome;
	return 0;
}
