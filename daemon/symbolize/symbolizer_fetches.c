/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/symbolizer_state.h"

#include "base/clock.h"
#include "symbolize/debuginfod_fetch.h"

#include <errno.h>
#include <sys/epoll.h>

#define FETCH_BYTES_MAX (4ULL << 30)

static int start_fetch(struct symbolizer *symbolizer, struct fetch *fetch, uint32_t id)
{
	struct task *task = &symbolizer->tasks.items[id];
	struct debuginfod_fetch_options options = {
		.urls = symbolizer->urls,
		.broker = symbolizer->broker,
		.directory = symbolizer->cache ? symbol_cache_directory(symbolizer->cache) : NULL,
		.timeout_ns = symbolizer->fetch_timeout_ns,
		.bytes_max = FETCH_BYTES_MAX,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int r;

	r = debuginfod_fetch_start(&options, &task->binary.build_id, &fetch->process);
	if (r < 0 && options.directory) {
		options.directory = NULL; /* the cache's folder may be read-only */
		r = debuginfod_fetch_start(&options, &task->binary.build_id, &fetch->process);
	}
	if (r < 0)
		return r;
	fetch->task = id;
	fetch->started_ns = clock_monotonic_ns();
	if (epoll_ctl(symbolizer->epoll_fd, EPOLL_CTL_ADD, debuginfod_fetch_poll_fd(fetch->process),
		    &event) < 0) {
		r = -errno;
		debuginfod_fetch_free(TAKE_PTR(fetch->process));
		return r;
	}
	symbolizer_set_stage(symbolizer, task, TASK_FETCHING);
	return 0;
}

static void take_fetch(struct symbolizer *symbolizer, struct fetch *fetch)
{
	struct task *task = &symbolizer->tasks.items[fetch->task];
	struct debug_files files;
	uint64_t now_ns;
	int fd = -1, r;

	r = debuginfod_fetch_take(fetch->process, &fd);
	if (r == -EAGAIN)
		return;
	debuginfod_fetch_free(TAKE_PTR(fetch->process));
	now_ns = clock_monotonic_ns();
	user_time_add(
		&symbolizer->fetch_time, task->binary.user, now_ns - fetch->started_ns, now_ns);
	if (r == 0) {
		debug_files_take(symbolizer->broker, &task->binary, fd,
			PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD, &files);
		r = symbolizer_start_job(symbolizer, fetch->task, &files, TASK_FETCHED);
		debug_files_done(&files);
	}
	if (r < 0)
		symbolizer_end_fetch(symbolizer, task, r);
}

void symbolizer_run_fetches(struct symbolizer *symbolizer)
{
	uint32_t id;

	for (size_t i = 0; i < SYMBOLIZER_FETCHES_MAX; i++) {
		struct fetch *fetch = &symbolizer->fetches[i];

		if (fetch->process)
			take_fetch(symbolizer, fetch);
		while (!fetch->process && symbolizer->urls &&
			(id = symbolizer_next_fetch(symbolizer)) != TASK_NONE) {
			int r = start_fetch(symbolizer, fetch, id);

			if (r < 0)
				symbolizer_end_fetch(symbolizer, &symbolizer->tasks.items[id], r);
		}
	}
}
