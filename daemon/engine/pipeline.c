/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/pipeline_state.h"

#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

enum {
	/* The maximum delay before a new mapping's file is opened. A short-lived process may
	 * unlink its file. */
	SIDEBAND_PERIOD_MS = 20,
	/* A program calls its allocator soon after it has mapped it. */
	HEAP_SIDEBAND_PERIOD_MS = 1,
	/* A drain comes early if images of ended processes need room, but not before 1/4 of its
	 * period. */
	EARLY_SHARE = 4,
};

/* CPU time limit for reading the rest of the jitdump files after sampling ends. */
#define JIT_CPU_NS_AT_END (1ULL * NSEC_PER_SEC)

/* After a takeover, reading /proc and the cgroups may delay the first drain by this much. */
#define SCAN_NS_AT_TAKEOVER 200000000ULL

/* How often a drain checks for CPU hotplug. */
#define CPUS_PERIOD_NS (4ULL * NSEC_PER_SEC)

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	heap_watch_free(pipeline->heap);
	unwinding_free(pipeline->unwinding);
	symbolizer_free(pipeline->symbolizer);
	symbol_cache_free(pipeline->symbol_cache);
	late_samples_free(pipeline->late);
	live_table_free(pipeline->live);
	waker_table_free(pipeline->wakers);
	pipeline_window_done(&pipeline->ended);
	pipeline_window_done(&pipeline->open);
	free(pipeline->symbol_states);
	cgroup_table_free(pipeline->cgroups);
	claim_table_free(pipeline->claims);
	resolver_free(pipeline->resolver);
	runtime_names_free(pipeline->names);
	jit_table_free(pipeline->jit);
	binary_table_free(pipeline->binaries);
	kernel_symbols_free(pipeline->kernel);
	process_rescan_done(&pipeline->rescan);
	process_table_free(pipeline->processes);
	drain_free(pipeline->drain);
	capture_free(pipeline->capture);
	if (pipeline->timer_fd >= 0)
		(void)close(pipeline->timer_fd);
	if (pipeline->epoll_fd >= 0)
		(void)close(pipeline->epoll_fd);
	free(pipeline);
}

/* We hold descriptors of files that may vanish. binary_table's bound is below any hard limit. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault)
{
	_cleanup_(pipeline_freep) struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int r;

	if (!pipeline)
		return fault_set(fault, -ENOMEM, "out of memory");
	pipeline->settings = *settings;
	pipeline->settings.capture.sources |= 1U << PILOTLIGHT_SOURCE_CPU;
	pipeline->broker = settings->broker;
	pipeline->binary_limits =
		settings->binary_limits ? *settings->binary_limits : binary_table_default_limits;
	pipeline->epoll_fd = pipeline->timer_fd = -1;
	raise_descriptor_limit();
	r = capture_connect(
		settings->capture_fd, &pipeline->settings.capture, &pipeline->capture, fault);
	if (r < 0)
		return r;
	pipeline->settings.capture.rate_hz = capture_rate_hz(pipeline->capture);
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (*capture_missing(pipeline->capture, i)) {
			pipeline->settings.capture.sources &= ~(1U << i);
			pipeline->settings.capture.surveyed &= ~(1U << i);
		}
	r = pipeline_open_stages(pipeline);
	if (r == 0)
		r = pipeline_open_polling(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot set up the profiler: %s", strerror(-r));
	*ret_pipeline = TAKE_PTR(pipeline);
	return 0;
}

int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault)
{
	int r = capture_follow(pipeline->capture, pid);

	if (r == 0 && pipeline->heap)
		r = heap_watch_follow(pipeline->heap, pid);
	if (r < 0)
		return fault_set(fault, r, "cannot follow process %d: %s", (int)pid, strerror(-r));
	return 0;
}

/*
 * Switches polling of the side-band on or off, so that not every record wakes us. Its first record
 * wakes us; then a timer reads the ring every SIDEBAND_PERIOD_MS until no more records come.
 */
static int watch_sideband(struct pipeline *pipeline, bool is_watched)
{
	struct epoll_event event = { .events = is_watched ? EPOLLIN : 0,
		.data.u32 = PIPELINE_SIDEBAND };

	if (is_watched == pipeline->is_sideband_watched)
		return 0;
	pipeline->is_sideband_watched = is_watched;
	return epoll_ctl(pipeline->epoll_fd, EPOLL_CTL_MOD,
		       sideband_poll_fd(capture_sideband(pipeline->capture)), &event) < 0
		       ? -errno
		       : 0;
}

/* jitdump files are read more often while an ended window waits for JIT names. */
static uint64_t jit_due_ns(const struct pipeline *pipeline)
{
	return jit_table_due_ns(pipeline->jit, pipeline->ended.waiting > 0);
}

static uint64_t sideband_records(struct pipeline *pipeline)
{
	struct sideband_counters counters;

	sideband_counters(capture_sideband(pipeline->capture), &counters);
	return counters.records;
}

/* Sets the next timed wakeup. On an idle machine this is the next drain. */
static int set_timer(struct pipeline *pipeline, bool has_changes)
{
	uint64_t now_ns = clock_monotonic_ns(), due_ns = pipeline->next_drain_ns;
	uint64_t period_ns =
		(pipeline->heap ? HEAP_SIDEBAND_PERIOD_MS : SIDEBAND_PERIOD_MS) * 1000000ULL;
	struct itimerspec timer = { 0 };
	int r = watch_sideband(pipeline, !has_changes);

	if (r < 0)
		return r;
	if (has_changes && due_ns > now_ns + period_ns)
		due_ns = now_ns + period_ns;
	if (due_ns > jit_due_ns(pipeline))
		due_ns = jit_due_ns(pipeline);
	if (due_ns > pipeline->survey.due_ns)
		due_ns = pipeline->survey.due_ns;
	if (due_ns <= now_ns)
		due_ns = now_ns + 1;
	timer.it_value.tv_sec = (time_t)(due_ns / NSEC_PER_SEC);
	timer.it_value.tv_nsec = (long)(due_ns % NSEC_PER_SEC);
	return timerfd_settime(pipeline->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0 ? -errno
											: 0;
}

/* Loads tables ahead. A failure to list files is not fatal: stacks through a file are cut only
 * until its table is loaded. */
static int prepare_unwinding(struct pipeline *pipeline)
{
	uint64_t timeout_ns = pipeline->settings.prepare_ns;
	int r;

	if (!pipeline->unwinding || timeout_ns == 0)
		return 0;
	r = capture_list_files(pipeline->capture);
	if (r < 0) {
		log_debug("cannot list the mapped files: %s, continuing without their unwind "
			  "tables",
			strerror(-r));
		return 0;
	}
	/* A mapping may be younger than the last reading and still be listed. */
	r = pipeline_read_sideband(pipeline);
	if (r < 0)
		return r;
	return unwinding_prepare(pipeline->unwinding, clock_monotonic_ns() + timeout_ns);
}

int pipeline_start(struct pipeline *pipeline, struct fault *fault)
{
	int r;

	/* The side-band is open already and reports every later change, so /proc has all the rest.
	 */
	r = pipeline_scan(pipeline, capture_is_taken_over(pipeline->capture)
					    ? clock_monotonic_ns() + SCAN_NS_AT_TAKEOVER
					    : UINT64_MAX);
	if (r < 0)
		return fault_set(fault, r, "cannot read /proc: %s", strerror(-r));
	r = pipeline_read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	r = jit_table_note_all(pipeline->jit);
	if (r < 0)
		return fault_set(fault, r, "cannot look for jitdump files: %s", strerror(-r));
	r = prepare_unwinding(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot load unwind tables: %s", strerror(-r));
	r = pipeline->heap ? heap_watch_begin(pipeline->heap, fault) : 0;
	if (r < 0)
		return r;
	pipeline->started_ns = clock_monotonic_ns();
	pipeline->last_flip_ns = pipeline->started_ns;
	pipeline->open.monotonic_ns = pipeline->started_ns;
	pipeline_window_set_start(&pipeline->open, clock_realtime_at(pipeline->started_ns));
	/* After a takeover, drain the earlier engine's samples at once. */
	pipeline->next_drain_ns = pipeline->started_ns;
	if (!capture_is_taken_over(pipeline->capture))
		pipeline->next_drain_ns += pipeline_drain_period_ns(pipeline);
	pipeline_begin_surveys(pipeline);
	r = set_timer(pipeline, true);
	if (r < 0)
		return fault_set(fault, r, "cannot set a timer: %s", strerror(-r));
	r = capture_start(pipeline->capture, fault);
	if (r < 0)
		return r;
	/* Only now is it known whether this machine counts cycles. */
	r = pipeline_window_name_event(pipeline, &pipeline->open);
	return r < 0 ? fault_set(fault, r, "cannot begin a window: %s", strerror(-r)) : 0;
}

int pipeline_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->epoll_fd;
}

/* Serves the sampler's requests for unwind tables. */
static int run_unwinding(struct pipeline *pipeline, struct fault *fault)
{
	int r;

	if (!pipeline->unwinding)
		return 0;
	pipeline->last_request_ns = clock_monotonic_ns();
	/* Read requests first: the side-band then has all that happened before them. */
	unwinding_read_requests(pipeline->unwinding);
	r = pipeline_read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	r = unwinding_run(pipeline->unwinding);
	return r < 0 ? fault_set(fault, r, "cannot load unwind tables: %s", strerror(-r)) : 0;
}

/* Drains early if the process table is crowded: it would evict images that samples still need. */
static void drain_early(struct pipeline *pipeline, uint64_t now_ns)
{
	uint64_t due_ns = pipeline->last_flip_ns + pipeline_drain_period_ns(pipeline) / EARLY_SHARE;

	if (!process_table_is_crowded(pipeline->processes))
		return;
	if (due_ns < now_ns)
		due_ns = now_ns;
	if (due_ns < pipeline->next_drain_ns)
		pipeline->next_drain_ns = due_ns;
}

/* Follows mappings and JIT code between two drains. */
static int follow(struct pipeline *pipeline, struct fault *fault)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = pipeline_read_sideband(pipeline);

	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	drain_early(pipeline, now_ns);
	if (now_ns < jit_due_ns(pipeline))
		return 0;
	return pipeline_read_jit_files(pipeline, fault);
}

/* Logs a failure once, and the recovery. */
static void follow_cpus(struct pipeline *pipeline, uint64_t now_ns)
{
	bool lacks_cpus;
	int r;

	if (now_ns < pipeline->next_cpus_ns)
		return;
	pipeline->next_cpus_ns = now_ns + CPUS_PERIOD_NS;
	r = capture_follow_cpus(pipeline->capture);
	lacks_cpus = r < 0;
	if (lacks_cpus && !pipeline->lacks_cpus)
		log_warning(
			"cannot follow CPU hotplug: %s; sampling %u CPUs, trying again every %d s",
			strerror(-r), capture_cpu_count(pipeline->capture),
			(int)(CPUS_PERIOD_NS / NSEC_PER_SEC));
	else if (!lacks_cpus && pipeline->lacks_cpus)
		log_info("following CPU hotplug again: sampling %d CPUs", r);
	pipeline->lacks_cpus = lacks_cpus;
}

/* Follows CPU hotplug, serves the sampler's requests, then drains the maps into the open window. */
static int drain_now(struct pipeline *pipeline, bool ends_window, struct fault *fault)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t asked_ns = pipeline->open.asked_blocked_ns;
	int r;

	pipeline->report.lag_ns =
		now_ns > pipeline->next_drain_ns ? now_ns - pipeline->next_drain_ns : 0;
	pipeline->next_drain_ns = now_ns + pipeline_drain_period_ns(pipeline);
	follow_cpus(pipeline, now_ns);
	/* Some users' requests may have waited for their time. */
	r = pipeline_symbols_run(pipeline, fault);
	if (r == 0)
		r = run_unwinding(pipeline, fault);
	/*
	 * Early in the window, before the names of many short-lived threads fill it, and right
	 * before the flip that ends it. What was taken once counts as blocked since then.
	 */
	if (r == 0 && asked_ns == 0)
		r = pipeline_take_blocked(pipeline, pipeline->open.monotonic_ns, false, fault);
	else if (r == 0 && ends_window)
		r = pipeline_take_blocked(pipeline, asked_ns, false, fault);
	return r < 0 ? r : pipeline_drain(pipeline, fault);
}

static int switch_windows(struct pipeline *pipeline)
{
	struct pipeline_window next;
	int r;

	/* Samples that fired during the drain belong to the next window. */
	r = pipeline_window_begin(
		pipeline, pipeline->open.number + 1, pipeline->last_flip_ns, &next);
	if (r < 0)
		return r;
	pipeline_window_end(pipeline, &pipeline->open, pipeline->last_flip_ns);
	pipeline->ended = pipeline->open;
	pipeline->open = next;
	binary_table_begin_window(pipeline->binaries, next.number);
	return 0;
}

int pipeline_cut(struct pipeline *pipeline, struct fault *fault)
{
	int r = drain_now(pipeline, true, fault);

	if (r < 0)
		return r;
	assert(!pipeline->ended.is_there);
	r = pipeline_add_live(pipeline);
	if (r == 0)
		r = switch_windows(pipeline);
	return r < 0 ? fault_set(fault, r, "cannot begin a window: %s", strerror(-r)) : 0;
}

int pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
	struct epoll_event events[PIPELINE_EVENTS];
	bool has[PIPELINE_EVENTS] = { false };
	uint64_t ticks, records = sideband_records(pipeline);
	int n, r;

	n = epoll_wait(pipeline->epoll_fd, events, PIPELINE_EVENTS, 0);
	for (int i = 0; i < n; i++)
		has[events[i].data.u32] = true;
	if (has[PIPELINE_TIMER] && read(pipeline->timer_fd, &ticks, sizeof(ticks)) < 0 &&
		errno != EAGAIN)
		return fault_set(fault, -errno, "cannot read a timer: %s", strerror(errno));
	if (has[PIPELINE_HEAP])
		heap_watch_run(pipeline->heap);
	/* First, so that the moment is the planned one. */
	r = pipeline_run_survey(pipeline, fault);
	if (r == 0 && has[PIPELINE_SYMBOLS])
		r = pipeline_symbols_run(pipeline, fault);
	if (r == 0 && (has[PIPELINE_WALK_REQUEST] || has[PIPELINE_UNWINDING]))
		r = run_unwinding(pipeline, fault);
	if (r < 0)
		return r;
	/* A ring signals a record only once, and our caller's poll may have consumed the signal:
	 * then no event is left. Wait a moment, as more records may follow the first. */
	if (n <= 0 || (n == 1 && has[PIPELINE_SIDEBAND])) {
		r = set_timer(pipeline, true);
	} else {
		if (has[PIPELINE_RING] || clock_monotonic_ns() >= pipeline->next_drain_ns)
			r = drain_now(pipeline, false, fault);
		else
			r = follow(pipeline, fault);
		if (r == 0)
			r = set_timer(pipeline, pipeline_is_scanning(pipeline) ||
							sideband_records(pipeline) != records);
	}
	return r < 0 ? fault_set(fault, r, "cannot wait for events: %s", strerror(-r)) : 0;
}

int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	struct pipeline_window *window = &pipeline->open;
	uint64_t now_ns;
	int r = pipeline_take_blocked(pipeline, clock_monotonic_ns(), true, fault);

	if (r < 0)
		return r;
	capture_stop(pipeline->capture);
	if (pipeline->heap)
		heap_watch_finish(pipeline->heap);
	now_ns = clock_monotonic_ns();
	pipeline->report.elapsed_ns = now_ns - pipeline->started_ns;
	/* Both sets: the active one, and the one that a failed flip may have left full. */
	for (int set = 0; set < PILOTLIGHT_SET_COUNT; set++) {
		r = pipeline_drain(pipeline, fault);
		if (r < 0)
			return r;
	}
	r = jit_table_finish(pipeline->jit, clock_monotonic_ns(), JIT_CPU_NS_AT_END);
	if (r == 0)
		r = late_samples_finish(pipeline->late);
	if (r < 0)
		return fault_set(fault, r, "cannot name JIT code: %s", strerror(-r));
	r = pipeline_add_live(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot add what lives: %s", strerror(-r));
	pipeline_window_account(pipeline, window);
	pipeline_request_symbols(pipeline, window);
	pipeline_window_end(pipeline, window, now_ns);
	pipeline_window_set_accounts(window);
	symbolizer_hurry(pipeline->symbolizer);
	symbolizer_ignore_time(pipeline->symbolizer);
	return 0;
}

size_t pipeline_symbols_pending(const struct pipeline *pipeline)
{
	struct symbolizer_counters counters;

	symbolizer_counters(pipeline->symbolizer, &counters);
	return counters.pending;
}

int pipeline_symbols_poll_fd(const struct pipeline *pipeline)
{
	return symbolizer_poll_fd(pipeline->symbolizer);
}

int pipeline_symbols_run(struct pipeline *pipeline, struct fault *fault)
{
	int r = symbolizer_run(pipeline->symbolizer);

	return r < 0 ? fault_set(fault, r, "cannot follow the symbol workers: %s", strerror(-r))
		     : 0;
}

static bool is_outgrown(const struct pipeline *pipeline)
{
	return capture_cpu_count(pipeline->capture) >
	       capture_maps(pipeline->capture)->sizes.cpu_count;
}

bool pipeline_needs_restart(const struct pipeline *pipeline)
{
	return is_outgrown(pipeline);
}

int pipeline_prepare_end(struct pipeline *pipeline, bool is_taken_over, struct fault *fault)
{
	int r;

	if (is_taken_over && !is_outgrown(pipeline))
		return 0;
	r = pipeline_take_blocked(pipeline, clock_monotonic_ns(), true, fault);
	if (r < 0)
		return r;
	capture_stop(pipeline->capture);
	/* Stop following hotplug: samples of a new CPU would never be drained. */
	pipeline->next_cpus_ns = UINT64_MAX;
	/* Drains one set; pipeline_cut() drains the other. A killed engine may have left that one
	 * half drained. */
	return pipeline_drain(pipeline, fault);
}

void pipeline_retire(struct pipeline *pipeline)
{
	if (is_outgrown(pipeline))
		(void)capture_forget(pipeline->capture);
}
