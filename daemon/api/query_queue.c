/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a query. A new profile begins and ends at window boundaries, so the queue requests a
 * seal at both: aligning, recording, sealing, queued, running. A query of the history: [sealing]
 * queued, running.
 */
#include "api/api_private.h"
#include "base/clock.h"
#include "base/log.h"
#include "page/page_html.h"
#include "pilotlight/api.h"
#include "render/flamegraph_policy.h"
#include "render/heatmap_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	TEXT_BYTES = 512,
	TIME_BYTES = 40,
	STATUS_TOO_LARGE = 413,
	STATUS_GONE = 499, /* the client left; not counted as a failure of the service */
	NSEC_PER_MSEC = 1000000,
	RETRY_NS = 200 * NSEC_PER_MSEC,
	/* A seal this recent is reused, so that queries do not split windows into tiny ones. */
	RECENT_NS = NSEC_PER_SEC,
};

_Static_assert((int)PAGE_POLICY_BYTES >= (int)FLAMEGRAPH_POLICY_BYTES, "room for either");

/* A new profile that ends this far from its due time means that the clock was set or stopped. */
static const uint64_t CLOCK_ERROR_NS = 10ULL * NSEC_PER_SEC;

static void unlink_query(struct api *api, struct query *query)
{
	if (query->previous)
		query->previous->next = query->next;
	else
		api->first = query->next;
	if (query->next)
		query->next->previous = query->previous;
	else
		api->last = query->previous;
}

static void query_free(struct query *query)
{
	answer_job_free(query->job);
	parameter_list_done(&query->parameters);
	free(query);
}

void queries_free(struct api *api)
{
	while (api->first) {
		struct query *query = api->first;

		unlink_query(api, query);
		query_free(query);
	}
}

static void remove_query(struct api *api, struct query *query)
{
	api->running -= query->state == QUERY_RUNNING;
	unlink_query(api, query);
	query_free(query);
}

/* --- ends --- */

static struct query *find_query(const struct api *api, const struct http_request *request)
{
	struct query *query = api->first;

	while (query && query->request != request)
		query = query->next;
	return query;
}

void query_refuse(struct api *api, struct http_request *request, const char *path, unsigned status,
	const char *format, ...)
{
	struct query *query = find_query(api, request);
	char text[TEXT_BYTES];
	struct http_peer peer;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (status < 500)
		api->queries.refused++;
	else if (status == 504)
		api->queries.timed_out++;
	else
		api->queries.failed++;
	http_request_peer(request, &peer);
	query_log_refusal(&api->log, path, &peer, status, text);
	http_answer_text(request, status, "%s", text);
	if (query)
		remove_query(api, query);
}

/* Adds a field with nine decimals, such as ns as seconds. Adds none for 0: not known, or none. */
static size_t add_billionths(struct http_field *fields, size_t count, const char *name,
	uint64_t billionths, char text[TIME_BYTES])
{
	if (billionths == 0)
		return count;
	(void)snprintf(text, TIME_BYTES, "%" PRIu64 ".%09" PRIu64, billionths / NSEC_PER_SEC,
		billionths % NSEC_PER_SEC);
	fields[count] = (struct http_field){ name, text };
	return count + 1;
}

/* Takes the outcome's file. */
static void finish(struct api *api, struct query *query, struct answer_outcome *outcome)
{
	char covered[TIME_BYTES], period[TIME_BYTES], increase[TIME_BYTES];
	char policy[PAGE_POLICY_BYTES]; /* room for the others, too */
	struct http_field fields[6];
	struct http_answer answer = { .status = outcome->status,
		.content_type = outcome->content_type,
		.fields = fields,
		.size = (size_t)outcome->bytes };

	if (outcome->status == STATUS_TOO_LARGE && query->bytes_max < api->options.query_bytes) {
		query_refuse(api, query->request, query->path, 503,
			"Answer too large: unread answers leave memory for only %" PRIu64
			" KiB. Read those first and try again, or ask for less.",
			query->bytes_max / 1024);
		return;
	}
	if (outcome->status != 200) {
		query_refuse(
			api, query->request, query->path, outcome->status, "%s", outcome->text);
		return;
	}
	if (query->duration_ns > 0) {
		/* The same header fields as Go's net/http/pprof. */
		answer.content_type = "application/octet-stream";
		fields[answer.field_count++] = (struct http_field){ "Content-Disposition",
			"attachment; filename=\"profile\"" };
	}
	if (outcome->is_gzip) {
		fields[answer.field_count++] = (struct http_field){ "Content-Encoding", "gzip" };
		fields[answer.field_count++] = (struct http_field){ "Vary", "Accept-Encoding" };
	}
	if (query->kind == ANSWER_HEATMAP)
		answer.content_policy = heatmap_policy_format(policy);
	else if (strcmp(answer.content_type, "image/svg+xml") == 0)
		answer.content_policy = flamegraph_policy_format(policy);
	else if (strncmp(answer.content_type, "text/html", sizeof("text/html") - 1) == 0)
		answer.content_policy = page_policy_format(false, policy);
	answer.field_count = add_billionths(
		fields, answer.field_count, PILOTLIGHT_FIELD_COVERED, outcome->covered_ns, covered);
	answer.field_count = add_billionths(
		fields, answer.field_count, PILOTLIGHT_FIELD_PERIOD, outcome->period_ns, period);
	answer.field_count = add_billionths(fields, answer.field_count, PILOTLIGHT_FIELD_INCREASE,
		(uint64_t)outcome->increase, increase);
	api->queries.answered++;
	query_log_answer(&api->log, query->path, &query->peer, outcome->status, outcome->bytes);
	http_answer_file(query->request, &answer, TAKE_FD(outcome->fd));
	remove_query(api, query);
}

void query_abandon(void *context, struct http_request *request)
{
	char peer[HTTP_PEER_TEXT_BYTES];
	struct api *api = context;
	struct query *query = find_query(api, request);

	if (!query)
		return;
	api->queries.abandoned++;
	log_debug("'%s' cancelled: %s has disconnected", query->path,
		http_peer_text(&query->peer, peer));
	http_answer_text(request, STATUS_GONE, "Cancelled: the client has disconnected.");
	remove_query(api, query);
}

/* --- sealing --- */

/* Requests the history up to `until_ns`. With `is_about`, a seal up to 1 s older is reused. */
static void request_seal(struct api *api, struct query *query, uint64_t until_ns, bool is_about)
{
	uint64_t least_ns = is_about ? until_ns - RECENT_NS : until_ns;

	/* The clock was set back: the known times now lie in the future. */
	if (api->sealed_ns > until_ns && api->sealed_ns - until_ns > RECENT_NS)
		api->sealed_ns = 0;
	if (api->seal_requested_ns > until_ns && api->seal_requested_ns - until_ns > RECENT_NS)
		api->seal_requested_ns = 0;
	query->deadline_ns = clock_monotonic_ns() + api->options.seal_timeout_ns;
	query->seal_ns = until_ns;
	if (api->sealed_ns >= least_ns) {
		query->seal_ns = api->sealed_ns;
	} else if (api->seal_requested_ns >= least_ns) {
		query->seal_ns = api->seal_requested_ns;
	} else {
		api->seal_requested_ns = until_ns;
		api->options.request_seal(api->options.context, until_ns);
	}
}

static bool is_sealed(const struct api *api, const struct query *query)
{
	return api->sealed_ns >= query->seal_ns;
}

static void queue(struct api *api, struct query *query)
{
	query->state = QUERY_QUEUED;
	query->deadline_ns = clock_monotonic_ns() + api->options.query_timeout_ns;
	query_assign_turn(api, query);
}

/* --- new profiles --- */

/* Starts the profile once the window before it is sealed or its seal timed out. */
static void begin_profile(struct api *api, struct query *query)
{
	uint64_t now_ns = clock_realtime_ns();

	query->begin_ns = is_sealed(api, query) ? api->sealed_ns : query->seal_ns;
	query->end_ns = query->begin_ns + query->duration_ns;
	query->state = QUERY_RECORDING;
	query->deadline_ns = clock_monotonic_ns();
	if (query->end_ns > now_ns)
		query->deadline_ns += query->end_ns - now_ns;
}

static int add_time(struct parameter_list *parameters, const char *name, uint64_t time_ns)
{
	char text[TIME_BYTES];

	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return parameter_list_add(parameters, name, text);
}

/* Ends the recording and requests its seal. */
static void end_profile(struct api *api, struct query *query)
{
	uint64_t now_ns = clock_realtime_ns();
	int r = add_time(&query->parameters, "from", query->begin_ns);

	if (now_ns + CLOCK_ERROR_NS < query->end_ns || now_ns > query->end_ns + CLOCK_ERROR_NS) {
		query_refuse(api, query->request, query->path, 503,
			"Recording failed: the machine was suspended or its clock was set. Try "
			"again.");
		return;
	}
	if (r == 0)
		r = add_time(&query->parameters, "to", query->end_ns);
	if (r == 0)
		r = parameter_list_add(&query->parameters, "format", "pprof");
	if (r < 0) {
		query_refuse(api, query->request, query->path, 503,
			"Cannot start the query: %s. Try again later.", strerror(-r));
		return;
	}
	query->state = QUERY_SEALING;
	request_seal(api, query, query->end_ns, false);
}

/* --- */

void query_add(struct api *api, struct http_request *request, const struct query_options *options,
	struct parameter_list *parameters)
{
	struct query *query = calloc(1, sizeof(*query));

	if (!query) {
		parameter_list_done(parameters);
		query_refuse(api, request, options->path, 503, "Out of memory. Try again later.");
		return;
	}
	query->request = request;
	http_request_peer(request, &query->peer);
	query->path = options->path;
	query->kind = options->kind;
	query->duration_ns = options->duration_ns;
	query->since_ns = clock_monotonic_ns();
	query->asked_ns = clock_realtime_ns();
	query->parameters = *parameters;
	*parameters = (struct parameter_list){ 0 };
	query->previous = api->last;
	if (query->previous)
		query->previous->next = query;
	else
		api->first = query;
	api->last = query;
	query->state = query->duration_ns > 0 ? QUERY_ALIGNING : QUERY_SEALING;
	if (options->is_sealed)
		queue(api, query);
	else
		request_seal(api, query, query->asked_ns, true);
}

/* --- running --- */

static int start_job(struct api *api, struct query *query, uint64_t now_ns)
{
	uint64_t room = http_answer_room(query->request);
	bool is_guest = http_peer_is_guest(&query->peer);
	const struct answer_job_options options = {
		.broker = api->options.broker,
		.program = api->options.program,
		.kind = query->kind,
		.scope = is_guest ? ANSWER_OWN : ANSWER_ALL,
		/* A query process refuses owner 0, because it stands for no user. */
		.owner = is_guest ? query->peer.uid + 1 : 0,
		.history = api->options.history,
		.symbol_cache = api->options.symbol_cache,
		.parameters = query->parameters.bytes,
		.parameters_bytes = query->parameters.size,
		.now_ns = query->asked_ns,
		.bytes_max = room < api->options.query_bytes ? room : api->options.query_bytes,
		.memory_max = api->options.query_memory_bytes,
		.accepts_gzip = http_request_accepts_gzip(query->request),
		/* Starting earlier queries may have used up the time left. */
		.timeout_ns = query->deadline_ns > now_ns ? query->deadline_ns - now_ns : 1,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int r = answer_job_start(&options, &query->job);

	if (r < 0)
		return r;
	if (epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, answer_job_poll_fd(query->job), &event) < 0)
		return -errno;
	query->bytes_max = options.bytes_max;
	query->state = QUERY_RUNNING;
	api->running++;
	api->turn = query->turn;
	return 0;
}

static void start_jobs(struct api *api, uint64_t now_ns)
{
	struct query *query;

	while (api->running < api->options.queries_max && api->retry_ns <= now_ns &&
		(query = query_next(api))) {
		int r = start_job(api, query, now_ns);

		if (r == -EAGAIN)
			api->retry_ns = now_ns + RETRY_NS;
		else if (r < 0)
			query_refuse(api, query->request, query->path, 503,
				"Cannot start the query process: %s. Try again later.",
				strerror(-r));
	}
}

/* May free `query`. */
static void run_query(struct api *api, struct query *query, uint64_t now_ns)
{
	bool is_late = query->deadline_ns <= now_ns;
	struct answer_outcome outcome;

	switch (query->state) {
	case QUERY_ALIGNING:
		if (is_sealed(api, query) || is_late)
			begin_profile(api, query);
		break;
	case QUERY_RECORDING:
		if (is_late)
			end_profile(api, query);
		break;
	case QUERY_SEALING:
		if (is_sealed(api, query) || is_late)
			queue(api, query);
		break;
	case QUERY_QUEUED:
		if (is_late)
			query_refuse(api, query->request, query->path, 504,
				"Query timed out after %.3g s in the queue behind other queries. "
				"Try again later.",
				(double)api->options.query_timeout_ns / NSEC_PER_SEC);
		break;
	case QUERY_RUNNING:
		if (answer_job_take(query->job, &outcome) == 0)
			finish(api, query, &outcome);
		break;
	}
}

void queries_run(struct api *api)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct query *query = api->first, *next; query; query = next) {
		next = query->next;
		run_query(api, query, now_ns);
	}
	start_jobs(api, clock_monotonic_ns());
}

uint64_t queries_next_ns(const struct api *api)
{
	uint64_t next_ns = UINT64_MAX;

	for (const struct query *t = api->first; t; t = t->next) {
		if (t->state != QUERY_RUNNING && t->deadline_ns < next_ns)
			next_ns = t->deadline_ns;
		/* Its seal has arrived. */
		if ((t->state == QUERY_ALIGNING || t->state == QUERY_SEALING) && is_sealed(api, t))
			return 0;
	}
	if (api->running < api->options.queries_max && api->retry_ns < next_ns && query_next(api))
		next_ns = api->retry_ns;
	return next_ns;
}
