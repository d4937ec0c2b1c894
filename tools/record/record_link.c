/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_link.h"

#include "tools/record/record_engine_process.h"

#include <errno.h>
#include <string.h>

int record_link_start(struct record_link *link, int (*run)(const void *context),
	const void *context, struct fault *fault)
{
	return record_engine_process_start(run, context, &link->engine, fault);
}

int record_link_connect(struct record_link *link, struct fault *fault)
{
	int r = engine_servers_init(&link->servers);

	if (r == 0)
		r = engine_servers_connect(
			&link->servers, &link->engine->broker_fd, &link->engine->capture_fd);
	if (r < 0)
		return fault_set(fault, r, "cannot serve the process that reads the samples: %s",
			strerror(-r));
	return 0;
}

void record_link_done(struct record_link *link)
{
	record_engine_process_free(TAKE_PTR(link->engine));
	engine_servers_done(&link->servers);
}

int record_link_tell(struct record_link *link, const struct record_message *message, int passed_fd)
{
	int r = record_message_send(link->engine->message_fd, message, passed_fd);

	/* That it is gone shows where it is heard, and how it ended then, too. */
	return r == -EPIPE ? 0 : r;
}

int record_link_tell_word(struct record_link *link, enum record_word word)
{
	return record_link_tell(link, &(struct record_message){ .word = word }, -1);
}

static int take_end(struct record_link *link, struct fault *fault)
{
	int r = record_engine_process_end(link->engine, fault);

	return r == 0 ? fault_set(fault, -EPROTO, "the process that reads the samples has ended")
		      : r;
}

static int hear(struct record_link *link, struct record_message *ret_message, struct fault *fault)
{
	int r = record_message_receive(link->engine->message_fd, ret_message, NULL);

	if (r == -EAGAIN)
		return 0;
	if (r == -EPIPE)
		return take_end(link, fault);
	if (r < 0)
		return fault_set(fault, r,
			"cannot understand the process that reads the samples: %s", strerror(-r));
	link->has_told |= ret_message->word == RECORD_FAILED;
	return ret_message->word == RECORD_FAILED ? -ECANCELED : 1;
}

int record_link_serve(struct record_link *link, struct pollfd *fds, size_t count, int timeout_ms,
	struct record_message *ret_message, struct fault *fault)
{
	struct pollfd *own = fds + count;

	own[0] = (struct pollfd){ .fd = link->engine->message_fd, .events = POLLIN };
	engine_servers_want(&link->servers, own + 1);
	if (poll(fds, count + RECORD_LINK_FDS, timeout_ms) < 0) {
		if (errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		for (size_t i = 0; i < count + RECORD_LINK_FDS; i++)
			fds[i].revents = 0;
	}
	engine_servers_run(&link->servers, own + 1);
	/* Whatever poll() has seen: what the engine has said before a signal came is before it. */
	return hear(link, ret_message, fault);
}

int record_link_check(
	const struct record_message *message, enum record_word word, struct fault *fault)
{
	if (message->word == word)
		return 0;
	return fault_set(fault, -EPROTO,
		"the process that reads the samples has said %u where %u was to come",
		message->word, (unsigned)word);
}

int record_link_expect(struct record_link *link, int interrupt_fd, enum record_word word,
	struct record_message *ret_message, struct fault *fault)
{
	struct pollfd fds[1 + RECORD_LINK_FDS] = { { .fd = interrupt_fd, .events = POLLIN } };
	int r;

	while ((r = record_link_serve(link, fds, 1, -1, ret_message, fault)) == 0)
		if (fds[0].revents)
			return fault_set(fault, -EINTR,
				"interrupted while it waited for the process that reads the "
				"samples; nothing is written");
	return r < 0 ? r : record_link_check(ret_message, word, fault);
}

int record_link_part(struct record_link *link, struct fault *fault)
{
	struct fault end = { 0 };
	struct record_message message;
	int r = record_link_expect(link, -1, RECORD_WORDS, &message, &end);

	/* Its end was taken: it was to come. */
	if (link->engine->pid == 0)
		return 0;
	return fault_set(fault, r, "%s", end.text[0] ? end.text : strerror(-r));
}
