/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline.h"

#include "aggregate/aggregator.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/broker.h"
#include "drain/drain.h"
#include "process/process_scan.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "resolve/kernel_symbols.h"
#include "symbol/symbol_cache.h"
#include "unwinding.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

enum {
	/* How long a mapping may wait to be looked at: a file that a short process unlinks should
	 * still be there. A full ring wakes us earlier. */
	SIDEBAND_PERIOD_MS = 20,
};

struct pipeline {
	struct pipeline_settings settings;
	struct broker *broker;
	struct capture *capture;
	struct drain *drain;
	struct process_table *processes;
	struct kernel_symbols *kernel;
	struct binary_table *binaries;
	struct resolver *resolver;
	struct profile *profile;
	struct aggregator *aggregator;
	struct symbol_cache *symbol_cache; /* NULL: none */
	struct symbolizer *symbolizer;
	struct unwinding *unwinding; /* NULL: the kernel alone walks user stacks */
	size_t binaries_wanted;	     /* of the profile's: the symbolizer was told of them */
	int epoll_fd, timer_fd;
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	uint64_t next_drain_ns; /* CLOCK_MONOTONIC */
	uint64_t last_flip_ns;
	uint64_t sideband_lost; /* records, when /proc was last read for them */
	struct pipeline_report report;
};

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	unwinding_free(pipeline->unwinding);
	symbolizer_free(pipeline->symbolizer);
	symbol_cache_free(pipeline->symbol_cache);
	aggregator_free(pipeline->aggregator);
	profile_free(pipeline->profile);
	resolver_free(pipeline->resolver);
	binary_table_free(pipeline->binaries);
	kernel_symbols_free(pipeline->kernel);
	process_table_free(pipeline->processes);
	drain_free(pipeline->drain);
	capture_free(pipeline->capture);
	broker_free(pipeline->broker);
	if (pipeline->timer_fd >= 0)
		(void)close(pipeline->timer_fd);
	if (pipeline->epoll_fd >= 0)
		(void)close(pipeline->epoll_fd);
	free(pipeline);
}

/* Descriptors are held for files that may vanish; the bound of binary_table is below any hard
 * limit. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_symbolizer(struct pipeline *pipeline)
{
	struct symbolizer_options options = {
		.broker = pipeline->broker,
		.debuginfod_urls = pipeline->settings.debuginfod_urls,
	};
	const char *folder = pipeline->settings.symbol_cache;
	struct fault fault = { 0 };

	if (folder && symbol_cache_open(folder, SYMBOL_CACHE_BYTES_DEFAULT, &pipeline->symbol_cache,
			      &fault) < 0)
		log_warning("%s; continuing without a symbol cache", fault.text);
	/* Samples wait meanwhile: what the folder does not take at once is kept in memory. */
	if (pipeline->symbol_cache)
		symbol_cache_set_patience(pipeline->symbol_cache, 0);
	options.cache = pipeline->symbol_cache;
	return symbolizer_new(&options, &pipeline->symbolizer);
}

static int open_unwinding(struct pipeline *pipeline)
{
	const struct unwinding_parts parts = {
		.maps = capture_walk_maps(pipeline->capture),
		.broker = pipeline->broker,
		.processes = pipeline->processes,
		.binaries = pipeline->binaries,
		.cache = pipeline->symbol_cache ? symbol_cache_directory(pipeline->symbol_cache)
						: NULL,
	};
	int r;

	if (!parts.maps)
		return 0;
	r = unwinding_new(&parts, &pipeline->unwinding);
	if (r == 0)
		resolver_set_files(pipeline->resolver, unwinding_binary, pipeline->unwinding);
	return r;
}

static int open_stages(struct pipeline *pipeline)
{
	const struct broker_options options = { .proc_root = "/proc",
		.debug_root = "/usr/lib/debug" };
	int r;

	r = broker_new(&options, &pipeline->broker);
	if (r == 0)
		r = drain_new(capture_maps(pipeline->capture), &pipeline->drain);
	if (r == 0)
		r = process_table_new(&process_table_default_limits, &pipeline->processes);
	if (r == 0)
		r = kernel_symbols_new(pipeline->broker, &pipeline->kernel);
	if (r == 0)
		r = binary_table_new(&binary_table_default_limits, pipeline->broker,
			pipeline->processes, &pipeline->binaries);
	if (r == 0)
		r = resolver_new(pipeline->broker, pipeline->processes, pipeline->kernel,
			pipeline->binaries, &pipeline->resolver);
	if (r == 0)
		r = profile_new(pipeline->settings.profile_budget_bytes, &pipeline->profile);
	if (r == 0)
		r = aggregator_new(pipeline->profile, pipeline->binaries, &pipeline->aggregator);
	if (r == 0)
		r = open_symbolizer(pipeline);
	if (r == 0)
		r = open_unwinding(pipeline);
	return r;
}

static int watch(struct pipeline *pipeline, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(pipeline->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_polling(struct pipeline *pipeline)
{
	int r;

	pipeline->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pipeline->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (pipeline->epoll_fd < 0 || pipeline->timer_fd < 0)
		return -errno;
	r = watch(pipeline, pipeline->timer_fd);
	if (r == 0)
		r = watch(pipeline, sideband_poll_fd(capture_sideband(pipeline->capture)));
	if (r == 0)
		r = watch(pipeline, drain_poll_fd(pipeline->drain));
	if (r == 0)
		r = watch(pipeline, symbolizer_poll_fd(pipeline->symbolizer));
	if (r == 0 && pipeline->unwinding)
		r = watch(pipeline, unwinding_poll_fd(pipeline->unwinding));
	if (r == 0 && pipeline->unwinding)
		r = watch(pipeline, capture_walk_maps(pipeline->capture)->bell_fd);
	return r;
}

int pipeline_open(const struct pipeline_settings *settings, struct pipeline **ret_pipeline,
	struct fault *fault)
{
	_cleanup_(pipeline_freep) struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int r;

	if (!pipeline)
		return fault_set(fault, -ENOMEM, "out of memory");
	pipeline->settings = *settings;
	pipeline->epoll_fd = pipeline->timer_fd = -1;
	raise_descriptor_limit();
	r = capture_open(&settings->capture, &pipeline->capture, fault);
	if (r < 0)
		return r;
	r = open_stages(pipeline);
	if (r == 0)
		r = open_polling(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot set up the profiler: %s", strerror(-r));
	*ret_pipeline = TAKE_PTR(pipeline);
	return 0;
}

int pipeline_follow(struct pipeline *pipeline, pid_t pid, struct fault *fault)
{
	int r = capture_follow(pipeline->capture, pid);

	if (r < 0)
		return fault_set(fault, r, "cannot follow process %d: %s", (int)pid, strerror(-r));
	return 0;
}

static void take_mapping(struct pipeline *pipeline, const struct sideband_record *record)
{
	struct process_mapping_event event = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.path = record->text,
		.build_id = record->build_id,
		.inode = record->inode,
		.device_major = record->device_major,
		.device_minor = record->device_minor,
	};
	struct process_mapping mapping = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
	};

	/* What a bound refuses is counted by the table; its frames will be nameless. */
	if (process_table_map(
		    pipeline->processes, record->pid, record->time_ns, &event, &mapping.file) == 0)
		binary_table_note_mapping(pipeline->binaries, record->pid, &mapping);
}

static void take_sideband(void *context, const struct sideband_record *record)
{
	struct pipeline *pipeline = context;

	switch (record->kind) {
	case SIDEBAND_MAP:
		take_mapping(pipeline, record);
		break;
	case SIDEBAND_EXEC:
		(void)process_table_exec(pipeline->processes, record->pid, record->time_ns);
		break;
	case SIDEBAND_FORK:
		(void)process_table_fork(
			pipeline->processes, record->pid, record->parent, record->time_ns);
		break;
	case SIDEBAND_EXIT:
		process_table_exit(pipeline->processes, record->pid, record->time_ns);
		/* The first thread is as a rule the last: if not, /proc knows how many are left. */
		if (record->pid == record->tid &&
			process_table_is_live(pipeline->processes, record->pid))
			(void)process_scan_check(
				pipeline->broker, pipeline->processes, record->pid);
		break;
	case SIDEBAND_KERNEL_SYMBOL:
		resolver_kernel_changed(pipeline->resolver);
		break;
	case SIDEBAND_COMM:
	case SIDEBAND_LOST: /* a counter of the side-band's */
		break;
	}
}

/* Takes what the side-band has told; where it has lost records, /proc has to tell. */
static int read_sideband(struct pipeline *pipeline)
{
	struct sideband *sideband = capture_sideband(pipeline->capture);
	uint64_t now_ns = clock_monotonic_ns();
	struct sideband_counters counters;
	uint64_t lost;
	int r;

	r = sideband_read(sideband, now_ns, take_sideband, pipeline);
	sideband_counters(sideband, &counters);
	lost = counters.lost + counters.refused;
	if (r < 0 || lost == pipeline->sideband_lost)
		return r;
	pipeline->sideband_lost = lost;
	process_scan_check_all(pipeline->broker, pipeline->processes);
	return process_scan_all(pipeline->broker, pipeline->processes, "/proc", now_ns);
}

static int take_sample(void *context, const struct raw_sample *sample)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	struct pipeline *pipeline = context;
	bool lacks_build_ids;
	int count, r;

	count = resolver_resolve(pipeline->resolver, sample, frames, &lacks_build_ids);
	if (count < 0)
		return count;
	r = aggregator_add(pipeline->aggregator, sample, frames, (size_t)count);
	if (r < 0)
		return r;
	return lacks_build_ids ? DRAIN_ASK_AGAIN : 0;
}

/* Is it still the file that the addresses were found in? It may have been written to since. */
static bool has_image(int fd, const struct elf_image *image)
{
	struct elf_image now;

	return elf_image_read(fd, &now) == 0 && build_id_equal(&now.build_id, &image->build_id) &&
	       now.segment_count == image->segment_count &&
	       memcmp(now.segments, image->segments, now.segment_count * sizeof(*now.segments)) ==
		       0;
}

/* A binary of the profile, for its symbols. */
static int open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	struct pipeline *pipeline = context;
	uint32_t id = aggregator_table_binary(pipeline->aggregator, profile_binary);
	struct symbol_binary opened = { .fd = -1, .debug_fd = -1 };
	struct binary binary;

	if (id == UINT32_MAX)
		return -ENOENT;
	binary_table_get(pipeline->binaries, id, &binary);
	if (!binary.image)
		return -ENOENT; /* its addresses are offsets */
	opened.build_id = binary.build_id;
	opened.path = binary.path;
	if (binary.fd >= 0)
		opened.fd = fcntl(binary.fd, F_DUPFD_CLOEXEC, 3);
	else if (binary.path[0] == '/')
		(void)broker_open_path(pipeline->broker, binary.path, &opened.fd);
	if (opened.fd >= 0 && !has_image(opened.fd, binary.image))
		(void)close(TAKE_FD(opened.fd));
	if (opened.fd < 0 && opened.build_id.size == 0)
		return -ENOENT;
	*ret_binary = opened;
	return 0;
}

/* Symbols of binaries that are new to the profile are extracted from now on: the file may soon be
 * gone. */
static void want_symbols(struct pipeline *pipeline)
{
	while (pipeline->binaries_wanted < pipeline->profile->binaries.count) {
		struct symbol_binary binary;
		int r;

		if (open_binary(pipeline, (uint32_t)pipeline->binaries_wanted++, &binary) < 0)
			continue;
		r = symbolizer_want(pipeline->symbolizer, &binary);
		if (r < 0)
			log_debug("cannot look for symbols of '%s': %s, continuing without them",
				binary.path, strerror(-r));
		if (binary.fd >= 0)
			(void)close(binary.fd);
	}
}

static int drain(struct pipeline *pipeline, struct fault *fault)
{
	struct accounts accounts;
	uint64_t flipped_ns;
	int r;

	r = drain_flip(pipeline->drain);
	if (r < 0)
		return fault_set(fault, r, "cannot switch the BPF maps: %s", strerror(-r));
	if (pipeline->unwinding)
		unwinding_begin_window(
			pipeline->unwinding, *capture_maps(pipeline->capture)->active_window);
	/* First who was who until now, then what they did. */
	flipped_ns = clock_monotonic_ns();
	r = read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	r = drain_window(pipeline->drain, take_sample, pipeline, &accounts);
	if (r < 0)
		return fault_set(fault, r, "cannot drain the BPF maps: %s", strerror(-r));
	if (!accounts_close(&accounts))
		return fault_set(fault, -EPROTO, "the accounts of a window do not close: a bug");
	accounts_add(&pipeline->report.accounts, &accounts);
	pipeline->report.windows++;
	want_symbols(pipeline);
	/* Samples that are still to come are of the set that is active since the flip before. */
	process_table_retire(pipeline->processes, pipeline->last_flip_ns);
	pipeline->last_flip_ns = flipped_ns;
	return 0;
}

static uint64_t drain_period_ns(const struct pipeline *pipeline)
{
	return capture_maps(pipeline->capture)->sizes.drain_period_ms * 1000000ULL;
}

int pipeline_start(struct pipeline *pipeline, struct fault *fault)
{
	struct itimerspec period = {
		.it_interval = { .tv_nsec = SIDEBAND_PERIOD_MS * 1000000L },
		.it_value = { .tv_nsec = SIDEBAND_PERIOD_MS * 1000000L },
	};
	int r;

	/* The side-band tells of everything from here on, so what it does not tell is in /proc. */
	r = process_scan_all(pipeline->broker, pipeline->processes, "/proc", clock_monotonic_ns());
	if (r < 0)
		return fault_set(fault, r, "cannot read /proc: %s", strerror(-r));
	r = read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	if (timerfd_settime(pipeline->timer_fd, 0, &period, NULL) < 0)
		return fault_set(fault, -errno, "cannot set a timer: %s", strerror(errno));
	pipeline->profile->start_ns = clock_realtime_ns();
	pipeline->started_ns = clock_monotonic_ns();
	pipeline->next_drain_ns = pipeline->started_ns + drain_period_ns(pipeline);
	return capture_start(pipeline->capture, fault);
}

int pipeline_poll_fd(const struct pipeline *pipeline)
{
	return pipeline->epoll_fd;
}

/* Who maps what, and what the sampler wants to know of it. */
static int follow(struct pipeline *pipeline, struct fault *fault)
{
	int r;

	/* First what it asks for: what happened before that is then in the side-band. */
	if (pipeline->unwinding)
		unwinding_take_requests(pipeline->unwinding);
	r = read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	r = pipeline->unwinding ? unwinding_run(pipeline->unwinding) : 0;
	if (r < 0)
		return fault_set(fault, r, "cannot load unwind tables: %s", strerror(-r));
	return 0;
}

int pipeline_run(struct pipeline *pipeline, struct fault *fault)
{
	struct epoll_event events[4];
	uint64_t now_ns, ticks;
	bool is_due;
	int n, r;

	if (read(pipeline->timer_fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return fault_set(fault, -errno, "cannot read a timer: %s", strerror(errno));
	now_ns = clock_monotonic_ns();
	r = pipeline_symbols_run(pipeline, fault);
	if (r < 0)
		return r;
	n = epoll_wait(drain_poll_fd(pipeline->drain), events, 4, 0);
	is_due = n > 0 || now_ns >= pipeline->next_drain_ns;
	if (!is_due)
		return follow(pipeline, fault);
	pipeline->next_drain_ns = now_ns + drain_period_ns(pipeline);
	r = capture_follow_cpus(pipeline->capture);
	if (r < 0)
		log_debug("cannot follow the CPUs: %s, continuing with those there were",
			strerror(-r));
	return drain(pipeline, fault);
}

int pipeline_finish(struct pipeline *pipeline, struct fault *fault)
{
	struct profile *profile = pipeline->profile;
	int r;

	capture_stop(pipeline->capture);
	pipeline->report.elapsed_ns = clock_monotonic_ns() - pipeline->started_ns;
	/* Both sets: the one that was active, and what a flip that failed may have left. */
	for (int set = 0; set < PILOTLIGHT_SET_COUNT; set++) {
		r = drain(pipeline, fault);
		if (r < 0)
			return r;
	}
	profile->end_ns = clock_realtime_ns();
	profile->period_ns = NSEC_PER_SEC / pipeline->settings.capture.rate_hz;
	profile->cpu_count = capture_cpu_count(pipeline->capture);
	profile->accounts = pipeline->report.accounts;
	symbolizer_hurry(pipeline->symbolizer);
	r = profile_add_string(profile, capture_event_name(pipeline->capture), &profile->event);
	return r < 0 ? fault_set(fault, r, "cannot finish the profile: %s", strerror(-r)) : 0;
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

int pipeline_name(struct pipeline *pipeline, struct fault *fault)
{
	int r = naming_run(pipeline->profile, symbolizer_source(pipeline->symbolizer), open_binary,
		pipeline, &pipeline->report.naming);

	if (r == -E2BIG) {
		log_warning(
			"the profile's memory budget is used up, continuing without some names");
		r = 0;
	}
	return r < 0 ? fault_set(fault, r, "cannot read symbols: %s", strerror(-r)) : 0;
}

const struct profile *pipeline_profile(const struct pipeline *pipeline)
{
	return pipeline->profile;
}

void pipeline_report(struct pipeline *pipeline, struct pipeline_report *ret_report)
{
	pipeline->report.expected = capture_expected_samples(pipeline->capture);
	capture_read_cost(pipeline->capture, &pipeline->report.capture);
	sideband_counters(capture_sideband(pipeline->capture), &pipeline->report.sideband);
	process_table_counters(pipeline->processes, &pipeline->report.processes);
	resolver_counters(pipeline->resolver, &pipeline->report.resolver);
	symbolizer_counters(pipeline->symbolizer, &pipeline->report.symbols);
	if (pipeline->unwinding)
		unwinding_report(pipeline->unwinding, &pipeline->report.unwinding);
	*ret_report = pipeline->report;
}
