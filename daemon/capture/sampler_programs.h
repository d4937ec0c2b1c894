/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the BPF programs and maps with computed sizes; nothing samples yet. */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/map_sizes.h"
#include "capture/walk_maps.h"

#include <stdbool.h>

struct capture_settings;
struct sampler; /* the skeleton: sampler.skel.h */

struct sampler_sizes {
	struct map_sizes maps;
	struct walk_map_sizes walks;
	bool has_walks; /* if not, `walks` are the smallest sizes that load */
};

/*
 * Can the sampler walk stacks? It reads mappings from a maple tree, which kernels have since 6.1.
 */
bool sampler_programs_can_walk(void);

/* Returns 0 or -errno; `fault` then says what to do. */
int sampler_programs_load(const struct capture_settings *settings,
	const struct sampler_sizes *sizes, struct sampler **ret_programs, struct fault *fault);
void sampler_programs_free(struct sampler *programs);
DEFINE_CLEANUP(struct sampler, sampler_programs_free);
