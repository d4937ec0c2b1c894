/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_host.h"

#include "base/runtime_bounds.h"
#include "capture/block_programs.h"
#include "capture/capture.h"
#include "capture/count_events.h"
#include "capture/cpu_events.h"
#include "capture/cpu_list.h"
#include "capture/heap_programs.h"
#include "capture/kernel_cost.h"
#include "capture/killable_read.h"
#include "capture/kmem_programs.h"
#include "capture/lock_programs.h"
#include "capture/perf_event_opener.h"
#include "capture/sampler_programs.h"
#include "capture/scheduler_programs.h"
#include "capture/survey_programs.h"
#include "capture/thread_visit.h"
#include "capture/visitor_programs.h"
#include "pilotlight/event.h"
#include "pilotlight/walk.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum {
	LIST_TIMEOUT_MS = 1000,
	SIDEBAND_BUDGET_BYTES = 8 << 20, /* for all CPUs together */
	SIDEBAND_RING_BYTES_MAX = 512 << 10,
	SIDEBAND_RING_BYTES_MIN = 32 << 10,
};

struct capture_host {
	struct capture_settings settings;
	struct cgroup_choice choice; /* of the settings */
	struct sampler_sizes sizes;
	struct sampler *programs;
	struct visitor *visitor; /* NULL: not wanted */
	struct perf_event_opener opener;
	struct cpu_events *events;
	struct count_events *counts;
	struct sideband_rings *rings;
	size_t ring_bytes;
	int statistics_fd;
	int barrier_inner_fd;
	uint32_t cpu_count;
	bool is_started;
	struct thread_visit visit, survey;
	struct heap_probes heap;
	uint64_t fixed_map_bytes; /* of maps whose memory is allocated at once */
	uint64_t map_bytes;	  /* of all maps */
};

/* The frames that the kernel walks at most, which is the width of the stackmaps. */
static uint32_t stack_depth(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned depth;

	if (!file || fscanf(file, "%u", &depth) != 1 || depth == 0 ||
		depth > PILOTLIGHT_STACK_DEPTH)
		return PILOTLIGHT_STACK_DEPTH;
	return depth;
}

/* The budgets for unwind tables and for threads are parts of the whole budget. */
static void compute_sizes(struct capture_host *host)
{
	const struct capture_settings *settings = &host->settings;
	/* A survey takes few samples, and waits for room. */
	const uint32_t sources = settings->sources & ~settings->surveyed;
	struct sampler_sizes *sizes = &host->sizes;
	size_t budget_bytes = settings->map_budget_bytes -
			      map_sizes_thread_bytes(sources, settings->map_budget_bytes);
	struct map_sizes_work work = {
		.rate_hz = settings->rate_hz,
		.cpu_count = host->cpu_count,
		.waits_hz = map_sizes_waits_hz(sources),
		.has_live = map_sizes_has_live(sources),
		.stack_depth = stack_depth(),
		.forced_stack_slots = settings->stack_slots,
	};

	sizes->has_walks = settings->unwind_budget_bytes > 0 && sampler_programs_can_walk();
	sizes->walks = walk_map_sizes_compute(sizes->has_walks ? settings->unwind_budget_bytes : 0);
	work.has_walks = sizes->has_walks;
	if (sizes->has_walks)
		budget_bytes = budget_bytes > settings->unwind_budget_bytes
				       ? budget_bytes - settings->unwind_budget_bytes
				       : 0;
	map_sizes_compute(&work, budget_bytes, &sizes->maps);
}

static int open_rings(
	struct capture_host *host, const uint32_t *cpus, size_t count, struct fault *fault)
{
	size_t ring_bytes = SIDEBAND_RING_BYTES_MAX;
	int r;

	while (ring_bytes * count > SIDEBAND_BUDGET_BYTES && ring_bytes > SIDEBAND_RING_BYTES_MIN)
		ring_bytes /= 2;
	host->ring_bytes = ring_bytes;
	r = sideband_rings_new(ring_bytes, &host->opener, &host->rings);
	if (r == 0)
		r = sideband_rings_set_cpus(host->rings, cpus, count);
	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot open perf events of all processes (%s): run as root, or with "
			"CAP_PERFMON; where kernel.perf_event_paranoid is 3 or more, as Debian "
			"sets it, also start pilotlight-events.socket",
			strerror(-r));
	if (r < 0)
		return fault_set(
			fault, r, "cannot watch the mappings of all processes: %s", strerror(-r));
	return 0;
}

static int open_events(struct capture_host *host, struct fault *fault)
{
	enum capture_event event = host->settings.event;
	int r = cpu_events_new(host->programs->progs.sample_cpu, host->settings.rate_hz,
		&host->opener, &host->events);

	if (r == 0)
		r = count_events_new(host->programs, &host->settings, &host->opener, &host->counts);
	if (r < 0)
		return fault_set(fault, r, "out of memory");
	cpu_events_set_sources(
		host->events, event != CAPTURE_EVENT_CLOCK, event != CAPTURE_EVENT_CYCLES);
	return 0;
}

/*
 * The bytes that the kernel charges for maps that grow with their content, or for all the others.
 */
static uint64_t weigh_maps(const struct capture_host *host, bool is_growing)
{
	struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, host->programs->obj)
	{
		if (is_growing == ((bpf_map__map_flags(map) & BPF_F_NO_PREALLOC) != 0))
			bytes += kernel_cost_map_bytes(bpf_map__fd(map));
	}
	return bytes;
}

int capture_host_open(const struct capture_settings *settings, const char *event_service,
	struct capture_host **ret_host, struct fault *fault)
{
	_cleanup_(capture_host_freep) struct capture_host *host = calloc(1, sizeof(*host));
	_cleanup_free_ uint32_t *cpus = NULL;
	int count, r;

	if (!host)
		return fault_set(fault, -ENOMEM, "out of memory");
	host->statistics_fd = host->barrier_inner_fd = host->visit.fd = host->survey.fd = -1;
	host->settings = *settings;
	if (settings->choice)
		host->choice = *settings->choice;
	host->settings.choice = &host->choice;
	perf_event_opener_init(&host->opener, event_service);
	count = cpu_list_read_online(&cpus);
	if (count < 0)
		return fault_set(
			fault, count, "cannot read which CPUs are online: %s", strerror(-count));
	host->cpu_count = (uint32_t)count;
	compute_sizes(host);
	r = sampler_programs_load(&host->settings, &host->sizes, &host->programs, fault);
	if (r == 0)
		r = visitor_programs_load(&host->settings, host->programs, &host->visitor, fault);
	/* Between what two objects keep, 11 MiB of freed heap would stay for ever. */
	(void)malloc_trim(0);
	if (r < 0)
		return r;
	host->barrier_inner_fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	if (host->barrier_inner_fd < 0)
		return fault_set(fault, -errno, "cannot create a BPF map: %s", strerror(errno));
	r = open_events(host, fault);
	if (r == 0)
		r = open_rings(host, cpus, (size_t)count, fault);
	if (r < 0)
		return r;
	/* May fail: without the kernel's statistics only the reported cost is missing. */
	host->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	host->fixed_map_bytes = weigh_maps(host, false);
	capture_host_weigh(host);
	*ret_host = TAKE_PTR(host);
	return 0;
}

void capture_host_free(struct capture_host *host)
{
	if (!host)
		return;
	thread_visit_end(&host->visit);
	thread_visit_end(&host->survey);
	heap_probes_done(&host->heap);
	cpu_events_free(host->events);
	count_events_free(host->counts);
	sideband_rings_free(host->rings);
	perf_event_opener_done(&host->opener);
	if (host->statistics_fd >= 0)
		(void)close(host->statistics_fd);
	if (host->barrier_inner_fd >= 0)
		(void)close(host->barrier_inner_fd);
	visitor_programs_free(host->visitor);
	sampler_programs_free(host->programs);
	free(host);
}

const struct capture_settings *capture_host_settings(const struct capture_host *host)
{
	return &host->settings;
}

void capture_host_layout(
	const struct capture_host *host, struct pilotlight_capture_layout *ret_layout)
{
	const struct map_sizes *maps = &host->sizes.maps;
	const struct walk_map_sizes *walks = &host->sizes.walks;

	*ret_layout = (struct pilotlight_capture_layout){
		.stack_slots = maps->stack_slots,
		.build_id_stack_slots = maps->build_id_stack_slots,
		.count_slots = maps->count_slots,
		.known_stack_slots = maps->known_stack_slots,
		.live_slots = maps->live_slots,
		.stack_depth = maps->stack_depth,
		.ring_bytes = maps->ring_bytes,
		.drain_period_ms = maps->drain_period_ms,
		.sized_cpus = maps->cpu_count,
		.total_bytes = maps->total_bytes,
		.unwind_pages = walks->pages,
		.unwind_lines = walks->lines,
		.unwind_rules = walks->rules,
		.unwind_escapes = walks->escapes,
		.active_window_offset = offsetof(struct sampler__data_shared, active_window),
		.variables_bytes = sizeof(struct sampler__data_shared),
		.sideband_ring_bytes = (uint32_t)host->ring_bytes,
		.has_walks = host->sizes.has_walks,
		.reports_cgroups = sideband_rings_report_cgroups(host->rings),
	};
}

size_t capture_host_fd_count(const struct capture_host *host)
{
	return host->sizes.has_walks ? PILOTLIGHT_CAPTURE_FDS
				     : PILOTLIGHT_CAPTURE_FDS_WITHOUT_WALKS;
}

int capture_host_fd(const struct capture_host *host, size_t index)
{
	const __typeof__(host->programs->maps) *maps = &host->programs->maps;
	const struct bpf_map *const by_index[PILOTLIGHT_CAPTURE_FDS] = {
		[PILOTLIGHT_CAPTURE_FD_STACKS_0] = maps->stacks_0,
		[PILOTLIGHT_CAPTURE_FD_STACKS_1] = maps->stacks_1,
		[PILOTLIGHT_CAPTURE_FD_BUILD_ID_STACKS_0] = maps->build_id_stacks_0,
		[PILOTLIGHT_CAPTURE_FD_BUILD_ID_STACKS_1] = maps->build_id_stacks_1,
		[PILOTLIGHT_CAPTURE_FD_COUNTS_0] = maps->counts_0,
		[PILOTLIGHT_CAPTURE_FD_COUNTS_1] = maps->counts_1,
		[PILOTLIGHT_CAPTURE_FD_KNOWN_STACKS] = maps->known_stacks,
		[PILOTLIGHT_CAPTURE_FD_COUNTERS] = maps->counters,
		[PILOTLIGHT_CAPTURE_FD_RING] = maps->ring,
		[PILOTLIGHT_CAPTURE_FD_BARRIER] = maps->barrier,
		[PILOTLIGHT_CAPTURE_FD_VARIABLES] = maps->data_shared,
		[PILOTLIGHT_CAPTURE_FD_LIVE] = maps->live,
		[PILOTLIGHT_CAPTURE_FD_CACHE_NAMES] = maps->cache_names,
		[PILOTLIGHT_CAPTURE_FD_BLOCK_DISKS] = maps->block_disks,
		[PILOTLIGHT_CAPTURE_FD_WALK_FILES] = maps->walk_files,
		[PILOTLIGHT_CAPTURE_FD_WALK_REQUESTS] = maps->walk_requests,
		[PILOTLIGHT_CAPTURE_FD_WALK_REQUEST_WAKEUP] = maps->walk_request_wakeup,
		[PILOTLIGHT_CAPTURE_FD_UNWIND_PAGES] = maps->unwind_pages,
		[PILOTLIGHT_CAPTURE_FD_UNWIND_LINES] = maps->unwind_lines,
		[PILOTLIGHT_CAPTURE_FD_UNWIND_RULES] = maps->unwind_rules,
		[PILOTLIGHT_CAPTURE_FD_UNWIND_ESCAPES] = maps->unwind_escapes,
	};

	if (index == PILOTLIGHT_CAPTURE_FD_BARRIER_INNER)
		return host->barrier_inner_fd;
	return bpf_map__fd(by_index[index]);
}

const struct sideband_rings *capture_host_rings(const struct capture_host *host)
{
	return host->rings;
}

static int follow_cpus(struct capture_host *host, bool is_started, struct fault *fault)
{
	_cleanup_free_ uint32_t *cpus = NULL;
	int count, sampled = 0, counted = 0, heard;

	count = cpu_list_read_online(&cpus);
	if (count < 0)
		return count;
	if (is_started) {
		sampled = cpu_events_set_cpus(host->events, cpus, (size_t)count);
		/* A CPU that comes later is no more precise than the first. */
		host->programs->bss->has_whole_registers =
			cpu_events_count(host->events) > 0 && !cpu_events_are_precise(host->events);
		if (sampled == 0)
			counted = count_events_set_cpus(host->counts, cpus, (size_t)count, fault);
	}
	heard = sideband_rings_set_cpus(host->rings, cpus, (size_t)count);
	if (sampled == 0 || host->is_started)
		host->cpu_count =
			is_started ? (uint32_t)cpu_events_count(host->events) : (uint32_t)count;
	if (sampled == 0)
		sampled = counted;
	return sampled < 0 ? sampled : heard;
}

int capture_host_follow_cpus(struct capture_host *host)
{
	struct fault fault = { 0 };

	return follow_cpus(host, host->is_started, &fault);
}

static void stop_events(struct capture_host *host)
{
	cpu_events_stop(host->events);
	count_events_stop(host->counts);
}

int capture_host_start(struct capture_host *host, struct fault *fault)
{
	int r = follow_cpus(host, true, fault);

	if (r == 0 || (host->is_started && cpu_events_error_passes(r))) {
		r = scheduler_programs_start(host->programs, host->visitor, &host->settings, fault);
		if (r == 0)
			r = lock_programs_start(host->programs, &host->settings, fault);
		if (r == 0)
			r = kmem_programs_start(host->programs, &host->settings, fault);
		if (r == 0)
			r = block_programs_start(host->programs, &host->settings, fault);
		if (r == 0)
			r = heap_programs_start(host->programs, fault);
		if (r < 0 && !host->is_started)
			capture_host_stop(host);
		host->is_started = host->is_started || r == 0;
		return r;
	}
	if (!host->is_started)
		stop_events(host);
	if (*fault->text)
		return r;
	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot sample the CPUs (%s): run as root, or with CAP_PERFMON",
			strerror(-r));
	if (host->settings.event == CAPTURE_EVENT_CYCLES && !cpu_events_error_passes(r))
		return fault_set(fault, r,
			"cannot sample the CPUs by their cycles (%s): this machine has no PMU "
			"that counts them, like most virtual machines; sample by the clock",
			strerror(-r));
	return fault_set(fault, r, "cannot sample the CPUs: %s", strerror(-r));
}

void capture_host_stop(struct capture_host *host)
{
	stop_events(host);
	thread_visit_end(&host->visit);
	thread_visit_end(&host->survey);
	scheduler_programs_stop(host->programs);
	lock_programs_stop(host->programs);
	kmem_programs_stop(host->programs);
	block_programs_stop(host->programs);
	heap_programs_stop(host->programs, &host->heap);
	host->is_started = false;
}

int capture_host_follow(struct capture_host *host, pid_t pid)
{
	int map_fd = bpf_map__fd(host->programs->maps.followed_tgids);
	uint32_t tgid = (uint32_t)pid;
	uint8_t value = PILOTLIGHT_FOLLOWED;

	return bpf_map_update_elem(map_fd, &tgid, &value, BPF_ANY) ? -errno : 0;
}

/*
 * The iterator program leaves requests in a map and prints nothing, so that one read runs it over
 * all mappings, up to a million of them. The read takes each process's mmap lock.
 */
int capture_host_list_files(struct capture_host *host)
{
	_cleanup_close_ int fd = -1;
	struct bpf_link *link;
	int r;

	if (!host->sizes.has_walks)
		return -EOPNOTSUPP;
	link = bpf_program__attach_iter(host->programs->progs.list_mapped_files, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	r = fd < 0 ? -errno : killable_read(fd, LIST_TIMEOUT_MS);
	bpf_link__destroy(link);
	/* Files that were not reached wait for a sample. */
	return r == -ETIMEDOUT ? 0 : r;
}

int capture_host_take_blocked(struct capture_host *host, uint64_t before_ns)
{
	return scheduler_programs_take_blocked(
		host->programs, host->visitor, &host->settings, before_ns, &host->visit);
}

int capture_host_survey(struct capture_host *host, uint32_t periods)
{
	if (!host->is_started) {
		host->survey.cpu_ns = 0;
		return 0;
	}
	return survey_programs_run(host->visitor, &host->settings, periods, &host->survey);
}

int32_t capture_host_surveyed_us(const struct capture_host *host)
{
	uint64_t us = host->survey.cpu_ns / 1000;

	return us < INT32_MAX ? (int32_t)us : INT32_MAX;
}

/* A probe is a breakpoint: at a wrong offset it would damage the process. So it must be one that is
 * sampled. */
int capture_host_set_probe(struct capture_host *host, const struct pilotlight_capture_probe *probe)
{
	uint32_t pid = probe->pid;
	uint8_t value;

	if (!host->settings.filters_processes ||
		bpf_map_lookup_elem(bpf_map__fd(host->programs->maps.followed_tgids), &pid, &value))
		return -EPERM;
	return heap_programs_set_probe(host->programs, &host->settings, probe, &host->heap);
}

int capture_host_set_runtime(
	struct capture_host *host, uint64_t number, const struct pilotlight_runtime *runtime)
{
	const uint32_t key = (uint32_t)number;

	if (!host->sizes.has_walks ||
		(host->settings.skips_interpreted &&
			runtime->language != PILOTLIGHT_RUNTIME_THREAD_CONTEXT))
		return -EOPNOTSUPP;
	if (number >= PILOTLIGHT_RUNTIMES_MAX || !runtime_bounds_hold(runtime))
		return -EINVAL;
	return bpf_map_update_elem(
		       bpf_map__fd(host->programs->maps.runtimes), &key, runtime, BPF_ANY)
		       ? -errno
		       : 0;
}

void capture_host_new_engine(struct capture_host *host)
{
	thread_visit_end(&host->survey);
	host->programs->data_shared->runtime_generation++;
}

int capture_host_set_rate(struct capture_host *host, uint32_t rate_hz)
{
	if (rate_hz > host->settings.rate_hz)
		return -ERANGE;
	return cpu_events_set_rate(host->events, rate_hz);
}

void capture_host_weigh(struct capture_host *host)
{
	host->map_bytes = host->fixed_map_bytes + weigh_maps(host, true) +
			  scheduler_programs_thread_bytes(host->programs);
}

static void read_programs(const struct capture_host *host, struct pilotlight_capture_state *state)
{
	struct sampler *programs = host->programs;

	kernel_cost_add_program(bpf_program__fd(programs->progs.sample_cpu), &state->program_runs,
		&state->program_ns);
	kernel_cost_add_program(
		bpf_program__fd(programs->progs.follow_fork), NULL, &state->program_ns);
	kernel_cost_add_program(
		bpf_program__fd(programs->progs.forget_exit), NULL, &state->program_ns);
	scheduler_programs_add_cost(programs, &state->program_ns);
	count_events_add_cost(programs, &state->program_ns);
	lock_programs_add_cost(programs, &state->program_ns);
	kmem_programs_add_cost(programs, &state->program_ns, &state->skipped_events);
	block_programs_add_cost(programs, &state->program_ns);
	heap_programs_add_cost(programs, &state->program_ns);
}

void capture_host_read_state(struct capture_host *host, struct pilotlight_capture_state *ret_state)
{
	struct pilotlight_capture_state state = {
		.expected_samples = cpu_events_expected(host->events),
		.map_bytes = host->map_bytes,
		.children_not_followed = host->programs->bss->children_not_followed,
		.allocator_calls_lost = host->programs->bss->allocator_calls_lost,
		.rings_generation = sideband_rings_generation(host->rings),
		.broker_cpu_ns = kernel_cost_cpu_ns(),
		.broker_resident_bytes = kernel_cost_resident_bytes(),
		.cpu_count = host->cpu_count,
		.rate_hz = cpu_events_rate_hz(host->events),
	};

	(void)snprintf(state.event, sizeof(state.event), "%s", cpu_events_name(host->events));
	read_programs(host, &state);
	*ret_state = state;
}

/* The struct consists only of uint64_t fields. */
static void add_counters(struct pilotlight_counters *sum, const struct pilotlight_counters *part)
{
	const __u64 *values = (const __u64 *)part;
	__u64 *sums = (__u64 *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*sums); i++)
		sums[i] += values[i];
}

int capture_host_add_counters(
	const struct capture_host *host, struct pilotlight_counters sums[PILOTLIGHT_SOURCES])
{
	enum { INDEXES = PILOTLIGHT_SOURCES * PILOTLIGHT_SET_COUNT };
	int map_fd = bpf_map__fd(host->programs->maps.counters), cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct pilotlight_counters *counters = NULL;
	size_t cpu_count = (size_t)cpus;

	if (cpus < 0)
		return cpus;
	counters = calloc(cpu_count * INDEXES, sizeof(*counters));
	if (!counters)
		return -ENOMEM;
	for (uint32_t i = 0; i < INDEXES; i++)
		if (bpf_map_lookup_elem(map_fd, &i, counters + cpu_count * i))
			return -errno;
	for (size_t i = 0; i < cpu_count * INDEXES; i++)
		add_counters(&sums[i / cpu_count / PILOTLIGHT_SET_COUNT], &counters[i]);
	return 0;
}
