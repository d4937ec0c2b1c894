/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/jit_trust.h"

#include "base/hash_index.h"

#include <string.h>

enum {
	WALKS_MIN = 16,	     /* fewer tell nothing */
	WALKS_MAX = 1 << 16, /* then both counts are halved: programs change */
	BROKEN_SHARE = 4,    /* of the walks */
};

static struct jit_trust_program *program_of(
	struct jit_trust *trust, const struct pilotlight_process *process)
{
	uint64_t hash = hash_bytes(process, sizeof(*process));
	struct jit_trust_program *program = &trust->programs[hash % JIT_TRUST_PROGRAMS];

	if (memcmp(&program->process, process, sizeof(*process)) != 0)
		*program = (struct jit_trust_program){ .process = *process };
	return program;
}

bool jit_trust_add(struct jit_trust *trust, const struct pilotlight_process *process,
	uint64_t samples, bool is_broken)
{
	struct jit_trust_program *program = program_of(trust, process);

	if (program->walks >= WALKS_MAX) {
		program->walks /= 2;
		program->broken /= 2;
	}
	if (samples > WALKS_MAX)
		samples = WALKS_MAX;
	program->walks += samples;
	program->broken += is_broken ? samples : 0;
	return program->walks < WALKS_MIN || program->broken < program->walks / BROKEN_SHARE;
}
