/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A walk of a user stack, and its steps from a frame to the caller's: by a rule of an unwind table,
 * by the frame pointer, out of a signal frame. Compiles for the host too, where it is tested;
 * whoever includes this says how the stack is read, and the registers.
 */
#pragma once

#include "pilotlight/walk.h"

/* Reads `count` words of the user's memory; 0: they cannot be read. */
static __always_inline int can_read_user(__u64 *words, __u32 count, __u64 address);

/* Reads `count` words, from that place on, of the thread's struct pt_regs of its entry into the
 * kernel; 0: they cannot be read. */
static __always_inline int can_read_pt_regs(__u64 *words, __u32 count, __u32 place);

enum {
	WALK_MAPPINGS = 8,	/* remembered of a process; a power of two */
	WALK_SEARCHES_MAX = 64, /* for mappings that are not remembered, in a walk */
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	/* Where x86-64's struct pt_regs has them, in words. */
	PT_REGS_RBP = 4,
	PT_REGS_RBX = 5,
	PT_REGS_ORIG_RAX = 15,
	PT_REGS_RIP = 16,
	PT_REGS_CS = 17,
	PT_REGS_RSP = 19,
	PT_REGS_WORDS = 21, /* the last is ss */
	/* And its struct ucontext, which a signal frame begins with. */
	UCONTEXT_GREGS_BYTES = 40,
	GREGS_RBP = 10,
	GREGS_RBX = 11,
	GREGS_RSP = 15,
	GREGS_RIP = 16,
	GREGS_WORDS = 17,
};

/* Where registers are by DWARF's numbers, rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15. */
enum register_set { REGISTERS_NONE, REGISTERS_PT_REGS, REGISTERS_GREGS, REGISTER_SETS };
enum { DWARF_REGISTERS = 16 };
static const __u8 register_places[REGISTER_SETS][DWARF_REGISTERS] = {
	[REGISTERS_PT_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 },
	[REGISTERS_GREGS] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7 },
};

/*
 * A register that functions keep for their callers. Where one has saved it, that is read only if a
 * rule needs it: most do not.
 */
enum kept_kind { KEPT_NOWHERE, KEPT_VALUE, KEPT_ADDRESS };
struct kept_register {
	__u64 word; /* the value, or where it is */
	__u32 kind; /* enum kept_kind */
	__u32 reserved;
};

/* A mapping that a walk has been in. */
struct walked_mapping {
	__u64 start;
	__u64 offset;
	__u8 is_executable;
	__u8 has_file;	    /* or is the vdso */
	__u8 is_known_file; /* `file` is */
	__u8 reserved[5];
	struct pilotlight_walk_file file;
};

/*
 * A frame of the last walk, and what its step to the caller needs to be taken again
 * (remembered_walk.bpf.h): where the walk was, and how many words right below the caller's stack
 * pointer were read, and none else; 0: there is no telling, unless it is the root, for which none
 * was read.
 */
struct remembered_frame {
	__u64 ip, sp;
	__u64 fp, rbx; /* as kept_register.word */
	__u64 frame;   /* as it is sent */
	__u8 fp_kind, rbx_kind;
	__u8 is_guess, is_jit;
	__u8 words_read; /* the return address, and below it the frame pointer */
	__u8 is_root;
	__u8 reserved[2];
};
_Static_assert(sizeof(struct remembered_frame) == 48, "padding");

enum { REMEMBERED_FRAMES = 64 }; /* a power of two; deeper ones are not */
struct remembered_span {
	__u32 first, count;
};

/* A walk, on one CPU. `ip` is behind a call or a system call unless `is_exact`. */
struct walk {
	__u64 ip, sp;
	__u64 system_call; /* orig_rax: the number, or that there is none */
	struct kept_register fp, rbx;
	__u32 mapping; /* the current one, in `mappings` */
	__u32 next_mapping;
	__u32 searches;
	__u8 is_exact;
	__u8 is_guess;	     /* nobody said that the frame pointer would lead here */
	__u8 registers_kind; /* enum register_set: which are known of this frame */
	__u8 has_jit;	     /* frames in memory that no file is behind: other code in time */
	__u8 unsettled;	     /* bits of mappings of which more may be told in this window */
	__u8 is_jit;	     /* such a frame was the last */
	/* Of the step: words right below the caller's stack pointer, and whether any besides. */
	__u8 words_read, read_more;
	/*
	 * This walk's frames and the last one's, leaf first, in rings: where they are. `turn`'s
	 * lowest bit says which is this walk's.
	 */
	struct remembered_span spans[2];
	__u32 turn;
	__u32 last_at;	  /* where this one is in the last walk's frames */
	__u32 has_joined; /* the last one's, which are this one's then: it goes on by them */
	__u64 signal_registers[GREGS_WORDS]; /* REGISTERS_GREGS */
	/* Where `mappings` are; end 0: none is. A cache line each, for the search of them. */
	__u64 starts[WALK_MAPPINGS], ends[WALK_MAPPINGS];
	struct walked_mapping mappings[WALK_MAPPINGS];
	struct remembered_frame remembered[2][REMEMBERED_FRAMES];
	/* As it is sent: the kernel's ips behind the walk's own. */
	struct pilotlight_ring_walk record;
	__u64 frames[PILOTLIGHT_WALK_DEPTH + 1 + PILOTLIGHT_STACK_DEPTH];
};

/*
 * A rule that was found of late, as most return addresses come again and again. Its place is by a
 * hash, so that another may take it. A file's id is not another file's for two windows.
 */
struct remembered_rule {
	__u32 window; /* in which it was last used */
	__u32 file_id;
	__u32 offset;
	__u32 has_rule;
	struct pilotlight_unwind_rule rule;
};
_Static_assert(sizeof(struct remembered_rule) == 32, "half a cache line");

enum { REMEMBERED_RULES_SHIFT = 8 };

/* Each run has a seed of its own: who collides once does not for ever. */
static __always_inline __u64 hash_next(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* In place of an enum pilotlight_walk_end: there is a caller. */
enum { WALK_ON = -1 };

/* The caller is at a return address; the stack pointer is what it has then. */
static __always_inline int go_to_caller(struct walk *walk, __u64 ip, __u64 sp)
{
	if (ip == 0)
		return PILOTLIGHT_WALK_ROOT;
	walk->ip = ip;
	walk->sp = sp;
	walk->is_exact = 0;
	walk->registers_kind = REGISTERS_NONE;
	return WALK_ON;
}

enum {
	CODE_PUSH_RBP = 0x55,
	CODE_RET = 0xc3,
	CODE_SYSCALL = 0x050f,
	CODE_INT_80 = 0x80cd,
	CODE_CALL = 0xe8,
	CODE_MOV_RSP_RBP = 0xe58948, /* the bytes 48 89 e5 */
	CODE_MOV_RSP_RBP_TOO = 0xec8b48,
	LEAF_BYTES_MAX = 1 << 16, /* from what was called, which may have jumped to one nearby */
};

/* The byte that is `back` bytes before the end of eight bytes of code. */
static __always_inline __u8 code_byte(__u64 code, __u32 back)
{
	return (__u8)(code >> (64 - 8 * back));
}

/* Are the two bytes there an indirect call's, by a register, and how it goes on? */
static __always_inline int is_indirect_call(
	__u64 code, __u32 back, __u8 mask, __u8 operand, __u8 not_operand)
{
	__u8 byte = code_byte(code, back - 1);

	return code_byte(code, back) == 0xff && (byte & mask) == operand && byte != not_operand;
}

/* Does this code end with a call that may have led to `ip`? */
static __always_inline int ends_with_call(__u64 code, __u64 end, __u64 ip)
{
	if (code_byte(code, 5) == CODE_CALL)
		return ip - (end + (__u64)(__s64)(__s32)(code >> 32)) + LEAF_BYTES_MAX <
		       2 * LEAF_BYTES_MAX;
	return is_indirect_call(code, 2, 0xf8, 0xd0, 0) ||    /* *%rax */
	       is_indirect_call(code, 2, 0xf8, 0x10, 0x14) || /* *(%rax) */
	       is_indirect_call(code, 3, 0xf8, 0x50, 0x54) || /* *1(%rax) */
	       is_indirect_call(code, 4, 0xff, 0x54, 0) ||    /* *1(%rax,%rbx) */
	       is_indirect_call(code, 6, 0xf8, 0x90, 0x94) || /* *1000(%rax) */
	       is_indirect_call(code, 6, 0xff, 0x15, 0);      /* *1000(%rip) */
}

/*
 * A leaf that has set up no frame, be it in its prologue, behind its epilogue, or since it needs
 * none: the frame pointer is its caller's. It is told by the instruction that comes next, or else
 * by a return address on top of the stack that is behind a call of it. 0: there is none of these.
 */
static __always_inline int step_out_of_leaf(struct walk *walk, int *ret_end)
{
	__u64 code, words[2];
	__u32 pushed = 0;

	if (walk->registers_kind == REGISTERS_NONE || !can_read_user(&code, 1, walk->ip))
		return 0;
	if ((code & 0xffffff) == CODE_MOV_RSP_RBP || (code & 0xffffff) == CODE_MOV_RSP_RBP_TOO)
		pushed = 1;
	if (!can_read_user(words, 1 + pushed, walk->sp))
		return 0;
	if (!pushed && (code & 0xff) != CODE_PUSH_RBP && (code & 0xff) != CODE_RET &&
		(!can_read_user(&code, 1, words[0] - sizeof(code)) ||
			!ends_with_call(code, words[0], walk->ip)))
		return 0;
	*ret_end = go_to_caller(walk, words[pushed], walk->sp + (pushed + 1) * sizeof(__u64));
	return 1;
}

/* 0: nobody knows it, or it cannot be read. */
static __always_inline int read_kept(
	struct walk *walk, struct kept_register *kept, __u64 *ret_value)
{
	if (kept->kind == KEPT_ADDRESS) {
		walk->read_more = 1;
		kept->kind = can_read_user(&kept->word, 1, kept->word) ? KEPT_VALUE : KEPT_NOWHERE;
	}
	*ret_value = kept->word;
	return kept->kind == KEPT_VALUE;
}

/*
 * Code that begins with push %rbp; mov %rsp, %rbp. The first of such a chain has pushed 0. Where it
 * is known that all of the code does so, the caller may be on another stack: Go's runtime has its
 * own.
 */
static __always_inline int step_by_frame_pointer(struct walk *walk, int may_switch_stacks)
{
	__u64 words[2], fp;
	int end = WALK_ON;

	walk->rbx.kind = KEPT_NOWHERE;
	if (step_out_of_leaf(walk, &end))
		return end;
	if (!read_kept(walk, &walk->fp, &fp))
		return PILOTLIGHT_WALK_UNSUPPORTED;
	if (fp == 0)
		return PILOTLIGHT_WALK_ROOT;
	if (fp < walk->sp && !may_switch_stacks)
		return PILOTLIGHT_WALK_LOOPED;
	if (!can_read_user(words, 2, fp))
		return PILOTLIGHT_WALK_UNREADABLE;
	walk->fp.word = words[0];
	walk->words_read = 2;
	return go_to_caller(walk, words[1], fp + sizeof(words));
}

/* What the kernel pushed for a signal handler: all of the registers of what was interrupted. */
static __always_inline int step_out_of_signal(struct walk *walk)
{
	__u64 *registers = walk->signal_registers;

	if (!can_read_user(registers, GREGS_WORDS, walk->sp + UCONTEXT_GREGS_BYTES))
		return PILOTLIGHT_WALK_UNREADABLE;
	walk->ip = registers[GREGS_RIP];
	walk->sp = registers[GREGS_RSP];
	walk->fp.word = registers[GREGS_RBP];
	walk->rbx.word = registers[GREGS_RBX];
	walk->fp.kind = walk->rbx.kind = KEPT_VALUE;
	walk->is_exact = 1;
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
		return read_kept(walk, &walk->fp, ret_value);
	if (number == DWARF_RBX)
		return read_kept(walk, &walk->rbx, ret_value);
	if (walk->registers_kind == REGISTERS_NONE || walk->registers_kind >= REGISTER_SETS ||
		number >= DWARF_REGISTERS)
		return 0;
	place = register_places[walk->registers_kind][number];
	/* Seldom asked for: they are not copied for it. */
	if (walk->registers_kind == REGISTERS_PT_REGS)
		return can_read_pt_regs(ret_value, 1, place);
	if (place >= GREGS_WORDS)
		return 0;
	*ret_value = walk->signal_registers[place];
	return 1;
}

/* The canonical frame address; an end where there is none. */
static __always_inline int find_cfa(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, __u64 *ret_cfa)
{
	__u64 cfa;

	if (rule->kind == PILOTLIGHT_UNWIND_PLT) {
		cfa = walk->sp + 8 + ((walk->ip & 15) >= (__u32)rule->offset ? 8 : 0);
	} else {
		if (!read_register(walk, rule->base, &cfa))
			return PILOTLIGHT_WALK_UNSUPPORTED;
		/* The first function of a stack has none to keep: Go's. */
		if (rule->base == DWARF_RBP && cfa == 0)
			return PILOTLIGHT_WALK_ROOT;
		cfa += (__s64)rule->offset;
	}
	if (rule->kind == PILOTLIGHT_UNWIND_CFA_AT) {
		walk->read_more = 1;
		if (!can_read_user(&cfa, 1, cfa))
			return PILOTLIGHT_WALK_UNREADABLE;
		cfa += (__s64)rule->addend;
	}
	if (cfa <= walk->sp)
		return PILOTLIGHT_WALK_LOOPED;
	*ret_cfa = cfa;
	return WALK_ON;
}

static __always_inline void keep_at(struct kept_register *kept, __u64 address)
{
	kept->word = address;
	kept->kind = KEPT_ADDRESS;
}

/* Where the caller's rbx is. */
static __always_inline void follow_rbx(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, int tells_rbx, __u64 cfa)
{
	if (!tells_rbx || rule->rbx_offset == PILOTLIGHT_UNWIND_RBX_UNKNOWN)
		walk->rbx.kind = KEPT_NOWHERE;
	else if (rule->rbx_offset != 0)
		keep_at(&walk->rbx, cfa + (__s64)rule->rbx_offset);
}

/* Where the caller's frame pointer is. */
static __always_inline void follow_fp(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, __u64 cfa)
{
	__u64 fp;

	switch (rule->frame_pointer) {
	case PILOTLIGHT_UNWIND_FP_SAME:
		break;
	case PILOTLIGHT_UNWIND_FP_AT_CFA:
		keep_at(&walk->fp, cfa + (__s64)rule->frame_pointer_offset);
		break;
	case PILOTLIGHT_UNWIND_FP_AT_FP:
		if (read_kept(walk, &walk->fp, &fp))
			keep_at(&walk->fp, fp + (__s64)rule->frame_pointer_offset);
		break;
	default:
		walk->fp.kind = KEPT_NOWHERE;
	}
}

/* `tells_rbx`: whether the rule's table does. */
static __always_inline int step_by_rule(
	struct walk *walk, const struct pilotlight_unwind_rule *rule, int tells_rbx)
{
	__u64 words[2], cfa = 0;
	int end, has_both = 0;

	switch (rule->kind) {
	case PILOTLIGHT_UNWIND_CFA:
	case PILOTLIGHT_UNWIND_CFA_AT:
	case PILOTLIGHT_UNWIND_PLT:
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
	/* Where a frame is found by its pointer, its caller's mostly is as well. */
	if (rule->base == DWARF_RBP && rule->frame_pointer == PILOTLIGHT_UNWIND_FP_AT_CFA &&
		rule->frame_pointer_offset == -(__s32)sizeof(words))
		has_both = can_read_user(words, 2, cfa - sizeof(words));
	if (!has_both && !can_read_user(words + 1, 1, cfa - sizeof(words[1])))
		return PILOTLIGHT_WALK_UNREADABLE;
	if (has_both) {
		walk->fp.word = words[0];
		walk->fp.kind = KEPT_VALUE;
	} else {
		follow_fp(walk, rule, cfa);
	}
	follow_rbx(walk, rule, tells_rbx, cfa);
	walk->words_read = 1 + has_both;
	return go_to_caller(walk, words[1], cfa);
}
