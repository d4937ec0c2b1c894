/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sampler_programs.h"

#include "base/array.h"
#include "capture/amount_programs.h"
#include "capture/block_programs.h"
#include "capture/capture.h"
#include "capture/cgroup_names.h"
#include "capture/count_events.h"
#include "capture/heap_programs.h"
#include "capture/kmem_programs.h"
#include "capture/libbpf_log.h"
#include "capture/lock_programs.h"
#include "capture/scheduler_programs.h"
#include "capture/survey_programs.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>

enum {
	WANTED_PROCESSES_MAX = 16384,
	INITIAL_PID_NAMESPACE_INUM = 0xEFFFFFFC, /* the kernel's PROC_PID_INIT_INO */
};

/*
 * The pid namespace in which BPF reports tgids; 0: the initial one, which BPF gets without a
 * look-up.
 */
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

/* Places of four for code that is known, as many as Kotlin's compiler needs, and at least some
 * for each CPU, which may run other programs than the others. */
enum { KNOWN_CODES_SHIFT_MIN = 12, KNOWN_CODES_PER_CPU = 512 };

static uint32_t known_codes_shift(uint32_t cpu_count)
{
	uint32_t shift = KNOWN_CODES_SHIFT_MIN;

	while ((uint64_t)1 << shift < (uint64_t)cpu_count * KNOWN_CODES_PER_CPU)
		shift++;
	return shift;
}

static void set_sizes(struct sampler *programs, const struct capture_settings *settings,
	const struct sampler_sizes *wanted)
{
	const struct map_sizes *sizes = &wanted->maps;
	const struct walk_map_sizes *walks = &wanted->walks;
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
		{ programs->maps.followed_tgids,
			settings->filters_processes ? WANTED_PROCESSES_MAX : 1 },
		{ programs->maps.sent_walks, wanted->has_walks ? sizes->walk_slots : 1 },
		{ programs->maps.walk_files, wanted->has_walks ? PILOTLIGHT_WALK_FILES_MAX : 1 },
		{ programs->maps.walk_requests,
			wanted->has_walks ? PILOTLIGHT_WALK_REQUESTS_MAX : 1 },
		{ programs->maps.known_codes,
			wanted->has_walks ? 1U << programs->rodata->known_codes_shift : 1 },
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

/*
 * A distribution may have backported the tree to an older kernel. Its types show that, but reading
 * them takes some milliseconds.
 */
bool sampler_programs_can_walk(void)
{
	unsigned major, minor;
	struct utsname name;
	struct btf *btf;
	bool has;

	if (uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 1)))
		return true;
	btf = btf__load_vmlinux_btf();
	has = btf && btf__find_by_name_kind(btf, "maple_arange_64", BTF_KIND_STRUCT) > 0;
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
			"CAP_PERFMON; `pilotlight doctor` shows which are missing",
			strerror(-error));
	if (error == -ENOMEM)
		return fault_set(fault, error,
			"cannot create the BPF maps (%s): the memory limit of this cgroup is too "
			"low; "
			"raise it, or lower the rate",
			strerror(-error));
	return fault_set(fault, error,
		"cannot load the sampler (%s): the kernel lacks a feature that it needs; "
		"`pilotlight doctor` shows which",
		strerror(-error));
}

static int follow_children(struct sampler *programs, struct fault *fault)
{
	programs->links.follow_fork = bpf_program__attach(programs->progs.follow_fork);
	programs->links.forget_exit = bpf_program__attach(programs->progs.forget_exit);
	if (!programs->links.follow_fork || !programs->links.forget_exit)
		return fault_set(fault, -errno,
			"cannot follow child processes (%s): run as root, or with CAP_PERFMON",
			strerror(errno));
	return 0;
}

static const struct cgroup_choice all_cgroups;

/* Fills the maps of the loaded programs, and attaches those that come before sampling. */
static int begin(struct sampler *programs, const struct capture_settings *settings,
	const struct cgroup_names *names, struct fault *fault)
{
	int r = cgroup_names_load(programs, names, fault);

	if (r == 0 && settings->filters_processes)
		r = follow_children(programs, fault);
	return r;
}

int sampler_programs_load(const struct capture_settings *settings,
	const struct sampler_sizes *sizes, struct sampler **ret_programs, struct fault *fault)
{
	const struct cgroup_choice *choice = settings->choice ? settings->choice : &all_cgroups;
	_cleanup_(sampler_programs_freep) struct sampler *programs = NULL;
	_cleanup_(cgroup_names_done) struct cgroup_names names = { 0 };
	uint64_t seed;
	int r;

	libbpf_log_set_up();
	programs = sampler__open();
	if (!programs)
		return fault_set(
			fault, -errno, "cannot open the sampler's BPF object: %s", strerror(errno));
	programs->rodata->pid_namespace_inum = pid_namespace_inum();
	programs->rodata->wants_kernel = settings->wants_kernel;
	programs->rodata->filters_tgids = settings->filters_processes;
	programs->rodata->wants_walks = sizes->has_walks;
	programs->rodata->wants_runtimes = !settings->skips_interpreted;
	programs->rodata->sent_walks_mask = sizes->has_walks ? sizes->maps.walk_slots - 1 : 0;
	programs->rodata->ring_bytes = sizes->maps.ring_bytes;
	programs->rodata->known_codes_shift = known_codes_shift(sizes->maps.cpu_count);
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		programs->rodata->walk_seed = seed;
	(void)bpf_program__set_autoload(programs->progs.follow_fork, settings->filters_processes);
	(void)bpf_program__set_autoload(programs->progs.forget_exit, settings->filters_processes);
	(void)bpf_program__set_autoload(programs->progs.list_mapped_files, sizes->has_walks);
	set_sizes(programs, settings, sizes);
	amount_programs_prepare(programs, settings, sizes->maps.cpu_count);
	r = count_events_prepare(programs, settings, fault);
	if (r < 0)
		return r;
	r = cgroup_names_compile(choice, &names);
	if (r < 0)
		return fault_set(fault, r, "out of memory");
	r = cgroup_names_prepare(programs, choice, &names, fault);
	if (r == 0)
		r = scheduler_programs_prepare(programs, settings, fault);
	if (r == 0)
		r = survey_programs_check(settings, fault);
	if (r == 0)
		r = lock_programs_prepare(programs, settings, fault);
	if (r == 0)
		r = kmem_programs_prepare(programs, settings, sizes->maps.live_slots, fault);
	if (r == 0)
		r = block_programs_prepare(programs, settings, fault);
	if (r == 0)
		r = heap_programs_prepare(programs, settings, fault);
	if (r < 0)
		return r;
	r = sampler__load(programs);
	if (r < 0)
		return fault_of_load(r, fault);
	r = begin(programs, settings, &names, fault);
	if (r == 0)
		*ret_programs = TAKE_PTR(programs);
	return r;
}

void sampler_programs_free(struct sampler *programs)
{
	if (programs)
		sampler__destroy(programs);
}
