/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_answer.h"

#include "base/clock.h"
#include "client/http_client.h"
#include "tools/output_file.h"
#include "tools/shown_text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The service gives up on a query earlier than this, so that its own reason is what is told. */
enum { PATIENCE_S = 180 };

struct transfer {
	struct output_file *file;
	int fd;	   /* borrowed from the file; -1: not begun */
	int error; /* of begin or write */
	struct fault fault;
	bool shows_progress, has_shown;
	uint64_t started_ns, shown_ns;
};

static int begin(struct transfer *transfer)
{
	if (transfer->fd < 0 && transfer->error == 0)
		transfer->error =
			output_file_begin(transfer->file, &transfer->fd, &transfer->fault);
	return transfer->error;
}

static void clear_progress(struct transfer *transfer)
{
	if (transfer->has_shown)
		(void)fputs("\r\033[K", stderr);
	transfer->has_shown = false;
}

static int write_all(void *context, const void *bytes, size_t size)
{
	struct transfer *transfer = context;
	const char *at = bytes;
	int r = begin(transfer);

	if (r < 0)
		return r;
	clear_progress(transfer);
	while (size > 0) {
		ssize_t n = write(transfer->fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return transfer->error = -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* They wait while a file has a name that is not its own (output_file.h), and mean an end then. */
static bool is_interrupted(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

static int show_progress(void *context, uint64_t received_bytes)
{
	struct transfer *transfer = context;
	uint64_t now_ns = clock_monotonic_ns();
	char bytes[SHOWN_TEXT_BYTES_BYTES];

	if (is_interrupted())
		return 1;
	if (!transfer->shows_progress || now_ns - transfer->shown_ns < NSEC_PER_SEC)
		return 0;
	transfer->shown_ns = now_ns;
	transfer->has_shown = true;
	if (received_bytes > 0)
		(void)fprintf(stderr, "\r%s of the answer\033[K",
			shown_text_bytes(received_bytes, bytes));
	else
		(void)fprintf(stderr, "\rpilotlightd is at work: %" PRIu64 " s\033[K",
			(now_ns - transfer->started_ns) / NSEC_PER_SEC);
	return 0;
}

static int receive(
	const struct history_answer *answer, struct transfer *transfer, struct fault *fault)
{
	const struct http_client_options options = {
		.socket_path = answer->socket_path,
		.timeout_s = PATIENCE_S,
		.progress = show_progress,
		.context = transfer,
	};
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	struct fault asking = { 0 };
	struct http_reply reply;
	int r = http_client_new(&options, &client);

	if (r < 0)
		return fault_set(fault, r, "no memory to ask pilotlightd");
	r = http_client_get(client, answer->target, write_all, transfer, &reply, &asking);
	clear_progress(transfer);
	/* An answer of nothing makes an empty file. */
	if (r == 0)
		r = begin(transfer);
	if (transfer->error == -EPIPE)
		return -EPIPE;
	if (transfer->fault.text[0])
		return fault_set(fault, transfer->error, "%s", transfer->fault.text);
	/* What writing has failed of is told with the file's name. */
	if (transfer->error < 0)
		return output_file_commit(transfer->file, transfer->error, fault);
	return r < 0 ? fault_set(fault, r, "%s", asking.text) : 0;
}

int history_answer_write(const struct history_answer *answer, struct fault *fault)
{
	_cleanup_(output_file_freep) struct output_file *file = NULL;
	struct transfer transfer = {
		.fd = -1,
		.shows_progress = !answer->is_quiet && isatty(STDERR_FILENO),
		.started_ns = clock_monotonic_ns(),
	};
	int r;

	transfer.shown_ns = transfer.started_ns;
	r = output_file_open(answer->path, &file, fault);
	if (r < 0)
		return r;
	transfer.file = file;
	r = receive(answer, &transfer, fault);
	return r < 0 ? r : output_file_commit(file, 0, fault);
}
