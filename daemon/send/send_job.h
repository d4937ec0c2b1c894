/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends one batch to a receiver, once. libcurl waits for the network and parses what a hostile
 * receiver sends, so a separate process uses it: this program as `pilotlightd sink-send`. It gets
 * the batch by its descriptor, and has the network and no file but those of names, certificates,
 * key and token. A receiver that refuses, stalls, sends without end or sends garbage harms only
 * that process (I4, I5, I8). Whether and when to try again is the owner's to decide.
 *
 * The owner's poll loop drives it. One owner, one thread for each struct.
 */
#pragma once

#include "base/cleanup.h"
#include "send/send_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker;
struct send_job;

struct send_job_options {
	struct broker *broker;	 /* borrowed; starts the process if remote; may be NULL */
	const char *program;	 /* without a remote broker; NULL: /proc/self/exe */
	const char *sink, *type; /* its name and its type, whose format the batch has */
	uint64_t timeout_ns;	 /* of the sink */
	int fd;			 /* of the batch; borrowed */
	uint64_t bytes;
	int known_fd;	   /* known_rows.h, borrowed; -1: all rows are sent */
	bool may_be_there; /* an attempt before this one may have succeeded */
};

enum send_verdict {
	SEND_TAKEN,
	SEND_TRY_AGAIN,	    /* no answer came, or one that asks for another try */
	SEND_TRY_LATER,	    /* whatever is in it: the receiver is asked too often */
	SEND_TOO_LARGE,	    /* for this receiver */
	SEND_REFUSED_BATCH, /* maybe for what is in it; another batch may be taken */
	SEND_REFUSED,	    /* for what all batches have in common, such as the token */
};

struct send_outcome {
	enum send_verdict verdict;
	uint64_t retry_after_ns;    /* 0: the receiver did not say */
	uint64_t rejected;	    /* profiles; 0 unless it was taken */
	uint64_t sent_bytes;	    /* at most the batch's */
	char text[SEND_TEXT_BYTES]; /* the cause, as part of a sentence */
};

/*
 * Returns 0; -ENOMEM; -EAGAIN the broker can start no process now; -ENETDOWN the service that
 * starts it does not run; or -errno of starting the process.
 */
int send_job_start(const struct send_job_options *options, struct send_job **ret_job);
/* Kills the process if it runs. */
void send_job_free(struct send_job *job);
DEFINE_CLEANUP(struct send_job, send_job_free);

/* Readable when send_job_take() has something to do; borrowed. */
int send_job_poll_fd(const struct send_job *job);
/* Returns 0 and the outcome, once; -EAGAIN while it runs. */
int send_job_take(struct send_job *job, struct send_outcome *ret_outcome);

/* What an answer of HTTP means, with the text of its body; OpenTelemetry's rules, which suit
 * others.
 */
enum send_verdict send_verdict_of(unsigned status, const char *text);

/* The main function of the process. Returns an exit status. */
int send_main(int argc, char **argv);
