/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "engine/pipeline_state.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

enum {
	JIT_SAMPLES_BYTES = 4 << 20,
	RUNTIME_NAMES_BYTES = 8 << 20,
	DESCRIPTORS_SHARE = 8, /* 1/8 of all descriptors may be jitdump files */
};

static int open_windows(struct pipeline *pipeline)
{
	return pipeline_window_begin(pipeline, 0, clock_monotonic_ns(), &pipeline->open);
}

static int open_symbolizer(struct pipeline *pipeline)
{
	struct symbolizer_options options = {
		.broker = pipeline->broker,
		.debuginfod_urls = pipeline->settings.debuginfod_urls,
		/* Measured: two workers took a third of all memory in a first recording. */
		.workers.workers_max = 1,
		.user_burst_ns = UNWINDING_USER_BURST_NS,
	};
	const char *folder = pipeline->settings.symbol_cache;
	uint64_t cache_bytes = pipeline->settings.symbol_cache_bytes
				       ? pipeline->settings.symbol_cache_bytes
				       : SYMBOL_CACHE_BYTES_DEFAULT;
	struct fault fault = { 0 };

	if (folder && symbol_cache_open(folder, cache_bytes, &pipeline->symbol_cache, &fault) < 0)
		log_warning("%s; continuing without a symbol cache", fault.text);
	/* Samples wait during a write: if the folder is busy, keep the symbols in memory. */
	if (pipeline->symbol_cache)
		symbol_cache_set_patience(pipeline->symbol_cache, 0);
	options.cache = pipeline->symbol_cache;
	return symbolizer_new(&options, &pipeline->symbolizer);
}

/* A runtime_slots_function. */
static int set_runtime(void *context, uint32_t number, const struct pilotlight_runtime *runtime)
{
	const struct pipeline *pipeline = context;

	return capture_set_runtime(pipeline->capture, number, runtime);
}

static int open_unwinding(struct pipeline *pipeline)
{
	const struct unwinding_parts parts = {
		.maps = capture_walk_maps(pipeline->capture),
		.files = {
			.broker = pipeline->broker,
			.processes = pipeline->processes,
			.binaries = pipeline->binaries,
		},
		.cache = pipeline->symbol_cache ? symbol_cache_directory(pipeline->symbol_cache)
						: NULL,
		.set_runtime = set_runtime,
		.set_runtime_context = pipeline,
	};
	int r;

	if (!parts.maps)
		return 0;
	r = unwinding_new(&parts, &pipeline->unwinding);
	if (r == 0)
		resolver_set_files(pipeline->resolver, unwinding_binary, pipeline->unwinding);
	return r;
}

/* Only the sampler's own walk finds the frames that they are for. */
static int open_names(struct pipeline *pipeline)
{
	size_t bytes = pipeline->settings.runtime_bytes ? pipeline->settings.runtime_bytes
							: RUNTIME_NAMES_BYTES;
	int r;

	if (!capture_walk_maps(pipeline->capture))
		return 0;
	r = runtime_names_new(bytes, &pipeline->names);
	if (r < 0)
		return r;
	resolver_set_names(pipeline->resolver, pipeline->names);
	drain_set_codes(pipeline->drain, pipeline_add_code, pipeline);
	return 0;
}

static int open_heap(struct pipeline *pipeline)
{
	const uint32_t heaps =
		1U << PILOTLIGHT_SOURCE_HEAP_ALLOC | 1U << PILOTLIGHT_SOURCE_HEAP_LIVE;

	if (!(pipeline->settings.capture.sources & heaps))
		return 0;
	return heap_watch_new(pipeline->capture, pipeline->broker, pipeline->processes,
		pipeline->settings.heap_reader, &pipeline->heap);
}

static int open_jit(struct pipeline *pipeline)
{
	const struct late_samples_limits limits = {
		.bytes = pipeline->settings.late_bytes ? pipeline->settings.late_bytes
						       : JIT_SAMPLES_BYTES,
		.patience_ns = pipeline->settings.jit_timeout_ns ? pipeline->settings.jit_timeout_ns
								 : UINT64_MAX,
	};
	struct jit_table_limits table_limits = jit_table_default_limits;
	struct rlimit descriptors;
	int r;

	if (pipeline->settings.jit_bytes)
		table_limits.bytes = pipeline->settings.jit_bytes;
	/* Other stages need most descriptors. */
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 &&
		descriptors.rlim_cur / DESCRIPTORS_SHARE < table_limits.files)
		table_limits.files = descriptors.rlim_cur / DESCRIPTORS_SHARE;
	r = jit_table_new(&table_limits, pipeline->broker, pipeline->processes, &pipeline->jit);

	if (r < 0)
		return r;
	return late_samples_new(&limits, pipeline->jit, pipeline->binaries,
		pipeline_add_late_sample, pipeline, &pipeline->late);
}

int pipeline_open_stages(struct pipeline *pipeline)
{
	const struct pipeline_settings *settings = &pipeline->settings;
	int r = drain_new(capture_maps(pipeline->capture), &pipeline->drain);

	if (r == 0)
		r = process_table_new(settings->process_limits ? settings->process_limits
							       : &process_table_default_limits,
			&pipeline->processes);
	if (r == 0)
		r = kernel_symbols_new(pipeline->broker, &pipeline->kernel);
	if (r == 0)
		r = binary_table_new(&pipeline->binary_limits, pipeline->broker,
			pipeline->processes, &pipeline->binaries);
	if (r == 0)
		r = resolver_new(pipeline->broker, pipeline->processes, pipeline->kernel,
			pipeline->binaries, &pipeline->resolver);
	if (r == 0)
		r = open_names(pipeline);
	if (r == 0)
		r = open_jit(pipeline);
	if (r == 0)
		r = pipeline_open_live(pipeline);
	if (r == 0)
		r = pipeline_open_wakers(pipeline);
	if (r == 0)
		r = open_windows(pipeline);
	if (r == 0 && settings->wants_labels)
		r = cgroup_table_new(settings->cgroup_limits ? settings->cgroup_limits
							     : &cgroup_table_default_limits,
			pipeline->broker, pipeline->processes, NULL, &pipeline->cgroups);
	if (r == 0 && settings->wants_labels)
		r = claim_table_new(pipeline->broker, &pipeline->claims);
	if (r == 0)
		r = open_symbolizer(pipeline);
	if (r == 0)
		r = open_unwinding(pipeline);
	if (r == 0)
		r = open_heap(pipeline);
	return r;
}

static int watch(struct pipeline *pipeline, int fd, enum pipeline_event what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(pipeline->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int pipeline_open_polling(struct pipeline *pipeline)
{
	int r;

	pipeline->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pipeline->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (pipeline->epoll_fd < 0 || pipeline->timer_fd < 0)
		return -errno;
	pipeline->is_sideband_watched = true;
	r = watch(pipeline, pipeline->timer_fd, PIPELINE_TIMER);
	if (r == 0)
		r = watch(pipeline, sideband_poll_fd(capture_sideband(pipeline->capture)),
			PIPELINE_SIDEBAND);
	if (r == 0)
		r = watch(pipeline, drain_poll_fd(pipeline->drain), PIPELINE_RING);
	if (r == 0)
		r = watch(pipeline, symbolizer_poll_fd(pipeline->symbolizer), PIPELINE_SYMBOLS);
	if (r == 0 && pipeline->heap)
		r = watch(pipeline, heap_watch_poll_fd(pipeline->heap), PIPELINE_HEAP);
	if (r == 0 && pipeline->unwinding)
		r = watch(pipeline, unwinding_poll_fd(pipeline->unwinding), PIPELINE_UNWINDING);
	if (r == 0 && pipeline->unwinding)
		r = watch(pipeline, capture_walk_maps(pipeline->capture)->wakeup_fd,
			PIPELINE_WALK_REQUEST);
	return r;
}
