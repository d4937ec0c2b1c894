/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/block_programs.h"

#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_btf.h"
#include "capture/program_list.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

static struct program_list list_of(struct sampler *sampler)
{
	return (struct program_list){
		.samples = "block I/O",
		.programs = {
			{ sampler->progs.start_io, &sampler->links.start_io },
			{ sampler->progs.start_io_bytes, &sampler->links.start_io_bytes },
			{ sampler->progs.end_io, &sampler->links.end_io },
			{ sampler->progs.issue_io, &sampler->links.issue_io },
			{ sampler->progs.issue_io_bytes, &sampler->links.issue_io_bytes },
			{ sampler->progs.complete_io, &sampler->links.complete_io },
		},
		.since_ns = &sampler->bss->block_since_ns,
	};
}

static bool has_time(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_BLOCK);
}

static bool has_bytes(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_BLOCK_BYTES);
}

static bool is_wanted(const struct capture_settings *settings)
{
	return has_time(settings) || has_bytes(settings);
}

void block_support_read(struct block_support *ret_support)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct block_support support = { .has_start = false };

	if (!btf)
		(void)snprintf(support.missing, sizeof(support.missing), "BTF");
	else if (kernel_btf_tracepoint_arguments(btf, "btf_trace_block_rq_issue") == 0)
		(void)snprintf(support.missing, sizeof(support.missing), "CONFIG_BLOCK");
	else
		support.has_start =
			kernel_btf_tracepoint_arguments(btf, "btf_trace_block_io_start") > 0;
	btf__free(btf);
	*ret_support = support;
}

static void set_autoload(struct sampler *sampler, bool takes_time, bool takes_bytes, bool has_start)
{
	(void)bpf_program__set_autoload(sampler->progs.start_io, takes_time && has_start);
	(void)bpf_program__set_autoload(sampler->progs.end_io, takes_time && has_start);
	(void)bpf_program__set_autoload(sampler->progs.start_io_bytes, takes_bytes && has_start);
	(void)bpf_program__set_autoload(sampler->progs.issue_io, takes_time && !has_start);
	(void)bpf_program__set_autoload(sampler->progs.complete_io, takes_time && !has_start);
	(void)bpf_program__set_autoload(sampler->progs.issue_io_bytes, takes_bytes && !has_start);
	(void)bpf_map__set_autocreate(sampler->maps.block_requests, takes_time);
	(void)bpf_map__set_max_entries(
		sampler->maps.block_disks, takes_time || takes_bytes ? PILOTLIGHT_BLOCK_DISKS : 1);
}

int block_programs_prepare(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = list_of(sampler);
	struct block_support support;

	if (!is_wanted(settings)) {
		set_autoload(sampler, false, false, false);
		return 0;
	}
	block_support_read(&support);
	if (*support.missing)
		return program_list_refuse(&list, support.missing, fault);
	set_autoload(sampler, has_time(settings), has_bytes(settings), support.has_start);
	return 0;
}

int block_programs_start(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault)
{
	const struct program_list list = list_of(sampler);

	return is_wanted(settings) ? program_list_start(&list, fault) : 0;
}

void block_programs_stop(struct sampler *sampler)
{
	const struct program_list list = list_of(sampler);

	program_list_stop(&list);
}

void block_programs_add_cost(struct sampler *sampler, uint64_t *ns)
{
	const struct program_list list = list_of(sampler);

	program_list_add_cost(&list, ns);
}
