/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the sampler's programs for waits for locks (bpf/lock.bpf.h). */
#pragma once

#include "base/fault.h"
#include "capture/scheduler_programs.h"

#include <stdbool.h>
#include <stdint.h>

struct capture_settings;
struct sampler;

/* What the kernel has for the programs. */
struct lock_support {
	bool has_spin_locks; /* the ring's lock detects that it is taken twice, since 6.16 */
	bool has_futexes;    /* as the scheduler's programs can be attached */
	struct scheduler_support scheduler;
	char missing[160]; /* "": waits for the kernel's sleeping locks can be sampled */
};
void lock_support_read(struct lock_support *ret_support);

/*
 * Prepares the opened object for loading: the programs if the source is wanted, else nothing of
 * them is loaded. Returns 0 or -errno; `fault` then says what the kernel lacks.
 */
int lock_programs_prepare(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault);

/* Both do nothing if the source is not wanted. Starting twice does nothing. */
int lock_programs_start(
	struct sampler *sampler, const struct capture_settings *settings, struct fault *fault);
void lock_programs_stop(struct sampler *sampler);

/* Adds the run time that the kernel has counted. */
void lock_programs_add_cost(struct sampler *sampler, uint64_t *ns);
