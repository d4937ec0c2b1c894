/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/visitor_programs.h"

#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/scheduler_programs.h"
#include "capture/survey_programs.h"
#include "sampler.skel.h"
#include "visitor.skel.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* They use the same map. */
_Static_assert(sizeof(struct sampler__data_shared) == sizeof(struct visitor__data_shared) &&
		       offsetof(struct sampler__data_shared, active_window) ==
			       offsetof(struct visitor__data_shared, active_window) &&
		       offsetof(struct sampler__data_shared, runtime_generation) ==
			       offsetof(struct visitor__data_shared, runtime_generation) &&
		       offsetof(struct sampler__data_shared, start_number) ==
			       offsetof(struct visitor__data_shared, start_number) &&
		       offsetof(struct sampler__data_shared, thread_count) ==
			       offsetof(struct visitor__data_shared, thread_count) &&
		       offsetof(struct sampler__data_shared, user_threads) ==
			       offsetof(struct visitor__data_shared, user_threads),
	"both objects define the shared variables in the same order");

bool visitor_programs_are_wanted(const struct capture_settings *settings)
{
	return settings->surveyed || scheduler_programs_are_wanted(settings);
}

/* The other maps are those of the object's own variables. */
static int share_maps(struct visitor *programs, const struct sampler *sampler)
{
	const struct bpf_map *shared;
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, programs->obj)
	{
		shared = bpf_object__find_map_by_name(sampler->obj, bpf_map__name(map));
		if (!shared)
			continue;
		if (bpf_map__fd(shared) < 0)
			r = bpf_map__set_autocreate(map, false);
		else
			r = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r < 0)
			break;
	}
	return r;
}

static void set_constants(struct visitor *programs, const struct sampler *sampler)
{
	const __typeof__(sampler->rodata) from = sampler->rodata;
	const __typeof__(programs->rodata) to = programs->rodata;

	_Static_assert(sizeof(to->source_periods) == sizeof(from->source_periods), "they differ");
	to->pid_namespace_inum = from->pid_namespace_inum;
	to->wants_kernel = from->wants_kernel;
	to->filters_tgids = from->filters_tgids;
	to->wants_walks = from->wants_walks;
	to->wants_runtimes = from->wants_runtimes;
	to->walk_seed = from->walk_seed;
	to->ring_bytes = from->ring_bytes;
	to->known_codes_shift = from->known_codes_shift;
	to->chooses_cgroups = from->chooses_cgroups;
	to->includes_cgroups = from->includes_cgroups;
	to->threads_max = from->threads_max;
	memcpy((void *)to->source_periods, (const void *)from->source_periods,
		sizeof(to->source_periods));
}

int visitor_programs_load(const struct capture_settings *settings, const struct sampler *sampler,
	struct visitor **ret_programs, struct fault *fault)
{
	_cleanup_(visitor_programs_freep) struct visitor *programs = NULL;
	int r;

	if (!visitor_programs_are_wanted(settings)) {
		*ret_programs = NULL;
		return 0;
	}
	programs = visitor__open();
	if (!programs)
		return fault_set(
			fault, -errno, "cannot open the visitor's BPF object: %s", strerror(errno));
	set_constants(programs, sampler);
	survey_programs_prepare(programs, settings);
	(void)bpf_program__set_autoload(
		programs->progs.visit_threads, scheduler_programs_are_wanted(settings));
	r = share_maps(programs, sampler);
	if (r == 0)
		r = visitor__load(programs);
	if (r < 0)
		return fault_set(fault, r,
			"cannot load the programs that sample threads off the CPU (%s): the kernel "
			"lacks a feature that they need; `pilotlight doctor` shows which",
			strerror(-r));
	*ret_programs = TAKE_PTR(programs);
	return 0;
}

void visitor_programs_free(struct visitor *programs)
{
	if (programs)
		visitor__destroy(programs);
}
