/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kmem_programs.h"

#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_cost.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 11 };

struct kmem_program {
	enum pilotlight_source source;
	struct bpf_program *program;
	struct bpf_link **link;
};

/* Frees come first: from the first allocation on, none must be missed. */
static void list(struct sampler *sampler, struct kmem_program ret_programs[PROGRAMS])
{
#define PROGRAM(source, name)                                                         \
	{                                                                             \
		PILOTLIGHT_SOURCE_##source, sampler->progs.name, &sampler->links.name \
	}
	const struct kmem_program programs[PROGRAMS] = {
		PROGRAM(KMEM_LIVE, kmem_live_kfree),
		PROGRAM(KMEM_LIVE, kmem_live_cache_free),
		PROGRAM(KMEM_LIVE, kmem_live_page_free),
		PROGRAM(KMEM_LIVE, kmem_live_kmalloc),
		PROGRAM(KMEM_LIVE, kmem_live_cache),
		PROGRAM(KMEM_LIVE, kmem_live_pages),
		PROGRAM(KMEM_ALLOC, kmem_alloc_kmalloc),
		PROGRAM(KMEM_ALLOC, kmem_alloc_cache),
		PROGRAM(KMEM_ALLOC, kmem_alloc_pages),
		PROGRAM(KMEM_WASTE, kmem_waste_kmalloc),
		PROGRAM(KMEM_WASTE, kmem_waste_cache),
	};
#undef PROGRAM

	memcpy(ret_programs, programs, sizeof(programs));
}

static bool are_wanted(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_KMEM_ALLOC) ||
	       amount_programs_has(settings, PILOTLIGHT_SOURCE_KMEM_LIVE) ||
	       amount_programs_has(settings, PILOTLIGHT_SOURCE_KMEM_WASTE);
}

static bool has_tracepoint(const struct btf *btf, const char *type_name)
{
	return btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF) > 0;
}

void kmem_support_read(char ret_missing[KMEM_MISSING_BYTES])
{
	struct btf *btf = btf__load_vmlinux_btf();
	const char *missing = "";

	if (!btf)
		missing = "BTF";
	else if (!has_tracepoint(btf, "btf_trace_kmalloc") ||
		 !has_tracepoint(btf, "btf_trace_mm_page_alloc"))
		missing = "the tracepoints of kernel memory (CONFIG_TRACEPOINTS)";
	/* Since 6.1 there is none for a node, and the others have all arguments. */
	else if (has_tracepoint(btf, "btf_trace_kmalloc_node"))
		missing =
			"the arguments that the tracepoints of kernel memory have since Linux 6.1";
	btf__free(btf);
	(void)snprintf(ret_missing, KMEM_MISSING_BYTES, "%s", missing);
}

static void set_maps(
	struct sampler *sampler, const struct capture_settings *settings, uint32_t live_slots)
{
	bool wants_live = map_sizes_has_live(settings->sources);
	uint32_t caches = are_wanted(settings) ? PILOTLIGHT_KMEM_CACHES : 1;

	(void)bpf_map__set_max_entries(sampler->maps.live, wants_live ? live_slots : 1);
	(void)bpf_map__set_max_entries(sampler->maps.cache_names, caches);
	(void)bpf_map__set_max_entries(sampler->maps.cache_numbers, caches * 2);
}

int kmem_programs_prepare(struct sampler *sampler, const struct capture_settings *settings,
	uint32_t live_slots, struct fault *fault)
{
	struct kmem_program programs[PROGRAMS];
	char missing[KMEM_MISSING_BYTES];

	list(sampler, programs);
	for (size_t i = 0; i < PROGRAMS; i++)
		(void)bpf_program__set_autoload(
			programs[i].program, amount_programs_has(settings, programs[i].source));
	set_maps(sampler, settings, live_slots);
	if (!are_wanted(settings))
		return 0;
	kmem_support_read(missing);
	if (*missing)
		return fault_set(fault, -EOPNOTSUPP,
			"cannot sample kernel memory: this kernel lacks %s; use another kernel",
			missing);
	return 0;
}

int kmem_programs_start(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault)
{
	struct kmem_program programs[PROGRAMS];
	int r;

	list(sampler, programs);
	for (size_t i = 0; i < PROGRAMS; i++) {
		if (!amount_programs_has(settings, programs[i].source) || *programs[i].link)
			continue;
		*programs[i].link = bpf_program__attach(programs[i].program);
		if (*programs[i].link)
			continue;
		r = -errno;
		kmem_programs_stop(sampler);
		return fault_set(fault, r,
			"cannot sample kernel memory (%s): run as root, or with CAP_PERFMON",
			strerror(-r));
	}
	return 0;
}

void kmem_programs_stop(struct sampler *sampler)
{
	struct kmem_program programs[PROGRAMS];

	list(sampler, programs);
	for (size_t i = PROGRAMS; i > 0; i--) {
		bpf_link__destroy(*programs[i - 1].link);
		*programs[i - 1].link = NULL;
	}
}

void kmem_programs_add_cost(const struct sampler *sampler, uint64_t *ns, uint64_t *skipped)
{
	struct kmem_program programs[PROGRAMS];

	list((struct sampler *)sampler, programs);
	for (size_t i = 0; i < PROGRAMS; i++) {
		int fd = bpf_program__fd(programs[i].program);

		kernel_cost_add_program(fd, NULL, ns);
		*skipped += kernel_cost_skipped_runs(fd);
	}
}
