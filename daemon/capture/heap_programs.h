/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the sampler's programs for memory that programs allocate (bpf/heap.bpf.h). */
#pragma once

#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

struct capture_settings;
struct pilotlight_capture_probe;
struct sampler;
struct uprobe_tree;

/* The probes that are set; all 0: none. */
struct heap_probes {
	struct uprobe_tree **trees; /* owned */
	size_t count;
	uint32_t last_number;
};

/*
 * Prepares the opened object for loading: the programs if a source of `settings` needs them, else
 * nothing of them is loaded. Returns 0 or -errno; `fault` then says what is missing.
 */
int heap_programs_prepare(
	struct sampler *programs, const struct capture_settings *settings, struct fault *fault);

/*
 * Begins to note which processes execute other programs, if heaps are sampled, and which ones are
 * killed for lack of memory, if what lives is. Starting twice does nothing. Returns 0 or -errno;
 * `fault` then says why.
 */
int heap_programs_start(struct sampler *programs, struct fault *fault);

/* Ends that, and removes all probes. */
void heap_programs_stop(struct sampler *programs, struct heap_probes *probes);

/* As PILOTLIGHT_CAPTURE_PROBE, for a process that is followed. */
int heap_programs_set_probe(struct sampler *programs, const struct capture_settings *settings,
	const struct pilotlight_capture_probe *probe, struct heap_probes *probes);

/* Removes all probes. */
void heap_probes_done(struct heap_probes *probes);

/* Adds the run time that the kernel has counted. */
void heap_programs_add_cost(const struct sampler *programs, uint64_t *ns);
