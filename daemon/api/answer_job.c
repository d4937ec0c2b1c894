/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/answer_job.h"

#include "base/clock.h"
#include "child/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct answer_job {
	struct child_process *child;
	int output_fd;
	uint64_t bytes_max, timeout_ns;
};

void answer_job_free(struct answer_job *job)
{
	if (!job)
		return;
	child_process_free(job->child);
	if (job->output_fd >= 0)
		(void)close(job->output_fd);
	free(job);
}

/* Creates the file at its full size, sealed against resizing. Unwritten pages use no memory. */
static int open_output(uint64_t bytes, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int copy_path(char to[ANSWER_PATH_BYTES], const char *path)
{
	size_t size = strlen(path) + 1;

	if (size > ANSWER_PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(to, path, size);
	return 0;
}

static int fill_request(const struct answer_job_options *options, struct answer_request *request)
{
	/* One second less: the process times out and sends a precise reply before its kill. */
	uint64_t seconds = options->timeout_ns / NSEC_PER_SEC;
	int r;

	if (options->parameters_bytes > sizeof(request->parameters))
		return -E2BIG;
	*request = (struct answer_request){
		.version = ANSWER_VERSION,
		.kind = options->kind,
		.scope = options->scope,
		.owner = options->owner,
		.now_ns = options->now_ns,
		.bytes_max = options->bytes_max,
		.memory_max = options->memory_max,
		.timeout_s = seconds < 2      ? 1
			     : seconds > 3600 ? 3600
					      : (uint32_t)seconds - 1,
		.parameters_bytes = (uint32_t)options->parameters_bytes,
		.accepts_gzip = options->accepts_gzip,
	};
	if (options->parameters_bytes > 0)
		memcpy(request->parameters, options->parameters, options->parameters_bytes);
	r = copy_path(request->history, options->history);
	return r < 0 ? r : copy_path(request->symbol_cache, options->symbol_cache);
}

static int start_child(struct answer_job *job, const struct answer_job_options *options)
{
	const struct child_descriptor output = { job->output_fd, ANSWER_OUTPUT_FD };
	struct answer_request request;
	struct child_process_options child = {
		.broker = options->broker,
		.kind = BROKER_CHILD_ANSWER,
		.program = options->program,
		.descriptors = &output,
		.descriptor_count = 1,
		.request = &request,
		.request_bytes = sizeof(request),
		.timeout_ns = options->timeout_ns,
	};
	int r = fill_request(options, &request);

	return r < 0 ? r : child_process_start(&child, &job->child);
}

int answer_job_start(const struct answer_job_options *options, struct answer_job **ret_job)
{
	_cleanup_(answer_job_freep) struct answer_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->output_fd = -1;
	job->bytes_max = options->bytes_max;
	job->timeout_ns = options->timeout_ns;
	r = open_output(options->bytes_max, &job->output_fd);
	if (r == 0)
		r = start_child(job, options);
	if (r < 0)
		return r;
	*ret_job = TAKE_PTR(job);
	return 0;
}

int answer_job_poll_fd(const struct answer_job *job)
{
	return child_process_poll_fd(job->child);
}

static bool is_field_value(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

/* Returns whether the reply is consistent. Its texts then end with a NUL. */
static bool is_valid(const struct answer_job *job, const struct answer_reply *reply)
{
	if (reply->version != ANSWER_VERSION || reply->status < 200 || reply->status > 599 ||
		!memchr(reply->content_type, '\0', sizeof(reply->content_type)) ||
		!memchr(reply->text, '\0', sizeof(reply->text)))
		return false;
	if (reply->status == 200)
		return reply->bytes <= job->bytes_max && is_field_value(reply->content_type);
	return reply->status >= 400;
}

static void take_reply(
	struct answer_job *job, const struct answer_reply *reply, struct answer_outcome *outcome)
{
	outcome->status = reply->status;
	if (reply->status != 200) {
		(void)snprintf(outcome->text, sizeof(outcome->text), "%s", reply->text);
		return;
	}
	outcome->fd = TAKE_FD(job->output_fd);
	outcome->bytes = reply->bytes;
	outcome->is_gzip = reply->is_gzip;
	outcome->covered_ns = reply->covered_ns;
	outcome->period_ns = reply->period_ns;
	outcome->increase = reply->increase > 0 ? reply->increase : 0;
	memcpy(outcome->content_type, reply->content_type, sizeof(outcome->content_type));
}

static void explain_end(const struct answer_job *job, const struct child_process_end *end,
	struct answer_outcome *outcome)
{
	if (end->has_timed_out) {
		outcome->status = 504;
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"Query timed out after %.3g s. Ask for a shorter time.",
			(double)job->timeout_ns / NSEC_PER_SEC);
		return;
	}
	outcome->status = 500;
	if (end->reply_bytes > 0)
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"Query failed: the query process sent an invalid reply. Try again.");
	else if (end->signal != 0)
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"Query failed: the query process was killed by signal %d (%s). Ask for a "
			"shorter time.",
			end->signal, strsignal(end->signal));
	else
		(void)snprintf(outcome->text, sizeof(outcome->text),
			"Query failed: the query process exited with status %d and sent no reply. "
			"Try again, or see the journal.",
			end->exit_status);
}

int answer_job_take(struct answer_job *job, struct answer_outcome *ret_outcome)
{
	struct answer_outcome outcome = { .fd = -1 };
	struct child_process_end end;
	struct answer_reply reply;
	int r = child_process_finish(job->child, &end);

	if (r < 0)
		return r;
	if (end.reply_bytes == sizeof(reply)) {
		memcpy(&reply, end.reply, sizeof(reply));
		if (is_valid(job, &reply)) {
			take_reply(job, &reply, &outcome);
			*ret_outcome = outcome;
			return 0;
		}
	}
	explain_end(job, &end, &outcome);
	*ret_outcome = outcome;
	return 0;
}
