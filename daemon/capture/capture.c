/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture.h"

#include "base/array.h"
#include "base/log.h"
#include "capture/cpu_events.h"
#include "capture/cpu_list.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum {
	WANTED_PROCESSES_MAX = 16384,
	SIDEBAND_BUDGET_BYTES = 8 << 20, /* over all CPUs */
	SIDEBAND_RING_BYTES_MAX = 512 << 10,
	SIDEBAND_RING_BYTES_MIN = 32 << 10,
	INITIAL_PID_NAMESPACE_INUM = 0xEFFFFFFC, /* the kernel's PROC_PID_INIT_INO */
};

struct capture {
	struct sampler *programs; /* the skeleton */
	struct capture_maps handed_out;
	struct walk_map_sizes walk_sizes;
	struct walk_maps walk_maps;
	bool has_walks;
	struct cpu_events *events;
	struct sideband *sideband;
	struct bpf_link *fork_link, *exit_link;
	int statistics_fd;
	int barrier_inner_fd;
	uint32_t cpu_count;
};

__attribute__((format(printf, 2, 0))) static int log_libbpf(
	enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[1024];
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	n = vsnprintf(text, sizeof(text), format, arguments);
	if (n > 0 && text[strcspn(text, "\n")])
		text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return n;
}

/* How many frames the kernel walks, and so how wide the stackmaps may be. */
static uint32_t stack_depth(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned depth;

	if (!file || fscanf(file, "%u", &depth) != 1 || depth == 0 ||
		depth > PILOTLIGHT_STACK_DEPTH)
		return PILOTLIGHT_STACK_DEPTH;
	return depth;
}

/* The pid namespace that tgids are to be of; 0: the initial one, where BPF has them at hand. */
static uint32_t pid_namespace_inum(void)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) < 0 || status.st_ino == INITIAL_PID_NAMESPACE_INUM)
		return 0;
	return (uint32_t)status.st_ino;
}

static uint32_t frame_bytes(const struct bpf_map *stackmap)
{
	return bpf_map__map_flags(stackmap) & BPF_F_STACK_BUILD_ID
		       ? sizeof(struct pilotlight_user_frame)
		       : sizeof(uint64_t);
}

static void set_sizes(struct capture *capture, const struct capture_settings *settings)
{
	const struct map_sizes *sizes = &capture->handed_out.sizes;
	const struct walk_map_sizes *walks = &capture->walk_sizes;
	struct sampler *programs = capture->programs;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} entries[] = {
		{ programs->maps.stacks_0, sizes->stack_slots },
		{ programs->maps.stacks_1, sizes->stack_slots },
		{ programs->maps.build_id_stacks_0, sizes->build_id_stack_slots },
		{ programs->maps.build_id_stacks_1, sizes->build_id_stack_slots },
		{ programs->maps.counts_0, sizes->count_slots },
		{ programs->maps.counts_1, sizes->count_slots },
		{ programs->maps.known_stacks, sizes->known_stack_slots },
		{ programs->maps.ring, sizes->ring_bytes },
		{ programs->maps.wanted_tgids,
			settings->filters_processes ? WANTED_PROCESSES_MAX : 1 },
		{ programs->maps.walks_0, capture->has_walks ? sizes->walk_slots : 1 },
		{ programs->maps.walks_1, capture->has_walks ? sizes->walk_slots : 1 },
		{ programs->maps.walk_files, capture->has_walks ? PILOTLIGHT_WALK_FILES_MAX : 1 },
		{ programs->maps.walk_requests,
			capture->has_walks ? PILOTLIGHT_WALK_REQUESTS_MAX : 1 },
		{ programs->maps.unwind_pages, walks->pages / 2 },
		{ programs->maps.unwind_lines, walks->lines },
		{ programs->maps.unwind_rules, walks->rules },
		{ programs->maps.unwind_escapes, walks->escapes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		(void)bpf_map__set_max_entries(entries[i].map, entries[i].entries);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (bpf_map__type(entries[i].map) == BPF_MAP_TYPE_STACK_TRACE)
			(void)bpf_map__set_value_size(
				entries[i].map, sizes->stack_depth * frame_bytes(entries[i].map));
}

/* Since 6.1 a process's mappings are in a maple tree, which is the one that the walk can read. */
static bool has_mapping_tree(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = btf && btf__find_by_name_kind(btf, "maple_arange_64", BTF_KIND_STRUCT) > 0;

	btf__free(btf);
	return has;
}

static int fault_of_load(int error, struct fault *fault)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return fault_set(fault, error,
			"cannot load the sampler: this kernel has no BTF (/sys/kernel/btf/vmlinux: "
			"%s); "
			"boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			strerror(errno));
	if (error == -EPERM || error == -EACCES)
		return fault_set(fault, error,
			"cannot load BPF programs (%s): run as root, or with the capabilities "
			"CAP_BPF and "
			"CAP_PERFMON; `pilotlight doctor` tells which are missing",
			strerror(-error));
	if (error == -ENOMEM)
		return fault_set(fault, error,
			"cannot create the BPF maps (%s): the memory limit of this cgroup is too "
			"low; "
			"raise it, or lower the rate",
			strerror(-error));
	return fault_set(fault, error,
		"cannot load the sampler (%s): the kernel lacks a feature that it needs; "
		"`pilotlight doctor` tells which",
		strerror(-error));
}

static int load_programs(
	struct capture *capture, const struct capture_settings *settings, struct fault *fault)
{
	struct sampler *programs;
	uint64_t seed;
	int r;

	programs = capture->programs = sampler__open();
	if (!programs)
		return fault_set(
			fault, -errno, "cannot open the sampler's BPF object: %s", strerror(errno));
	programs->rodata->pid_namespace_inum = pid_namespace_inum();
	programs->rodata->wants_kernel = settings->wants_kernel;
	programs->rodata->filters_tgids = settings->filters_processes;
	programs->rodata->wants_walks = capture->has_walks;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		programs->rodata->walk_seed = seed;
	(void)bpf_program__set_autoload(programs->progs.follow_fork, settings->filters_processes);
	(void)bpf_program__set_autoload(programs->progs.forget_exit, settings->filters_processes);
	set_sizes(capture, settings);
	r = sampler__load(programs);
	if (r < 0)
		return fault_of_load(r, fault);
	if (!settings->filters_processes)
		return 0;

	capture->fork_link = bpf_program__attach(programs->progs.follow_fork);
	capture->exit_link = bpf_program__attach(programs->progs.forget_exit);
	if (!capture->fork_link || !capture->exit_link)
		return fault_set(fault, -errno,
			"cannot follow child processes (%s): run as root, or with CAP_PERFMON",
			strerror(errno));
	return 0;
}

static int hand_out_maps(struct capture *capture, struct fault *fault)
{
	struct capture_maps *maps = &capture->handed_out;
	struct sampler *programs = capture->programs;

	maps->sets[0] = (struct capture_map_set){
		.stacks_fd = bpf_map__fd(programs->maps.stacks_0),
		.build_id_stacks_fd = bpf_map__fd(programs->maps.build_id_stacks_0),
		.counts_fd = bpf_map__fd(programs->maps.counts_0),
		.walks_fd = bpf_map__fd(programs->maps.walks_0),
	};
	maps->sets[1] = (struct capture_map_set){
		.stacks_fd = bpf_map__fd(programs->maps.stacks_1),
		.build_id_stacks_fd = bpf_map__fd(programs->maps.build_id_stacks_1),
		.counts_fd = bpf_map__fd(programs->maps.counts_1),
		.walks_fd = bpf_map__fd(programs->maps.walks_1),
	};
	maps->known_stacks_fd = bpf_map__fd(programs->maps.known_stacks);
	maps->counters_fd = bpf_map__fd(programs->maps.counters);
	maps->ring_fd = bpf_map__fd(programs->maps.ring);
	maps->barrier_fd = bpf_map__fd(programs->maps.barrier);
	maps->active_window = &programs->bss->active_window;
	capture->barrier_inner_fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	if (capture->barrier_inner_fd < 0)
		return fault_set(fault, -errno, "cannot create a BPF map: %s", strerror(errno));
	maps->barrier_inner_fd = capture->barrier_inner_fd;
	return 0;
}

static int map_walk_arrays(struct capture *capture, struct fault *fault)
{
	struct sampler *programs = capture->programs;
	const struct walk_map_fds fds = {
		.files = bpf_map__fd(programs->maps.walk_files),
		.requests = bpf_map__fd(programs->maps.walk_requests),
		.bell = bpf_map__fd(programs->maps.walk_bell),
		.pages = bpf_map__fd(programs->maps.unwind_pages),
		.lines = bpf_map__fd(programs->maps.unwind_lines),
		.rules = bpf_map__fd(programs->maps.unwind_rules),
		.escapes = bpf_map__fd(programs->maps.unwind_escapes),
	};
	int r;

	if (!capture->has_walks)
		return 0;
	r = walk_maps_init(&capture->walk_maps, &fds, &capture->walk_sizes);
	return r < 0 ? fault_set(fault, r, "cannot map the unwind tables: %s", strerror(-r)) : 0;
}

static int open_sideband(
	struct capture *capture, const uint32_t *cpus, size_t count, struct fault *fault)
{
	size_t ring_bytes = SIDEBAND_RING_BYTES_MAX;
	int r;

	while (ring_bytes * count > SIDEBAND_BUDGET_BYTES && ring_bytes > SIDEBAND_RING_BYTES_MIN)
		ring_bytes /= 2;
	r = sideband_open(ring_bytes, &capture->sideband);
	if (r == 0)
		r = sideband_set_cpus(capture->sideband, cpus, count);
	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot watch the mappings of all processes (%s): run as root, or with "
			"CAP_PERFMON, "
			"or set the sysctl kernel.perf_event_paranoid to -1",
			strerror(-r));
	if (r < 0)
		return fault_set(
			fault, r, "cannot watch the mappings of all processes: %s", strerror(-r));
	return 0;
}

/* Unwind tables are a part of the whole budget. */
static void set_map_sizes(struct capture *capture, const struct capture_settings *settings)
{
	const struct map_sizes_work work = {
		.rate_hz = settings->rate_hz,
		.cpu_count = capture->cpu_count,
		.stack_depth = stack_depth(),
		.forced_stack_slots = settings->stack_slots,
		.has_walks = capture->has_walks,
	};
	size_t budget_bytes = settings->map_budget_bytes;

	if (capture->has_walks)
		budget_bytes = budget_bytes > settings->unwind_budget_bytes
				       ? budget_bytes - settings->unwind_budget_bytes
				       : 0;
	map_sizes_compute(&work, budget_bytes, &capture->handed_out.sizes);
}

int capture_open(
	const struct capture_settings *settings, struct capture **ret_capture, struct fault *fault)
{
	_cleanup_(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));
	_cleanup_free_ uint32_t *cpus = NULL;
	int count, r;

	if (!capture)
		return fault_set(fault, -ENOMEM, "out of memory");
	capture->statistics_fd = capture->barrier_inner_fd = -1;
	(void)libbpf_set_print(log_libbpf);
	count = cpu_list_read_online(&cpus);
	if (count < 0)
		return fault_set(
			fault, count, "cannot read which CPUs are online: %s", strerror(-count));
	capture->cpu_count = (uint32_t)count;
	capture->has_walks = settings->unwind_budget_bytes > 0 && has_mapping_tree();
	capture->walk_sizes =
		walk_map_sizes_compute(capture->has_walks ? settings->unwind_budget_bytes : 0);
	set_map_sizes(capture, settings);

	r = load_programs(capture, settings, fault);
	if (r < 0)
		return r;
	r = hand_out_maps(capture, fault);
	if (r < 0)
		return r;
	r = map_walk_arrays(capture, fault);
	if (r < 0)
		return r;
	r = cpu_events_new(
		capture->programs->progs.sample_cpu, settings->rate_hz, &capture->events);
	if (r < 0)
		return fault_set(fault, r, "out of memory");
	r = open_sideband(capture, cpus, (size_t)count, fault);
	if (r < 0)
		return r;
	/* Without the kernel's statistics all is well but for the cost that we can tell. */
	capture->statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	*ret_capture = TAKE_PTR(capture);
	return 0;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	cpu_events_free(capture->events);
	sideband_free(capture->sideband);
	walk_maps_done(&capture->walk_maps);
	(void)bpf_link__destroy(capture->fork_link);
	(void)bpf_link__destroy(capture->exit_link);
	if (capture->statistics_fd >= 0)
		(void)close(capture->statistics_fd);
	if (capture->barrier_inner_fd >= 0)
		(void)close(capture->barrier_inner_fd);
	sampler__destroy(capture->programs);
	free(capture);
}

int capture_follow(struct capture *capture, pid_t pid)
{
	uint32_t tgid = (uint32_t)pid;
	uint8_t one = 1;

	if (bpf_map_update_elem(
		    bpf_map__fd(capture->programs->maps.wanted_tgids), &tgid, &one, BPF_ANY))
		return -errno;
	return 0;
}

int capture_follow_cpus(struct capture *capture)
{
	_cleanup_free_ uint32_t *cpus = NULL;
	int count, r;

	count = cpu_list_read_online(&cpus);
	if (count < 0)
		return count;
	r = cpu_events_set_cpus(capture->events, cpus, (size_t)count);
	if (r < 0)
		return r;
	r = sideband_set_cpus(capture->sideband, cpus, (size_t)count);
	if (r < 0)
		return r;
	capture->cpu_count = (uint32_t)cpu_events_count(capture->events);
	return (int)capture->cpu_count;
}

int capture_start(struct capture *capture, struct fault *fault)
{
	int r = capture_follow_cpus(capture);

	if (r == -EPERM || r == -EACCES)
		return fault_set(fault, r,
			"cannot sample the CPUs (%s): run as root, or with CAP_PERFMON",
			strerror(-r));
	if (r < 0)
		return fault_set(fault, r, "cannot sample the CPUs: %s", strerror(-r));
	return 0;
}

void capture_stop(struct capture *capture)
{
	cpu_events_stop(capture->events);
}

const char *capture_event_name(const struct capture *capture)
{
	return cpu_events_name(capture->events);
}

uint32_t capture_cpu_count(const struct capture *capture)
{
	return capture->cpu_count;
}

const struct capture_maps *capture_maps(const struct capture *capture)
{
	return &capture->handed_out;
}

const struct walk_maps *capture_walk_maps(const struct capture *capture)
{
	return capture->has_walks ? &capture->walk_maps : NULL;
}

struct sideband *capture_sideband(struct capture *capture)
{
	return capture->sideband;
}

uint64_t capture_expected_samples(struct capture *capture)
{
	return cpu_events_expected(capture->events);
}

/* What the kernel charges for a map, as /proc/self/fdinfo has it; 0 where it does not tell. */
static uint64_t map_charge_bytes(int fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	uint64_t bytes;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			return bytes;
	return 0;
}

void capture_read_cost(const struct capture *capture, struct capture_cost *ret_cost)
{
	const struct bpf_program *programs[] = {
		capture->programs->progs.sample_cpu,
		capture->programs->progs.follow_fork,
		capture->programs->progs.forget_exit,
	};
	struct capture_cost cost = {
		.sideband_bytes = sideband_bytes(capture->sideband),
		.children_not_followed = capture->programs->bss->children_not_followed,
	};
	struct bpf_map *map;

	if (capture->has_walks)
		cost.mapped_bytes = walk_map_sizes_bytes(&capture->walk_sizes);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);

		if (bpf_program__fd(programs[i]) < 0 ||
			bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size) < 0)
			continue;
		if (i == 0)
			cost.program_runs = info.run_cnt;
		cost.program_ns += info.run_time_ns;
	}
	bpf_object__for_each_map(map, capture->programs->obj)
	{
		cost.map_bytes += map_charge_bytes(bpf_map__fd(map));
	}
	*ret_cost = cost;
}
