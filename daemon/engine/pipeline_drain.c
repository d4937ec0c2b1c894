/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One drain: the BPF maps go to the open window, and what no sample needs any more is freed. */
#include "engine/pipeline_state.h"

#include "base/clock.h"

#include <string.h>

/* While draining, reading mappings of unknown processes may take 1/20 of a drain period. Reading
 * their cgroups may take as much again, and what they claim, too. */
enum { ASK_SHARE = 20 };

/* Emits late samples that are ready, and frees JIT code that no sample needs any more. */
static int run_late(struct pipeline *pipeline, uint64_t retired_ns)
{
	uint64_t oldest_ns;
	int r = late_samples_run(pipeline->late, clock_monotonic_ns());

	pipeline_window_account(pipeline, &pipeline->open);
	oldest_ns = late_samples_oldest_ns(pipeline->late);
	jit_table_retire(pipeline->jit, oldest_ns < retired_ns ? oldest_ns : retired_ns);
	return r;
}

uint64_t pipeline_drain_period_ns(const struct pipeline *pipeline)
{
	return capture_maps(pipeline->capture)->sizes.drain_period_ms * 1000000ULL;
}

/* Bounds the time of lookups during a drain: the BPF maps fill up meanwhile (I5). */
static void bound_lookups(struct pipeline *pipeline)
{
	uint64_t ask_ns = pipeline_drain_period_ns(pipeline) / ASK_SHARE;

	resolver_begin_window(pipeline->resolver, ask_ns);
	if (pipeline->cgroups)
		cgroup_table_begin_window(pipeline->cgroups, ask_ns);
	if (pipeline->claims)
		claim_table_begin_window(pipeline->claims, ask_ns);
}

/*
 * Frees ended processes that no sample needs. Undrained samples were taken after `flip_ns`, when
 * the last flip began. A sample that raced into the new set has a process that was alive then. A
 * process whose samples wait for JIT names stays, as its files are not read yet.
 */
static void retire_processes(struct pipeline *pipeline, uint64_t flip_ns)
{
	uint64_t needed_ns = flip_ns;

	if (pipeline->unwinding && needed_ns > pipeline->last_request_ns)
		needed_ns = pipeline->last_request_ns;
	process_table_retire(pipeline->processes, needed_ns);
}

int pipeline_read_jit_files(struct pipeline *pipeline, struct fault *fault)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	int r = jit_table_run(pipeline->jit, clock_monotonic_ns());

	pipeline->report.jit_cpu_ns += clock_thread_cpu_ns() - begin_ns;
	return r < 0 ? fault_set(fault, r, "cannot read jitdump files: %s", strerror(-r)) : 0;
}

static int drain_samples(struct pipeline *pipeline, struct fault *fault)
{
	struct source_accounts accounts;
	int r;

	pipeline->has_swept_live = false;
	r = drain_window(pipeline->drain, pipeline_add_sample, pipeline, accounts.of);
	if (r < 0)
		return fault_set(fault, r, "cannot drain the BPF maps: %s", strerror(-r));
	r = pipeline_count(pipeline, &accounts);
	if (r < 0)
		return fault_set(fault, r, "the accounts of a window do not close: a bug");
	pipeline->report.drains++;
	return 0;
}

static int drain(struct pipeline *pipeline, struct fault *fault)
{
	uint64_t flip_ns = clock_monotonic_ns(), flipped_ns;
	int r;

	r = drain_flip(pipeline->drain);
	if (r < 0)
		return fault_set(fault, r, "cannot switch the BPF maps: %s", strerror(-r));
	if (pipeline->unwinding)
		unwinding_begin_window(
			pipeline->unwinding, *capture_maps(pipeline->capture)->active_window);
	if (pipeline->names)
		runtime_names_begin_window(pipeline->names, flip_ns);
	/* Processes and mappings up to the flip come first; the samples refer to them. */
	flipped_ns = clock_monotonic_ns();
	r = pipeline_read_sideband(pipeline);
	if (r < 0)
		return fault_set(fault, r, "cannot read the side-band: %s", strerror(-r));
	r = pipeline_read_jit_files(pipeline, fault);
	if (r < 0)
		return r;
	bound_lookups(pipeline);
	r = drain_samples(pipeline, fault);
	if (r < 0)
		return r;
	if (pipeline->settings.drained)
		pipeline->settings.drained(pipeline->settings.drained_context);
	r = run_late(pipeline, pipeline->last_flip_ns);
	if (r < 0)
		return fault_set(fault, r, "cannot name JIT code: %s", strerror(-r));
	pipeline_request_symbols(pipeline, &pipeline->open);
	retire_processes(pipeline, flip_ns);
	pipeline->last_flip_ns = flipped_ns;
	return 0;
}

int pipeline_drain(struct pipeline *pipeline, struct fault *fault)
{
	uint64_t begin_ns = clock_thread_cpu_ns(), jit_ns = pipeline->report.jit_cpu_ns;
	int r = drain(pipeline, fault);

	pipeline->report.drain_cpu_ns += clock_thread_cpu_ns() - begin_ns;
	pipeline->report.drain_cpu_ns -= pipeline->report.jit_cpu_ns - jit_ns;
	return r;
}
