/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer.h"

#include "answer/answer_failure.h"
#include "answer/answer_parameters.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/output.h"
#include "base/time_text.h"
#include "export/gzip.h"
#include "page/page_html.h"
#include "query/heatmap.h"
#include "query/incident_text.h"
#include "query/naming.h"
#include "query/timeline.h"
#include "render/difference_svg.h"
#include "render/difference_table.h"
#include "render/heatmap_svg.h"
#include "store/store.h"
#include "symbol/symbol_cache.h"
#include "symbolize/cached_symbol_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TITLE_BYTES = 512 };

/* Up to this time, an answer whose format has spans tells them. */
#define SPANS_TIME_MAX_NS (3600ULL * NSEC_PER_SEC)

/* The state of one answer. A function that fails fills the reply and returns -errno. */
struct answer {
	const struct answer_request *request;
	struct answer_reply *reply;
	struct answer_parameters parameters;
	struct symbol_cache *cache;
	struct cached_symbol_source *names;
	struct profile *profiles[DIFFERENCE_SIDE_COUNT];
	struct heatmap heatmap;
	char titles[DIFFERENCE_SIDE_COUNT][TITLE_BYTES];
	uint64_t written_bytes;
	uint64_t covered_ns; /* by the profile; used only for profiles and metrics */
	int64_t increase;    /* as in the reply */
	int output_fd;
};

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

/* --- profiles --- */

/* Profiles get half of the memory; reading, symbolizing and rendering need less than the rest. */
static size_t profile_budget(const struct answer *answer)
{
	uint64_t budget = answer->request->memory_max / 2;

	if (answer->request->kind == ANSWER_DIFFERENCE)
		budget /= 2;
	return budget < SIZE_MAX ? (size_t)budget : SIZE_MAX;
}

/* Appends to a title of TITLE_BYTES, which is cut at its end. */
static void append(char *title, size_t *used, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *title, size_t *used, const char *format, ...)
{
	const size_t room = TITLE_BYTES - *used;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(title + *used, room, format, arguments);
	va_end(arguments);
	if (n > 0)
		*used += (size_t)n < room ? (size_t)n : room - 1;
}

/*
 * A sum that lacks a source, even for a part of the time, is no wall-clock time. Windows of one
 * time have the same length.
 */
static void name_missing_sources(
	const struct profile *profile, const struct store_found *found, char *title, size_t *used)
{
	const char *event = string_pool_get(&profile->strings, profile->event);
	uint64_t whole_ns = 0;

	if (event_source_of(event) != &event_source_wall)
		return;
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (found->source_ns[i] > whole_ns)
			whole_ns = found->source_ns[i];
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++) {
		char missing[TIME_TEXT_BYTES];

		if (event_source_is_of_wall((enum pilotlight_source)i) &&
			found->source_ns[i] < whole_ns)
			append(title, used, "%s not sampled for %s: ", event_sources[i].title,
				time_text_format_duration(whole_ns - found->source_ns[i], missing));
	}
}

/* What an exact selection had to leave out. */
static void name_untimed(
	const struct profile *profile, const struct store_found *found, char *title, size_t *used)
{
	if (profile->period_ns > 0 && found->untimed_ns >= profile->period_ns)
		append(title, used, "without %" PRIu64 " samples that have no time: ",
			found->untimed_ns / profile->period_ns);
}

static void title(struct answer *answer, enum difference_side side, const struct profile *profile,
	const struct store_found *found, bool lacks_names)
{
	char *shown = answer->titles[side], host[HOST_NAME_MAX + 1] = "";
	size_t used = 0;

	/* Pictures of several hosts lie side by side. */
	if (gethostname(host, sizeof(host) - 1) == 0 && host[0])
		append(shown, &used, "%s: ", host);
	if (found->days_damaged > 0)
		append(shown, &used, "without %" PRIu64 " of the days, which cannot be read: ",
			found->days_damaged);
	if (found->is_partial)
		append(shown, &used, "without windows of other events; ask with event=...: ");
	if (found->lacks_spans)
		append(shown, &used, "without windows that keep no spans any more: ");
	name_missing_sources(profile, found, shown, &used);
	if (answer->request->kind != ANSWER_HEATMAP)
		name_untimed(profile, found, shown, &used);
	if (lacks_names)
		append(shown, &used, "some names missing (out of memory): ");
	append(shown, &used, "%s", selection_text(answer->parameters.sides[side]));
}

/* Excludes losses outside the selection from the accounts and their total. */
static void select_accounts(struct profile *profile)
{
	uint64_t selected = 0;

	for (size_t i = 0; i < profile->samples.count; i++)
		selected += profile->samples.items[i].count;
	accounts_select(&profile->accounts, selected);
}

/* Excludes all other samples from the accounts, and losses, since it is unknown whose they were. */
static void own_accounts(struct profile *profile)
{
	struct accounts accounts = { 0 };

	for (size_t i = 0; i < profile->samples.count; i++)
		accounts.fired += profile->samples.items[i].count;
	accounts.stored[PILOTLIGHT_PATH_MAP] = accounts.fired;
	profile->accounts = accounts;
}

/* A binary without an image has file offsets for addresses, which symbols cannot match. */
static int open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	const struct profile *profile = context;
	const struct profile_binary *binary = &profile->binaries.items[profile_binary];

	if (binary->text_bytes == 0 || (binary->build_id.size == 0 && binary->symbols.id.size == 0))
		return -ENOENT;
	/* Omits the path: the string may move while names are added, and no code opens it. */
	*ret_binary = (struct symbol_binary){
		.build_id = binary->build_id,
		.identity = binary->symbols,
		.path = "",
		.fd = -1,
		.debug_fd = -1,
	};
	return 0;
}

static const struct event_source *source_of(const struct store_selection *asked)
{
	return event_source_of(asked->event ? asked->event : "");
}

/* Their number is that of requests, and what is read for them is a multiple of the folds. */
static bool takes_spans(
	const struct answer_parameters *parameters, const struct store_selection *asked)
{
	const char *format = parameters->format->name;

	return (asked->spans || asked->end_ns - asked->start_ns <= SPANS_TIME_MAX_NS) &&
	       (strcmp(format, "otlp") == 0 ||
		       (strcmp(format, "pprof") == 0 &&
			       parameters->pprof_labels != PPROF_LABELS_SERVICE));
}

static int choose_details(struct answer *answer, struct store_selection *asked)
{
	asked->takes_times = answer->parameters.has_times;
	if (asked->takes_times && asked->spans)
		return answer_fail(answer->reply, ANSWER_INVALID,
			"spans of samples have no times of their own; leave out times");
	asked->takes_spans = !asked->takes_times && takes_spans(&answer->parameters, asked);
	if (asked->is_exact && source_of(asked)->is_live)
		return answer_fail_live(answer->reply, source_of(asked));
	return 0;
}

static int read_side(struct answer *answer, enum difference_side side)
{
	struct selection *selection = answer->parameters.sides[side];
	struct store_selection asked;
	struct store_found found = { 0 };
	struct profile *profile;
	struct naming_counters counters;
	struct fault fault = { 0 };
	int r;

	selection_store(selection, &asked);
	if (thread_group_needs_processes(answer->parameters.group))
		asked.merges_threads = false;
	r = choose_details(answer, &asked);
	if (r < 0)
		return r;
	r = store_reader_read(answer->request->history, &asked, profile_budget(answer),
		&answer->profiles[side], &found, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	profile = answer->profiles[side];
	if (found.coarse_windows > 0)
		return answer_fail_coarse(answer->reply, answer->request->history,
			found.coarse_start_ns, found.coarse_end_ns, answer->request->memory_max);
	if ((found.windows == 0 && found.supplements == 0) ||
		(profile->samples.count == 0 && selection_has_filter(selection) &&
			!(side == DIFFERENCE_BASE && answer->parameters.is_of_subject)))
		return answer_fail_empty(answer->reply, answer->request->history, selection, &found,
			answer->request->memory_max);
	if (asked.takes_times && profile->stamps.count == 0 && profile->samples.count > 0)
		return answer_fail(answer->reply, ANSWER_NOT_FOUND,
			"the history keeps no times of these samples; leave out times");
	if (answer->request->scope == ANSWER_OWN)
		own_accounts(profile);
	else if (selection_has_filter(selection))
		select_accounts(profile);
	r = naming_run(profile, cached_symbol_source_interface(answer->names), open_binary, profile,
		&counters);
	if (r == -ENOMEM)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	interpreted_frames_choose(profile, answer->parameters.interpreted_frames);
	if (thread_group_name(profile, answer->parameters.group) < 0)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	answer->covered_ns = profile->covered_ns;
	title(answer, side, profile, &found, r == -E2BIG);
	return 0;
}

/* --- output --- */

/* Returns -EFBIG if the answer would exceed its bound. */
static int write_counted(void *context, const void *bytes, size_t size)
{
	struct answer *answer = context;
	const char *at = bytes;

	if (size > answer->request->bytes_max - answer->written_bytes)
		return -EFBIG;
	answer->written_bytes += size;
	while (size > 0) {
		ssize_t n = write(answer->output_fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int draw_profile(struct answer *answer, struct output *output)
{
	const struct profile_format_options options = {
		.title = answer->titles[DIFFERENCE_COMPARED],
		.detail = answer->parameters.detail,
		.pprof_labels = answer->parameters.pprof_labels,
		.attributes = answer->parameters.attributes,
		.sample_hosts_ppm = answer->parameters.sample_hosts_ppm,
		.rows_max = answer->parameters.rows_max,
		.frames_max = answer->parameters.frames_max,
		.below = answer->parameters.below,
	};

	return answer->parameters.format->write(
		answer->profiles[DIFFERENCE_COMPARED], &options, output);
}

static int draw_difference(
	struct answer *answer, const struct profile_difference *difference, struct output *output)
{
	const char *const names[] = {
		[DIFFERENCE_BASE] = answer->titles[DIFFERENCE_BASE],
		[DIFFERENCE_COMPARED] = answer->titles[DIFFERENCE_COMPARED],
	};
	enum frame_detail detail = answer->parameters.detail;

	if (strcmp(answer->parameters.format->name, "html") == 0)
		return page_write_difference(difference, names, detail, output);
	return strcmp(answer->parameters.format->name, "svg") == 0
		       ? difference_svg_write(difference, names, detail, output)
		       : difference_table_write(difference, names, detail,
				 answer->parameters.rows_max, output, &answer->increase);
}

static void draw_heatmap(const struct answer *answer, struct output *output)
{
	const char *format = answer->parameters.format->name;

	if (strcmp(format, "json") == 0)
		heatmap_write_json(&answer->heatmap, output);
	else if (strcmp(format, "html") == 0)
		heatmap_html_write(&answer->heatmap, answer->titles[DIFFERENCE_COMPARED], output);
	else
		heatmap_svg_write(&answer->heatmap, answer->titles[DIFFERENCE_COMPARED], output);
}

static int fail_output(struct answer *answer, int error)
{
	uint64_t bytes_max = answer->request->bytes_max;

	if (error == -ENOMEM || error == -E2BIG)
		return answer_fail_memory(answer->reply, answer->request->memory_max);
	if (error == -EFBIG)
		return answer_fail(answer->reply, ANSWER_TOO_LARGE,
			"the answer is larger than %" PRIu64
			" KiB; select less, or use a smaller format: pprof is the smallest",
			bytes_max / 1024);
	return answer_fail(
		answer->reply, ANSWER_FAILED, "cannot write the answer: %s", strerror(-error));
}

/*
 * Folded stacks shrink to a fifteenth, a flame graph to a seventh. pprof is gzip already; time
 * lines and incidents are short.
 */
static bool compresses(const struct answer *answer)
{
	return answer->request->accepts_gzip && answer->request->kind < ANSWER_TIMELINE &&
	       answer->parameters.format->is_text;
}

static int draw(struct answer *answer, const struct profile_difference *difference,
	output_function write, void *context)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r = 0, error;

	if (!output)
		return -ENOMEM;
	output_init(output, write, context);
	if (answer->request->kind == ANSWER_HEATMAP)
		draw_heatmap(answer, output);
	else if (answer->request->kind == ANSWER_METRICS)
		r = answer_metrics_write(
			&answer->parameters.metrics, answer->profiles[DIFFERENCE_COMPARED], output);
	else
		r = difference ? draw_difference(answer, difference, output)
			       : draw_profile(answer, output);
	error = output_finish(output);
	return error < 0 ? error : r;
}

static int draw_compressed(struct answer *answer, const struct profile_difference *difference)
{
	_cleanup_(gzip_freep) struct gzip *gzip = NULL;
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r, error;

	if (!output)
		return -ENOMEM;
	output_init(output, write_counted, answer);
	r = gzip_new(output, &gzip);
	if (r == 0)
		r = draw(answer, difference, gzip_write, gzip);
	if (r == 0)
		r = gzip_finish(gzip);
	error = output_finish(output);
	return error < 0 ? error : r;
}

static int write_output(struct answer *answer)
{
	bool is_difference = answer->request->kind == ANSWER_DIFFERENCE;
	struct profile_difference difference;
	struct fault fault = { 0 };
	int r = 0;

	if (is_difference)
		r = profile_difference_init(&difference, answer->profiles[DIFFERENCE_BASE],
			answer->profiles[DIFFERENCE_COMPARED], answer->parameters.whole, &fault);
	if (r < 0)
		return answer_fail(answer->reply, ANSWER_INVALID, "%s", fault.text);
	difference.is_of_incident = answer->parameters.is_of_incident;
	r = compresses(answer)
		    ? draw_compressed(answer, is_difference ? &difference : NULL)
		    : draw(answer, is_difference ? &difference : NULL, write_counted, answer);
	return r < 0 ? fail_output(answer, r) : 0;
}

/* The number is one of the list's. */
static void keep_incident(struct incident_list *list, uint64_t number)
{
	const struct incident *kept = incident_list_find(list, number);

	list->count = kept != NULL;
	if (kept)
		memmove(list->items, kept, sizeof(*kept));
}

static int make_incidents(struct answer *answer)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct incident_list list;
	struct fault fault = { 0 };
	int r;

	if (!output)
		return fail_output(answer, -ENOMEM);
	r = incident_log_read(answer->request->history, &list, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	if (answer->parameters.incident > 0)
		keep_incident(&list, answer->parameters.incident);
	output_init(output, write_counted, answer);
	if (strcmp(answer->parameters.format->name, "json") == 0)
		incident_list_write_json(&list, output);
	else
		incident_list_write(&list, output);
	incident_list_done(&list);
	r = output_finish(output);
	return r < 0 ? fail_output(answer, r) : 0;
}

static int make_timeline(struct answer *answer)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	struct store_selection asked;
	struct timeline timeline;
	struct fault fault = { 0 };
	int r;

	if (!output)
		return fail_output(answer, -ENOMEM);
	selection_store(answer->parameters.sides[DIFFERENCE_COMPARED], &asked);
	r = timeline_read(answer->request->history, &asked, answer->parameters.bucket_count,
		&timeline, &fault);
	if (r == 0 && answer->parameters.by != TIMELINE_BY_NONE) {
		r = timeline_read_parts(answer->request->history, &asked, answer->parameters.by,
			profile_budget(answer), &timeline, &fault);
		if (r < 0)
			timeline_done(&timeline);
	}
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, answer->request->memory_max);
	output_init(output, write_counted, answer);
	timeline_write(&timeline, output);
	timeline_done(&timeline);
	r = output_finish(output);
	return r < 0 ? fail_output(answer, r) : 0;
}

static int make_heatmap(struct answer *answer)
{
	const struct answer_request *request = answer->request;
	struct selection *selection = answer->parameters.sides[DIFFERENCE_COMPARED];
	const struct store_found *found = &answer->heatmap.found;
	struct store_selection asked;
	struct fault fault = { 0 };
	int r;

	selection_store(selection, &asked);
	if (source_of(&asked)->is_live)
		return answer_fail_live(answer->reply, source_of(&asked));
	r = heatmap_read(
		request->history, &asked, profile_budget(answer), &answer->heatmap, &fault);
	if (r < 0)
		return answer_fail_reading(answer->reply, r, &fault, request->memory_max);
	if (found->timed_ns == 0 && found->untimed_ns > 0)
		return answer_fail_coarse(answer->reply, request->history, found->coarse_start_ns,
			found->coarse_end_ns, request->memory_max);
	if (found->windows == 0 || (found->timed_ns == 0 && selection_has_filter(selection)))
		return answer_fail_empty(
			answer->reply, request->history, selection, found, request->memory_max);
	title(answer, DIFFERENCE_COMPARED, answer->heatmap.profile, found, false);
	return write_output(answer);
}

static int make(struct answer *answer)
{
	int r = check_request(answer);

	if (r == 0 && answer->request->kind == ANSWER_TIMELINE)
		return make_timeline(answer);
	if (r == 0 && answer->request->kind == ANSWER_INCIDENTS)
		return make_incidents(answer);
	if (r == 0 && answer->request->kind == ANSWER_HEATMAP)
		return make_heatmap(answer);
	if (r == 0)
		r = open_sources(answer);
	if (r == 0)
		r = read_side(answer, DIFFERENCE_COMPARED);
	if (r == 0 && answer->request->kind == ANSWER_DIFFERENCE)
		r = read_side(answer, DIFFERENCE_BASE);
	return r < 0 ? r : write_output(answer);
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
		.is_gzip = compresses(&answer),
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
