/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps out of code without a rule whose next instructions are the function's epilogue: add to
 * %rsp, pops, ret. They say where the return address is, and what becomes of the callee-saved
 * registers. So this is no guess, unlike a step by the frame pointer. It suits stubs that call one
 * function and return, such as CPython's trampolines, one for each Python function with -X perf,
 * which keep no frame pointers.
 */
#pragma once

#include "walk_state.bpf.h"
#include "walk_step.bpf.h"

enum {
	/* As many as a function has that saves all registers: add, 6 pops, ret. */
	EPILOGUE_INSTRUCTIONS_MAX = 8,
	CODE_PAGE_BYTES = 4096,
	CODE_ADD_RSP_8 = 0xc48348,  /* the bytes 48 83 c4, then a byte */
	CODE_ADD_RSP_32 = 0xc48148, /* 48 81 c4, then four bytes */
	CODE_POP = 0x58,	    /* the low three bits are the register */
	CODE_REX_B = 0x41,	    /* before a pop: r8 to r15 */
	CODE_REGISTER_MASK = 7,
};

/* In place of WALK_ON: the next instructions are no epilogue, or lead behind no call. */
enum { NO_EPILOGUE = -3 };

/* Reads eight bytes of code; zeros take the place of those in the next page if there is none.
 * Returns 0 if they cannot be read. */
static __always_inline int can_read_code(struct walk *walk, __u64 *code, __u64 address)
{
	__u64 last = (address | (CODE_PAGE_BYTES - 1)) + 1 - sizeof(*code);

	if (can_read_user(walk, code, 1, address))
		return 1;
	if (address <= last || !can_read_user(walk, code, 1, last))
		return 0;
	*code >>= 8 * (address - last);
	return 1;
}

/* Pops a register of the caller, by its DWARF number. Returns 0 if it is the stack pointer. */
static __always_inline int pop_register(struct walk *walk, __u32 number, __u64 sp)
{
	/* In the order of the machine code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi. */
	switch (number) {
	case 3:
		set_saved_at(&walk->rbx, sp);
		return 1;
	case 4:
		return 0;
	case 5:
		set_saved_at(&walk->fp, sp);
		return 1;
	default:
		return 1;
	}
}

/* Returns WALK_ON, or NO_EPILOGUE. */
static __always_inline int step_by_epilogue(struct walk *walk)
{
	__u64 ip = walk->ip, sp = walk->sp, code, target;
	enum return_address found;
	int end;

	/* The BPF stack has no room for them. */
	walk->fp_before = walk->fp;
	walk->rbx_before = walk->rbx;

	for (int i = 0; i < EPILOGUE_INSTRUCTIONS_MAX && can_read_code(walk, &code, ip); i++) {
		if ((code & 0xff) == CODE_RET) {
			/* The walk may have come here by a wrong guess. */
			if (!can_read_user(walk, &code, 1, sp))
				break;
			found = is_return_address(walk, code, &target);
			if (!found)
				break;
			walk->words_read = 1;
			end = go_to_caller(walk, code, sp + sizeof(code));
			note_doubt(walk, found);
			return end;
		}
		if ((code & 0xffffff) == CODE_ADD_RSP_8 && (code >> 24 & 0x80) == 0) {
			sp += code >> 24 & 0x7f;
			ip += 4;
		} else if ((code & 0xffffff) == CODE_ADD_RSP_32 && (code >> 48 & 0x80) == 0) {
			sp += code >> 24 & 0x7fffffff;
			ip += 7;
		} else if ((code & 0xff) == CODE_REX_B && (code >> 8 & 0xf8) == CODE_POP) {
			sp += sizeof(sp);
			ip += 2;
		} else if ((code & 0xf8) == CODE_POP &&
			   pop_register(walk, code & CODE_REGISTER_MASK, sp)) {
			sp += sizeof(sp);
			ip += 1;
		} else {
			break;
		}
	}
	walk->fp = walk->fp_before;
	walk->rbx = walk->rbx_before;
	return NO_EPILOGUE;
}
