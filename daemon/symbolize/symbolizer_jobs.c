/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/symbolizer_state.h"

#include "base/clock.h"
#include "base/log.h"
#include "symbolize/split_file.h"

#include <errno.h>
#include <fcntl.h>

/* --- stages ----------------------------------------------------------------------------------- */

bool symbolizer_is_local(enum task_stage stage)
{
	return stage == TASK_WAITING || stage == TASK_WORKING || stage == TASK_ALONE;
}

void symbolizer_set_stage(struct symbolizer *symbolizer, struct task *task, enum task_stage stage)
{
	symbolizer->local_pending -= symbolizer_is_local(task->stage);
	if (task->stage == TASK_DONE && stage != TASK_DONE)
		user_share_add(&symbolizer->unfinished, task->binary.user, 1);
	else if (task->stage != TASK_DONE && stage == TASK_DONE)
		user_share_remove(&symbolizer->unfinished, task->binary.user, 1);
	task->stage = stage;
	symbolizer->local_pending += symbolizer_is_local(stage);
}

static bool can_be_fetched(const struct symbolizer *symbolizer, const struct task *task)
{
	return symbolizer->urls && task->binary.build_id.size > 0 &&
	       task->rank < PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;
}

void symbolizer_finish_local(struct symbolizer *symbolizer, struct task *task,
	enum pilotlight_symbol_failure failure, int error)
{
	task->failure = failure;
	task->error = error;
	if (failure != PILOTLIGHT_SYMBOL_OK)
		symbolizer->counters.failed[failure]++;
	if (can_be_fetched(symbolizer, task)) {
		symbolizer_set_stage(symbolizer, task, TASK_LOCAL_DONE);
		return;
	}
	symbolizer_set_stage(symbolizer, task, TASK_DONE);
	task_close_files(task);
}

void symbolizer_end_fetch(struct symbolizer *symbolizer, struct task *task, int error)
{
	if (error < 0) {
		symbolizer->counters.fetch_failed++;
		task->error = error;
	} else {
		symbolizer->counters.fetched++;
		task->failure = PILOTLIGHT_SYMBOL_OK;
	}
	symbolizer_set_stage(symbolizer, task, TASK_DONE);
	task_close_files(task);
}

/* If the job does not start, its descriptors are closed. */
static int add_job(struct symbolizer *symbolizer, const struct task *task, struct worker_job *job,
	struct debug_files *files)
{
	int r;

	r = symbol_cache_open_scratch(symbolizer->cache, &job->scratch_fd);
	if (r == 0 && task->binary.fd >= 0) {
		job->binary_fd = fcntl(task->binary.fd, F_DUPFD_CLOEXEC, 3);
		r = job->binary_fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		if (job->scratch_fd >= 0)
			(void)close(job->scratch_fd);
		return r;
	}
	job->debug_fd = TAKE_FD(files->debug_fd);
	job->alternate_fd = TAKE_FD(files->alternate_fd);
	job->package_fd = TAKE_FD(files->package_fd);
	return worker_pool_add(symbolizer->pool, job);
}

int symbolizer_start_job(struct symbolizer *symbolizer, uint32_t id, struct debug_files *files,
	enum task_stage stage)
{
	struct task *task = &symbolizer->tasks.items[id];
	struct worker_job job = {
		.identity = task->binary.identity,
		.binary_fd = -1,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		/* A split DWARF file, too, may make a worker fail. */
		.has_split_files = stage != TASK_ALONE,
		.scratch_fd = -1,
		.debug_rank = files->rank,
		.product = symbolizer->product,
		.origin = task->binary.path,
		.context = (void *)(uintptr_t)id,
	};
	int r;

	symbol_cache_draft_done(symbolizer->cache, &task->draft);
	r = symbol_cache_begin_or_unnamed(symbolizer->cache, &task->draft);
	job.output_fd = task->draft.fd;
	if (r == 0)
		r = add_job(symbolizer, task, &job, files);
	if (r < 0) {
		symbol_cache_draft_done(symbolizer->cache, &task->draft);
		return r;
	}
	task->started_ns = clock_monotonic_ns();
	symbolizer_set_stage(symbolizer, task, stage);
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

void symbolizer_start_waiting(struct symbolizer *symbolizer)
{
	uint32_t id;

	while (symbolizer->local_pending > 0 &&
		(id = symbolizer_next_waiting(symbolizer)) != TASK_NONE) {
		struct task *task = &symbolizer->tasks.items[id];
		struct debug_files files;
		int r;

		debug_files_find(symbolizer->broker, &task->binary, &files);
		r = symbolizer_start_job(symbolizer, id, &files, TASK_WORKING);
		debug_files_done(&files);
		if (r < 0)
			symbolizer_finish_local(symbolizer, task, failure_of(r), r);
	}
}

/* --- results ---------------------------------------------------------------------------------- */

/* Keeps symbols that the cache cannot store in memory. */
static int keep(struct symbolizer *symbolizer, struct task *task)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct symbol_identity identity;
	int r = symbol_file_open(task->draft.fd, &file);

	if (r < 0)
		return r;
	identity = symbol_file_identity(file);
	if (!symbol_identity_equal(&identity, &task->binary.identity))
		return -EBADMSG;
	r = cached_symbol_source_keep(symbolizer->source, file);
	if (r == 0)
		file = NULL;
	return r;
}

static int store(struct symbolizer *symbolizer, struct task *task)
{
	int r = -EROFS;

	if (task->draft.name[0])
		r = symbol_cache_commit(symbolizer->cache, &task->binary.identity, &task->draft);
	if (r == 0 || r == -EEXIST)
		cached_symbol_source_forget(symbolizer->source, &task->binary.identity);
	else if (r != -EBADMSG)
		r = keep(symbolizer, task);
	symbol_cache_draft_done(symbolizer->cache, &task->draft);
	return r == -EEXIST ? 0 : r;
}

static bool is_temporary(enum pilotlight_symbol_failure failure)
{
	return failure == PILOTLIGHT_SYMBOL_NO_SPACE || failure == PILOTLIGHT_SYMBOL_UNREADABLE;
}

/* The worker failed on the debug file: retry with the binary alone. */
static bool try_alone(struct symbolizer *symbolizer, uint32_t id)
{
	struct task *task = &symbolizer->tasks.items[id];
	struct debug_files files = debug_files_none();

	return task->stage == TASK_WORKING && task->binary.fd >= 0 &&
	       symbolizer_start_job(symbolizer, id, &files, TASK_ALONE) == 0;
}

static void fail(struct symbolizer *symbolizer, struct task *task,
	enum pilotlight_symbol_failure failure, int error)
{
	bool had_symbols = task->rank > PILOTLIGHT_SYMBOL_RANK_NONE;

	symbol_cache_draft_done(symbolizer->cache, &task->draft);
	log_debug("cannot extract symbols of '%s' (reason %d, error %d); continuing without them",
		task->binary.path, (int)failure, -error);
	if (task->stage == TASK_FETCHED) {
		symbolizer_end_fetch(symbolizer, task, error < 0 ? error : -ENODATA);
		return;
	}
	if (!had_symbols && !is_temporary(failure) && symbolizer->cache)
		(void)symbol_cache_put_negative(
			symbolizer->cache, &task->binary.identity, failure, task->binary.path);
	/* A cached entry stays valid. */
	symbolizer_finish_local(
		symbolizer, task, had_symbols ? PILOTLIGHT_SYMBOL_OK : failure, error);
}

static void succeed(struct symbolizer *symbolizer, struct task *task,
	const struct pilotlight_symbol_report *report)
{
	task->rank = report->rank;
	if (task->stage == TASK_FETCHED) {
		/* The server may have sent the file of another binary. */
		symbolizer_end_fetch(symbolizer, task,
			report->rank == PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD ? 0 : -ENODATA);
		return;
	}
	symbolizer->counters.extracted++;
	symbolizer->counters.units_failed += report->units_failed;
	symbolizer_finish_local(symbolizer, task, PILOTLIGHT_SYMBOL_OK, 0);
}

void symbolizer_take_result(void *context, const struct worker_result *result)
{
	struct symbolizer *symbolizer = context;
	uint32_t id = (uint32_t)(uintptr_t)result->context;
	struct task *task = &symbolizer->tasks.items[id];
	struct symbolizer_counters *counters = &symbolizer->counters;
	int r;

	counters->worker_cpu_ns += result->report.cpu_ns;
	counters->worker_spent_ns += result->cpu_ns;
	task->worker_cpu_ns += result->report.cpu_ns;
	user_time_add(
		&symbolizer->worker_time, task->binary.user, result->cpu_ns, clock_monotonic_ns());
	if (result->failure != PILOTLIGHT_SYMBOL_OK) {
		if (is_temporary(result->failure) || !try_alone(symbolizer, id))
			fail(symbolizer, task, result->failure, result->report.error);
		return;
	}
	r = store(symbolizer, task);
	if (r < 0)
		fail(symbolizer, task, r == -EBADMSG ? PILOTLIGHT_SYMBOL_DAMAGED : failure_of(r),
			r);
	else
		succeed(symbolizer, task, &result->report);
}

int symbolizer_open_split_file(void *context, void *job, const char *path, int *ret_fd)
{
	struct symbolizer *symbolizer = context;
	const struct task *task = &symbolizer->tasks.items[(uintptr_t)job];

	return split_file_open(symbolizer->broker, path, &task->binary, ret_fd);
}
