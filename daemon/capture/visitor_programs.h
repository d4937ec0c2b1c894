/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the programs that sample threads that do not run (bpf/visitor.bpf.c), which share the maps
 * of the sampler's. */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>

struct capture_settings;
struct sampler;
struct visitor; /* the skeleton: visitor.skel.h */

bool visitor_programs_are_wanted(const struct capture_settings *settings);

/*
 * Loads them behind the sampler's, which are loaded. Returns 0, and NULL if no source of `settings`
 * needs them, or -errno.
 */
int visitor_programs_load(const struct capture_settings *settings, const struct sampler *sampler,
	struct visitor **ret_programs, struct fault *fault);
void visitor_programs_free(struct visitor *programs);
DEFINE_CLEANUP(struct visitor, visitor_programs_free);
