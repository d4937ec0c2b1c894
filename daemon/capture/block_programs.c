/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/block_programs.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/amount_programs.h"
#include "capture/capture.h"
#include "capture/kernel_btf.h"
#include "capture/program_list.h"
#include "pilotlight/event.h"
#include "sampler.skel.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 4 };

static void list_programs(struct sampler *sampler, struct listed_program ret_programs[PROGRAMS])
{
	const struct listed_program programs[PROGRAMS] = {
		{ sampler->progs.start_io, &sampler->links.start_io },
		{ sampler->progs.end_io, &sampler->links.end_io },
		{ sampler->progs.issue_io, &sampler->links.issue_io },
		{ sampler->progs.complete_io, &sampler->links.complete_io },
	};

	memcpy(ret_programs, programs, sizeof(programs));
}

static bool has_time(const struct capture_settings *settings)
{
	return amount_programs_has(settings, PILOTLIGHT_SOURCE_BLOCK);
}

static bool is_wanted(const struct capture_settings *settings)
{
	return has_time(settings) || amount_programs_has(settings, PILOTLIGHT_SOURCE_BLOCK_BYTES);
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

static void set_autoload(struct sampler *sampler, bool has_any, bool has_ends, bool has_start)
{
	(void)bpf_program__set_autoload(sampler->progs.start_io, has_any && has_start);
	(void)bpf_program__set_autoload(sampler->progs.end_io, has_ends && has_start);
	(void)bpf_program__set_autoload(sampler->progs.issue_io, has_any && !has_start);
	(void)bpf_program__set_autoload(sampler->progs.complete_io, has_ends && !has_start);
	(void)bpf_map__set_autocreate(sampler->maps.block_requests, has_any);
}

int block_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	struct block_support support;

	if (!is_wanted(settings)) {
		set_autoload(programs, false, false, false);
		return 0;
	}
	block_support_read(&support);
	if (*support.missing)
		return fault_set(fault, -EOPNOTSUPP,
			"cannot sample block I/O: this kernel lacks %s; use another kernel, or "
			"sample without it",
			support.missing);
	set_autoload(programs, true, has_time(settings), support.has_start);
	return 0;
}

int block_programs_start(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault)
{
	struct listed_program all[PROGRAMS];
	int r;

	if (!is_wanted(settings))
		return 0;
	list_programs(programs, all);
	if (!programs->links.start_io && !programs->links.issue_io)
		programs->bss->block_since_ns = clock_monotonic_ns();
	r = program_list_attach(all, ARRAY_SIZE(all));
	if (r == 0)
		return 0;
	program_list_detach(all, ARRAY_SIZE(all));
	return fault_set(fault, r,
		"cannot sample block I/O (%s): run as root, or with CAP_PERFMON; `pilotlight "
		"doctor` shows what the kernel lacks",
		strerror(-r));
}

void block_programs_stop(struct sampler *programs)
{
	struct listed_program all[PROGRAMS];

	list_programs(programs, all);
	program_list_detach(all, ARRAY_SIZE(all));
}

void block_programs_add_cost(struct sampler *programs, uint64_t *ns)
{
	struct listed_program all[PROGRAMS];

	list_programs(programs, all);
	program_list_add_cost(all, ARRAY_SIZE(all), ns);
}
