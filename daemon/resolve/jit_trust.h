/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells whose generated code keeps frame pointers. If it does not, the register is still that of an
 * outer function. A walk that follows it misses the callers in between, reaches the root, and looks
 * whole: of Mono's stacks, 13 %. Other walks through the same program's generated code end where
 * the register leads nowhere, 85 % of Mono's. If many walks of a program end so, the others are not
 * believed either. An array, bounded and lossy: a program may lose its place to
 * another, and is believed again. A value object, zeros at first.
 */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

enum { JIT_TRUST_PROGRAMS = 256 };

struct jit_trust {
	struct jit_trust_program {
		struct pilotlight_process process;
		uint64_t walks, broken; /* samples; broken: they found no frame pointer */
	} programs[JIT_TRUST_PROGRAMS];
};

/*
 * Counts samples with one walk through a process's generated code. Returns whether walks through it
 * are believed.
 */
bool jit_trust_add(struct jit_trust *trust, const struct pilotlight_process *process,
	uint64_t samples, bool is_broken);
