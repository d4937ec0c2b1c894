/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the sampler's programs for time off the CPU (bpf/scheduler.bpf.h). */
#pragma once

#include "base/fault.h"

#include <stdint.h>

#include <stdbool.h>

struct capture_settings;
struct sampler;
struct visitor;

/* What the kernel has for the programs. */
struct scheduler_support {
	bool has_exit_tracepoint;  /* sched_exit_tp, since 6.16; else schedule() is traced */
	bool tells_previous_state; /* sched_switch has it as argument, since 5.18 */
	char missing[160];	   /* "": nothing; time off the CPU can be sampled */
	char missing_for_surveys[64];
};
void scheduler_support_read(struct scheduler_support *ret_support);

/* Needs a source of `settings` the programs? */
bool scheduler_programs_are_wanted(const struct capture_settings *settings);

/*
 * Prepares the opened object for loading: the programs if a source of `settings` needs them, else
 * nothing of them is loaded. Returns 0 or -errno; `fault` then says what the kernel lacks.
 */
int scheduler_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault);

/*
 * Begins to take the time of all threads, or ends it. Both do nothing if no source needs the
 * programs. Starting twice does nothing.
 */
int scheduler_programs_start(struct sampler *programs, struct visitor *visitor,
	const struct capture_settings *settings, struct fault *fault);
void scheduler_programs_stop(struct sampler *programs);

struct thread_visit;

/*
 * As capture_take_blocked(). A call visits a bounded number of threads. With the `before_ns` of a
 * visit that is under way, it goes on with that one; with any other, it begins anew.
 */
int scheduler_programs_take_blocked(const struct sampler *programs, struct visitor *visitor,
	const struct capture_settings *settings, uint64_t before_ns, struct thread_visit *visit);

/* The memory that the kernel has allocated for threads. */
uint64_t scheduler_programs_thread_bytes(const struct sampler *programs);

/* Adds the run time that the kernel has counted. */
void scheduler_programs_add_cost(struct sampler *programs, uint64_t *ns);
