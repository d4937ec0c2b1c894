/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The steps of a walk from a frame to its caller: by a rule of an unwind table, by the frame
 * pointer, or out of a signal frame. A step reads the return address and notes where the
 * callee-saved registers are. It returns WALK_ON, or why the walk ends here (enum
 * pilotlight_walk_end).
 */
#pragma once

#include "walk_state.bpf.h"

/* Goes to the caller: `ip` is a return address, `sp` the stack pointer after the return. */
static __always_inline int go_to_caller(struct walk *walk, __u64 ip, __u64 sp)
{
	if (ip == 0)
		return PILOTLIGHT_WALK_ROOT;
	walk->ip = ip;
	walk->sp = sp;
	walk->is_exact = 0;
	walk->is_linked = 0;
	walk->doubt = WALK_IS_SURE;
	walk->registers_kind = REGISTERS_NONE;
	return WALK_ON;
}

enum {
	CODE_PUSH_RBP = 0x55,
	CODE_RET = 0xc3,
	CODE_RET_ARGUMENTS = 0xc2, /* ret $16 */
	CODE_SYSCALL = 0x050f,
	CODE_INT_80 = 0x80cd,
	CODE_CALL = 0xe8,
	CODE_MOV_RSP_RBP = 0xe58948,	       /* the bytes 48 89 e5 */
	CODE_MOV_RSP_RBP_ALTERNATE = 0xec8b48, /* 48 8b ec */
	CODE_ENDBR64 = 0xfa1e0ff3U,
	/* V8's baseline compiler begins a function with these. */
	CODE_XOR_EBX = 0xdb33,	      /* 33 db */
	CODE_MOV_R12 = 0xbc49,	      /* 49 bc: mov $number, %r12 */
	CODE_CALL_R13 = 0x95ff41,     /* 41 ff 95: call *displacement(%r13) */
	CODE_DROP_FRAME = 0x5de58b48, /* 48 8b e5 5d: mov %rbp, %rsp; pop %rbp */
	CODE_BND = 0xf2,
	CODE_JMP = 0xe9,
	CODE_JMP_SHORT = 0xeb,
	CODE_JMP_INDIRECT = 0x25ff,
	/* How far a function's code may be from the start of the called one, which may have jumped
	 * to a neighbour. */
	NEAR_BYTES = 1 << 16,
	MOV_R12_BYTES = 10,
	LEAF_BYTES_MAX = 1 << 12, /* of a function without a frame */
	PROLOGUE_WORDS_MAX = 6,	  /* of V8's code before it sets the frame pointer */
	/* The bytes 48 8b 45 80: mov -N(%rbp), %register, without what differs. */
	CODE_LOAD_FROM_FRAME = 0x80458b48U,
	CODE_LOAD_FROM_FRAME_MASK = 0x80c7fffbU,
};
#define CODE_INT3S 0xccccccccccccccccULL

/* The bytes 48 c7 c0 0f 00 00 00 0f: mov $15, %rax, and the first of syscall's two. */
#define CODE_SIGRETURN 0x0f0000000fc0c748ULL

/* The byte `back` bytes before the end of eight bytes of code. */
static __always_inline __u8 code_byte(__u64 code, __u32 back)
{
	return (__u8)(code >> (64 - 8 * back));
}

/* Is there an indirect call `back` bytes before the end, with such an operand byte? */
static __always_inline int is_indirect_call(
	__u64 code, __u32 back, __u8 mask, __u8 operand, __u8 not_operand)
{
	__u8 byte = code_byte(code, back - 1);

	return code_byte(code, back) == 0xff && (byte & mask) == operand && byte != not_operand;
}

/* Does an index byte, `back` bytes before the end, stand for a base register? Otherwise it has four
 * bytes of displacement. */
static __always_inline int has_base(__u64 code, __u32 back)
{
	return (code_byte(code, back) & 7) != 5;
}

/* All forms. Prefixes come before and do not matter. */
static __always_inline int ends_with_indirect_call(__u64 code)
{
	return is_indirect_call(code, 2, 0xf8, 0xd0, 0) || /* *%rax */
	       (is_indirect_call(code, 2, 0xf8, 0x10, 0x14) &&
		       code_byte(code, 1) != 0x15) ||				  /* *(%rax) */
	       (is_indirect_call(code, 3, 0xff, 0x14, 0) && has_base(code, 1)) || /* *(%rax,%rbx) */
	       is_indirect_call(code, 3, 0xf8, 0x50, 0x54) ||			  /* *1(%rax) */
	       is_indirect_call(code, 4, 0xff, 0x54, 0) ||    /* *1(%rax,%rbx) */
	       is_indirect_call(code, 6, 0xf8, 0x90, 0x94) || /* *1000(%rax) */
	       is_indirect_call(code, 6, 0xff, 0x15, 0) ||    /* *1000(%rip) */
	       is_indirect_call(code, 7, 0xff, 0x94, 0) ||    /* *1000(%rax,%rbx) */
	       (is_indirect_call(code, 7, 0xff, 0x14, 0) && !has_base(code, 5)); /* *1000(,%rbx) */
}

enum return_address {
	NO_RETURN_ADDRESS,
	RETURN_ADDRESS, /* behind a call, or where the kernel lets signal handlers return */
	/*
	 * No call was there: a function begins, behind int3s, that first reads from a frame of its
	 * own. V8 has replaced an optimized frame by such that are interpreted, and lets their
	 * callees return to where they go on.
	 */
	RETURN_ADDRESS_OF_MADE_FRAME,
};

/*
 * Can the code at `ip` be returned to? Then *ret_target is where the call before it leads, 0 if
 * that is not known. A call in the first bytes of a mapping does not count: nothing can be read
 * before it.
 */
static __always_inline enum return_address is_return_address(
	struct walk *walk, __u64 ip, __u64 *ret_target)
{
	__u64 code, next;

	*ret_target = 0;
	if (!can_read_user(walk, &code, 1, ip - sizeof(code)))
		return NO_RETURN_ADDRESS;
	if (ends_with_indirect_call(code))
		return RETURN_ADDRESS;
	if (code_byte(code, 5) == CODE_CALL) {
		*ret_target = ip + (__u64)(__s64)(__s32)(code >> 32);
		return RETURN_ADDRESS;
	}
	if (!can_read_user(walk, &next, 1, ip))
		return NO_RETURN_ADDRESS;
	if (next == CODE_SIGRETURN)
		return RETURN_ADDRESS;
	return code == CODE_INT3S && (next & CODE_LOAD_FROM_FRAME_MASK) == CODE_LOAD_FROM_FRAME
		       ? RETURN_ADDRESS_OF_MADE_FRAME
		       : NO_RETURN_ADDRESS;
}

/* The walk has gone to a return address that was judged so. A made frame is not remembered, so the
 * step to it is not repeated. */
static __always_inline void note_doubt(struct walk *walk, enum return_address address)
{
	walk->doubt = WALK_IS_SURE;
	if (address == NO_RETURN_ADDRESS)
		walk->doubt = WALK_IS_DOUBTFUL;
	if (address == RETURN_ADDRESS_OF_MADE_FRAME) {
		walk->doubt = WALK_IN_MADE_FRAME;
		walk->read_more = 1;
	}
}

/* The code at `address`, without the prefix that marks targets of indirect jumps. */
static __always_inline __u64 code_at(struct walk *walk, __u64 address)
{
	__u64 code;

	if (!can_read_user(walk, &code, 1, address))
		return 0;
	return (code & 0xffffffff) == CODE_ENDBR64 ? code >> 32 : code;
}

/* Does a function only jump elsewhere, like a PLT stub? */
static __always_inline int is_jump(__u64 code)
{
	if ((code & 0xff) == CODE_BND)
		code >>= 8;
	return (code & 0xffff) == CODE_JMP_INDIRECT || (code & 0xff) == CODE_JMP ||
	       (code & 0xff) == CODE_JMP_SHORT;
}

/* push %rbp; mov %rsp, %rbp */
static __always_inline int sets_frame_pointer(__u64 code)
{
	return (code & 0xff) == CODE_PUSH_RBP &&
	       ((code >> 8 & 0xffffff) == CODE_MOV_RSP_RBP ||
		       (code >> 8 & 0xffffff) == CODE_MOV_RSP_RBP_ALTERNATE);
}

/* Does the code keep the frame pointer? */
enum frame_pointers {
	/* All functions keep it. It may lead to another stack, and to a first function whose
	 * return address is behind no call: Go's runtime does both. */
	FRAME_POINTERS_KEPT,
	/* Generated code, or written by hand. The caller must be behind a call, unless it is
	 * generated code, too: the JVM's interpreter pushes return addresses itself. */
	FRAME_POINTERS_USUAL,
	/* Any other: the register may point to any words, and the stack holds many that earlier
	 * calls left. The call must also lead here. */
	FRAME_POINTERS_GUESSED,
};

/*
 * May a call of `target` have led to a leaf at `ip`, or be where the leaf was jumped to from? If
 * the code is not known to keep frame pointers, only a short function has no frame.
 */
static __always_inline int may_lead_to_leaf(
	struct walk *walk, __u64 target, __u64 ip, enum frame_pointers frame_pointers)
{
	if (target == 0)
		return 1;
	if (frame_pointers == FRAME_POINTERS_GUESSED)
		return ip - target < LEAF_BYTES_MAX || is_jump(code_at(walk, target));
	return ip - target + NEAR_BYTES < 2 * NEAR_BYTES || is_jump(code_at(walk, target));
}

/* May a call of `target` have led to the code at `ip`, which is said to keep the frame pointer? */
static __always_inline int may_lead_to_frame(struct walk *walk, __u64 target, __u64 ip)
{
	__u64 code;

	if (target == 0)
		return 1;
	code = code_at(walk, target);
	return (ip - target < NEAR_BYTES && sets_frame_pointer(code)) || is_jump(code);
}

/* Does code that sets the frame pointer come next? `words` saves the BPF stack others. */
static __always_inline int is_before_frame(struct walk *walk, __u64 words[2])
{
	for (__u32 i = 0; i < PROLOGUE_WORDS_MAX; i++) {
		if (!can_read_user(walk, words, 2, walk->ip + i * sizeof(words[0])))
			return 0;
		for (__u32 bits = 0; bits < 64; bits += 8)
			if (sets_frame_pointer(words[0] >> bits | words[1] << 1 << (63 - bits)))
				return 1;
	}
	return 0;
}

/* Between dropping its frame and ret, V8's code compares the number of arguments, in four bytes,
 * and jumps. */
static __always_inline int is_behind_frame(struct walk *walk, __u64 words[2])
{
	return can_read_user(walk, words, 1, walk->ip - sizeof(words[0])) &&
	       (words[0] >> 32 == CODE_DROP_FRAME || (__u32)words[0] == CODE_DROP_FRAME);
}

/* Is mov $bytecodes, %r12 there, behind what sets %ebx, and before a call? */
static __always_inline int calls_with_bytecodes(struct walk *walk, __u64 words[2], __u64 place)
{
	__u32 before, mov, call;

	if (!can_read_user(walk, words, 2, place - sizeof(__u16)))
		return 0;
	before = words[0] & 0xffff;
	mov = words[0] >> 16 & 0xffff;
	call = words[1] >> 32;
	/* Before is xor %ebx, %ebx, or mov $number, %ebx, whose last two bytes are 0. */
	return (before == CODE_XOR_EBX || before == 0) && mov == CODE_MOV_R12 &&
	       ((call & 0xff) == CODE_CALL || (call & 0xffffff) == CODE_CALL_R13);
}

/* Code of V8's baseline compiler sets %ebx, in two or five bytes, and %r12, and calls what makes
 * its frame. */
static __always_inline int is_before_baseline_frame(struct walk *walk, __u64 words[2])
{
	return calls_with_bytecodes(walk, words, walk->ip) ||
	       calls_with_bytecodes(walk, words, walk->ip + 2) ||
	       calls_with_bytecodes(walk, words, walk->ip + 5) ||
	       calls_with_bytecodes(walk, words, walk->ip - MOV_R12_BYTES);
}

enum v8_leaf { V8_LEAF_OTHER, V8_LEAF_FRAMELESS, V8_LEAF_WITH_FRAME };

/*
 * Does the leaf run V8's generated code? Then two pointers to objects, whose lowest bits are 01,
 * are beside the frame pointer, and the code has a frame of its own between its prologue and its
 * epilogue. On top of the stack is a place for a value that may not have been set yet: it holds
 * what earlier calls left, and that may be a return address.
 */
static __always_inline enum v8_leaf tell_v8_leaf(struct walk *walk, __u64 words[2])
{
	const __u64 bytes = 2 * sizeof(words[0]);

	if (!walk->is_jit || walk->fp.kind != SAVED_VALUE || walk->sp + bytes > walk->fp.word ||
		!can_read_user(walk, words, 2, walk->fp.word - bytes) || (words[0] & 3) != 1 ||
		(words[1] & 3) != 1)
		return V8_LEAF_OTHER;
	return is_before_frame(walk, words) || is_before_baseline_frame(walk, words) ||
			       is_behind_frame(walk, words)
		       ? V8_LEAF_FRAMELESS
		       : V8_LEAF_WITH_FRAME;
}

/*
 * Steps out of a leaf that has no frame: it is in its prologue, behind its epilogue, or needs none,
 * so the frame pointer is still its caller's. Two signs show this: the next instructions, or a word
 * on top of the stack that is a return address behind a call of the leaf. Returns 0 if neither
 * does.
 */
static __always_inline int step_out_of_leaf(
	struct walk *walk, enum frame_pointers frame_pointers, int *ret_end)
{
	__u64 code, words[2], target, caller;
	enum return_address found;
	enum v8_leaf leaf;
	__u32 pushed = 0;
	int has_sign;

	if (walk->registers_kind == REGISTERS_NONE || !can_read_user(walk, &code, 1, walk->ip))
		return 0;
	if ((code & 0xffffff) == CODE_MOV_RSP_RBP ||
		(code & 0xffffff) == CODE_MOV_RSP_RBP_ALTERNATE)
		pushed = 1;
	has_sign = pushed || (code & 0xff) == CODE_PUSH_RBP || (code & 0xff) == CODE_RET ||
		   (code & 0xff) == CODE_RET_ARGUMENTS;
	if (!can_read_user(walk, words, 1 + pushed, walk->sp))
		return 0;
	caller = words[pushed];
	found = is_return_address(walk, caller, &target);
	if (!found)
		return 0;
	/* What V8's code calls often jumps to a function far away. */
	leaf = has_sign ? V8_LEAF_FRAMELESS : tell_v8_leaf(walk, words);
	if (leaf == V8_LEAF_WITH_FRAME ||
		(leaf == V8_LEAF_OTHER &&
			!may_lead_to_leaf(walk, target, walk->ip, frame_pointers)))
		return 0;
	*ret_end = go_to_caller(walk, caller, walk->sp + (pushed + 1) * sizeof(__u64));
	note_doubt(walk, found);
	return 1;
}

/* Returns 0 if the value is unknown or cannot be read. */
static __always_inline int read_saved(
	struct walk *walk, struct saved_register *saved, __u64 *ret_value)
{
	if (saved->kind == SAVED_AT_ADDRESS) {
		walk->read_more = 1;
		saved->kind = can_read_user(walk, &saved->word, 1, saved->word) ? SAVED_VALUE
										: SAVED_UNKNOWN;
	}
	*ret_value = saved->word;
	return saved->kind == SAVED_VALUE;
}

/*
 * For code that begins with push %rbp; mov %rsp, %rbp. The first function of a chain has pushed 0.
 * But in code that keeps no frame pointers the register may have any value, also 0. So 0 marks a
 * root only in a file whose code is known to keep them, or in code that usually does, behind a
 * function whose frame pointer led here. A guess finds callers, never a root: the caller of a
 * function that keeps the frame pointer may keep none.
 */
static __always_inline int step_by_frame_pointer(
	struct walk *walk, enum frame_pointers frame_pointers)
{
	int end = WALK_ON, is_kept = frame_pointers == FRAME_POINTERS_KEPT;
	int is_chain = is_kept || (walk->is_linked && frame_pointers == FRAME_POINTERS_USUAL);
	enum return_address found;
	__u64 words[2], fp, target;

	walk->rbx.kind = SAVED_UNKNOWN;
	if (step_out_of_leaf(walk, frame_pointers, &end))
		return end;
	if (!read_saved(walk, &walk->fp, &fp))
		return PILOTLIGHT_WALK_UNSUPPORTED;
	if (fp == 0)
		return is_chain ? PILOTLIGHT_WALK_ROOT : PILOTLIGHT_WALK_NO_FUNCTION;
	if (fp < walk->sp && !is_kept)
		return PILOTLIGHT_WALK_LOOPED;
	if (!can_read_user(walk, words, 2, fp))
		return PILOTLIGHT_WALK_UNREADABLE;
	if (words[1] == 0) {
		walk->read_more = 1; /* the word may be another the next time */
		return is_chain ? PILOTLIGHT_WALK_ROOT : PILOTLIGHT_WALK_NO_FUNCTION;
	}
	found = is_kept ? RETURN_ADDRESS : is_return_address(walk, words[1], &target);
	if (frame_pointers == FRAME_POINTERS_GUESSED &&
		!(found && may_lead_to_frame(walk, target, walk->ip)))
		return PILOTLIGHT_WALK_NO_CODE;
	walk->fp.word = words[0];
	walk->words_read = 2;
	end = go_to_caller(walk, words[1], fp + sizeof(words));
	walk->is_linked = 1;
	note_doubt(walk, found);
	return end;
}

/*
 * How a walk ends that a guess may have misled (walk.guess_end). If there is no code, or no caller
 * on the stack, the frame pointer was none.
 */
static __always_inline int end_behind_guess(int guess_end, int end)
{
	int is_misled = end == PILOTLIGHT_WALK_NO_CODE || end == PILOTLIGHT_WALK_LOOPED ||
			end == PILOTLIGHT_WALK_UNREADABLE;

	return guess_end && is_misled ? guess_end : end;
}

/* The kernel pushed all registers of the interrupted code for the signal handler. */
static __always_inline int step_out_of_signal(struct walk *walk)
{
	__u64 *registers = walk->signal_registers;

	if (!can_read_user(walk, registers, GREGS_WORDS, walk->sp + UCONTEXT_GREGS_BYTES))
		return PILOTLIGHT_WALK_UNREADABLE;
	walk->ip = registers[GREGS_RIP];
	walk->sp = registers[GREGS_RSP];
	walk->fp.word = registers[GREGS_RBP];
	walk->rbx.word = registers[GREGS_RBX];
	walk->fp.kind = walk->rbx.kind = SAVED_VALUE;
	walk->is_exact = 1;
	walk->is_linked = 0;
	walk->doubt = WALK_IS_SURE;
	walk->registers_kind = REGISTERS_GREGS;
	return WALK_ON;
}

static __always_inline int read_register(struct walk *walk, __u32 number, __u64 *ret_value)
{
	__u32 place;

	if (number == DWARF_RSP) {
		*ret_value = walk->sp;
		return 1;
	}
	if (number == DWARF_RBP)
		return read_saved(walk, &walk->fp, ret_value);
	if (number == DWARF_RBX)
		return read_saved(walk, &walk->rbx, ret_value);
	if (walk->registers_kind == REGISTERS_NONE || walk->registers_kind >= REGISTER_SETS ||
		number >= DWARF_REGISTERS)
		return 0;
	place = register_places[walk->registers_kind][number];
	/* Read on demand: few rules need it. */
	if (walk->registers_kind == REGISTERS_PT_REGS)
		return can_read_pt_regs(walk, ret_value, 1, place);
	if (place >= GREGS_WORDS)
		return 0;
	*ret_value = walk->signal_registers[place];
	return 1;
}

/* Computes the canonical frame address. */
static __always_inline int find_cfa(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, __u64 *ret_cfa)
{
	__u64 cfa;

	if (rule->kind == PILOTLIGHT_UNWIND_PLT) {
		cfa = walk->sp + 8 + ((walk->ip & 15) >= (__u32)rule->offset ? 8 : 0);
	} else {
		if (!read_register(walk, rule->base, &cfa))
			return PILOTLIGHT_WALK_UNSUPPORTED;
		/* The first function of a Go stack has no caller's frame pointer. */
		if (rule->base == DWARF_RBP && cfa == 0)
			return rule->kind == PILOTLIGHT_UNWIND_INFERRED
				       ? PILOTLIGHT_WALK_NO_FUNCTION
				       : PILOTLIGHT_WALK_ROOT;
		cfa += (__s64)rule->offset;
	}
	if (rule->kind == PILOTLIGHT_UNWIND_CFA_AT) {
		walk->read_more = 1;
		if (!can_read_user(walk, &cfa, 1, cfa))
			return PILOTLIGHT_WALK_UNREADABLE;
		cfa += (__s64)rule->addend;
	}
	/* A walk that goes in circles all the same ends at the greatest depth. Interrupted code may
	 * have popped its return address, as OCaml's caml_c_call does; the word is below the stack
	 * pointer. */
	if (rule->kind != PILOTLIGHT_UNWIND_SWITCHED &&
		(cfa < walk->sp || (cfa == walk->sp && walk->registers_kind == REGISTERS_NONE)))
		return PILOTLIGHT_WALK_LOOPED;
	*ret_cfa = cfa;
	return WALK_ON;
}

static __always_inline void set_saved_at(struct saved_register *saved, __u64 address)
{
	saved->word = address;
	saved->kind = SAVED_AT_ADDRESS;
}

/* Notes where the caller's rbx is. */
static __always_inline void follow_rbx(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, int tells_rbx, __u64 cfa)
{
	if (!tells_rbx || rule->rbx_offset == PILOTLIGHT_UNWIND_RBX_UNKNOWN)
		walk->rbx.kind = SAVED_UNKNOWN;
	else if (rule->rbx_offset != 0)
		set_saved_at(&walk->rbx, cfa + (__s64)rule->rbx_offset);
}

/* Notes where the caller's frame pointer is. */
static __always_inline void follow_fp(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, __u64 cfa)
{
	__u64 fp;

	switch (rule->frame_pointer) {
	case PILOTLIGHT_UNWIND_FP_SAME:
		break;
	case PILOTLIGHT_UNWIND_FP_AT_CFA:
		set_saved_at(&walk->fp, cfa + (__s64)rule->frame_pointer_offset);
		break;
	case PILOTLIGHT_UNWIND_FP_AT_FP:
		if (read_saved(walk, &walk->fp, &fp))
			set_saved_at(&walk->fp, fp + (__s64)rule->frame_pointer_offset);
		break;
	default:
		walk->fp.kind = SAVED_UNKNOWN;
	}
}

/* `tells_rbx`: the rule's table says where rbx is (PILOTLIGHT_UNWIND_TELLS_RBX). */
static __always_inline int step_by_rule(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, int tells_rbx)
{
	enum return_address found = RETURN_ADDRESS;
	__u64 words[2], cfa = 0, target;
	int end, has_both = 0;

	switch (rule->kind) {
	case PILOTLIGHT_UNWIND_CFA:
	case PILOTLIGHT_UNWIND_CFA_AT:
	case PILOTLIGHT_UNWIND_PLT:
	case PILOTLIGHT_UNWIND_SWITCHED:
	case PILOTLIGHT_UNWIND_INFERRED:
		break;
	case PILOTLIGHT_UNWIND_SIGNAL:
		return step_out_of_signal(walk);
	case PILOTLIGHT_UNWIND_ROOT:
		return PILOTLIGHT_WALK_ROOT;
	default:
		return PILOTLIGHT_WALK_UNSUPPORTED;
	}
	end = find_cfa(walk, rule, &cfa);
	if (end != WALK_ON)
		return end;
	/* Usual with a frame pointer: one read gives the caller's and the return address. */
	if (rule->base == DWARF_RBP && rule->frame_pointer == PILOTLIGHT_UNWIND_FP_AT_CFA &&
		rule->frame_pointer_offset == -(__s32)sizeof(words))
		has_both = can_read_user(walk, words, 2, cfa - sizeof(words));
	if (!has_both && !can_read_user(walk, words + 1, 1, cfa - sizeof(words[1])))
		return PILOTLIGHT_WALK_UNREADABLE;
	if (rule->kind == PILOTLIGHT_UNWIND_INFERRED) {
		found = is_return_address(walk, words[1], &target);
		if (!found)
			return PILOTLIGHT_WALK_NO_FUNCTION;
	}
	if (has_both) {
		walk->fp.word = words[0];
		walk->fp.kind = SAVED_VALUE;
	} else {
		follow_fp(walk, rule, cfa);
	}
	follow_rbx(walk, rule, tells_rbx, cfa);
	walk->words_read = 1 + has_both;
	end = go_to_caller(walk, words[1], cfa);
	note_doubt(walk, found);
	return end;
}
