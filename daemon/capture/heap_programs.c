/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap_programs.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_cost.h"
#include "capture/program_list.h"
#include "capture/uprobe_tree.h"
#include "pilotlight/capture_message.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* An allocator has some 20 functions, most with two probes. A job that runs programs of
	 * many allocators needs more. */
	PROBES_MAX = 1024,
	PROBES_STEP = 64,
	VICTIM_ARGUMENTS = 3, /* with the one that all tracepoints have */
	CALLS_MAX = 8192,     /* threads that allocate at the same time; older notes make room */
};

/* The program where a function begins; NULL: none. */
static struct bpf_program *program_of(const struct sampler *programs, uint32_t function)
{
	switch ((enum pilotlight_heap_function)function) {
	case PILOTLIGHT_HEAP_MALLOC:
		return programs->progs.heap_malloc;
	case PILOTLIGHT_HEAP_NEW:
		return programs->progs.heap_new;
	case PILOTLIGHT_HEAP_ALIGNED_ALLOC:
		return programs->progs.heap_aligned_alloc;
	case PILOTLIGHT_HEAP_CALLOC:
		return programs->progs.heap_calloc;
	case PILOTLIGHT_HEAP_REALLOC:
		return programs->progs.heap_realloc;
	case PILOTLIGHT_HEAP_POSIX_MEMALIGN:
		return programs->progs.heap_posix_memalign;
	case PILOTLIGHT_HEAP_REPORT_ALLOC:
		return programs->progs.heap_report_alloc;
	case PILOTLIGHT_HEAP_FREE:
		return programs->progs.heap_free;
	case PILOTLIGHT_HEAP_REPORT_FREE:
		return programs->progs.heap_report_free;
	case PILOTLIGHT_HEAP_REPORTS:
	case PILOTLIGHT_HEAP_FUNCTIONS:
		break;
	}
	return NULL;
}

static bool are_live_wanted(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_HEAP_LIVE);
}

static bool are_wanted(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_HEAP_ALLOC) ||
	       are_live_wanted(settings);
}

/* Has the tracepoint mark_victim the task as an argument, beside its user? */
static bool has_victim_task(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type = NULL;
	int id = btf ? btf__find_by_name_kind(btf, "btf_trace_mark_victim", BTF_KIND_TYPEDEF) : -1;
	bool has;

	if (id >= 0)
		type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	has = type && btf_is_func_proto(type) && btf_vlen(type) == VICTIM_ARGUMENTS;
	btf__free(btf);
	return has;
}

/* What is attached to the kernel's tracepoints. */
static struct program_list list_of(struct sampler *sampler)
{
	return (struct program_list){
		.samples = "memory of programs",
		.programs = {
			{ sampler->progs.heap_exec, &sampler->links.heap_exec },
			{ sampler->progs.heap_victim, &sampler->links.heap_victim },
		},
	};
}

int heap_programs_start(struct sampler *programs, struct fault *fault)
{
	const struct program_list list = list_of(programs);

	return program_list_start(&list, fault);
}

void heap_programs_stop(struct sampler *programs, struct heap_probes *probes)
{
	const struct program_list list = list_of(programs);

	program_list_stop(&list);
	heap_probes_done(probes);
}

int heap_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	bool is_wanted = are_wanted(settings), is_live = are_live_wanted(settings);

	for (uint32_t i = 0; i < PILOTLIGHT_HEAP_REPORTS; i++)
		(void)bpf_program__set_autoload(program_of(programs, i), is_wanted);
	(void)bpf_program__set_autoload(programs->progs.heap_free, is_live);
	(void)bpf_program__set_autoload(programs->progs.heap_report_free, is_live);
	(void)bpf_program__set_autoload(programs->progs.heap_exec, is_wanted);
	(void)bpf_program__set_autoload(programs->progs.heap_return, is_wanted);
	(void)bpf_program__set_autoload(programs->progs.heap_victim, is_live);
	(void)bpf_map__set_autocreate(programs->maps.heap_calls, is_wanted);
	if (!is_wanted)
		return 0;
	if (!settings->filters_processes)
		return fault_set(fault, -EOPNOTSUPP,
			"cannot sample the heaps of all processes: each malloc() of the machine "
			"would cost some microseconds; name processes with -p, or a command");
	programs->rodata->wants_live_heap = is_live;
	programs->rodata->tells_victim = is_live && has_victim_task();
	(void)bpf_map__set_max_entries(programs->maps.heap_calls, CALLS_MAX);
	uprobe_tree_sweep();
	return 0;
}

static int make_room(struct heap_probes *probes)
{
	struct uprobe_tree **trees;

	if (probes->count == PROBES_MAX)
		return -ENOSPC;
	if (probes->count % PROBES_STEP != 0)
		return 0;
	trees = realloc(
		probes->trees, (probes->count + PROBES_STEP) * sizeof(struct uprobe_tree *));
	if (!trees)
		return -ENOMEM;
	probes->trees = trees;
	return 0;
}

static int set_probe(const struct pilotlight_capture_probe *probe, struct bpf_program *program,
	bool is_return, struct heap_probes *probes)
{
	char path[64];
	const struct uprobe_place place = {
		.path = path,
		.offset = probe->offset,
		.semaphore_offset = probe->semaphore,
		.cookie = probe->arguments,
		.is_return = is_return,
	};
	int r = make_room(probes);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		probe->pid, probe->mapping_start, probe->mapping_end);
	r = uprobe_tree_open(&place, (pid_t)probe->pid, bpf_program__fd(program),
		++probes->last_number, &probes->trees[probes->count]);
	if (r == 0)
		probes->count++;
	return r;
}

/* Does the address count, or may it call another function that allocates? */
static bool needs_return(const struct capture_settings *settings, uint32_t function)
{
	if (function == PILOTLIGHT_HEAP_FREE || function == PILOTLIGHT_HEAP_REPORT_ALLOC ||
		function == PILOTLIGHT_HEAP_REPORT_FREE)
		return false;
	return are_live_wanted(settings) || function != PILOTLIGHT_HEAP_MALLOC;
}

static int note_reports(const struct sampler *programs, uint32_t pid)
{
	const uint8_t value = PILOTLIGHT_FOLLOWED | PILOTLIGHT_FOLLOWED_REPORTS;
	const int map_fd = bpf_map__fd(programs->maps.followed_tgids);

	/* A process that has ended is followed no more. */
	return bpf_map_update_elem(map_fd, &pid, &value, BPF_EXIST) ? -errno : 0;
}

int heap_programs_set_probe(struct sampler *programs, const struct capture_settings *settings,
	const struct pilotlight_capture_probe *probe, struct heap_probes *probes)
{
	struct bpf_program *program = program_of(programs, probe->function);
	int r = 0;

	if (!are_wanted(settings))
		return -EOPNOTSUPP;
	if (probe->function == PILOTLIGHT_HEAP_REPORTS)
		return note_reports(programs, probe->pid);
	if (!program || probe->pid == 0 || probe->pid > INT32_MAX)
		return -EINVAL;
	if (!bpf_program__autoload(program))
		return 0;
	/* The return first: a call without it would be noted and never taken away. */
	if (needs_return(settings, probe->function))
		r = set_probe(probe, programs->progs.heap_return, true, probes);
	return r < 0 ? r : set_probe(probe, program, false, probes);
}

void heap_probes_done(struct heap_probes *probes)
{
	for (size_t i = 0; i < probes->count; i++)
		uprobe_tree_close(probes->trees[i]);
	free(probes->trees);
	*probes = (struct heap_probes){ 0 };
}

void heap_programs_add_cost(const struct sampler *programs, uint64_t *ns)
{
	const struct program_list list = list_of((struct sampler *)programs);

	for (uint32_t i = 0; i < PILOTLIGHT_HEAP_REPORTS; i++)
		kernel_cost_add_program(bpf_program__fd(program_of(programs, i)), NULL, ns);
	kernel_cost_add_program(bpf_program__fd(programs->progs.heap_return), NULL, ns);
	program_list_add_cost(&list, ns);
}
