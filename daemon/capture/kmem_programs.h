/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the sampler's programs for kernel memory (bpf/kmem.bpf.h). */
#pragma once

#include "base/fault.h"

#include <stdint.h>

struct capture_settings;
struct sampler;

enum { KMEM_MISSING_BYTES = 96 };

/* What the kernel lacks for them; "": nothing. */
void kmem_support_read(char ret_missing[KMEM_MISSING_BYTES]);

/*
 * Prepares the opened object for loading: the programs of the sources of `settings`, and nothing
 * else of them. `live_slots` is how many sampled allocations may live. Returns 0 or -errno; `fault`
 * then says what the kernel lacks.
 */
int kmem_programs_prepare(struct sampler *programs, const struct capture_settings *settings,
	uint32_t live_slots, struct fault *fault);

/* Begins to sample, or ends it. Both do nothing if no source needs the programs. Starting twice
 * does nothing. */
int kmem_programs_start(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault);
void kmem_programs_stop(struct sampler *programs);

/* Adds the run time that the kernel has counted, and the events that it skipped because the same
 * program was running on the CPU. */
void kmem_programs_add_cost(const struct sampler *programs, uint64_t *ns, uint64_t *skipped);
