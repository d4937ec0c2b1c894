/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/ui/ui_passes.h"

#include "base/output.h"
#include "client/http_client.h"
#include "serve/http_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ANSWER_SECONDS_MAX = 120 };

/* A request, and the thread that waits for its answer. */
struct pass {
	struct ui_passes *passes;
	struct http_client *client;   /* kept from one request to the next */
	struct http_request *request; /* NULL: the pass is free, and has no thread */
	pthread_t thread;
	char *target;
	atomic_bool is_abandoned;
	/* Of the thread until `is_done`. */
	struct output_memory memory;
	struct http_reply reply;
	struct fault fault;
	int result;
	atomic_bool is_done;
};

/* A request that waits for a pass. */
struct waiting {
	struct waiting *next;
	struct http_request *request;
	char *target;
};

struct ui_passes {
	struct pass passes[UI_PASSES];
	struct waiting *first;
	int event_fd;
};

/* --- the threads ------------------------------------------------------------------------------ */

static int is_abandoned(void *context, uint64_t received_bytes)
{
	const struct pass *pass = context;

	(void)received_bytes;
	return atomic_load(&pass->is_abandoned);
}

static void *ask(void *context)
{
	struct pass *pass = context;
	const int event_fd = pass->passes->event_fd;

	pass->result = http_client_get(pass->client, pass->target, output_to_memory, &pass->memory,
		&pass->reply, &pass->fault);
	atomic_store(&pass->is_done, true);
	(void)eventfd_write(event_fd, 1);
	return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Ends the pass's request. */
static void answer(struct pass *pass)
{
	struct http_request *request = pass->request;
	const struct http_answer answer = {
		.status = 200,
		.content_type = "application/json",
		.body = pass->memory.bytes,
		.size = pass->memory.size,
	};

	pass->request = NULL;
	if (pass->result == 0) {
		pass->memory.bytes = NULL;
		http_answer(request, &answer);
	} else if (pass->result == -EREMOTEIO) {
		http_answer_text(request, pass->reply.status, "%s", pass->fault.text);
	} else {
		http_answer_text(request, 502, "%s", pass->fault.text);
	}
	free(pass->memory.bytes);
	pass->memory.bytes = NULL;
	free(pass->target);
	pass->target = NULL;
}

static void refuse(struct http_request *request)
{
	http_answer_text(request, 503, "Out of memory or threads. Try again later.");
}

/* Takes `target`. */
static int begin(
	struct ui_passes *passes, struct pass *pass, struct http_request *request, char *target)
{
	pass->request = request;
	pass->target = target;
	pass->memory = (struct output_memory){ .limit_bytes = UI_PASS_BYTES };
	pass->fault.text[0] = '\0';
	atomic_store(&pass->is_abandoned, false);
	atomic_store(&pass->is_done, false);
	pass->passes = passes;
	if (pthread_create(&pass->thread, NULL, ask, pass) == 0)
		return 0;
	pass->request = NULL;
	pass->target = NULL;
	free(target);
	return -EAGAIN;
}

static struct pass *find_free(struct ui_passes *passes)
{
	for (size_t i = 0; i < UI_PASSES; i++)
		if (!passes->passes[i].request)
			return &passes->passes[i];
	return NULL;
}

/* Takes `target`. */
static int add_waiting(struct ui_passes *passes, struct http_request *request, char *target)
{
	struct waiting **last = &passes->first, *waiting = malloc(sizeof(*waiting));

	if (!waiting) {
		free(target);
		return -ENOMEM;
	}
	*waiting = (struct waiting){ .request = request, .target = target };
	while (*last)
		last = &(*last)->next;
	*last = waiting;
	return 0;
}

void ui_passes_add(struct ui_passes *passes, struct http_request *request, const char *target)
{
	struct pass *pass = find_free(passes);
	char *copy = strdup(target);
	int r = -ENOMEM;

	if (copy)
		r = pass ? begin(passes, pass, request, copy) : add_waiting(passes, request, copy);
	if (r < 0)
		refuse(request);
}

void ui_passes_abandon(struct ui_passes *passes, struct http_request *request)
{
	for (size_t i = 0; i < UI_PASSES; i++)
		if (passes->passes[i].request == request)
			atomic_store(&passes->passes[i].is_abandoned, true);
	for (struct waiting **at = &passes->first; *at; at = &(*at)->next) {
		struct waiting *waiting = *at;

		if (waiting->request != request)
			continue;
		*at = waiting->next;
		free(waiting->target);
		free(waiting);
		/* Nobody reads it, but the server releases the request. */
		refuse(request);
		return;
	}
}

static void begin_waiting(struct ui_passes *passes, struct pass *pass)
{
	while (passes->first && !pass->request) {
		struct waiting *waiting = passes->first;

		passes->first = waiting->next;
		if (begin(passes, pass, waiting->request, waiting->target) < 0)
			refuse(waiting->request);
		free(waiting);
	}
}

void ui_passes_run(struct ui_passes *passes)
{
	eventfd_t count;

	(void)eventfd_read(passes->event_fd, &count);
	for (size_t i = 0; i < UI_PASSES; i++) {
		struct pass *pass = &passes->passes[i];

		if (!pass->request || !atomic_load(&pass->is_done))
			continue;
		(void)pthread_join(pass->thread, NULL);
		answer(pass);
		begin_waiting(passes, pass);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

int ui_passes_poll_fd(const struct ui_passes *passes)
{
	return passes->event_fd;
}

/* The clients are all made here, since the first one loads and initializes libcurl. */
static int make_clients(struct ui_passes *passes, const char *socket_path, struct fault *fault)
{
	int r = 0;

	for (size_t i = 0; i < UI_PASSES && r == 0; i++) {
		const struct http_client_options options = {
			.socket_path = socket_path,
			.timeout_s = ANSWER_SECONDS_MAX,
			.limit_bytes = UI_PASS_BYTES,
			.progress = is_abandoned,
			.context = &passes->passes[i],
		};

		r = http_client_new(&options, &passes->passes[i].client, fault);
	}
	return r;
}

int ui_passes_new(const char *socket_path, struct ui_passes **ret_passes, struct fault *fault)
{
	_cleanup_(ui_passes_freep) struct ui_passes *passes = calloc(1, sizeof(*passes));
	int r;

	if (!passes)
		return fault_set(fault, -ENOMEM, "cannot serve the page: out of memory");
	passes->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (passes->event_fd < 0)
		return fault_set(fault, -errno, "cannot serve the page: %s", strerror(errno));
	r = make_clients(passes, socket_path, fault);
	if (r == 0)
		*ret_passes = TAKE_PTR(passes);
	return r;
}

static void pass_done(struct pass *pass)
{
	if (pass->request)
		(void)pthread_join(pass->thread, NULL);
	http_client_free(pass->client);
	free(pass->memory.bytes);
	free(pass->target);
}

void ui_passes_free(struct ui_passes *passes)
{
	if (!passes)
		return;
	/* All at once: each notices it within a second. */
	for (size_t i = 0; i < UI_PASSES; i++)
		atomic_store(&passes->passes[i].is_abandoned, true);
	for (size_t i = 0; i < UI_PASSES; i++)
		pass_done(&passes->passes[i]);
	while (passes->first) {
		struct waiting *next = passes->first->next;

		free(passes->first->target);
		free(passes->first);
		passes->first = next;
	}
	if (passes->event_fd >= 0)
		(void)close(passes->event_fd);
	free(passes);
}
