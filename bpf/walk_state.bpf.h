/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of one walk up a user stack, and what a CPU remembers from walk to walk. This is the
 * lowest header of the walk: walk_step.bpf.h goes from a frame to its caller, remembered_walk.bpf.h
 * repeats steps of the last walk, and walker.bpf.h is the loop over both. All but the last also
 * compile for the host, where tests run them on made-up stacks.
 *
 * The includer defines how memory and registers are read: can_read_user() and can_read_pt_regs().
 */
#pragma once

#include "pilotlight/walk.h"
#include "runtime_span.bpf.h"

struct walk;

/* Reads `count` words of the thread's user memory. Returns 0 if they cannot be read. */
static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address);

/* The same, where `walk` would take BPF stack. */
static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address);

/* Reads `count` words, from index `place` on, of the struct pt_regs that the thread saved when it
 * entered the kernel. Returns 0 if they cannot be read. */
static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place);

enum {
	WALK_MAPPINGS = 8,	/* remembered per process; a power of two */
	WALK_SEARCHES_MAX = 64, /* lookups of mappings that are not remembered, per walk */
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	/* Indexes of words in x86-64's struct pt_regs. */
	PT_REGS_RBP = 4,
	PT_REGS_RBX = 5,
	PT_REGS_RDI = 14,
	PT_REGS_ORIG_RAX = 15,
	PT_REGS_RIP = 16,
	PT_REGS_CS = 17,
	PT_REGS_RSP = 19,
	PT_REGS_WORDS = 21, /* the last is ss */
	/* A signal frame begins with a struct ucontext; indexes of words in its gregs. */
	UCONTEXT_GREGS_BYTES = 40,
	GREGS_RBP = 10,
	GREGS_RBX = 11,
	GREGS_RSP = 15,
	GREGS_RIP = 16,
	GREGS_WORDS = 17,
};

/* The place of each register by its DWARF number: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to
 * r15. */
enum register_set { REGISTERS_NONE, REGISTERS_PT_REGS, REGISTERS_GREGS, REGISTER_SETS };
enum { DWARF_REGISTERS = 16 };
static const __u8 register_places[REGISTER_SETS][DWARF_REGISTERS] = {
	[REGISTERS_PT_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0 },
	[REGISTERS_GREGS] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7 },
};

/*
 * A callee-saved register. If a function has saved it on the stack, the walk keeps the address and
 * reads the value only when a rule needs it. Most rules do not.
 */
enum saved_kind { SAVED_UNKNOWN, SAVED_VALUE, SAVED_AT_ADDRESS };
struct saved_register {
	__u64 word; /* the value, or its address */
	__u32 kind; /* enum saved_kind */
	__u32 reserved;
};

/* A mapping that a walk went through. */
struct walked_mapping {
	__u64 start;
	__u64 offset;
	__u8 is_executable;
	__u8 has_file;	    /* also set for the vdso */
	__u8 is_known_file; /* `file` is valid */
	__u8 reserved[5];
	struct pilotlight_walk_file file;
};

/*
 * A frame of the last walk, with all that its step to the caller depends on: the registers, and the
 * `words_read` words right below the caller's stack pointer. 0: the step read other words, so it
 * cannot be repeated. A root reads none and can be.
 */
struct remembered_frame {
	__u64 ip, sp;
	__u64 fp, rbx; /* as saved_register.word */
	__u64 frame;   /* as it is sent */
	__u8 fp_kind, rbx_kind;
	__u8 guess_end, is_jit;
	__u8 words_read; /* the return address, and below it the frame pointer */
	__u8 is_root;
	__u8 is_linked;
	__u8 is_untabled;
};
_Static_assert(sizeof(struct remembered_frame) == 48, "padding");

/* A power of two. A CPU's part of a map has at most 32 KiB. */
enum { WALK_DEPTHS = 512 };

enum {
	RUNTIME_FRAME_WORDS = sizeof(struct pilotlight_runtime_frame) / sizeof(__u64),
	CONTEXT_WORDS = sizeof(struct pilotlight_thread_context) / sizeof(__u64),
	CONTEXT_RECORD_WORDS = CONTEXT_WORDS + 1, /* with the rest of its record */
};

/* Native frames that one function looks at: its caller's loop would multiply their number. */
enum { RUNTIME_PLACES = 32 };

/* The native frames that run the loop of an interpreter. It is in a map, so that the verifier does
 * not follow each number. */
struct runtime_calls {
	volatile __u32 count;
	/* 1 + the innermost of these frames; 0: none. */
	volatile __u32 inner;
	/* A bit for each frame that is one, or may run generated code for one. */
	volatile __u32 frames[WALK_DEPTHS / RUNTIME_PLACES];
};

/* Is `ip` the address to which a function returns? */
enum walk_doubt {
	WALK_IS_SURE,
	WALK_IS_DOUBTFUL,   /* no call is before it: only generated code is believed */
	WALK_IN_MADE_FRAME, /* nor here, but code begins that goes on in the frame at `fp` */
};

enum { REMEMBERED_FRAMES = 64 }; /* a power of two; deeper frames are not remembered */
struct remembered_span {
	__u32 first, count;
};

/* The interpreter that the walk has met: the number of its description, or RUNTIME_NONE. */
enum { RUNTIME_NONE = PILOTLIGHT_RUNTIMES_MAX };
struct walked_runtime {
	__u64 base; /* the address of place 0 */
	__u32 number;
	__u32 file_id;
};

/*
 * Where the process has the variable of its thread context: as in a pilotlight_runtime, but `place`
 * is an address. anchor 0: nowhere, as far as is known.
 */
struct context_place {
	__u64 place;
	__s64 offset;
	__u32 anchor, libc;
};

/* The file with that variable that the walk has met: the number of its description, or
 * RUNTIME_NONE; then `known` is not set yet. */
struct walked_context {
	__u64 base; /* the address of place 0 */
	__u32 number;
	__u32 is_known; /* `known` is set */
	struct context_place known;
};

/* Bits of walk.has_jit. */
enum walk_jit {
	WALK_HAS_JIT = 1 << 0, /* some frames are in memory without a file, where code changes */
	WALK_GUESSES_JIT = 1 << 1, /* and the callers of some of these were guessed */
};

/* The walk on one CPU. `ip` is a return address, or behind a system call, unless `is_exact`. */
struct walk {
	__u64 ip, sp;
	__u64 system_call; /* orig_rax: its number, or -1 for none */
	struct saved_register fp, rbx;
	struct saved_register fp_before, rbx_before; /* of an epilogue that is tried */
	__u32 mapping;				     /* index of the current one in `mappings` */
	__u32 next_mapping;
	__u32 searches;
	__u8 is_exact;
	/* 0, or how the walk ends if the frame pointer misled it here: no rule said that it would
	 * lead here. */
	__u8 guess_end;
	__u8 is_linked;	     /* the frame pointer of the called function led here */
	__u8 doubt;	     /* enum walk_doubt */
	__u8 registers_kind; /* enum register_set: the registers known for this frame */
	__u8 has_jit;	     /* enum walk_jit */
	__u8 stale_mappings; /* bit mask: the engine may still tell more of these in this window */
	__u8 is_jit;	     /* the last frame is in memory without a file */
	__u8 has_untabled;   /* some frames are in files whose tables are not ready */
	__u8 is_untabled;    /* the last frame is */
	/* Of the step: words read right below the caller's stack pointer; did it read others? */
	__u8 words_read, read_more;
	/*
	 * Two rings of frames, leaf first: this walk's and the last one's. The lowest bit of `turn`
	 * says which is this walk's.
	 */
	struct remembered_span spans[2];
	__u32 turn;
	__u32 last_at;	    /* position in the last walk's frames */
	__u32 follows_last; /* the last walk's frames have become this one's */
	/* When it had PILOTLIGHT_WALK_CUT_DEPTH frames. */
	__u64 cut_hash, cut_ns;
	/* These outlive the walk while the mappings stay the same. */
	struct walked_runtime runtime, hotspot;
	union {
		__u64 hotspot_at; /* an address in HotSpot's library */
		__u64 yjit_at;	  /* without HotSpot: where the mapping of Ruby's YJIT begins */
	};
	struct walked_context context;
	__u16 has_asked;       /* whether earlier walks met a runtime in the process */
	__u16 has_asked_again; /* and in this walk, whether its program is one */
	__u32 hotspot_is_new;  /* earlier walks have not known it */
	__u64 leaf_sp, leaf_fp;
	union {
		__u64 signal_registers[GREGS_WORDS]; /* REGISTERS_GREGS */
		struct runtime_calls calls;	     /* once the native walk has ended */
	};
	/* Bounds of `mappings`, each array in one cache line for the search; end 0: none. */
	__u64 starts[WALK_MAPPINGS], ends[WALK_MAPPINGS];
	struct walked_mapping mappings[WALK_MAPPINGS];
	union {
		struct remembered_frame remembered[REMEMBERED_FRAMES];
		/* What the walk of an interpreter's frames has read: until the next walk, one ring
		 * is free. */
		struct runtime_span runtime_spans[RUNTIME_SPANS];
	} rings[2];
	/* Of the innermost frames: how far their stack pointers are from the leaf's. */
	__u32 depths[WALK_DEPTHS];
	/* As it is sent: the walk's own frames, those of an interpreter, the thread's context, the
	 * kernel's ips. */
	struct pilotlight_ring_walk record;
	__u64 frames[PILOTLIGHT_WALK_DEPTH + 1 +
		     (PILOTLIGHT_RUNTIME_FRAMES_MAX + 1) * RUNTIME_FRAME_WORDS];
	__u64 more_frames[CONTEXT_RECORD_WORDS + PILOTLIGHT_STACK_DEPTH];
};

/*
 * A rule found recently, since most return addresses come again and again. Its place follows from a
 * hash, so another rule may replace it. A file id is not reused for two windows.
 */
struct remembered_rule {
	__u32 window; /* of its last use */
	__u32 file_id;
	__u32 offset;
	__u32 has_rule;
	struct pilotlight_unwind_rule rule;
};
_Static_assert(sizeof(struct remembered_rule) == 32, "half a cache line");

enum { REMEMBERED_RULES_SHIFT = 8 };

/* Each run has its own seed, so two stacks that collide once do not collide for ever. */
static __always_inline __u64 hash_next(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/* In place of an enum pilotlight_walk_end: the walk goes on, there is a caller; or again, once
 * know_program() has been called. */
enum { WALK_ON = -1, WALK_ASKS = -3 };

/* Notes the interpreter, or the variable of the thread context, that the mapping's file has. */
static __always_inline void note_runtime(struct walk *walk, const struct walked_mapping *mapping)
{
	if (!mapping->is_known_file)
		return;
	if (mapping->file.flags & PILOTLIGHT_FILE_HAS_CONTEXT &&
		walk->context.number == RUNTIME_NONE) {
		walk->context.base = mapping->start - mapping->offset;
		walk->context.number = mapping->file.runtime;
		walk->context.is_known = 0;
	}
	if (mapping->file.flags & PILOTLIGHT_FILE_HAS_HOTSPOT) {
		walk->hotspot_is_new |= walk->hotspot.number == RUNTIME_NONE;
		walk->hotspot.base = mapping->start - mapping->offset;
		walk->hotspot.number = mapping->file.runtime;
		walk->hotspot.file_id = mapping->file.id;
		walk->hotspot_at = mapping->start;
	}
	if (!(mapping->file.flags & PILOTLIGHT_FILE_HAS_RUNTIME))
		return;
	walk->runtime.base = mapping->start - mapping->offset;
	walk->runtime.number = mapping->file.runtime;
	walk->runtime.file_id = mapping->file.id;
}
