/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user stack that a test makes up, and pt_regs, as the headers of the walk read them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/walk_state.bpf.h"

#define STACK_START 0x7ffc00000000ULL

enum { STACK_WORDS = 2048 };

static __u64 stack[STACK_WORDS];
static __u64 pt_regs[PT_REGS_WORDS];

static __always_inline int can_read_user(__u64 *words, __u32 count, __u64 address)
{
	if (address < STACK_START || address % 8 != 0 ||
		address + count * 8 > STACK_START + sizeof(stack))
		return 0;
	memcpy(words, stack + (address - STACK_START) / 8, count * 8);
	return 1;
}

static __always_inline int can_read_pt_regs(__u64 *words, __u32 count, __u32 place)
{
	if (place + count > PT_REGS_WORDS)
		return 0;
	memcpy(words, pt_regs + place, count * sizeof(*words));
	return 1;
}

/* The address of a word of the stack. */
static inline __u64 at(unsigned word)
{
	return STACK_START + 8 * word;
}
