/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/symbolizer_state.h"

#include "base/clock.h"
#include "extract/code_instruction.h"
#include "symbol/elf_image.h"
#include "symbolize/debuginfod_fetch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

enum { USER_LEAK_PPM = 50000 };
#define OVERTAKE_NS	 (10 * (uint64_t)NSEC_PER_SEC)
#define FETCH_TIMEOUT_NS (10 * 60 * (uint64_t)NSEC_PER_SEC)

int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	struct worker_pool_options workers = options->workers;
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	if (!symbolizer)
		return -ENOMEM;
	symbolizer->workers_max =
		workers.workers_max ? workers.workers_max : SYMBOLIZER_WORKERS_DEFAULT;
	workers.workers_max = symbolizer->workers_max + 1;
	symbolizer->unfinished.capacity = TASKS_MAX;
	symbolizer->overtake_ns = options->overtake_ns ? options->overtake_ns : OVERTAKE_NS;
	symbolizer->worker_time.burst_ns = options->user_burst_ns;
	symbolizer->worker_time.leak_ppm = symbolizer->fetch_time.leak_ppm = USER_LEAK_PPM;
	workers.broker = options->broker;
	workers.open_split_file = symbolizer_open_split_file;
	workers.open_split_file_context = symbolizer;
	symbolizer->epoll_fd = -1;
	symbolizer->cache = options->cache;
	symbolizer->broker = options->broker;
	symbolizer->is_forced = options->is_forced;
	symbolizer->product = options->product;
	symbolizer->takes_debug_files = options->takes_debug_files;
	symbolizer->fetch_timeout_ns =
		options->fetch_timeout_ns ? options->fetch_timeout_ns : FETCH_TIMEOUT_NS;
	if (options->debuginfod_urls && options->debuginfod_urls[0]) {
		symbolizer->urls = strdup(options->debuginfod_urls);
		if (!symbolizer->urls)
			return -ENOMEM;
	}
	r = cached_symbol_source_new(symbolizer->cache, &symbolizer->source);
	if (r == 0)
		r = worker_pool_new(&workers, &symbolizer->pool);
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
	for (size_t i = 0; i < SYMBOLIZER_FETCHES_MAX; i++)
		debuginfod_fetch_free(symbolizer->fetches[i].process);
	for (size_t i = 0; i < symbolizer->tasks.count; i++)
		symbol_cache_draft_done(symbolizer->cache, &symbolizer->tasks.items[i].draft);
	task_table_done(&symbolizer->tasks);
	cached_symbol_source_free(symbolizer->source);
	free(symbolizer->urls);
	if (symbolizer->epoll_fd >= 0)
		(void)close(symbolizer->epoll_fd);
	free(symbolizer);
}

static bool may_improve(
	const struct symbolizer *symbolizer, const struct pilotlight_symbol_header *header)
{
	return symbolizer->product == PILOTLIGHT_PRODUCT_SYMBOLS ||
	       header->rank == PILOTLIGHT_SYMBOL_RANK_NONE;
}

/* Was the entry made by an extraction that found less, and can it be made anew? */
static bool is_outdated(const struct symbolizer *symbolizer, const struct task *task,
	const struct pilotlight_symbol_header *header)
{
	bool lacks_decoder =
		header->contents & PILOTLIGHT_SYMBOL_LACKS_DECODER && code_instruction_is_loaded();

	if (symbolizer->product == PILOTLIGHT_PRODUCT_UNWIND)
		return lacks_decoder;
	return (header->extraction < PILOTLIGHT_SYMBOL_EXTRACTION || lacks_decoder) &&
	       debug_files_can_renew(symbolizer->broker, &task->binary, header);
}

/* Is the cache's entry good enough? */
static bool is_cached(struct symbolizer *symbolizer, struct task *task)
{
	struct pilotlight_symbol_header header;

	if (!symbolizer->cache ||
		symbol_cache_peek(symbolizer->cache, &task->binary.identity, &header) < 0)
		return false;
	task->rank = header.rank;
	if (symbolizer->is_forced || is_outdated(symbolizer, task, &header))
		return false;
	if (may_improve(symbolizer, &header) &&
		debug_files_has_better(
			symbolizer->broker, &task->binary, &header, symbolizer->takes_debug_files))
		return false;
	task->was_cached = true;
	task->failure = header.failure;
	return true;
}

/*
 * Does the cache hold better symbols for the build-id, from a trusted file, than this file of an
 * untrusted owner could yield? A user who names the file gets the file's own symbols.
 */
static bool is_vouched(struct symbolizer *symbolizer, struct task *task)
{
	if (symbolizer->is_forced || symbolizer->takes_debug_files ||
		symbolizer->product != PILOTLIGHT_PRODUCT_SYMBOLS ||
		!cached_symbol_source_has_vouched(symbolizer->source, &task->binary.build_id,
			&task->binary.identity, &task->rank))
		return false;
	task->was_cached = true;
	task->failure = PILOTLIGHT_SYMBOL_OK;
	return true;
}

/* Fills in the identity and a missing build-id. */
static int identify(struct symbol_binary *binary)
{
	int fd = binary->fd >= 0 ? binary->fd : binary->debug_fd;

	if (binary->build_id.size == 0 && fd >= 0) {
		struct elf_image image;
		int r = elf_image_read(fd, &image);

		if (r < 0)
			return r;
		binary->build_id = image.build_id;
	}
	return symbol_identity_of_binary(fd, &binary->build_id, &binary->identity);
}

static int request(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	struct symbol_binary corrected = *binary;
	struct task *task;
	uint32_t id;
	int r;

	if (symbolizer->takes_debug_files && corrected.debug_fd < 0 && corrected.fd >= 0 &&
		debug_files_is_debug_file(corrected.fd)) {
		corrected.debug_fd = corrected.fd;
		corrected.debug_path = corrected.path;
		corrected.fd = -1;
	}
	r = identify(&corrected);
	if (r < 0)
		return r;
	if (task_table_find(&symbolizer->tasks, &corrected.identity))
		return 0;
	if (!symbolizer_has_room(symbolizer, corrected.user))
		return -E2BIG;
	r = task_table_add(&symbolizer->tasks, &corrected, &id);
	if (r < 0)
		return r;
	task = &symbolizer->tasks.items[id];
	symbolizer->counters.requested++;
	task->stage = TASK_DONE; /* until the cache is searched */
	if (is_vouched(symbolizer, task) || is_cached(symbolizer, task)) {
		symbolizer->counters.cached += task->failure == PILOTLIGHT_SYMBOL_OK;
		symbolizer_finish_local(symbolizer, task, task->failure, 0);
	} else {
		symbolizer_set_stage(symbolizer, task, TASK_WAITING);
	}
	symbolizer_start_waiting(symbolizer);
	symbolizer_run_fetches(symbolizer);
	return 0;
}

int symbolizer_request(struct symbolizer *symbolizer, const struct symbol_binary *binary)
{
	int r = request(symbolizer, binary);

	symbolizer->counters.refused += r < 0;
	return r;
}

int symbolizer_outcome(const struct symbolizer *symbolizer, const struct symbol_identity *identity,
	struct symbolizer_outcome *ret_outcome)
{
	const struct task *task = task_table_find(&symbolizer->tasks, identity);

	if (!task)
		return -ENOENT;
	*ret_outcome = (struct symbolizer_outcome){
		.is_pending = symbolizer_is_local(task->stage),
		.was_cached = task->was_cached,
		.failure = task->failure,
		.error = task->error,
		.worker_cpu_ns = task->worker_cpu_ns,
	};
	return 0;
}

int symbolizer_poll_fd(const struct symbolizer *symbolizer)
{
	return symbolizer->epoll_fd;
}

int symbolizer_run(struct symbolizer *symbolizer)
{
	int r = worker_pool_run(symbolizer->pool, symbolizer_take_result, symbolizer);

	if (r < 0)
		return r;
	symbolizer_start_waiting(symbolizer);
	symbolizer_run_fetches(symbolizer);
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

void symbolizer_ignore_time(struct symbolizer *symbolizer)
{
	symbolizer->ignores_time = true;
	symbolizer_start_waiting(symbolizer);
}

int symbolizer_fetch(struct symbolizer *symbolizer, const struct build_id *id, uint64_t deadline_ns)
{
	struct symbol_binary binary = {
		.build_id = *id,
		.identity = symbol_identity_of_build_id(id),
		.path = "debuginfod",
		.fd = -1,
		.debug_fd = -1,
	};
	struct task *task;
	uint32_t task_id;
	int r = 0;

	if (!symbolizer->urls)
		return -EINVAL;
	task = task_table_find(&symbolizer->tasks, &binary.identity);
	if (!task) {
		r = task_table_add(&symbolizer->tasks, &binary, &task_id);
		if (r < 0)
			return r;
		task = &symbolizer->tasks.items[task_id];
		task->stage = TASK_DONE;
		symbolizer_set_stage(symbolizer, task, TASK_LOCAL_DONE);
	}
	task_id = (uint32_t)(task - symbolizer->tasks.items);
	worker_pool_hurry(symbolizer->pool);
	symbolizer_run_fetches(symbolizer);
	while (r == 0 && symbolizer->tasks.items[task_id].stage != TASK_DONE)
		r = run_once(symbolizer, deadline_ns);
	if (r < 0)
		return r;
	task = &symbolizer->tasks.items[task_id];
	if (task->rank >= PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD)
		return 0;
	return task->error < 0 ? task->error : -ENODATA;
}

int symbolizer_find_file(struct symbolizer *symbolizer, const struct symbol_identity *identity,
	const struct symbol_file **ret_file)
{
	return cached_symbol_source_find(symbolizer->source, identity, ret_file);
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
	for (size_t i = 0; i < symbolizer->tasks.count; i++) {
		enum task_stage stage = symbolizer->tasks.items[i].stage;

		ret_counters->fetches_pending += stage >= TASK_LOCAL_DONE && stage < TASK_DONE;
	}
}

const struct user_excess *symbolizer_excess(const struct symbolizer *symbolizer)
{
	return &symbolizer->excess;
}

const struct user_share *symbolizer_unfinished(const struct symbolizer *symbolizer)
{
	return &symbolizer->unfinished;
}
