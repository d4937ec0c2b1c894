/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a walk of an interpreter's frames has read, so that it reads nothing twice: a read costs as
 * much as a native frame. It is kept for this walk alone, as the memory may change after it. Also
 * compiles for the host.
 *
 * The includer defines how memory is read: can_copy_user().
 */
#pragma once

#include "pilotlight/runtime.h"
#include "runtime_span.bpf.h"

/* Copies `size` bytes of user memory. Returns 0 if they cannot be read. */
static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address);

enum {
	RUNTIME_UNITS_MAX = 1 << 24, /* instructions of a code object */
	RUNTIME_UNIT_UNKNOWN = -2,
	RUNTIME_WORD = 8,
	RUNTIME_PAGE = 4096,
	RUNTIME_SEEN = 8,  /* a power of two */
	RUNTIME_LINES = 8, /* too */
};

/* A code object that the walk has met: while the thread stands still, it stays what it is. */
struct runtime_seen {
	__u64 address;
	__u64 check;
	__u64 words[2]; /* what the next frames need of it */
	__u64 identity; /* of the walk's owner; RUNTIME_NO_IDENTITY: not known yet */
};
#define RUNTIME_NO_IDENTITY (~(__u64)0)

/* A walk. Its owner sets base, thread and stack_pointer. */
struct runtime_walk {
	__u64 base;   /* the address of place 0 */
	__u64 thread; /* the thread pointer */
	__u64 stack_pointer;
	__u64 frame, mark;
	union {
		struct {
			__u64 start, end; /* of Ruby: the VM stack, up to the outermost frame */
		};
		struct {
			__u64 contexts, outer; /* of Perl: of the nesting, and the outer one */
		};
		struct {
			__u64 generator; /* of PHP: the one that was resumed */
			__u64 resumer;	 /* the frame that did so */
		};
	};
	__u64 file, file_check; /* the last code object's file, and what it is known by */
	__u32 code_bytes;	/* as many as the fields of a code object take */
	union {
		__u32 has_left;		   /* of PHP: the frames are of another native stack */
		struct {		   /* of Perl: of groups of callbacks */
			__u16 callbacks;   /* how many there are */
			__u16 callback_at; /* how many groups are within the outermost one */
		};
	};
	union {
		__u32 tasks;	  /* of CPython: enum runtime_tasks_step of runtime_sample.bpf.h */
		__u32 generators; /* of PHP: those that delegate, up to the frame's */
		struct {	  /* of Perl */
			__u8 is_innermost; /* the nesting has no other one within it */
			__u8 calls_back;   /* nothing is within the innermost group of callbacks */
			__u8 is_entered;   /* the innermost subroutine has not gone on yet */
		};
	};
	union {
		__u64 state;	 /* of CPython: the address of the thread's */
		__u64 operation; /* of Perl: what runs, until there has been a frame */
		__u64 awaits;	 /* of PHP: the generator that is listed next */
	};
	union {
		__u64 read;	    /* of CPython: the frame that was read last */
		__u64 registers[2]; /* of PHP: r15 and r14, which its owner sets, too */
		struct {
			__u64 function;	 /* of Ruby: what the last frame runs, if it is one of C */
			__u64 functions; /* such frames since the last code object */
		};
		struct {
			__u64 statement; /* of Perl: of the next frame */
			__s32 context;	 /* the next one; -1: none */
			__u8 nesting;	 /* what it is for */
			__u8 has_ended;	 /* a group has ended in it */
			__u8 is_open;	 /* and that of the last frame has not */
			__u8 has_main;	 /* the main program runs */
		};
	};
	union {
		__u64 class;   /* of PHP: the same of the last class */
		__u64 running; /* of Perl: the operation that runs */
	};
	__u64 class_check;
	union {
		/* Of PHP and Perl: those whose lines were read. */
		__u64 instructions[RUNTIME_LINES];
		__u64 object[RUNTIME_LINES]; /* of Ruby: the beginning of one, for the BPF stack */
	};
	__u32 lines[RUNTIME_LINES];
	__u32 seen_at; /* the last code object among ... */
	struct runtime_seen seen[RUNTIME_SEEN];
	__u64 held; /* the code object that `code` is a copy of */
	__u64 code[PILOTLIGHT_RUNTIME_CODE_MAX / RUNTIME_WORD];
	__u32 group_byte; /* of the last frame, at frame_group_at */
	__u32 limit;	  /* of PHP: so many generators are listed; 0: no more */
};

/* A step: a frame, unless `code` is 0; and after it the end of a group, if `mark` is not 0. */
struct runtime_step {
	__u64 code;  /* the address of the code object */
	__u64 check; /* changes if another one takes its place */
	__u64 mark;
	__s32 unit;  /* the instruction; -1: before the first; RUNTIME_UNIT_UNKNOWN */
	__u32 flags; /* of the frame, as it is sent */
};

/* Before the first step of a walk. */
static __always_inline void runtime_forget(
	struct runtime_walk *walk, struct runtime_span spans[RUNTIME_SPANS])
{
	walk->file = walk->file_check = walk->held = 0;
	walk->class = walk->class_check = 0;
	for (__u32 i = 0; i < RUNTIME_SEEN; i++)
		walk->seen[i].address = 0;
	for (__u32 i = 0; i < RUNTIME_LINES; i++)
		walk->instructions[i] = 0;
	for (__u32 i = 0; i < RUNTIME_SPANS; i++)
		spans[i].from = spans[i].bytes = 0;
}

/* Where the walk has the code object, if it has met it. Else it may take the place: its own, or the
 * one beside it if another one is there. */
static __always_inline struct runtime_seen *runtime_see(struct runtime_walk *walk, __u64 address)
{
	__u32 at = (__u32)(address * 0x9e3779b97f4a7c15ULL >> 32) & (RUNTIME_SEEN - 1);
	__u64 own;

	__asm__ volatile("" : "+r"(at));
	at &= RUNTIME_SEEN - 1;
	own = walk->seen[at].address;
	at ^= own != 0 && own != address;
	__asm__ volatile("" : "+r"(at));
	walk->seen_at = at &= RUNTIME_SEEN - 1;
	return &walk->seen[at];
}

static __always_inline struct runtime_seen *runtime_last_seen(struct runtime_walk *walk)
{
	__u32 at = walk->seen_at;

	__asm__ volatile("" : "+r"(at));
	return &walk->seen[at & (RUNTIME_SEEN - 1)];
}

/* Returns 0 if the memory cannot be read. `address` is one of words. */
static __always_inline int runtime_read_span(struct runtime_span *span, __u64 address, __u64 bytes)
{
	span->from = address;
	span->bytes = bytes;
	/* Linux 6.1 wants the bound of this very register. */
	__asm__ volatile("" : "+r"(bytes));
	if (bytes <= sizeof(span->words) && can_copy_user(span->words, (__u32)bytes, address))
		return 1;
	span->bytes = 0;
	return 0;
}

/* Reads `size` bytes at `address`, and what lies below them on its page. There may be no page
 * before it. */
static __always_inline int runtime_read_below(struct runtime_span *span, __u64 address, __u32 size)
{
	__u64 end = address + size, from = end - RUNTIME_SPAN_BYTES;

	if (from < (address & -RUNTIME_PAGE))
		from = address & -RUNTIME_PAGE;
	return runtime_read_span(span, from, end - from);
}

static __always_inline int runtime_is_near(const struct runtime_span *span, __u64 address)
{
	return span->from - address <= RUNTIME_SPAN_BYTES;
}

/*
 * Where the frame at `address` is. Callers mostly lie below, on a stack, and the first span is of
 * it. The second one has a frame that lies elsewhere. NULL: unreadable.
 */
static __always_inline struct runtime_span *runtime_find_frame(
	struct runtime_span spans[RUNTIME_SPANS], __u64 address, __u32 size)
{
	size = (size + RUNTIME_WORD - 1) & -RUNTIME_WORD;
	if (address % RUNTIME_WORD || size > PILOTLIGHT_RUNTIME_FRAME_MAX)
		return 0;
	if (runtime_has(&spans[0], address, size))
		return &spans[0];
	if (!spans[0].from || runtime_is_near(&spans[0], address) ||
		runtime_is_near(&spans[1], address))
		return runtime_read_below(&spans[0], address, size) ? &spans[0] : 0;
	return runtime_read_span(&spans[1], address, size) ? &spans[1] : 0;
}

static __always_inline int runtime_read_word(__u64 *word, __u64 address)
{
	return address && can_copy_user(word, sizeof(*word), address);
}

/* Where the walk keeps the line of an instruction. */
static __always_inline __u32 runtime_line_place(__u64 instruction)
{
	__u32 at = (__u32)(instruction * 0x9e3779b97f4a7c15ULL >> 32) & (RUNTIME_LINES - 1);

	__asm__ volatile("" : "+r"(at));
	return at & (RUNTIME_LINES - 1);
}

static __always_inline void runtime_keep_line(
	struct runtime_walk *walk, __u64 instruction, __u32 line)
{
	__u32 at = runtime_line_place(instruction);

	walk->lines[at] = line;
	walk->instructions[at] = instruction;
}

/* The line of an instruction, which has it at `line_at`. In a recursion the same few instructions
 * come again and again. */
static __always_inline __s32 runtime_line(
	struct runtime_walk *walk, __u64 instruction, __u32 line_at)
{
	__u32 at = runtime_line_place(instruction);

	if (!instruction)
		return RUNTIME_UNIT_UNKNOWN;
	if (walk->instructions[at] != instruction) {
		walk->instructions[at] = 0;
		if (!can_copy_user(
			    &walk->lines[at], sizeof(walk->lines[at]), instruction + line_at))
			return RUNTIME_UNIT_UNKNOWN;
		walk->instructions[at] = instruction;
	}
	return walk->lines[at] < RUNTIME_UNITS_MAX ? (__s32)walk->lines[at] : RUNTIME_UNIT_UNKNOWN;
}
