/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/symbolizer.h"

#include "base/clock.h"
#include "base/log.h"
#include "symbolize/cached_symbol_source.h"
#include "symbolize/debug_files.h"
#include "symbolize/debuginfod_fetch.h"
#include "symbolize/draft_file.h"
#include "symbolize/wanted_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	WORKERS_DEFAULT = 2,
	FETCHES_MAX = 2,
};
#define FETCH_TIMEOUT_NS (10 * 60 * (uint64_t)NSEC_PER_SEC)
#define FETCH_BYTES_MAX	 (4ULL << 30)

struct fetch {
	struct debuginfod_fetch *process; /* NULL: the slot is free */
	uint32_t wanted;
};

struct symbolizer {
	struct symbol_cache *cache;
	struct broker *broker;
	struct worker_pool *pool;
	size_t workers_max;
	char *urls; /* NULL: no server is asked */
	bool is_forced, takes_debug_files;
	uint64_t fetch_timeout_ns;
	struct cached_symbol_source *source;
	struct wanted_table wanted;
	size_t next_waiting, next_fetch; /* all before are under way */
	size_t local_pending;
	size_t working; /* jobs that the pool has */
	struct fetch fetches[FETCHES_MAX];
	int epoll_fd;
	struct symbolizer_counters counters;
};

/* --- stages ----------------------------------------------------------------------------------- */

static bool is_local(enum wanted_stage stage)
{
	return stage == WANTED_WAITING || stage == WANTED_WORKING || stage == WANTED_ALONE;
}

static void set_stage(struct symbolizer *symbolizer, struct wanted *wanted, enum wanted_stage stage)
{
	symbolizer->local_pending -= is_local(wanted->stage);
	wanted->stage = stage;
	symbolizer->local_pending += is_local(stage);
}

static bool can_be_fetched(const struct symbolizer *symbolizer, const struct wanted *wanted)
{
	return symbolizer->urls && wanted->identity.kind == PILOTLIGHT_SYMBOL_BUILD_ID &&
	       wanted->rank < PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;
}

/* What this machine has is used up. `failure` says why there are no symbols; OK: there are. */
static void settle(struct symbolizer *symbolizer, struct wanted *wanted,
	enum pilotlight_symbol_failure failure, int error)
{
	wanted->failure = failure;
	wanted->error = error;
	if (failure != PILOTLIGHT_SYMBOL_OK)
		symbolizer->counters.failed[failure]++;
	if (can_be_fetched(symbolizer, wanted)) {
		set_stage(symbolizer, wanted, WANTED_SETTLED);
		return;
	}
	set_stage(symbolizer, wanted, WANTED_DONE);
	wanted_close_files(wanted);
}

/* Of what it has taken over the job keeps nothing where it does not start. */
static int add_job(struct symbolizer *symbolizer, const struct wanted *wanted,
	struct worker_job *job, struct debug_files *files)
{
	int r;

	r = draft_file_open_scratch(symbolizer->cache, &job->scratch_fd);
	if (r == 0 && wanted->fd >= 0) {
		job->binary_fd = fcntl(wanted->fd, F_DUPFD_CLOEXEC, 3);
		r = job->binary_fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		if (job->scratch_fd >= 0)
			(void)close(job->scratch_fd);
		return r;
	}
	job->debug_fd = TAKE_FD(files->debug_fd);
	job->alternate_fd = TAKE_FD(files->alternate_fd);
	return worker_pool_add(symbolizer->pool, job);
}

static int start_job(struct symbolizer *symbolizer, uint32_t id, struct debug_files *files,
	enum wanted_stage stage)
{
	struct wanted *wanted = &symbolizer->wanted.items[id];
	struct worker_job job = {
		.identity = wanted->identity,
		.binary_fd = -1,
		.debug_fd = -1,
		.alternate_fd = -1,
		.scratch_fd = -1,
		.debug_rank = files->rank,
		.origin = wanted->path,
		.context = (void *)(uintptr_t)id,
	};
	int r;

	draft_file_end(symbolizer->cache, &wanted->draft);
	r = draft_file_begin(symbolizer->cache, &wanted->draft);
	job.output_fd = wanted->draft.fd;
	if (r == 0)
		r = add_job(symbolizer, wanted, &job, files);
	if (r < 0) {
		draft_file_end(symbolizer->cache, &wanted->draft);
		return r;
	}
	symbolizer->working++;
	set_stage(symbolizer, wanted, stage);
	return 0;
}

static enum pilotlight_symbol_failure failure_of(int error)
{
	switch (error) {
	case -ENOSPC:
	case -EDQUOT:
		return PILOTLIGHT_SYMBOL_NO_SPACE;
	case -ENOMEM:
		return PILOTLIGHT_SYMBOL_NO_MEMORY;
	default:
		return PILOTLIGHT_SYMBOL_UNREADABLE;
	}
}

static void start_waiting(struct symbolizer *symbolizer)
{
	while (symbolizer->next_waiting < symbolizer->wanted.count &&
		symbolizer->working < symbolizer->workers_max) {
		uint32_t id = (uint32_t)symbolizer->next_waiting++;
		struct wanted *wanted = &symbolizer->wanted.items[id];
		struct debug_files files;
		int r;

		if (wanted->stage != WANTED_WAITING)
			continue;
		wanted_find_debug_files(symbolizer->broker, wanted, &files);
		r = start_job(symbolizer, id, &files, WANTED_WORKING);
		debug_files_done(&files);
		if (r < 0)
			settle(symbolizer, wanted, failure_of(r), r);
	}
}

/* --- results ---------------------------------------------------------------------------------- */

/* The cache cannot take it, so it lives as long as we do. */
static int keep(struct symbolizer *symbolizer, struct wanted *wanted)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_identity identity;
	int r = symbol_file_open(wanted->draft.fd, &file);

	if (r < 0)
		return r;
	identity = symbol_file_identity(file);
	if (!symbol_identity_equal(&identity, &wanted->identity))
		return -EBADMSG;
	r = cached_symbol_source_keep(symbolizer->source, file);
	if (r == 0)
		file = NULL;
	return r;
}

static int store(struct symbolizer *symbolizer, struct wanted *wanted)
{
	int r = -EROFS;

	if (wanted->draft.path)
		r = symbol_cache_commit(symbolizer->cache, &wanted->identity, &wanted->draft);
	if (r == 0 || r == -EEXIST)
		cached_symbol_source_forget(symbolizer->source, &wanted->identity);
	else if (r != -EBADMSG)
		r = keep(symbolizer, wanted);
	draft_file_end(symbolizer->cache, &wanted->draft);
	return r == -EEXIST ? 0 : r;
}

static bool is_of_the_machine(enum pilotlight_symbol_failure failure)
{
	return failure == PILOTLIGHT_SYMBOL_NO_SPACE || failure == PILOTLIGHT_SYMBOL_UNREADABLE;
}

/* The debug file has defeated its worker: the binary itself may still be read. */
static bool try_alone(struct symbolizer *symbolizer, uint32_t id)
{
	struct wanted *wanted = &symbolizer->wanted.items[id];
	struct debug_files files = {
		.debug_fd = -1, .alternate_fd = -1, .rank = PILOTLIGHT_SYMBOL_RANK_BINARY
	};

	return wanted->stage == WANTED_WORKING && wanted->fd >= 0 &&
	       start_job(symbolizer, id, &files, WANTED_ALONE) == 0;
}

static void end_fetch(struct symbolizer *symbolizer, struct wanted *wanted, int error)
{
	if (error < 0) {
		symbolizer->counters.fetch_failed++;
		wanted->error = error;
	} else {
		symbolizer->counters.fetched++;
		wanted->failure = PILOTLIGHT_SYMBOL_OK;
	}
	set_stage(symbolizer, wanted, WANTED_DONE);
	wanted_close_files(wanted);
}

static void fail(struct symbolizer *symbolizer, struct wanted *wanted,
	enum pilotlight_symbol_failure failure, int error)
{
	bool had_symbols = wanted->rank > PILOTLIGHT_SYMBOL_RANK_NONE;

	draft_file_end(symbolizer->cache, &wanted->draft);
	log_debug("symbols of '%s': a worker could not make them (reason %d, error %d), "
		  "continuing without",
		wanted->path, (int)failure, -error);
	if (wanted->stage == WANTED_FETCHED) {
		end_fetch(symbolizer, wanted, error < 0 ? error : -ENODATA);
		return;
	}
	if (!had_symbols && !is_of_the_machine(failure) && symbolizer->cache)
		(void)symbol_cache_put_negative(
			symbolizer->cache, &wanted->identity, failure, wanted->path);
	/* What the cache had stays good. */
	settle(symbolizer, wanted, had_symbols ? PILOTLIGHT_SYMBOL_OK : failure, error);
}

static void succeed(struct symbolizer *symbolizer, struct wanted *wanted,
	const struct pilotlight_symbol_report *report)
{
	wanted->rank = report->rank;
	if (wanted->stage == WANTED_FETCHED) {
		/* What was sent may belong to another binary. */
		end_fetch(symbolizer, wanted,
			report->rank == PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD ? 0 : -ENODATA);
		return;
	}
	symbolizer->counters.extracted++;
	symbolizer->counters.units_failed += report->units_failed;
	settle(symbolizer, wanted, PILOTLIGHT_SYMBOL_OK, 0);
}

static void take_result(void *context, const struct worker_result *result)
{
	struct symbolizer *symbolizer = context;
	uint32_t id = (uint32_t)(uintptr_t)result->context;
	struct wanted *wanted = &symbolizer->wanted.items[id];
	struct symbolizer_counters *counters = &symbolizer->counters;
	int r;

	symbolizer->working--;
	counters->worker_cpu_ns += result->report.cpu_ns;
	wanted->worker_cpu_ns += result->report.cpu_ns;
	if (result->failure != PILOTLIGHT_SYMBOL_OK) {
		if (is_of_the_machine(result->failure) || !try_alone(symbolizer, id))
			fail(symbolizer, wanted, result->failure, result->report.error);
		return;
	}
	r = store(symbolizer, wanted);
	if (r < 0)
		fail(symbolizer, wanted, r == -EBADMSG ? PILOTLIGHT_SYMBOL_DAMAGED : failure_of(r),
			r);
	else
		succeed(symbolizer, wanted, &result->report);
}

/* --- debuginfod ------------------------------------------------------------------------------- */

static int start_fetch(struct symbolizer *symbolizer, struct fetch *fetch, uint32_t id)
{
	struct wanted *wanted = &symbolizer->wanted.items[id];
	struct debuginfod_fetch_options options = {
		.urls = symbolizer->urls,
		.directory = symbolizer->cache ? symbol_cache_directory(symbolizer->cache) : NULL,
		.timeout_ns = symbolizer->fetch_timeout_ns,
		.bytes_max = FETCH_BYTES_MAX,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	r = debuginfod_fetch_start(&options, &wanted->identity.id, &fetch->process);
	if (r < 0 && options.directory) {
		options.directory = NULL; /* the cache's folder may be read-only */
		r = debuginfod_fetch_start(&options, &wanted->identity.id, &fetch->process);
	}
	if (r < 0)
		return r;
	fetch->wanted = id;
	if (epoll_ctl(symbolizer->epoll_fd, EPOLL_CTL_ADD, debuginfod_fetch_poll_fd(fetch->process),
		    &event) < 0) {
		r = -errno;
		debuginfod_fetch_free(TAKE_PTR(fetch->process));
		return r;
	}
	set_stage(symbolizer, wanted, WANTED_FETCHING);
	return 0;
}

static void take_fetch(struct symbolizer *symbolizer, struct fetch *fetch)
{
	struct wanted *wanted = &symbolizer->wanted.items[fetch->wanted];
	struct debug_files files;
	int fd = -1, r;

	r = debuginfod_fetch_take(fetch->process, &fd);
	if (r == -EAGAIN)
		return;
	debuginfod_fetch_free(TAKE_PTR(fetch->process));
	if (r == 0) {
		debug_files_take(symbolizer->broker, fd, PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD, &files);
		r = start_job(symbolizer, fetch->wanted, &files, WANTED_FETCHED);
		debug_files_done(&files);
	}
	if (r < 0)
		end_fetch(symbolizer, wanted, r);
}

static bool find_to_fetch(struct symbolizer *symbolizer, uint32_t *ret_id)
{
	/* Stages only grow, so what is passed over here has not settled yet: it is looked at again.
	 */
	bool is_prefix = true;

	for (size_t i = symbolizer->next_fetch; i < symbolizer->wanted.count; i++) {
		enum wanted_stage stage = symbolizer->wanted.items[i].stage;

		if (stage == WANTED_SETTLED) {
			*ret_id = (uint32_t)i;
			return true;
		}
		is_prefix &= stage > WANTED_SETTLED;
		if (is_prefix)
			symbolizer->next_fetch = i + 1;
	}
	return false;
}

static void run_fetches(struct symbolizer *symbolizer)
{
	uint32_t id;

	for (size_t i = 0; i < FETCHES_MAX; i++) {
		struct fetch *fetch = &symbolizer->fetches[i];

		if (fetch->process)
			take_fetch(symbolizer, fetch);
		while (!fetch->process && symbolizer->urls && find_to_fetch(symbolizer, &id)) {
			int r = start_fetch(symbolizer, fetch, id);

			if (r < 0)
				end_fetch(symbolizer, &symbolizer->wanted.items[id], r);
		}
	}
}

/* --- for the owner ---------------------------------------------------------------------------- */

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	if (!symbolizer)
		return -ENOMEM;
	symbolizer->epoll_fd = -1;
	symbolizer->cache = options->cache;
	symbolizer->broker = options->broker;
	symbolizer->is_forced = options->is_forced;
	symbolizer->takes_debug_files = options->takes_debug_files;
	symbolizer->fetch_timeout_ns =
		options->fetch_timeout_ns ? options->fetch_timeout_ns : FETCH_TIMEOUT_NS;
	symbolizer->workers_max =
		options->workers.workers_max ? options->workers.workers_max : WORKERS_DEFAULT;
	if (options->debuginfod_urls && options->debuginfod_urls[0]) {
		symbolizer->urls = strdup(options->debuginfod_urls);
		if (!symbolizer->urls)
			return -ENOMEM;
	}
	r = cached_symbol_source_new(symbolizer->cache, &symbolizer->source);
	if (r == 0)
		r = worker_pool_new(&options->workers, &symbolizer->pool);
	if (r < 0)
		return r;
	symbolizer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (symbolizer->epoll_fd < 0 || epoll_ctl(symbolizer->epoll_fd, EPOLL_CTL_ADD,
						worker_pool_poll_fd(symbolizer->pool), &event) < 0)
		return -errno;
	*ret_symbolizer = TAKE_PTR(symbolizer);
	return 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	worker_pool_free(symbolizer->pool);
	for (size_t i = 0; i < FETCHES_MAX; i++)
		debuginfod_fetch_free(symbolizer->fetches[i].process);
	for (size_t i = 0; i < symbolizer->wanted.count; i++)
		draft_file_end(symbolizer->cache, &symbolizer->wanted.items[i].draft);
	wanted_table_done(&symbolizer->wanted);
	cached_symbol_source_free(symbolizer->source);
	free(symbolizer->urls);
	if (symbolizer->epoll_fd >= 0)
		(void)close(symbolizer->epoll_fd);
	free(symbolizer);
}

/* Is the cache's entry good enough? */
static bool is_cached(struct symbolizer *symbolizer, struct wanted *wanted)
{
	struct pilotlight_symbol_header header;

	if (!symbolizer->cache ||
		symbol_cache_peek(symbolizer->cache, &wanted->identity, &header) < 0)
		return false;
	wanted->rank = header.rank;
	if (symbolizer->is_forced || wanted_has_better(symbolizer->broker, wanted, &header,
					     symbolizer->takes_debug_files))
		return false;
	wanted->was_cached = true;
	wanted->failure = header.failure;
	return true;
}

static int want(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct symbol_binary corrected = *binary;
	struct symbol_identity identity;
	struct wanted *wanted;
	uint32_t id;
	int r;

	if (symbolizer->takes_debug_files && corrected.debug_fd < 0 && corrected.fd >= 0 &&
		debug_files_is_debug_file(corrected.fd)) {
		corrected.debug_fd = corrected.fd;
		corrected.debug_path = corrected.path;
		corrected.fd = -1;
	}
	r = wanted_identify(&corrected, &identity);
	if (r < 0)
		return r;
	if (wanted_table_find(&symbolizer->wanted, &identity))
		return 0;
	r = wanted_table_add(&symbolizer->wanted, &identity, &corrected, &id);
	if (r < 0)
		return r;
	wanted = &symbolizer->wanted.items[id];
	symbolizer->counters.wanted++;
	wanted->stage = WANTED_DONE; /* until it is known to be worth work */
	if (is_cached(symbolizer, wanted)) {
		symbolizer->counters.cached += wanted->failure == PILOTLIGHT_SYMBOL_OK;
		settle(symbolizer, wanted, wanted->failure, 0);
	} else {
		set_stage(symbolizer, wanted, WANTED_WAITING);
	}
	start_waiting(symbolizer);
	run_fetches(symbolizer);
	return 0;
}

int symbolizer_want(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	int r = want(symbolizer, binary);

	symbolizer->counters.refused += r < 0;
	return r;
}

int symbolizer_outcome(const struct symbolizer *symbolizer, const struct symbol_identity *identity,
	struct symbolizer_outcome *ret_outcome)
{
	const struct wanted *wanted = wanted_table_find(&symbolizer->wanted, identity);

	if (!wanted)
		return -ENOENT;
	*ret_outcome = (struct symbolizer_outcome){
		.is_pending = is_local(wanted->stage),
		.was_cached = wanted->was_cached,
		.failure = wanted->failure,
		.error = wanted->error,
		.worker_cpu_ns = wanted->worker_cpu_ns,
	};
	return 0;
}

int symbolizer_poll_fd(const struct symbolizer *symbolizer)
{
	return symbolizer->epoll_fd;
}

int symbolizer_run(struct symbolizer *symbolizer)
{
	int r = worker_pool_run(symbolizer->pool, take_result, symbolizer);

	if (r < 0)
		return r;
	start_waiting(symbolizer);
	run_fetches(symbolizer);
	return 0;
}

/* Runs until the next event or the deadline. */
static int run_once(struct symbolizer *symbolizer, uint64_t deadline_ns)
{
	struct pollfd event = { .fd = symbolizer->epoll_fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();
	int timeout_ms;

	if (now_ns >= deadline_ns)
		return -EAGAIN;
	timeout_ms = deadline_ns - now_ns > 1000000000ULL
			     ? 1000
			     : (int)((deadline_ns - now_ns) / 1000000) + 1;
	if (poll(&event, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return symbolizer_run(symbolizer);
}

void symbolizer_hurry(struct symbolizer *symbolizer)
{
	worker_pool_hurry(symbolizer->pool);
}

int symbolizer_wait(struct symbolizer *symbolizer, uint64_t deadline_ns)
{
	int r = 0;

	worker_pool_hurry(symbolizer->pool);
	while (r == 0 && symbolizer->local_pending > 0)
		r = run_once(symbolizer, deadline_ns);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

int symbolizer_fetch(struct symbolizer *symbolizer, const struct build_id *id, uint64_t deadline_ns)
{
	struct symbol_binary binary = {
		.build_id = *id, .path = "debuginfod", .fd = -1, .debug_fd = -1
	};
	struct symbol_identity identity = symbol_identity_of_build_id(id);
	struct wanted *wanted;
	uint32_t wanted_id;
	int r = 0;

	if (!symbolizer->urls)
		return -EINVAL;
	wanted = wanted_table_find(&symbolizer->wanted, &identity);
	if (!wanted) {
		r = wanted_table_add(&symbolizer->wanted, &identity, &binary, &wanted_id);
		if (r < 0)
			return r;
		wanted = &symbolizer->wanted.items[wanted_id];
		wanted->stage = WANTED_SETTLED;
	}
	wanted_id = (uint32_t)(wanted - symbolizer->wanted.items);
	worker_pool_hurry(symbolizer->pool);
	run_fetches(symbolizer);
	while (r == 0 && symbolizer->wanted.items[wanted_id].stage != WANTED_DONE)
		r = run_once(symbolizer, deadline_ns);
	if (r < 0)
		return r;
	wanted = &symbolizer->wanted.items[wanted_id];
	if (wanted->rank >= PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD)
		return 0;
	return wanted->error < 0 ? wanted->error : -ENODATA;
}

struct symbol_source *symbolizer_source(struct symbolizer *symbolizer)
{
	return cached_symbol_source_interface(symbolizer->source);
}

void symbolizer_counters(
	const struct symbolizer *symbolizer, struct symbolizer_counters *ret_counters)
{
	*ret_counters = symbolizer->counters;
	ret_counters->pending = symbolizer->local_pending;
	for (size_t i = symbolizer->next_fetch; i < symbolizer->wanted.count; i++) {
		enum wanted_stage stage = symbolizer->wanted.items[i].stage;

		ret_counters->fetches_pending += stage >= WANTED_SETTLED && stage < WANTED_DONE;
	}
}
