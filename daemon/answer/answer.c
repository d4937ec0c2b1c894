/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer.h"

#include "answer/answer_failure.h"
#include "answer/answer_private.h"
#include "symbol/symbol_cache.h"
#include "symbolize/cached_symbol_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void answer_done(struct answer *answer)
{
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		profile_free(answer->profiles[i]);
	heatmap_done(&answer->heatmap);
	cached_symbol_source_free(answer->names);
	symbol_cache_free(answer->cache);
	answer_parameters_done(&answer->parameters);
}

static bool has_end(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

static bool has_scope(const struct answer_request *request)
{
	return request->owner == 0 ? request->scope == ANSWER_ALL : request->scope == ANSWER_OWN;
}

static int check_request(struct answer *answer)
{
	const struct answer_request *request = answer->request;
	struct fault fault = { 0 };
	int r;

	if (request->version != ANSWER_VERSION || request->kind == 0 ||
		request->kind >= ANSWER_KINDS || !has_scope(request) ||
		(request->kind >= ANSWER_TIMELINE && request->scope != ANSWER_ALL) ||
		!has_end(request->history, sizeof(request->history)) ||
		!has_end(request->symbol_cache, sizeof(request->symbol_cache)))
		return answer_fail(answer->reply, ANSWER_FAILED,
			"the service sent an invalid request; restart it");
	r = answer_parameters_read(request, &answer->parameters, &fault);
	if (r == -ENOMEM)
		return answer_fail_memory(answer->reply, request->memory_max);
	if (r < 0)
		return answer_fail(answer->reply, ANSWER_INVALID, "%s", fault.text);
	if (!request->history[0])
		return answer_fail(answer->reply, ANSWER_UNAVAILABLE,
			"the service keeps no history; set Enabled=yes in [History] of "
			"pilotlight.conf");
	return 0;
}

/* A missing symbol cache is no error: the code stays visibly unsymbolized. */
static int open_sources(struct answer *answer)
{
	const struct answer_request *request = answer->request;
	int r = 0;

	if (request->symbol_cache[0])
		r = symbol_cache_open(
			request->symbol_cache, SYMBOL_CACHE_BYTES_DEFAULT, &answer->cache, NULL);
	if (r != -ENOMEM)
		r = cached_symbol_source_new(answer->cache, &answer->names);
	return r < 0 ? answer_fail_memory(answer->reply, request->memory_max) : 0;
}

static int make(struct answer *answer)
{
	int r = check_request(answer);

	if (r == 0 && answer->request->kind == ANSWER_TIMELINE)
		return answer_make_timeline(answer);
	if (r == 0 && answer->request->kind == ANSWER_INCIDENTS)
		return answer_make_incidents(answer);
	if (r == 0 && answer->request->kind == ANSWER_HEATMAP)
		return answer_make_heatmap(answer);
	if (r == 0)
		r = open_sources(answer);
	if (r == 0)
		r = answer_read_side(answer, DIFFERENCE_COMPARED);
	if (r == 0 && answer->request->kind == ANSWER_DIFFERENCE)
		r = answer_read_side(answer, DIFFERENCE_BASE);
	return r < 0 ? r : answer_write(answer);
}

void answer_make(
	const struct answer_request *request, int output_fd, struct answer_reply *ret_reply)
{
	_cleanup_(answer_done) struct answer answer = {
		.request = request,
		.reply = ret_reply,
		.output_fd = output_fd,
	};

	if (make(&answer) < 0)
		return;
	*ret_reply = (struct answer_reply){
		.version = ANSWER_VERSION,
		.status = ANSWER_OK,
		.is_gzip = answer_compresses(&answer),
		.bytes = answer.written_bytes,
		.increase = answer.increase,
	};
	if (request->kind == ANSWER_PROFILE || request->kind == ANSWER_METRICS) {
		ret_reply->covered_ns = answer.covered_ns;
		ret_reply->period_ns = answer.profiles[DIFFERENCE_COMPARED]->period_ns;
	}
	(void)snprintf(ret_reply->content_type, sizeof(ret_reply->content_type), "%s",
		request->kind == ANSWER_TIMELINE ? "application/json"
						 : answer.parameters.format->content_type);
}
