/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ticket's way. A new profile begins where a window does, which is sealed for it, and so does its
 * end: [beginning] taking, sealing, queued, running. One out of the history: [sealing] queued,
 * running.
 */
#include "api/api_private.h"
#include "base/clock.h"
#include "base/log.h"
#include "pilotlight/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	TEXT_BYTES = 512,
	TIME_BYTES = 40,
	STATUS_TOO_GREAT = 413,
	STATUS_GONE = 499, /* nobody reads it; not one that counts as our failure */
	NSEC_PER_MSEC = 1000000,
	RETRY_NS = 200 * NSEC_PER_MSEC,
	/* What was sealed this long ago is recent enough, so that windows do not become splinters.
	 */
	RECENT_NS = NSEC_PER_SEC,
};

/* A profile that ends this far from when it should was taken by another clock. */
static const uint64_t CLOCK_ERROR_NS = 10ULL * NSEC_PER_SEC;

static void unlink_ticket(struct api *api, struct ticket *ticket)
{
	if (ticket->previous)
		ticket->previous->next = ticket->next;
	else
		api->first = ticket->next;
	if (ticket->next)
		ticket->next->previous = ticket->previous;
	else
		api->last = ticket->previous;
}

static void ticket_free(struct ticket *ticket)
{
	answer_job_free(ticket->job);
	parameter_list_done(&ticket->parameters);
	free(ticket);
}

void tickets_free(struct api *api)
{
	while (api->first) {
		struct ticket *ticket = api->first;

		unlink_ticket(api, ticket);
		ticket_free(ticket);
	}
}

static void remove_ticket(struct api *api, struct ticket *ticket)
{
	api->running -= ticket->state == TICKET_RUNNING;
	unlink_ticket(api, ticket);
	ticket_free(ticket);
}

/* --- ends --- */

static void count_refusal(struct api *api, unsigned status)
{
	if (status < 500)
		api->queries.refused++;
	else if (status == 504)
		api->queries.timed_out++;
	else
		api->queries.failed++;
}

static void refuse(struct api *api, struct ticket *ticket, unsigned status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void refuse(struct api *api, struct ticket *ticket, unsigned status, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	count_refusal(api, status);
	api_log_refusal(api, ticket->path, &ticket->peer, status, text);
	http_answer_text(ticket->request, status, "%s", text);
	remove_ticket(api, ticket);
}

/* Seconds, as a field has them; 0 is not known, and no field. */
static size_t add_seconds(struct http_field *fields, size_t count, const char *name, uint64_t ns,
	char text[TIME_BYTES])
{
	if (ns == 0)
		return count;
	(void)snprintf(
		text, TIME_BYTES, "%" PRIu64 ".%09" PRIu64, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
	fields[count] = (struct http_field){ name, text };
	return count + 1;
}

/* Takes the outcome's file. */
static void finish(struct api *api, struct ticket *ticket, struct answer_outcome *outcome)
{
	char covered[TIME_BYTES], period[TIME_BYTES];
	struct http_field fields[2];
	struct http_answer answer = { .status = outcome->status,
		.content_type = outcome->content_type,
		.fields = fields,
		.size = (size_t)outcome->bytes };

	if (outcome->status == STATUS_TOO_GREAT && ticket->bytes_max < api->options.query_bytes) {
		refuse(api, ticket, 503,
			"Answers that wait to be read leave room for one of %" PRIu64
			" KiB: read them and try again, or ask for less.",
			ticket->bytes_max / 1024);
		return;
	}
	if (outcome->status != 200) {
		refuse(api, ticket, outcome->status, "%s", outcome->text);
		return;
	}
	if (ticket->duration_ns > 0) {
		/* As Go's net/http/pprof has it. */
		answer.content_type = "application/octet-stream";
		answer.file_name = "profile";
	}
	answer.field_count = add_seconds(
		fields, answer.field_count, PILOTLIGHT_FIELD_COVERED, outcome->covered_ns, covered);
	answer.field_count = add_seconds(
		fields, answer.field_count, PILOTLIGHT_FIELD_PERIOD, outcome->period_ns, period);
	api->queries.answered++;
	api_log_answer(api, ticket->path, &ticket->peer, outcome->status, outcome->bytes);
	http_answer_file(ticket->request, &answer, TAKE_FD(outcome->fd));
	remove_ticket(api, ticket);
}

void ticket_gone(void *context, struct http_request *request)
{
	char peer[PEER_TEXT_BYTES];
	struct api *api = context;
	struct ticket *ticket;

	for (ticket = api->first; ticket && ticket->request != request; ticket = ticket->next)
		;
	if (!ticket)
		return;
	api->queries.abandoned++;
	log_debug("'%s' given up: %s is gone", ticket->path, peer_text(&ticket->peer, peer));
	http_answer_text(request, STATUS_GONE, "Nobody waits for this answer.");
	remove_ticket(api, ticket);
}

/* --- sealing --- */

/* Until `until_ns`, or a little before if `is_about` and that is to be had for less. */
static void want_sealed(struct api *api, struct ticket *ticket, uint64_t until_ns, bool is_about)
{
	uint64_t least_ns = is_about ? until_ns - RECENT_NS : until_ns;

	/* The clock was set back: what we knew is of a time to come. */
	if (api->sealed_ns > until_ns && api->sealed_ns - until_ns > RECENT_NS)
		api->sealed_ns = 0;
	if (api->wanted_ns > until_ns && api->wanted_ns - until_ns > RECENT_NS)
		api->wanted_ns = 0;
	ticket->deadline_ns = clock_monotonic_ns() + api->options.seal_timeout_ns;
	ticket->seal_ns = until_ns;
	if (api->sealed_ns >= least_ns) {
		ticket->seal_ns = api->sealed_ns;
	} else if (api->wanted_ns >= least_ns) {
		ticket->seal_ns = api->wanted_ns;
	} else {
		api->wanted_ns = until_ns;
		api->options.want_sealed(api->options.context, until_ns);
	}
}

static bool is_sealed(const struct api *api, const struct ticket *ticket)
{
	return api->sealed_ns >= ticket->seal_ns;
}

static void queue(struct api *api, struct ticket *ticket)
{
	ticket->state = TICKET_QUEUED;
	ticket->deadline_ns = clock_monotonic_ns() + api->options.query_timeout_ns;
	ticket_take_turn(api, ticket);
}

/* --- new profiles --- */

/* The window before it is sealed, or is not to be had. */
static void begin_profile(struct api *api, struct ticket *ticket)
{
	uint64_t now_ns = clock_realtime_ns();

	ticket->begin_ns = is_sealed(api, ticket) ? api->sealed_ns : ticket->seal_ns;
	ticket->end_ns = ticket->begin_ns + ticket->duration_ns;
	ticket->state = TICKET_TAKING;
	ticket->deadline_ns = clock_monotonic_ns();
	if (ticket->end_ns > now_ns)
		ticket->deadline_ns += ticket->end_ns - now_ns;
}

static int add_time(struct parameter_list *parameters, const char *name, uint64_t time_ns)
{
	char text[TIME_BYTES];

	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return parameter_list_add(parameters, name, text);
}

/* Its time is over. */
static void end_profile(struct api *api, struct ticket *ticket)
{
	uint64_t now_ns = clock_realtime_ns();
	int r = add_time(&ticket->parameters, "from", ticket->begin_ns);

	if (now_ns + CLOCK_ERROR_NS < ticket->end_ns || now_ns > ticket->end_ns + CLOCK_ERROR_NS) {
		refuse(api, ticket, 503,
			"The machine slept or its clock was set while the profile was taken: ask "
			"again.");
		return;
	}
	if (r == 0)
		r = add_time(&ticket->parameters, "to", ticket->end_ns);
	if (r == 0)
		r = parameter_list_add(&ticket->parameters, "format", "pprof");
	if (r < 0) {
		refuse(api, ticket, 503, "The profile cannot be asked for: %s.", strerror(-r));
		return;
	}
	ticket->state = TICKET_SEALING;
	want_sealed(api, ticket, ticket->end_ns, false);
}

/* --- */

static void refuse_new(struct api *api, struct http_request *request, const char *path)
{
	struct http_peer peer;

	http_request_peer(request, &peer);
	api->queries.failed++;
	api_log_refusal(api, path, &peer, 503, "out of memory");
	http_answer_text(request, 503, "There is not enough memory: try again later.");
}

void ticket_add(struct api *api, struct http_request *request, const struct ticket_options *options,
	struct parameter_list *parameters)
{
	struct ticket *ticket = calloc(1, sizeof(*ticket));

	if (!ticket) {
		parameter_list_done(parameters);
		refuse_new(api, request, options->path);
		return;
	}
	ticket->request = request;
	http_request_peer(request, &ticket->peer);
	ticket->path = options->path;
	ticket->kind = options->kind;
	ticket->duration_ns = options->duration_ns;
	ticket->since_ns = clock_monotonic_ns();
	ticket->asked_ns = clock_realtime_ns();
	ticket->parameters = *parameters;
	*parameters = (struct parameter_list){ 0 };
	ticket->previous = api->last;
	if (ticket->previous)
		ticket->previous->next = ticket;
	else
		api->first = ticket;
	api->last = ticket;
	ticket->state = ticket->duration_ns > 0 ? TICKET_BEGINNING : TICKET_SEALING;
	if (options->is_sealed)
		queue(api, ticket);
	else
		want_sealed(api, ticket, ticket->asked_ns, true);
}

/* --- running --- */

static int start_job(struct api *api, struct ticket *ticket, uint64_t now_ns)
{
	uint64_t room = http_answer_room(ticket->request);
	const struct answer_job_options options = {
		.broker = api->options.broker,
		.program = api->options.program,
		.kind = ticket->kind,
		.history = api->options.history,
		.symbol_cache = api->options.symbol_cache,
		.parameters = ticket->parameters.bytes,
		.parameters_bytes = ticket->parameters.size,
		.now_ns = ticket->asked_ns,
		.bytes_max = room < api->options.query_bytes ? room : api->options.query_bytes,
		.memory_max = api->options.query_memory_bytes,
		/* Starting those before it may have taken what was left. */
		.timeout_ns = ticket->deadline_ns > now_ns ? ticket->deadline_ns - now_ns : 1,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int r = answer_job_start(&options, &ticket->job);

	if (r < 0)
		return r;
	if (epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, answer_job_poll_fd(ticket->job), &event) < 0)
		return -errno;
	ticket->bytes_max = options.bytes_max;
	ticket->state = TICKET_RUNNING;
	api->running++;
	api->turn = ticket->turn;
	return 0;
}

static void start_jobs(struct api *api, uint64_t now_ns)
{
	struct ticket *ticket;

	while (api->running < api->options.queries_max && api->retry_ns <= now_ns &&
		(ticket = ticket_next(api))) {
		int r = start_job(api, ticket, now_ns);

		if (r == -EAGAIN)
			api->retry_ns = now_ns + RETRY_NS;
		else if (r < 0)
			refuse(api, ticket, 503,
				"The process that makes answers cannot be started (%s): try again "
				"later.",
				strerror(-r));
	}
}

/* `ticket` may be gone after it. */
static void run_ticket(struct api *api, struct ticket *ticket, uint64_t now_ns)
{
	bool is_late = ticket->deadline_ns <= now_ns;
	struct answer_outcome outcome;

	switch (ticket->state) {
	case TICKET_BEGINNING:
		if (is_sealed(api, ticket) || is_late)
			begin_profile(api, ticket);
		break;
	case TICKET_TAKING:
		if (is_late)
			end_profile(api, ticket);
		break;
	case TICKET_SEALING:
		if (is_sealed(api, ticket) || is_late)
			queue(api, ticket);
		break;
	case TICKET_QUEUED:
		if (is_late)
			refuse(api, ticket, 504,
				"Other queries took all of the %.3g s that this one had: try again "
				"later.",
				(double)api->options.query_timeout_ns / NSEC_PER_SEC);
		break;
	case TICKET_RUNNING:
		if (answer_job_take(ticket->job, &outcome) == 0)
			finish(api, ticket, &outcome);
		break;
	}
}

void tickets_run(struct api *api)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct ticket *ticket = api->first, *next; ticket; ticket = next) {
		next = ticket->next;
		run_ticket(api, ticket, now_ns);
	}
	start_jobs(api, clock_monotonic_ns());
}

uint64_t tickets_next_ns(const struct api *api)
{
	uint64_t next_ns = UINT64_MAX;
	bool is_queued = false;

	for (const struct ticket *t = api->first; t; t = t->next) {
		if (t->state != TICKET_RUNNING && t->deadline_ns < next_ns)
			next_ns = t->deadline_ns;
		is_queued |= t->state == TICKET_QUEUED;
		/* What it waits for is there. */
		if ((t->state == TICKET_BEGINNING || t->state == TICKET_SEALING) &&
			is_sealed(api, t))
			return 0;
	}
	if (is_queued && api->running < api->options.queries_max && api->retry_ns < next_ns)
		next_ns = api->retry_ns;
	return next_ns;
}
