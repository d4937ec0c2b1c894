/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks that are about to step, on a made-up stack. Include it first: it compiles the steps for the
 * host. */
#pragma once

#include "tests/capture/made_up_stack.h"

#include "bpf/walk_step.bpf.h"

static inline struct walk walk_at(unsigned sp, unsigned fp)
{
	struct walk walk = { .ip = 0x401000, .sp = at(sp), .fp = { at(fp), SAVED_VALUE, 0 } };

	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	memset(stack, 0, sizeof(stack));
	return walk;
}

/* The frame pointer, read from the stack if it is saved there. */
static inline __u64 fp_of(struct walk *walk)
{
	__u64 fp;

	assert_true(read_saved(walk, &walk->fp, &fp));
	return fp;
}
