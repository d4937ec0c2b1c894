/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes x86-64 instructions as far as they matter to the stack: what they do to the stack pointer
 * and to the frame pointer, and where control goes next. Zydis decodes. The worker loads it with
 * dlopen(), because each process that links it would need 0.13 ms more CPU to start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault;

enum { CODE_INSTRUCTION_BYTES_MAX = 15 };

enum code_flow {
	CODE_FLOW_ON,
	CODE_FLOW_BRANCH, /* to `target`, or on */
	CODE_FLOW_JUMP,
	CODE_FLOW_JUMP_INDIRECT,
	CODE_FLOW_CALL,
	CODE_FLOW_CALL_INDIRECT,
	CODE_FLOW_RETURN,
	CODE_FLOW_END, /* traps, or goes where nothing is known */
};

/* `value` is meant by N. */
enum code_effect {
	CODE_EFFECT_NONE,
	CODE_EFFECT_PUSH,	  /* rsp -= N */
	CODE_EFFECT_PUSH_RBP,	  /* rsp -= 8, and rbp is stored there */
	CODE_EFFECT_POP,	  /* rsp += N */
	CODE_EFFECT_POP_RBP,	  /* rbp is loaded from there, and rsp += 8 */
	CODE_EFFECT_LEAVE,	  /* rsp = rbp, then as POP_RBP */
	CODE_EFFECT_ENTER,	  /* as PUSH_RBP, then rbp = rsp, then rsp -= N */
	CODE_EFFECT_RSP_FROM_RBP, /* rsp = rbp + N */
	CODE_EFFECT_RSP_UNKNOWN,
	CODE_EFFECT_RBP_FROM_RSP, /* rbp = rsp + N */
	CODE_EFFECT_RBP_ADD,	  /* rbp += N */
	CODE_EFFECT_RBP_STORE,	  /* rbp is stored at rsp + N */
	CODE_EFFECT_RBP_LOAD,	  /* rbp is loaded from rsp + N */
	CODE_EFFECT_RBP_ZERO,
	CODE_EFFECT_RBP_UNKNOWN,
	CODE_EFFECT_BOTH_UNKNOWN,
};

struct code_instruction {
	uint8_t length;
	uint8_t flow;	/* enum code_flow */
	uint8_t effect; /* enum code_effect */
	bool is_system_call;
	int32_t value;
	int64_t target; /* of BRANCH, JUMP and CALL: distance from the end of the instruction */
};

/*
 * Before all others, and before the process gives up access to files. May be called again. Returns
 * 0; errors and `fault` as shared_library_load().
 */
int code_instruction_load(struct fault *fault);
bool code_instruction_is_loaded(void);

/* Returns false if the bytes do not begin with a valid instruction. */
bool code_instruction_decode(
	const uint8_t *code, size_t size, struct code_instruction *ret_instruction);
