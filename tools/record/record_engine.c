/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_engine.h"

#include "aggregate/interpreted_frames.h"
#include "aggregate/profile_sum.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/log.h"
#include "broker/broker.h"
#include "engine/heap_reader.h"
#include "engine/pipeline.h"
#include "export/profile_format.h"
#include "extract/code_instruction.h"
#include "render/caption.h"
#include "symbol/symbol_cache.h"
#include "tools/record/record_message.h"
#include "tools/record/record_options.h"
#include "tools/record/record_sandbox.h"
#include "tools/record/record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
	UNWIND_BUDGET_BYTES = 16 << 20,
	MAP_BUDGET_BYTES = 28 << 20,
	PROFILE_BUDGET_BYTES = 64 << 20,
	PROGRESS_PERIOD_MS = 1000,
	SYMBOL_TIMEOUT_S = 60, /* for symbols that are not ready when sampling ends */
};

/* Sampling begins this much later at most, for unwind tables of programs that run. */
#define PREPARE_NS (1ULL * NSEC_PER_SEC)

struct engine {
	const struct record_options *options;
	struct broker *broker;
	struct heap_reader *heap_reader; /* NULL: no heaps are sampled */
	struct pipeline *pipeline;
	struct profile *sum;		/* of all sources; NULL: not asked for */
	char *symbol_cache;		/* NULL: none */
	struct fault cache_fault;	/* why there is none; reported once the pipeline opens */
	bool is_stopped, skips_symbols; /* on the front's order */
	bool is_alone;			/* the front is gone: nothing is worth reporting */
	bool shows_progress;
	uint64_t started_ns, next_progress_ns;
};

static void engine_done(struct engine *engine)
{
	profile_free(engine->sum);
	pipeline_free(engine->pipeline);
	heap_reader_free(engine->heap_reader);
	broker_free(engine->broker);
	free(engine->symbol_cache);
}

static const char *sentence(const struct fault *fault, int error)
{
	return fault->text[0] ? fault->text : strerror(-error);
}

/* --- messages of the front ---------------------------------------------------------------------
 */

static int send_report(struct engine *engine, enum record_message_type type, int number)
{
	const struct record_message message = { .type = type, .number = number };
	int r = record_message_send(RECORD_MESSAGE_FD, &message, -1);

	engine->is_alone |= r < 0;
	return r;
}

/* Obeys STOP and SKIP_SYMBOLS, which may come at any time. Returns 0 with another message,
 * -EAGAIN, or another -errno. */
static int receive(struct engine *engine, struct record_message *ret_message, int *ret_fd)
{
	int r;

	do {
		r = record_message_receive(RECORD_MESSAGE_FD, ret_message, ret_fd);
		if (r < 0)
			break;
		engine->is_stopped |= ret_message->type == RECORD_STOP;
		engine->skips_symbols |= ret_message->type == RECORD_SKIP_SYMBOLS;
	} while (ret_message->type == RECORD_STOP || ret_message->type == RECORD_SKIP_SYMBOLS);
	engine->is_alone |= r < 0 && r != -EAGAIN;
	return r;
}

/* Waits for this message. `ret_fd` may be NULL. */
static int await(struct engine *engine, enum record_message_type type,
	struct record_message *ret_message, int *ret_fd)
{
	struct pollfd fd = { .fd = RECORD_MESSAGE_FD, .events = POLLIN };
	int r;

	while ((r = receive(engine, ret_message, ret_fd)) == -EAGAIN)
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			return -errno;
	if (r == 0 && ret_message->type != type) {
		engine->is_alone = true;
		r = -EPROTO;
	}
	return r;
}

/* Takes orders to end something; any other message is an error now. */
static int receive_orders(struct engine *engine)
{
	struct record_message message;
	int r = receive(engine, &message, NULL);

	if (r == 0)
		engine->is_alone = true;
	return r == -EAGAIN ? 0 : -EPROTO;
}

/* --- before sampling -------------------------------------------------------------------------- */

/* Its folder is made now; the sandbox forbids that later. */
static void choose_symbol_cache(struct engine *engine)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	_cleanup_free_ char *directory = NULL;
	int r = symbol_cache_default_directory(&directory);

	if (r < 0) {
		log_warning("there is no home folder for a symbol cache (%s), continuing without; "
			    "set PILOTLIGHT_SYMBOL_CACHE to a folder",
			strerror(-r));
		return;
	}
	r = symbol_cache_open(directory, SYMBOL_CACHE_BYTES_DEFAULT, &cache, &engine->cache_fault);
	if (r == 0)
		engine->symbol_cache = TAKE_PTR(directory);
}

static int follow(struct engine *engine, pid_t command, struct fault *fault)
{
	const struct record_options *options = engine->options;
	int r = 0;

	for (size_t i = 0; i < options->pid_count && r == 0; i++)
		r = pipeline_follow(engine->pipeline, options->pids[i], fault);
	if (r == 0 && command > 0 && !options->samples_all)
		r = pipeline_follow(engine->pipeline, command, fault);
	return r;
}

static int open_pipeline(struct engine *engine, struct fault *fault)
{
	const struct record_options *options = engine->options;
	struct pipeline_settings settings = {
		.capture = {
			.rate_hz = options->rate_hz,
			.sources = record_options_sources(options),
			.wants_kernel = options->samples_kernel,
			.wants_wakers = options->samples_wakers,
			.skips_interpreted = strcmp(options->runtime_frames, "native") == 0,
			.filters_processes = options->pid_count > 0 ||
					     (options->command && !options->samples_all),
			.map_budget_bytes = MAP_BUDGET_BYTES,
			.stack_slots = options->stack_slots,
			.unwind_budget_bytes = 
				strcmp(options->unwind, "auto") == 0 ? UNWIND_BUDGET_BYTES : 0,
		},
		.broker = engine->broker,
		.heap_reader = engine->heap_reader,
		.capture_fd = RECORD_CAPTURE_FD,
		.profile_budget_bytes = PROFILE_BUDGET_BYTES,
		.symbol_cache = engine->symbol_cache,
		.debuginfod_urls = getenv("DEBUGINFOD_URLS"),
		/* A sample is told with its span or with its times. */
		.keeps_spans = !options->has_times,
		.keeps_times = options->has_times,
		.spans = options->spans,
		/* A command has not begun: what it will map is not known. */
		.prepare_ns = options->command && !options->samples_all && options->pid_count == 0
				      ? 0
				      : PREPARE_NS,
	};
	int r;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		settings.capture.periods[i] = record_options_period(options, i);
	memcpy(settings.capture.counted, options->counted, sizeof(settings.capture.counted));
	r = pipeline_open(&settings, &engine->pipeline, fault);
	if (r == 0 && engine->cache_fault.text[0])
		log_warning("%s; continuing without a symbol cache", engine->cache_fault.text);
	return r;
}

/* Before the sandbox that forbids threads. The thread opens no files, so it has a narrower one. */
static int open_heap_reader(struct engine *engine, struct fault *fault)
{
	int r;

	if (!record_options_has_heaps(engine->options))
		return 0;
	r = heap_reader_new(record_sandbox_confine_reader, &engine->heap_reader);
	return r < 0 ? fault_set(fault, r, "cannot start a thread that reads allocators: %s",
			       strerror(-r))
		     : 0;
}

static int prepare(struct engine *engine, struct fault *fault)
{
	struct record_message message;
	bool keeps_privileges;
	int r;

	/* Workers load it themselves; its presence tells what they can make. */
	(void)code_instruction_load(NULL);
	r = record_sandbox_drop_privileges(RECORD_BROKER_FD, &keeps_privileges, fault);
	if (r < 0)
		return r;
	r = open_heap_reader(engine, fault);
	if (r < 0)
		return r;
	choose_symbol_cache(engine);
	if (!keeps_privileges)
		record_sandbox_confine(engine->symbol_cache);
	r = broker_connect(RECORD_BROKER_FD, &engine->broker);
	if (r == 0)
		r = await(engine, RECORD_OPEN, &message, NULL);
	if (r == 0)
		r = open_pipeline(engine, fault);
	if (r == 0)
		r = follow(engine, message.number, fault);
	if (r == 0)
		r = send_report(engine, RECORD_PREPARED, 0);
	return r;
}

static int start(struct engine *engine, struct fault *fault)
{
	struct record_message message;
	int r = await(engine, RECORD_START, &message, NULL);

	if (r == 0)
		r = pipeline_start(engine->pipeline, fault);
	engine->started_ns = clock_monotonic_ns();
	engine->next_progress_ns = engine->started_ns;
	return r < 0 ? r : send_report(engine, RECORD_SAMPLING, 0);
}

/* --- sampling --------------------------------------------------------------------------------- */

static void show_progress(struct engine *engine)
{
	const struct record_options *options = engine->options;
	uint64_t now_ns = clock_monotonic_ns();
	struct pipeline_report report;
	const struct accounts *accounts;

	if (!engine->shows_progress || now_ns < engine->next_progress_ns)
		return;
	engine->next_progress_ns = now_ns + PROGRESS_PERIOD_MS * 1000000ULL;
	pipeline_report(engine->pipeline, &report);
	accounts = &report.accounts.of[PILOTLIGHT_SOURCE_CPU];
	(void)fprintf(stderr, "\r%5.0f s  %" PRIu64 " samples, %" PRIu64 " lost%s\033[K",
		(double)(now_ns - engine->started_ns) / 1e9, accounts_stored(accounts),
		accounts_lost(accounts),
		options->duration_ns == 0 && !options->command && options->pid_count == 0
			? "; Ctrl-C ends the recording"
			: "");
}

static void end_progress(const struct engine *engine)
{
	if (engine->shows_progress)
		(void)fputs("\r\033[K", stderr);
}

static int sample(struct engine *engine, struct fault *fault)
{
	struct pollfd fds[] = {
		{ .fd = pipeline_poll_fd(engine->pipeline), .events = POLLIN },
		{ .fd = RECORD_MESSAGE_FD, .events = POLLIN },
	};
	int r = 0;

	while (r == 0 && !engine->is_stopped) {
		show_progress(engine);
		if (poll(fds, 2, engine->shows_progress ? PROGRESS_PERIOD_MS : -1) < 0) {
			if (errno != EINTR)
				r = fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
			continue;
		}
		r = receive_orders(engine);
		if (r == 0 && !engine->is_stopped && fds[0].revents)
			r = pipeline_run(engine->pipeline, fault);
	}
	end_progress(engine);
	return r;
}

/* --- after sampling --------------------------------------------------------------------------- */

static int poll_timeout_ms(uint64_t now_ns, uint64_t end_ns)
{
	uint64_t left_ms = PROGRESS_PERIOD_MS;

	if (end_ns - now_ns < left_ms * 1000000)
		left_ms = (end_ns - now_ns) / 1000000 + 1;
	return (int)left_ms;
}

/* Waits for symbols that are still being extracted, until an order or the timeout. */
static int wait_for_symbols(struct engine *engine, struct fault *fault)
{
	uint64_t end_ns = clock_monotonic_ns() + SYMBOL_TIMEOUT_S * (uint64_t)NSEC_PER_SEC;
	struct pollfd fds[] = {
		{ .fd = pipeline_symbols_poll_fd(engine->pipeline), .events = POLLIN },
		{ .fd = RECORD_MESSAGE_FD, .events = POLLIN },
	};
	size_t pending;
	int r = 0;

	while (r == 0 && (pending = pipeline_symbols_pending(engine->pipeline)) > 0) {
		uint64_t now_ns = clock_monotonic_ns();

		r = receive_orders(engine);
		if (r < 0)
			break;
		if (now_ns >= end_ns || engine->skips_symbols) {
			log_warning("symbols of %zu binaries were not ready in time, continuing "
				    "without them",
				pending);
			break;
		}
		if (engine->shows_progress)
			(void)fprintf(stderr,
				"\rreading symbols of %zu binaries; Ctrl-C skips them\033[K",
				pending);
		if (poll(fds, 2, poll_timeout_ms(now_ns, end_ns)) < 0 && errno != EINTR)
			r = fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		else
			r = pipeline_symbols_run(engine->pipeline, fault);
	}
	end_progress(engine);
	return r;
}

/* The sum of what was sampled, for RECORD_WALL. */
static int make_sum(struct engine *engine, struct fault *fault)
{
	const struct profile *parts[PILOTLIGHT_SOURCES];
	size_t count = 0;
	int r;

	if (!(engine->options->outputs & 1U << RECORD_WALL))
		return 0;
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (event_source_is_of_wall(i) && pipeline_profile(engine->pipeline, i))
			parts[count++] = pipeline_profile(engine->pipeline, i);
	/* The parts fit into the budget. An array that has just doubled is half empty. */
	r = profile_sum_new(
		parts, count, event_source_wall.name, 2 * PROFILE_BUDGET_BYTES, &engine->sum);
	return r < 0 ? fault_set(fault, r, "cannot sum the profiles: %s", strerror(-r)) : 0;
}

static const struct profile *profile_of(const struct engine *engine, unsigned output)
{
	return output == RECORD_WALL
		       ? engine->sum
		       : pipeline_profile(engine->pipeline, (enum pilotlight_source)output);
}

static const struct profile *first_profile(const struct engine *engine)
{
	unsigned output = 0;

	while (!(engine->options->outputs & 1U << output))
		output++;
	return profile_of(engine, output);
}

static bool is_picture(const struct profile_format *format)
{
	return strcmp(format->name, "svg") == 0 || strcmp(format->name, "html") == 0;
}

static int write_profile(struct engine *engine, const struct profile *profile, struct fault *fault)
{
	struct profile_format_options options = {
		.detail = engine->options->is_by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION,
	};
	char host[HOST_NAME_MAX + 1] = "", title[sizeof(host) + 32];
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	_cleanup_close_ int fd = -1;
	struct record_message message;
	int r, error;

	if (!output)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = send_report(engine, RECORD_NAMED, 0);
	if (r == 0)
		r = await(engine, RECORD_WRITE, &message, &fd);
	if (r < 0)
		return r;
	output_init_fd(output, fd);
	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(title, sizeof(title), "Flame graph of %s", host);
	if (host[0] && is_picture(engine->options->format))
		options.title = title;
	r = engine->options->format->write(profile, &options, output);
	error = output_finish(output);
	if (r < 0 && error == 0)
		return fault_set(fault, r, "cannot draw the profile: %s", strerror(-r));
	/* The front reports it: it knows the file's name. */
	return send_report(engine, RECORD_WRITTEN, error);
}

static void choose_interpreted(struct engine *engine)
{
	enum interpreted_frames choice = INTERPRETED_FRAMES_SPLICED;

	(void)interpreted_frames_find(engine->options->runtime_frames, &choice);
	pipeline_choose_interpreted(engine->pipeline, choice);
}

static int write_profiles(struct engine *engine, struct fault *fault)
{
	int r;

	if (engine->options->has_times)
		pipeline_stamp_times(engine->pipeline);
	choose_interpreted(engine);
	r = make_sum(engine, fault);
	for (unsigned i = 0; r == 0 && i < RECORD_OUTPUTS; i++)
		if (engine->options->outputs & 1U << i)
			r = write_profile(engine, profile_of(engine, i), fault);
	return r;
}

/* A name may be mistyped: nothing else tells. */
static void warn_of_choice(
	const struct engine *engine, const struct profile *const sampled[PILOTLIGHT_SOURCES])
{
	uint64_t stored = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		stored += sampled[i] ? accounts_stored(&sampled[i]->accounts) : 0;
	if (engine->options->choice.count > 0 && stored == 0)
		log_warning("nothing ran in what was chosen; see the names by systemd-cgls");
}

/* What lives shows no losses in its profile. */
static void warn_of_losses(const struct profile *const sampled[PILOTLIGHT_SOURCES],
	const struct pipeline_report *report)
{
	char losses[CAPTION_LOSSES_BYTES];

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (sampled[i] && event_sources[i].is_live &&
			accounts_lost(&report->accounts.of[i]) > 0)
			log_warning("%s lacks what lives of lost samples: %s",
				event_sources[i].name,
				caption_losses(sampled[i], &report->accounts.of[i], losses));
}

static int summarize(struct engine *engine, struct fault *fault)
{
	struct pipeline_report report;
	struct record_message message;
	struct record_cost cost;
	const struct profile *sampled[PILOTLIGHT_SOURCES];
	int r;

	pipeline_report(engine->pipeline, &report);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		sampled[i] = pipeline_profile(engine->pipeline, i);
	if (engine->options->is_quiet) {
		warn_of_losses(sampled, &report);
		return 0;
	}
	r = await(engine, RECORD_SUMMARIZE, &message, NULL);
	if (r < 0)
		return r;
	record_cost_read(&cost);
	cost.cpu_ns += message.cpu_ns;
	cost.peak_rss_bytes += message.memory_bytes;
	r = record_summary_print(stderr, first_profile(engine), sampled, &report, &cost);
	if (r < 0)
		return fault_set(fault, r, "cannot summarize the profile: %s", strerror(-r));
	warn_of_choice(engine, sampled);
	return send_report(engine, RECORD_SUMMARIZED, 0);
}

static int finish(struct engine *engine, struct fault *fault)
{
	int r = pipeline_finish(engine->pipeline, fault);

	if (r == 0)
		r = wait_for_symbols(engine, fault);
	/* From here on Ctrl-C ends the program. */
	if (r == 0)
		r = send_report(engine, RECORD_NAMING, 0);
	if (r == 0)
		r = pipeline_name(engine->pipeline, fault);
	if (r == 0)
		r = write_profiles(engine, fault);
	if (r == 0)
		r = summarize(engine, fault);
	return r;
}

static int record(struct engine *engine, struct fault *fault)
{
	struct fault sampling = { 0 };
	int r;

	r = prepare(engine, fault);
	if (r == 0)
		r = start(engine, fault);
	if (r < 0)
		return r;
	r = sample(engine, &sampling);
	if (engine->is_alone)
		return r;
	if (r < 0)
		log_error(
			"%s, continuing with what was recorded until then", sentence(&sampling, r));
	r = send_report(engine, RECORD_SAMPLED, r);
	return r == 0 ? finish(engine, fault) : r;
}

int record_engine_run(const void *options)
{
	const struct record_engine_options *settings = options;
	_cleanup_(engine_done) struct engine engine = {
		.options = settings->options,
		.shows_progress = settings->shows_progress,
	};
	struct fault fault = { 0 };
	int r;

	r = record(&engine, &fault);
	if (r == 0)
		return EXIT_SUCCESS;
	if (!engine.is_alone) {
		log_error("%s", sentence(&fault, r));
		(void)send_report(&engine, RECORD_FAILED, 0);
	}
	return EXIT_FAILURE;
}
