/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs and maps, loaded in the sizes that were computed for them; nothing samples. */
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
	bool has_walks; /* else the latter are the least that loads */
};

/* Since 6.1 a process's mappings are in a maple tree, which is the one that the walk can read. */
bool sampler_programs_can_walk(void);

/* Returns 0 or -errno, with what to do about it in `fault`. */
int sampler_programs_load(const struct capture_settings *settings,
	const struct sampler_sizes *sizes, struct sampler **ret_programs, struct fault *fault);
void sampler_programs_free(struct sampler *programs);
DEFINE_CLEANUP(struct sampler, sampler_programs_free);
