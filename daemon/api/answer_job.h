/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One query process (answer/answer_request.h) and the file that it writes its answer to, which is
 * in memory and can neither grow beyond its bound nor shrink while it is sent. Neither the process
 * nor its answer is believed.
 */
#pragma once

#include "answer/answer_request.h"
#include "base/cleanup.h"
#include "broker/broker.h"

#include <stddef.h>
#include <stdint.h>

struct answer_job;

struct answer_job_options {
	struct broker *broker; /* borrowed */
	const char *program;   /* NULL: /proc/self/exe */
	enum answer_kind kind;
	const char *history, *symbol_cache;
	const char *parameters; /* as of struct answer_request */
	size_t parameters_bytes;
	uint64_t now_ns, bytes_max, memory_max, timeout_ns;
};

struct answer_outcome {
	unsigned status; /* of HTTP; 200: there is a file, else a text */
	int fd;		 /* the caller's; -1 */
	uint64_t bytes;
	uint64_t covered_ns, period_ns; /* as of struct answer_reply */
	char content_type[40];
	char text[256];
};

/* Returns 0; -EAGAIN: as many run as may; -ENAMETOOLONG, -E2BIG: too long a path, parameters; or
 * what starting failed with, as -errno. */
int answer_job_start(const struct answer_job_options *options, struct answer_job **ret_job);
/* Kills the process, if it lives. */
void answer_job_free(struct answer_job *job);
DEFINE_CLEANUP(struct answer_job, answer_job_free);

/* Readable when answer_job_take() has something to do; borrowed. */
int answer_job_poll_fd(const struct answer_job *job);
/* Returns 0 and what has come of it, once; -EAGAIN while nothing has. */
int answer_job_take(struct answer_job *job, struct answer_outcome *ret_outcome);
