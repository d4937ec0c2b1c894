/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs one query process (answer/answer_request.h) with an in-memory file for its answer. The file
 * cannot grow beyond its bound, and cannot shrink while the server sends it. The process and its
 * answer are untrusted.
 */
#pragma once

#include "answer/answer_request.h"
#include "base/cleanup.h"
#include "broker/broker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer_job;

struct answer_job_options {
	struct broker *broker; /* borrowed */
	const char *program;   /* NULL: /proc/self/exe */
	enum answer_kind kind;
	enum answer_scope scope;
	uint32_t owner; /* as in struct answer_request */
	const char *history, *symbol_cache;
	const char *parameters; /* in the form of struct answer_request */
	size_t parameters_bytes;
	uint64_t now_ns, bytes_max, memory_max, timeout_ns;
	bool accepts_gzip;
};

struct answer_outcome {
	unsigned status; /* an HTTP status; 200 comes with a file, others with a text */
	int fd;		 /* owned by the caller; -1: none */
	uint64_t bytes;
	bool is_gzip;
	uint64_t covered_ns, period_ns; /* as in struct answer_reply */
	int64_t increase;		/* the same; not negative */
	char content_type[40];
	char text[256];
};

/* Returns 0; -EAGAIN: too many processes run; -ENAMETOOLONG: a path is too long; -E2BIG: the
 * parameters are too long; or -errno of the failed start. */
int answer_job_start(const struct answer_job_options *options, struct answer_job **ret_job);
/* Kills the process if it still runs. */
void answer_job_free(struct answer_job *job);
DEFINE_CLEANUP(struct answer_job, answer_job_free);

/* Readable when answer_job_take() has work; borrowed. */
int answer_job_poll_fd(const struct answer_job *job);
/* Returns 0 and the outcome, once; -EAGAIN while the process runs. */
int answer_job_take(struct answer_job *job, struct answer_outcome *ret_outcome);
