/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/symbolizer_state.h"

#include "base/log.h"
#include "symbolize/draft_file.h"
#include "symbolize/wanted_sources.h"

#include <errno.h>
#include <fcntl.h>

/* --- stages ----------------------------------------------------------------------------------- */

bool symbolizer_is_local(enum wanted_stage stage)
{
	return stage == WANTED_WAITING || stage == WANTED_WORKING || stage == WANTED_ALONE;
}

void symbolizer_set_stage(
	struct symbolizer *symbolizer, struct wanted *wanted, enum wanted_stage stage)
{
	symbolizer->local_pending -= symbolizer_is_local(wanted->stage);
	wanted->stage = stage;
	symbolizer->local_pending += symbolizer_is_local(stage);
}

static bool can_be_fetched(const struct symbolizer *symbolizer, const struct wanted *wanted)
{
	return symbolizer->urls && wanted->build_id.size > 0 &&
	       wanted->rank < PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD;
}

/* What this machine has is used up. `failure` says why there are no symbols; OK: there are. */
void symbolizer_settle(struct symbolizer *symbolizer, struct wanted *wanted,
	enum pilotlight_symbol_failure failure, int error)
{
	wanted->failure = failure;
	wanted->error = error;
	if (failure != PILOTLIGHT_SYMBOL_OK)
		symbolizer->counters.failed[failure]++;
	if (can_be_fetched(symbolizer, wanted)) {
		symbolizer_set_stage(symbolizer, wanted, WANTED_SETTLED);
		return;
	}
	symbolizer_set_stage(symbolizer, wanted, WANTED_DONE);
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
	job->package_fd = TAKE_FD(files->package_fd);
	return worker_pool_add(symbolizer->pool, job);
}

int symbolizer_start_job(struct symbolizer *symbolizer, uint32_t id, struct debug_files *files,
	enum wanted_stage stage)
{
	struct wanted *wanted = &symbolizer->wanted.items[id];
	struct worker_job job = {
		.identity = wanted->identity,
		.binary_fd = -1,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		/* Pieces too may be what has defeated a worker. */
		.has_pieces = stage != WANTED_ALONE,
		.scratch_fd = -1,
		.debug_rank = files->rank,
		.product = symbolizer->product,
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
	symbolizer_set_stage(symbolizer, wanted, stage);
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
	while (symbolizer->next_waiting < symbolizer->wanted.count &&
		symbolizer->working < symbolizer->workers_max) {
		uint32_t id = (uint32_t)symbolizer->next_waiting++;
		struct wanted *wanted = &symbolizer->wanted.items[id];
		struct debug_files files;
		int r;

		if (wanted->stage != WANTED_WAITING)
			continue;
		wanted_find_debug_files(symbolizer->broker, wanted, &files);
		r = symbolizer_start_job(symbolizer, id, &files, WANTED_WORKING);
		debug_files_done(&files);
		if (r < 0)
			symbolizer_settle(symbolizer, wanted, failure_of(r), r);
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

	if (wanted->draft.name[0])
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
	struct debug_files files = debug_files_none();

	return wanted->stage == WANTED_WORKING && wanted->fd >= 0 &&
	       symbolizer_start_job(symbolizer, id, &files, WANTED_ALONE) == 0;
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
		symbolizer_end_fetch(symbolizer, wanted, error < 0 ? error : -ENODATA);
		return;
	}
	if (!had_symbols && !is_of_the_machine(failure) && symbolizer->cache)
		(void)symbol_cache_put_negative(
			symbolizer->cache, &wanted->identity, failure, wanted->path);
	/* What the cache had stays good. */
	symbolizer_settle(symbolizer, wanted, had_symbols ? PILOTLIGHT_SYMBOL_OK : failure, error);
}

static void succeed(struct symbolizer *symbolizer, struct wanted *wanted,
	const struct pilotlight_symbol_report *report)
{
	wanted->rank = report->rank;
	if (wanted->stage == WANTED_FETCHED) {
		/* What was sent may belong to another binary. */
		symbolizer_end_fetch(symbolizer, wanted,
			report->rank == PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD ? 0 : -ENODATA);
		return;
	}
	symbolizer->counters.extracted++;
	symbolizer->counters.units_failed += report->units_failed;
	symbolizer_settle(symbolizer, wanted, PILOTLIGHT_SYMBOL_OK, 0);
}

void symbolizer_take_result(void *context, const struct worker_result *result)
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

int symbolizer_open_piece(void *context, void *job, const char *path, int *ret_fd)
{
	struct symbolizer *symbolizer = context;
	const struct wanted *wanted = &symbolizer->wanted.items[(uintptr_t)job];

	return wanted_open_piece(symbolizer->broker, wanted, path, ret_fd);
}
