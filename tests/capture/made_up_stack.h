/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user stack that a test makes up, pt_regs, and code, as the headers of the walk read them. */
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

enum { STACK_WORDS = 8192 };

static __u64 stack[STACK_WORDS];
static __u64 pt_regs[PT_REGS_WORDS];

/* Any eight bytes of code there end with call *%rax, so that callers can be returned to. */
#define CODE_START    0x400000ULL
#define CODE_END      0x500000ULL
#define INDIRECT_CALL 0xd0ff909090909090ULL

static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	if (address >= CODE_START && address < CODE_END && count == 1) {
		*words = INDIRECT_CALL;
		return 1;
	}
	if (address < STACK_START || address > STACK_START + sizeof(stack) - count * 8)
		return 0;
	memcpy(words, (const char *)stack + (address - STACK_START), count * 8);
	return 1;
}

static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return can_read_user(NULL, words, count, address);
}

static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place)
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
